"""Each operator that the reference judges is declared, and each declaration gives valid nodes that it judges."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conformance.base.errors import UsageError
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import (
    TYPE_SETS,
    UNDECLARED,
    declarations,
    declarations_of,
    operator_name,
)
from conformance.exact.declarations.drawing import DrawnNode, InvalidNodeError, draw_node, draw_valid_node
from conformance.exact.declarations.hard_values import MODES, elements
from conformance.exact.reference.enclosures import ENCLOSURES, EXACT_OPERATORS, OTHER_DOMAINS
from conformance.exact.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.operators.sequences import SEQUENCE_OPERATORS
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.tolerances import FUNCTION_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JUDGED = {
    *(*ENCLOSURES, *EXACT_OPERATORS, *TRAINING_OPTIMIZERS, *SEQUENCE_OPERATORS, *MAP_OPERATORS),
    *(name for _, name in FUNCTION_OPERATORS),
    *(operator_name(name, domain) for domain, names in OTHER_DOMAINS.items() for name in names),
}
CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
SEEDS = 12


def _nodes(operator: str, chosen: Mapping[str, int]) -> Iterator[DrawnNode]:
    for seed in range(SEEDS):
        with suppress(InvalidNodeError):
            yield draw_node(operator, str(seed), chosen)


def _is_judged(node: DrawnNode) -> bool:
    try:
        with np.errstate(all="ignore"):
            return len(enclose(NodeScope.of(node.model), node.proto, node.operands)) > 0
    except Unsupported:
        return False


def test_declarations_and_reasons_name_every_judged_operator() -> None:
    assert {*declarations()} | {*UNDECLARED} == JUDGED | CONTROL_FLOW
    assert {*declarations()}.isdisjoint(UNDECLARED)


@pytest.mark.parametrize("operator", declarations())
def test_each_declaration_and_version_gives_valid_nodes_that_are_judged(operator: str) -> None:
    for number, declaration in enumerate(declarations_of(operator)):
        nodes = []
        for version in range(len(declaration.opsets_of(operator))):
            drawn = [*islice(_nodes(operator, {"declaration": number, "opset": version}), 3)]
            assert len(drawn) == 3, (number, version)
            nodes += drawn
        assert any(map(_is_judged, nodes)), number


def test_texts_and_complex_numbers_that_search_does_not_draw_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPE_SETS, "movable", ("string", "complex64"))
    judged = [
        _is_judged(node)
        for operator, every in declarations().items()
        for number, declaration in enumerate(every)
        if "movable" in declaration.types.values()
        for node in islice(_nodes(operator, {"declaration": number, "opset": 0}), 2)
    ]
    assert all(judged)
    assert len(judged) > 80


def test_draw_node_gives_the_same_bytes_everywhere() -> None:
    digest = hashlib.sha256()
    for operator in ("Add", "Conv", "LSTM", "TopK", "QuantizeLinear"):
        for name, array in draw_valid_node(operator, "5")[0].operands.items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    assert digest.hexdigest()[:16] == "0bab87a00ba29f25"


def test_draw_node_keeps_the_other_choices_and_elements_if_a_size_is_chosen() -> None:
    chosen = {"declaration": 0, "rank": 1, "values of X": MODES.index("near 1")}
    large = draw_node("Softmax", "1", chosen | {"size S1": 4})
    small = draw_node("Softmax", "1", chosen | {"size S1": 1})
    np.testing.assert_array_equal(large.operands["X"][: small.operands["X"].shape[0]], small.operands["X"])
    assert {name: choice.index for name, choice in large.choices.items() if name != "size S1"} == {
        name: choice.index for name, choice in small.choices.items() if name != "size S1"
    }


def test_draw_node_replaces_edited_elements() -> None:
    node = draw_node("Relu", "1", {"rank": 0, "type T": 0}, {"X": {0: 7.0, 10**6: 8.0}})
    assert node.operands["X"].reshape(-1)[0] == 7
    assert 8.0 not in node.operands["X"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_hard_elements_have_nan_infinities_zeros_and_subnormals(dtype: type[np.floating]) -> None:
    found = elements("x", np.dtype(dtype), (400,), "number", MODES.index("only hard"), [2.5])
    limits = np.finfo(dtype)
    assert np.isnan(found).any()
    assert {np.inf, -np.inf, 2.5, limits.max, limits.smallest_subnormal} <= {*found.tolist()}
    assert {*np.signbit(found[found == 0]).tolist()} == {True, False}


def test_declarations_of_an_unknown_operator_names_a_near_operator() -> None:
    with pytest.raises(UsageError, match="Conv") as error:
        declarations_of("Convv")
    assert error.value.code == "usage.operator-not-declared"
