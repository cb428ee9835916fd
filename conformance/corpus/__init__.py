"""The wing `corpus`: cases, and the folder or archive that contains them.

- `cases`: the type `Case`, and reading a corpus
- `generation`: turns cases of `generators/` into a corpus on disk, and exports a corpus
- `factors`: covering arrays of the properties that cases vary
- `passes`: the pass `eliminate_nop_monotone_argmax`, its hazards and its expected effect
- `profiles`: requirements beyond the specification

Imports: `base`, `exact`.
Begin with `cases/case.py`.
"""
