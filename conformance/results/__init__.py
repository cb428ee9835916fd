"""The records of a run: written and read, compared with those of another run, and sorted by kind of failure."""
