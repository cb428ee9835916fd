"""Declarations of the factors of the generated families of cases, and the builders of their models."""
