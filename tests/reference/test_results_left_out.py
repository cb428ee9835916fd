"""A node may give its last results no names, since the schema allows any number of outputs from one on; not more."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.backends.reference import ReferenceBackend
from conformance.reference.validity import InvalidModel
from generators.training_optimizers.drafts import optimizer_draft
from generators.training_optimizers.table import OPERATORS


def answers_of(draft, inputs):
    return ReferenceBackend.prepare(onnx.load_model_from_string(draft.serialised("draft"))).run(inputs)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_what_has_names_is_what_it_is_with_all_of_them(operator):
    draft, last = optimizer_draft(operator), operator.signature.results[-1]
    inputs = list(draft.inputs.values())
    whole = answers_of(draft, inputs)
    short = answers_of(draft.without_output(last), inputs)
    assert len(short) == len(whole) - 1
    assert all(np.array_equal(*pair) for pair in zip(short, whole, strict=False))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_a_name_more_is_refused(operator):
    draft = optimizer_draft(operator).with_output("S_new")
    with pytest.raises(InvalidModel, match="outputs for"):
        answers_of(draft, list(draft.inputs.values()))
