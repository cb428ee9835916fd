"""Explain the failures of a subject by mutants that fail in the same way, and write reproductions of failing cases."""
