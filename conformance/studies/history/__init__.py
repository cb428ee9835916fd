"""History: the results of every release of a runtime or graph optimizer beside each other.

`store` has the folder with the results, `history_update` runs the releases that are missing.
"""
