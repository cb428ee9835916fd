"""A node may omit its last outputs, since the schema requires only one. It cannot have more than all outputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.adapters.reference import ReferenceBackend
from conformance.reference.validity import InvalidModelError
from generators.training_optimizers.single_node_model import valid_optimizer_model
from generators.training_optimizers.table import OPERATORS


def answers_of(draft, inputs):
    return ReferenceBackend.prepare(onnx.load_model_from_string(draft.serialise("draft"))).run(inputs)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_named_outputs_do_not_depend_on_omitted_outputs(operator):
    draft, last = valid_optimizer_model(operator), operator.signature.results[-1]
    inputs = list(draft.inputs.values())
    whole = answers_of(draft, inputs)
    short = answers_of(draft.without_output(last), inputs)
    assert len(short) == len(whole) - 1
    assert all(np.array_equal(*pair) for pair in zip(short, whole, strict=False))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_extra_output_is_unsupported(operator):
    draft = valid_optimizer_model(operator).with_output("S_new")
    with pytest.raises(InvalidModelError, match="outputs for"):
        answers_of(draft, list(draft.inputs.values()))
