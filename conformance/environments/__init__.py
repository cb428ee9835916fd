"""Releases of runtimes beside each other: each in an environment of its own, which is made once and never by a run.

`requirements` says what a release needs, `store` where environments are, `making` how one is made, whole or not at all,
and `interpreters` in which Python a subject runs.
"""
