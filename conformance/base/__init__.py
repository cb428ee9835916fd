"""The wing `base`: general mechanisms, whose modules know nothing of operators, cases or subjects.

- `errors` (with the texts in `errors.toml`) and `verdicts`: error codes, exit statuses, verdicts and levels
- `serialization`: JSON and msgspec Structs, schemas, text for a terminal; `files`: safe reading, atomic writing, state
- `processes`: starts every process; `jobs`: work in chunks on processes or Dask workers
- `pages`: the templates and components of all HTML pages; `plugins`: entry points of third parties

Imports: no other wing.
Begin with `errors.py`, which every other module uses.
"""
