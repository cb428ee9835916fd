"""Write a corpus: run the generators, compute expected outputs with the oracle, and write the files.

`conformance.exact.models.model_building` has functions that generators use to build models and input data.
"""
