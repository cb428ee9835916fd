"""Operators of ai.onnx.ml contain what ONNX Runtime returns, and trees what a recursion over their nodes gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnxruntime_nodes import assert_agrees, enclose, run

from conformance.base.verdicts import Unsupported
from conformance.exact.reference import node_enclosures
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

ML = "ai.onnx.ml"
RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def strings(*texts: str) -> Any:
    return np.array(texts, dtype=object)


CLASSES = {"classlabels_ints": [3, 5, 9], "coefficients": numbers(12).tolist(), "intercepts": numbers(3).tolist()}
TREES: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_values": [0.25, -0.5, 0, 0, 0, 0.125, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 1, 0, 0],
}
LEAVES = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]


def votes(kind: str, targets: int) -> dict[str, Any]:
    """Return votes of all leaves for all targets."""
    rows = [(*leaf, target) for leaf in LEAVES for target in range(targets)]
    trees, nodes, targets_of = zip(*rows, strict=True)
    weights = np.random.default_rng(1).uniform(0.1, 1, len(rows)).astype(np.float32).tolist()
    given = {"treeids": trees, "nodeids": nodes, "ids": targets_of, "weights": weights}
    return {f"{kind}_{name}": list(value) for name, value in given.items()}


X = numbers(20, 4)
VECTORS = {
    "support_vectors": numbers(20).tolist(),
    "coefficients": numbers(5).tolist(),
    "rho": [0.25],
    "n_supports": 5,
    "kernel_params": [0.5, 0.25, 3.0],
}
WITH_NAN = np.where(RANDOM.random((20, 4)) < 0.2, np.nan, X).astype(np.float32)
CASES: list[tuple[str, list[Any], int, dict[str, Any]]] = [
    ("ArrayFeatureExtractor", [X, np.array([2, 0])], 1, {}),
    ("Binarizer", [X], 1, {"threshold": 0.25}),
    ("CategoryMapper", [strings("a", "c")], 1, {"cats_strings": ["a", "b"], "cats_int64s": [7, 8]}),
    ("CategoryMapper", [np.array([8, 9])], 1, {"cats_strings": ["a", "b"], "cats_int64s": [7, 8]}),
    ("FeatureVectorizer", [X, X[:, :2]], 1, {"inputdimensions": [4, 2]}),
    ("Imputer", [WITH_NAN], 1, {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
    ("Imputer", [np.array([[1, -1]])], 1, {"imputed_value_int64s": [5], "replaced_value_int64": -1}),
    ("LabelEncoder", [strings("a", "c")], 1, {"keys_strings": ["a", "b"], "values_int64s": [4, 5], "default_int64": 9}),
    ("LabelEncoder", [np.float32([1, np.nan])], 1, {"keys_floats": [1.0, float("nan")], "values_strings": ["x", "y"]}),
    ("LinearClassifier", [X], 2, CLASSES | {"post_transform": "SOFTMAX"}),
    ("LinearClassifier", [X], 2, CLASSES | {"post_transform": "LOGISTIC"}),
    ("LinearRegressor", [X], 1, {"coefficients": numbers(8).tolist(), "targets": 2, "intercepts": [0.5, 1.5]}),
    ("Normalizer", [np.abs(X)], 1, {"norm": "L1"}),
    ("Normalizer", [np.abs(X)], 1, {"norm": "L2"}),
    ("Normalizer", [np.abs(X)], 1, {"norm": "MAX"}),
    ("OneHotEncoder", [np.array([1, 7, 3])], 1, {"cats_int64s": [1, 3]}),
    ("OneHotEncoder", [strings("a", "c")], 1, {"cats_strings": ["a", "b"]}),
    ("Scaler", [X], 1, {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 0.25, 3.0, 1.5]}),
    *(
        ("SVMRegressor", [X], 1, VECTORS | {"kernel_type": kind, "one_class": one})
        for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")
        for one in (0, 1)
    ),
    ("SVMRegressor", [X], 1, {"coefficients": [1.0, -2.0, 0.5, 3.0], "rho": [0.5], "kernel_params": [0.0, 0.0, 0.0]}),
    ("TreeEnsembleRegressor", [WITH_NAN], 1, TREES | votes("target", 2) | {"n_targets": 2, "base_values": [0.5, 1.0]}),
    ("TreeEnsembleRegressor", [X], 1, TREES | votes("target", 1) | {"n_targets": 1, "aggregate_function": "AVERAGE"}),
    ("TreeEnsembleRegressor", [X], 1, TREES | votes("target", 1) | {"n_targets": 1, "aggregate_function": "MAX"}),
    (
        "TreeEnsembleClassifier",
        [X],
        2,
        TREES | votes("class", 3) | {"classlabels_strings": ["a", "b", "c"], "post_transform": "SOFTMAX"},
    ),
]


@pytest.mark.parametrize(("op_type", "inputs", "outputs", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_outputs_of_onnxruntime_are_admissible_and_changed_ones_are_not(
    op_type: str, inputs: list[Any], outputs: int, attributes: dict[str, Any]
) -> None:
    assert_agrees(ML, op_type, inputs, outputs, **attributes)


def leaf(tree: int, node: int, x: Any) -> tuple[int, int]:
    """Return the leaf that a sample reaches."""
    place = list(zip(TREES["nodes_treeids"], TREES["nodes_nodeids"], strict=True)).index((tree, node))
    if TREES["nodes_modes"][place] == "LEAF":
        return tree, node
    value = x[TREES["nodes_featureids"][place]]
    is_true = (
        TREES["nodes_missing_value_tracks_true"][place] if np.isnan(value) else value <= TREES["nodes_values"][place]
    )
    return leaf(tree, TREES["nodes_truenodeids" if is_true else "nodes_falsenodeids"][place], x)


def test_tree_ensemble_adds_the_votes_of_reached_leaves() -> None:
    given = votes("target", 2)
    keys = zip(given["target_treeids"], given["target_nodeids"], given["target_ids"], strict=True)
    weights = dict(zip(keys, given["target_weights"], strict=True))
    wanted = [[sum(weights[(*leaf(t, 0, x), target)] for t in (0, 1)) for target in (0, 1)] for x in WITH_NAN]
    (Y,) = enclose(ML, "TreeEnsembleRegressor", [WITH_NAN], **TREES, **given, n_targets=2)
    np.testing.assert_allclose(Y.value, wanted, rtol=1e-12)


@pytest.mark.parametrize(("aggregate", "combine"), [(0, np.mean), (1, np.sum), (2, np.min), (3, np.max)])
def test_tree_ensemble_aggregates_leaves_of_its_own(aggregate: int, combine: Any) -> None:
    tensors = {
        "nodes_modes": np.uint8([1, 6]),
        "nodes_splits": np.float32([0.25, 0]),
        "leaf_weights": np.float32([1, 4, 9, 2]),
    }
    tensors["membership_values"] = np.float32([2, 3])
    model = {"tree_roots": [0, 1], "nodes_featureids": [0, 1], "leaf_targetids": [0] * 4, "n_targets": 1}
    model |= {"nodes_truenodeids": [0, 2], "nodes_falsenodeids": [1, 3], "nodes_missing_value_tracks_true": [1, 0]}
    model |= {"nodes_trueleafs": [1, 1], "nodes_falseleafs": [1, 1], "aggregate_function": aggregate}
    x = np.float32([[0, 2], [0.25, 1], [np.nan, 3], [0, np.nan]])
    (Y,) = enclose(ML, "TreeEnsemble", [x], **model, **tensors)
    wanted = [combine([1 if a < 0.25 or np.isnan(a) else 4, 9 if b in (2, 3) else 2]) for a, b in x]
    assert np.asarray(getattr(Y, "value", Y)).ravel().tolist() == wanted


def test_zip_map_pairs_labels_with_columns() -> None:
    node = helper.make_node("ZipMap", ["x"], ["z"], domain=ML, classlabels_strings=["a", "b"])
    scope = node_enclosures.NodeScope({ML: 1}, onnx.ModelProto())
    (maps,) = node_enclosures.enclose(scope, node, {"x": np.float32([[1, 2], [3, 4]])})
    assert [{name: float(getattr(x, "value", x)) for name, x in each.items()} for each in maps] == [
        {"a": 1, "b": 2},
        {"a": 3, "b": 4},
    ]


def test_normalizer_by_the_largest_element_is_open_beside_nan() -> None:
    rows = np.float32([[np.inf, 1, np.nan], [4, 2, 1]])
    (Y,) = enclose(ML, "Normalizer", [rows], norm="MAX")
    assert Y.unspecified.tolist() == [[True, True, False], [False] * 3]
    assert admissible_mask(run(ML, "Normalizer", [rows], norm="MAX")[0], Y).all()


def test_normalizer_by_squares_may_lose_what_underflows() -> None:
    (Y,) = enclose(ML, "Normalizer", [np.float32([[1e-30, 1]])], norm="L2")
    assert admissible_mask(np.float32([[0, 1]]), Y).all()
    assert admissible_mask(np.float32([[1e-30, 1]]), Y.should).all()
    assert not admissible_mask(np.float32([[0, 1]]), Y.should)[0, 0]
    assert not admissible_mask(np.float32([[1e-15, 1]]), Y)[0, 0]


def test_quotient_by_a_negative_number_is_open_although_it_overflows() -> None:
    (Y,) = enclose(ML, "Normalizer", [np.float32([[-1e38, -1e-38]])], norm="MAX")
    assert Y.unspecified.all()
    assert admissible_mask(np.float32([[-1, 0]]), Y).all()


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize(("sign", "open_labels"), [(1, [True, False, True]), (-1, [False, False, False])])
def test_classifier_with_votes_for_the_second_class_is_judged(
    transform: str, sign: int, open_labels: list[bool]
) -> None:
    model = TREES | votes("class", 1) | {"classlabels_int64s": [3, 5], "post_transform": transform}
    model |= {"class_ids": [1] * len(model["class_ids"]), "class_weights": [0.25 * sign, 0.5, 0.125 * sign, 0.375, 0]}
    x = np.float32([[0] * 4, [9] * 4, [0] * 4])
    labels, scores = enclose(ML, "TreeEnsembleClassifier", [x], 2, **model)
    assert scores.unspecified.tolist() == [[True, False]] * 3
    found = run(ML, "TreeEnsembleClassifier", [x], 2, **model)
    assert admissible_mask(found[0], labels).all()
    assert admissible_mask(found[1], scores).all()
    assert not admissible_mask(found[1] + np.float32(0.01), scores)[:, 1].any()


def test_labels_of_equal_scores_are_open() -> None:
    model = {"coefficients": [1.0, 1.0], "classlabels_ints": [3, 5]}
    labels = enclose(ML, "LinearClassifier", [np.float32([[2]])], 2, **model)[0]
    assert admissible_mask(np.array([3]), labels).all()
    assert admissible_mask(np.array([5]), labels).all()
    assert labels.unspecified.all()


@pytest.mark.parametrize("transform", ["LOGISTIC", "SOFTMAX"])
def test_probability_of_a_score_beyond_float_may_be_nan(transform: str) -> None:
    model = {"coefficients": [1.0, -1.0, 0.0, 0.0], "classlabels_ints": [3, 5], "post_transform": transform}
    Y = enclose(ML, "LinearClassifier", [np.array([[3e200, 2e200], [1, 2]])], 2, **model)[1]
    assert admissible_mask(np.full((2, 2), np.nan, np.float32), Y)[:, 0].tolist() == [True, False]


def test_a_class_without_coefficients_is_not_judged() -> None:
    with pytest.raises(Unsupported):
        enclose(ML, "LinearClassifier", [np.float32([[2]])], 2, coefficients=[1.0], classlabels_ints=[0, 1])


def test_feature_vectorizer_of_other_dimensions_than_its_inputs_is_not_judged() -> None:
    with pytest.raises(Unsupported):
        enclose(ML, "FeatureVectorizer", [X], inputdimensions=[3])


def test_nodes_that_are_no_trees_are_not_judged() -> None:
    cycle = TREES | {"nodes_truenodeids": [1, 0, 0, 0, 0, 1, 0, 0]}
    with pytest.raises(Unsupported):
        enclose(ML, "TreeEnsembleRegressor", [X], **cycle, **votes("target", 1), n_targets=1)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_svm_classifier_returns_the_class_that_wins_most_pairs(kind: str) -> None:
    counts, gamma, offset, degree = [2, 1, 3], 0.5, 0.25, 3
    vectors, weights, rho = numbers(6, 4).astype(float), numbers(2, 6).astype(float), [0.5, -0.25, 0.125]
    model = {"support_vectors": vectors.ravel().tolist(), "coefficients": weights.ravel().tolist(), "rho": rho}
    model |= {"vectors_per_class": counts, "classlabels_ints": [4, 5, 6], "kernel_params": [gamma, offset, degree]}
    kernel = {
        "LINEAR": np.dot,
        "POLY": lambda a, b: (gamma * (a @ b) + offset) ** degree,
        "RBF": lambda a, b: math.exp(-gamma * sum((p - q) ** 2 for p, q in zip(a, b, strict=True))),
        "SIGMOID": lambda a, b: math.tanh(gamma * (a @ b) + offset),
    }[kind]
    owner = [0, 0, 1, 2, 2, 2]
    wanted = []
    for x in X.astype(float):
        wins = [0, 0, 0]
        for (i, j), shift in zip(((0, 1), (0, 2), (1, 2)), rho, strict=True):
            terms = (
                weights[j - 1 if c == i else i, k] * kernel(x, vectors[k]) for k, c in enumerate(owner) if c in (i, j)
            )
            wins[i if sum(terms) + shift > 0 else j] += 1
        wanted.append([4 + k for k in range(3) if wins[k] == max(wins)])
    labels = enclose(ML, "SVMClassifier", [X], 2, kernel_type=kind, **model)[0]
    returned = run(ML, "SVMClassifier", [X], 2, kernel_type=kind, **model)[0]
    assert admissible_mask(returned, labels).all()
    is_open = [len(each) > 1 for each in wanted]
    assert np.array(labels.value if isinstance(labels, Enclosure) else labels)[~np.array(is_open)].tolist() == [
        each[0] for each in wanted if len(each) == 1
    ]


def test_svm_classifier_of_two_classes_returns_the_probabilities_of_platt() -> None:
    model = {"support_vectors": [1.0, 2.0], "coefficients": [1.0, -1.5], "rho": [0.25], "vectors_per_class": [1, 1]}
    model |= {"prob_a": [-1.5], "prob_b": [0.125], "classlabels_ints": [4, 2], "kernel_params": [0.0] * 3}
    x = X[:, :1]
    first = 1 / (1 + np.exp(-1.5 * (x.astype(float) * (1 - 3) + 0.25) + 0.125))
    wanted = np.hstack([first, 1 - first]).astype(np.float32)
    labels, Z = enclose(ML, "SVMClassifier", [x], 2, **model)
    returned = run(ML, "SVMClassifier", [x], 2, **model)
    assert admissible_mask(returned[0], labels).all()
    for array in (wanted, returned[1]):
        assert admissible_mask(array, Z).all()
    assert not admissible_mask(wanted[:, ::-1], Z).any()


def test_svm_classifier_of_three_classes_returns_numbers_from_0_to_1_as_probabilities() -> None:
    model = {"support_vectors": [1.0, 2.0, -1.0], "coefficients": [1.0, -1.5, 0.5] * 2, "rho": [0.25] * 3}
    model |= {"vectors_per_class": [1, 1, 1], "prob_a": [-1.5] * 3, "prob_b": [0.125] * 3, "kernel_params": [0.0] * 3}
    labels, Z = enclose(ML, "SVMClassifier", [X[:, :1]], 2, classlabels_strings=["a", "b", "c"], **model)
    returned = run(ML, "SVMClassifier", [X[:, :1]], 2, classlabels_strings=["a", "b", "c"], **model)[1]
    assert labels is None
    assert admissible_mask(returned, Z).all()
    assert not admissible_mask(returned + np.float32(1.01), Z).any()


def run_on_map(op_type: str, given: dict[Any, Any], **attributes: Any) -> tuple[Any, Any]:
    """Return the expected tensor of a node whose input is a map, and what ONNX Runtime returns."""
    node = helper.make_node(op_type, ["x"], ["y"], domain=ML, **attributes)
    keys, values = (type(next(iter(each))) for each in (given.keys(), given.values()))
    numbers_of = {str: onnx.TensorProto.STRING, int: onnx.TensorProto.INT64, float: onnx.TensorProto.FLOAT}
    value = helper.make_tensor_type_proto(numbers_of[values], ())
    x = helper.make_value_info("x", helper.make_map_type_proto(numbers_of[keys], value))
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1), helper.make_opsetid("", 21)])
    model.ir_version = 10
    (expected,) = node_enclosures.enclose(node_enclosures.NodeScope.of(model), node, {"x": given})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return expected, session.run(None, {"x": given})[0]


@pytest.mark.parametrize(
    ("op_type", "given", "attributes", "wanted"),
    [
        ("DictVectorizer", {"a": 4.0, "c": 8.0}, {"string_vocabulary": ["a", "c", "b", "z"]}, [[4.0, 8.0, 0.0, 0.0]]),
        ("DictVectorizer", {2: 4.0}, {"int64_vocabulary": [1, 2]}, [[0.0, 4.0]]),
        ("CastMap", {7: 1.5, 3: 2.5}, {}, [[2.5, 1.5]]),
        ("CastMap", {2: 1.5}, {"map_form": "SPARSE", "max_map": 4}, [[0.0, 0.0, 1.5, 0.0]]),
    ],
)
def test_values_of_a_map_are_in_the_order_of_its_keys(
    op_type: str, given: dict[Any, Any], attributes: dict[str, Any], wanted: list[list[float]]
) -> None:
    expected, actual = run_on_map(op_type, given, **attributes)
    assert (expected.dtype, expected.tolist()) == (actual.dtype, actual.tolist())
    assert expected.tolist() == wanted


@pytest.mark.parametrize(
    ("op_type", "given", "attributes"),
    [
        ("DictVectorizer", {"q": 4.0}, {"string_vocabulary": ["a"]}),
        ("CastMap", {9: 4.0}, {"map_form": "SPARSE", "max_map": 4}),
        ("CastMap", {9: "text"}, {}),
    ],
)
def test_a_map_whose_tensor_the_page_does_not_state_is_not_judged(
    op_type: str, given: dict[Any, Any], attributes: dict[str, Any]
) -> None:
    node = helper.make_node(op_type, ["x"], ["y"], domain=ML, **attributes)
    scope = node_enclosures.NodeScope({ML: 1}, onnx.ModelProto())
    with pytest.raises(Unsupported):
        node_enclosures.enclose(scope, node, {"x": given})
