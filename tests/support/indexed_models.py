"""Models with an ArgMax after a function, and the acceptable indices."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from reference_models import build_model

from conformance.base.verdicts import Level
from conformance.exact.reference.oracle import answers

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def oracle_indices(X, function, *, level=Level.MUST, opset=13, function_attributes=None, **attributes):
    """Return the oracle's answer for ArgMax of a function of X."""
    nodes = [
        helper.make_node(function, ["X"], ["Y"], **(function_attributes or {})),
        helper.make_node("ArgMax", ["Y"], ["I"], **{"axis": 0, "keepdims": 0, **attributes}),
    ]
    return answers(build_model(nodes, {"X": X}, {"I": INT64}, opset=opset), [X], level)[0]


def acceptable(answer):
    """Return the acceptable indices of an answer of one element."""
    return [answer.expected.item()] if answer.choices is None else np.flatnonzero(answer.choices).tolist()
