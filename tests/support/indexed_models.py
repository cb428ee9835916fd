"""Models with an ArgMax behind a function, and the indices that are acceptable."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from reference_models import model_of

from conformance.reference.oracle import answers
from conformance.verdicts import Level

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def indexed(X, function, *, level=Level.MUST, opset=13, function_attributes=None, **attributes):
    """What ArgMax of a function of X may be."""
    nodes = [
        helper.make_node(function, ["X"], ["Y"], **(function_attributes or {})),
        helper.make_node("ArgMax", ["Y"], ["I"], **{"axis": 0, "keepdims": 0, **attributes}),
    ]
    return answers(model_of(nodes, {"X": X}, {"I": INT64}, opset=opset), [X], level)[0]


def acceptable(answer):
    """The acceptable indices of an answer of one element."""
    return [answer.expected.item()] if answer.choices is None else np.flatnonzero(answer.choices).tolist()
