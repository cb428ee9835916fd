"""Calls onnxsim."""

from __future__ import annotations

import onnxsim


def optimize(model):
    """Return the optimized model."""
    return onnxsim.simplify(model)[0]
