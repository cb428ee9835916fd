"""The wing `studies`: questions beyond one run.

- `search`: random examples, and shrinking of failing examples
- `census`: monotone operators on all values of a type
- `history`: the results of all releases, and the first release that has a fault
- `evidence`: a folder with which others check a result

Imports: `base`, `exact`, `corpus`, `subjects`, `run`, `own`.
Begin with `search/search_job.py`, `census/census_job.py` or `history/store.py`.
"""
