"""The admissible forms of the training optimizers: the code has those that the page lists, and bounds enclose them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from reference_models import error_in_bounds, optimizer_inputs, optimizer_model

from conformance.reference.operators.training_optimizers import FORM_RULES, TRAINING_OPTIMIZERS
from conformance.reference.oracle import answers
from conformance.verdicts import Level

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "bounds.md"

ATTRIBUTES = {
    "Adam": {"alpha": 0.4, "beta": 0.3, "epsilon": 0.1, "norm_coefficient": 0.2, "norm_coefficient_post": 0.7},
    "Adagrad": {"decay_factor": 0.3, "epsilon": 0.1, "norm_coefficient": 0.2},
    "standard": {"alpha": 0.4, "beta": 0.3, "norm_coefficient": 0.2, "mode": "standard"},
    "nesterov": {"alpha": 0.4, "beta": 0.3, "norm_coefficient": 0.2, "mode": "nesterov"},
}


class FormRecorder:
    """Computes the page's form of each statement, and records the rules and values of the other forms."""

    def __init__(self):
        self.rules = set()
        self.differences = []

    def any_of(self, written, *, complement=None, **rewrites):
        del complement
        for rule, forms in rewrites.items():
            self.rules.add(rule)
            self.differences += [float(np.max(np.abs(form - written) / np.abs(written))) for form in forms]
        return written

    def with_common_error(self, scalar):
        return scalar

    def in_tensor_precision(self, scalar):
        return scalar


def recorded(name):
    optimizer = TRAINING_OPTIMIZERS[name if name in TRAINING_OPTIMIZERS else "Momentum"]
    forms, attributes = FormRecorder(), dict(ATTRIBUTES[name])
    operands = [np.linspace(0.3, 1.9, 5) + place for place, _ in enumerate(optimizer.operands)]
    numbers = {key: np.float64(value) if key != "mode" else value for key, value in attributes.items()}
    results = optimizer.formula_in_all_forms(forms, np.float64(0.1), 3, *operands, **numbers)
    return forms, results, optimizer.formula(np.float64(0.1), 3, *operands, **numbers)


def listed():
    """Return pairs of an operator and a rule from the table of the page."""
    section = PAGE.read_text("utf-8").split("## Admissible forms")[1].split("These rewrites are not admissible")[0]
    rows = re.findall(r"^\| (\w+) \| ([^|]+) \|", section, re.MULTILINE)
    return {(name, rule) for rule, statements in rows for name in TRAINING_OPTIMIZERS if name in statements}


def test_page_lists_the_rules_of_each_operator():
    found = {
        (name if name in TRAINING_OPTIMIZERS else "Momentum", rule)
        for name in ATTRIBUTES
        for rule in recorded(name)[0].rules
    }
    assert found == listed()
    assert {rule for _, rule in found} == set(FORM_RULES)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_forms_are_equal_in_algebra(name):
    forms, results, page = recorded(name)
    assert forms.differences
    assert max(forms.differences) < 1e-13
    for result, expected in zip(results, page, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.parametrize("post", [0.75, 0.9, 0.99, 1.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expanded_post_decay_is_within_bounds(post, dtype):
    X = np.linspace(0.1, 3, 50).astype(dtype)
    zero = np.zeros_like(X)
    inputs = optimizer_inputs(0.1, 0, X, zero, zero, zero, dtype=dtype)
    model = optimizer_model("Adam", inputs, norm_coefficient_post=post)
    answer = answers(model, inputs, Level.MUST)[0]
    assert error_in_bounds(answer, X - dtype(np.float32(post)) * X) <= 1


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_interpolation_is_within_bounds(alpha, level):
    V, G = np.linspace(-2, 3, 50), np.linspace(5, -1, 50)
    inputs = optimizer_inputs(0.1, 0, G, G, V, abs(G), dtype=np.float64)
    answer = answers(optimizer_model("Adam", inputs, alpha=alpha), inputs, level)[1]
    share = 1 - np.float64(np.float32(alpha))
    assert error_in_bounds(answer, V + share * (G - V)) <= 1
