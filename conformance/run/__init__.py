"""The wing `run`: executes a corpus on subjects, judges, explains and reports.

- `corpus_run`: the run itself, for the command line and for pytest
- `judging`: executes one case on one subject and determines the verdict
- `results`: the records of a results file, and failures grouped by cause
- `expectations`: known failures, and whether a run passes
- `mutants` and `diagnosis`: wrong implementations, and the search for one that explains failures
- `report`: HTML and the other formats

Imports: `base`, `exact`, `corpus`, `subjects`.
Begin with `judging/backend.py`, which judges one case on a backend, or `corpus_run/runner.py` for a run.
"""
