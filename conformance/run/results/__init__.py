"""Results of runs: file format, reading and writing, effective levels, grouping of failures, and evidence as text."""
