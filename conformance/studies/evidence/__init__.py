"""Evidence: a folder of tables that readers can check without this package.

`write_evidence` makes the folder from results files, census files, measurements of the suite, and a map of
requirements.
"""
