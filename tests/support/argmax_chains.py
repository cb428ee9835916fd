"""ArgMax after chains of operators, and the acceptable indices."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from reference_models import build_model

from conformance.exact.reference.oracle import answers


def chain(*operators, axis=0, opset=13, select_last_index=0, X):
    """Return a model that computes ArgMax of a chain of operators."""
    names = ["X", *(f"Y{place}" for place in range(len(operators)))]
    nodes = [
        helper.make_node(name, [names[place]], [names[place + 1]], **({"axis": axis} if "Softmax" in name else {}))
        for place, name in enumerate(operators)
    ]
    attributes = {"axis": axis, "keepdims": 0, "select_last_index": select_last_index}
    nodes.append(helper.make_node("ArgMax", [names[-1]], ["I"], **attributes))
    return build_model(nodes, {"X": X}, {"I": TensorProto.INT64}, opset=opset)


def acceptable(serialised, X, level):
    """Return the acceptable indices of each element of the output."""
    answer = answers(serialised, [X], level)[0]
    if answer.choices is None:
        return [[index] for index in answer.expected.ravel().tolist()]
    return [np.flatnonzero(row).tolist() for row in answer.choices.reshape(-1, answer.choices.shape[-1])]
