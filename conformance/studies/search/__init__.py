"""Fuzzing: generate random examples (models with inputs), run them on subjects, and shrink the failing examples."""
