"""Processes: the only package that starts processes, and the ways in which they end with the suite.

- `start`: functions that start a process; each states what happens to the process when the suite ends or is killed.
- `helper`: program that stands between a process of the suite and a process that it starts.

A lint rule (`banned-api` in pyproject.toml) forbids other modules to start processes.
"""
