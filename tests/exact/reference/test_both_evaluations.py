"""Operators that have an exact value and an enclosure: the enclosure contains the exact value, and little else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.declarations.drawing import DrawnNode, InvalidNodeError, draw_node
from conformance.exact.reference.enclosures import ENCLOSURES
from conformance.exact.reference.formulas import FORMULAS
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.exact.reference.operators import OPERATORS
from conformance.exact.reference.oracle import answers
from conformance.exact.reference.tolerances import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.models.arrays import Array

LARGEST = 300
"""The most elements of the inputs of a node, because exact numbers are slow."""

WITHOUT_EXACT_VALUE = {"Cast", "Dropout", "SimplifiedLayerNormalization"}
"""Operators that the oracle evaluates for some types only, that do not round, or that onnx does not have."""

BOTH = sorted(set(OPERATORS) & set(ENCLOSURES) & set(declarations()) - WITHOUT_EXACT_VALUE)

WIDE = {"ConvTranspose", "CumSum", "Mean"}
"""Operators whose enclosures have one number of roundings for all elements, also for those with fewer terms, or admit a
form that the oracle does not compute: Mean may divide each operand first."""


CHOSEN = {"Pow": {"declaration": 0}}
"""Choices of drawn nodes: the other nodes of Pow have exponents that one of both evaluations does not compute."""


def nodes_of(operator: str, count: int) -> Iterator[DrawnNode]:
    found = 0
    for seed in range(10 * count):
        with suppress(InvalidNodeError):
            node = draw_node(operator, str(seed), {"type T": 0, "values of X": 0, **CHOSEN.get(operator, {})})
            if sum(array.size for array in node.inputs.values()) <= LARGEST and found < count:
                found += 1
                yield node


def outputs_of(node: DrawnNode) -> Iterator[tuple[Array, Array, Enclosure]]:
    """Yield the exact value, the bound and the enclosure of each output; the bound is infinite where it is open."""
    exact = answers(node.model.SerializeToString(), [*node.inputs.values()], Level.MUST)
    enclosures = enclose(NodeScope.of(node.model), node.proto, node.operands)
    named = (tensor for tensor, name in zip(enclosures, node.proto.output, strict=False) if name)
    for answer, tensor in zip(exact, named, strict=True):
        if isinstance(tensor, Enclosure) and answer.bound is not None:
            is_determinate = True if answer.determinate_mask is None else answer.determinate_mask
            yield answer.expected, np.where(is_determinate, answer.bound, np.inf), tensor


@pytest.mark.parametrize("operator", BOTH)
def test_enclosure_contains_exact_value_and_has_at_most_twice_its_bound(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMS, "Conv", {"written": FORMS["Conv"]["written"]})  # the only form of the oracle
    ratios: list[float] = []
    judged = 0
    for node in nodes_of(operator, 6):
        with suppress(Unsupported), np.errstate(all="ignore"):
            for expected, bound, tensor in outputs_of(node):
                assert np.all(admissible_mask(expected, tensor) | np.isinf(bound)), node.choices
                judged += int(np.isfinite(bound).sum())
                is_known = np.isfinite(bound) & np.isfinite(tensor.error) & (bound > 0)
                ratios += (tensor.error[is_known] / bound[is_known]).tolist()
    assert judged > 0
    assert not ratios or np.median(ratios) <= (10 if operator in WIDE else 2)


def test_every_shared_formula_is_evaluated_in_both_ways() -> None:
    assert set(FORMULAS) <= set(BOTH)


OF_INTEGERS = ["DequantizeLinear", "Pad", "QLinearConv", "Resize", "Slice", "TensorScatter"]
"""Operators whose integers, scales or sizes may be rounded before."""


def with_one_uncertain(node: DrawnNode) -> Iterator[tuple[str, Array, Array]]:
    """Yield each operand of numbers of float or of integers, and the distance of the numbers that it may be."""
    for name, array in node.operands.items():
        if array.dtype == np.float32 and (np.abs(array) < 1e37).all():
            yield name, array, np.abs(array) / 64
        elif array.dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() < 100:
            yield name, array, np.ones(array.shape)


@pytest.mark.parametrize(
    "operator",
    [pytest.param(name, marks=[pytest.mark.long] * (name not in OF_INTEGERS)) for name in sorted(declarations())],
)
def test_results_of_uncertain_operands_contain_those_of_each_number(operator: str) -> None:
    """A model is judged from its inputs: the operands of its nodes are known up to their rounding."""
    for seed in range(4):
        with suppress(InvalidNodeError):
            node = draw_node(operator, str(seed))
            for name, array, distance in with_one_uncertain(node):
                assert_contains_both_ends(node, name, array, distance)


def assert_contains_both_ends(node: DrawnNode, name: str, array: Array, distance: Array) -> None:
    scope = NodeScope.of(node.model)
    uncertain = Enclosure(array.astype(np.float64), distance.astype(np.float64), array.dtype)

    def results(value: Any) -> list[Any]:
        """Return no results if none is judged: an error of the reference is no verdict."""
        with suppress(Exception), np.errstate(all="ignore"):
            return enclose(scope, node.proto, {**node.operands, name: value})
        return []

    wide = results(uncertain)
    for sign in (-1, 1):
        other = (array + sign * distance).astype(array.dtype)
        if array.dtype.kind == "u" and (array == 0).any() and sign < 0:
            continue
        for expected, result in zip(wide, results(other), strict=False):
            assert contains(expected, result), (name, sign)


def contains(wide: Any, narrow: Any) -> bool:
    """Return whether a result contains the middle of another one."""
    middle = narrow.value if isinstance(narrow, Enclosure) else narrow
    if not isinstance(wide, Enclosure):
        return np.array_equal(wide, middle, equal_nan=getattr(wide, "dtype", np.dtype(object)).kind == "f")
    assert np.shape(middle) == wide.shape
    with np.errstate(invalid="ignore"):
        distance = np.abs(middle.astype(np.float64) - wide.value)
    far = distance > wide.error * (1 + 1e-6) + np.abs(wide.value) * 1e-6
    return not (far & np.isfinite(wide.value) & (middle != wide.value) & ~np.bool_(wide.unspecified is not None)).any()
