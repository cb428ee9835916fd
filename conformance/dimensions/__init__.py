"""Combinatorial test design: factors, levels and covering arrays, and builders of models from their rows.

`covering_array` explains the terms. A *dimension* in the package's name is such a factor, not a tensor dimension.
"""
