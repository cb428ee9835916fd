"""Each operator that the reference judges is declared, and each declaration gives valid nodes that it judges."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

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
from conformance.exact.declarations.hard_values import MODES, element_bits, elements
from conformance.exact.declarations.tree_paths import reach_splits, splits_of
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
    assert digest.hexdigest()[:16] == "03744e6b0304076f"


def test_each_option_of_an_operand_of_one_element_is_a_choice() -> None:
    chosen = [{"declaration": 0, "type T": 0, "values of delta": number} for number in range(4)]
    assert [draw_node("Range", "1", each).operands["delta"].item() for each in chosen] == [1, 2, -1, -3]


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


ROWS = 16


def regressor(mode: str) -> onnx.ModelProto:
    """Return two trees of three levels, whose leaves have different votes."""
    ids = list(range(7))
    modes = ["LEAF" if id > 2 else mode for id in ids]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * 7 + [1] * 7,
        nodes_nodeids=ids * 2,
        nodes_featureids=[0, 1, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0],
        nodes_modes=modes * 2,
        nodes_values=[0.5, -1.25, 3.0, 0, 0, 0, 0, 0.1, 0.7, -0.3, 0, 0, 0, 0],
        nodes_truenodeids=[1, 3, 5, 0, 0, 0, 0] * 2,
        nodes_falsenodeids=[2, 4, 6, 0, 0, 0, 0] * 2,
        target_treeids=[0] * 4 + [1] * 4,
        target_nodeids=[3, 4, 5, 6] * 2,
        target_ids=[0] * 8,
        target_weights=[float(2**place) for place in range(8)],
    )
    return tree_model(node, TensorProto.FLOAT, 3)


def ensemble(mode: str) -> onnx.ModelProto:
    """Return a tree of two splits, as TreeEnsemble-5 has it."""
    number = ("LEQ", "LT").index(mode.removeprefix("BRANCH_"))
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        tree_roots=[0],
        nodes_featureids=[1, 0],
        nodes_splits=numpy_helper.from_array(np.array([0.25, 7.5])),
        nodes_modes=numpy_helper.from_array(np.full(2, number, np.uint8)),
        nodes_truenodeids=[1, 0],
        nodes_trueleafs=[0, 1],
        nodes_falsenodeids=[2, 1],
        nodes_falseleafs=[1, 1],
        leaf_targetids=[0, 0, 0],
        leaf_weights=numpy_helper.from_array(np.array([1.0, 2.0, 4.0])),
    )
    return tree_model(node, TensorProto.DOUBLE, 5)


def tree_model(node: onnx.NodeProto, type: int, version: int) -> onnx.ModelProto:
    X, Y = (helper.make_tensor_value_info(name, type, None) for name in "XY")
    graph = helper.make_graph([node], "g", [X], [Y])
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(("forest", "dtype"), [(regressor, np.float32), (ensemble, np.float64)])
def test_every_second_row_shows_the_order_of_equal_numbers(forest, dtype):
    node = forest("BRANCH_LEQ").graph.node[0]
    X = np.linspace(-9, 9, ROWS * 3).reshape(ROWS, 3).astype(dtype)
    made = reach_splits(node, X, element_bits("rows", (ROWS, 1)))
    right, wrong = (ReferenceEvaluator(forest(mode)).run(None, {"X": made})[0] for mode in ("BRANCH_LEQ", "BRANCH_LT"))
    assert np.count_nonzero(right != wrong) == ROWS / 2
    kept = (made == X).all(axis=1)
    assert np.count_nonzero(kept) == ROWS / 2
    assert made.dtype == X.dtype


def test_attributes_that_disagree_and_other_operators_have_no_splits():
    node = regressor("BRANCH_LEQ").graph.node[0]
    del next(each for each in node.attribute if each.name == "nodes_modes").strings[3:]
    assert splits_of(node) == []
    other = helper.make_node("Scaler", ["X"], ["Y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
    X = np.ones((4, 3), np.float32)
    assert reach_splits(other, X, element_bits("rows", (4, 1))) is X


def test_draw_node_of_more_elements_than_the_caller_wants_is_refused() -> None:
    assert draw_node("Abs", "x", {"rank": 0}, size_of=lambda _, size: size, most_elements=100)
    with pytest.raises(InvalidNodeError):
        draw_node("Abs", "x", {"rank": 0}, size_of=lambda name, size: size if name == "r" else 101, most_elements=100)
