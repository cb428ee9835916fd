"""Combinatorial test design: factors, levels and covering arrays, and builders of models from their rows.

`covering_array` explains the terms.
"""
