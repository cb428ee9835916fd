"""The wing `subjects`: the runtimes and graph optimizers under test, in any language.

- `calling`: names of subjects, loading and calling them, and the harness program for Python
- `adapters`: connects released runtimes and graph optimizers; `runtimes.toml` pins their versions
- `isolation`: the child processes of subjects, and the protocol with them
- `environments`: virtual environments with one release each
- `harness_check`: checks that a harness follows the protocol

Imports: `base`, `exact`, `corpus`.
Begin with `calling/subject_names.py`, or with `isolation/subject_client.py` for the process of a subject.
"""
