"""Mutation testing: measure which mutants the corpus and the search detect. For maintainers.

A mutant is a deliberately wrong implementation of an operator or of the pass. See `python -m checks.mutation --help`.
"""
