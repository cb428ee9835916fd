"""The wing `commands`: the command line.

One function for each verb parses the options, calls another wing and prints. `cli` registers the verbs, handles errors
and signals, and determines the exit status.

Imports: every other wing. No wing imports `commands`.
Begin with `cli.py`; its table `_VERBS` names the module of each verb.
"""
