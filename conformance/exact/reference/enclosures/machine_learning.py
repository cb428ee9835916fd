"""Enclosures of the operators of ai.onnx.ml: encoders, linear models, support vectors, maps and trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import is_computed, object_array
from conformance.exact.reference.enclosures.decisions import find_largest
from conformance.exact.reference.enclosures.sequences import stack
from conformance.exact.reference.formulas.elementwise import ELEMENTWISE_ENCLOSURES, exp, sigmoid, sqrt, tanh, tensor
from conformance.exact.reference.formulas.linear import FLOAT, integers, matmul, squared_distances
from conformance.exact.reference.formulas.normalization import softmax
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, known_elements, move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor


def _in_float(given: Tensor) -> Enclosure:
    """Return a tensor of any numbers as one of float, in which the operators of ai.onnx.ml compute."""
    assert given is not None
    X = given if isinstance(given, Enclosure) else Enclosure.exact(given.astype(np.float64))
    return X.as_type(FLOAT)


def _exact(value: Any) -> Enclosure:
    return Enclosure.exact(np.asarray(value, dtype=np.float64), FLOAT)


# Features and labels


def _array_feature_extractor(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = inputs[0]
    places = integers(inputs[1])
    assert X is not None

    def select(x: Array) -> Array:
        return np.take(x, places, axis=-1).reshape(*(x.shape[:-1] or (1,)), len(places))

    return [move(X, select)]


def _binarizer(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = known_elements(inputs[0])
    threshold = node.attributes.get("threshold", 0.0)
    return [np.asarray(threshold < X).astype(X.dtype)]


def _feature_vectorizer(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    parts = [_in_float(each) for each in inputs]
    parts = [each.moved(lambda x: x.reshape(1, -1)) if len(each.shape) == 1 else each for each in parts]
    sizes = [each.shape[1] for each in parts]
    if node.attributes.get("inputdimensions", sizes) != sizes:
        raise Unsupported("FeatureVectorizer with inputdimensions that are not those of the inputs")
    return [stack(parts, 1, joins=True)]


def _imputer(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = known_elements(inputs[0])
    given = node.attributes
    kind = "float" if is_computed(X.dtype) else "int64"
    replaced = given.get(f"replaced_value_{kind}", 0)
    values = np.array(given[f"imputed_value_{kind}s"], X.dtype)
    is_replaced = np.isnan(X) if replaced != replaced else X.dtype.type(replaced) == X  # noqa: PLR0124
    return [np.where(is_replaced, values, X)]


_DEFAULT_LABELS: Mapping[str, Any] = {"strings": "_Unused", "int64s": -1, "floats": -0.0, "tensor": None}


def _label_encoder(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Map each element by parallel lists of keys and values. The last of equal keys counts, and NaN equals NaN."""
    given = node.attributes
    X = known_elements(inputs[0])
    if node.opset < 2:
        return _encode_classes(node, X)
    keys = next(given[name] for name in given if name.startswith("keys_"))
    kind = next(name.removeprefix("values_") for name in given if name.startswith("values_"))
    values = given[f"values_{kind}"]
    default = given.get(f"default_{kind.removesuffix('s')}", _DEFAULT_LABELS[kind])
    if isinstance(values, np.ndarray):
        fallback = "_Unused" if values.dtype.kind == "O" else -1 if values.dtype.kind in "iu" else -0.0
        default, dtype = fallback if default is None else np.asarray(default).reshape(-1)[0], values.dtype
    else:
        dtype = np.dtype({"strings": object, "int64s": np.int64, "floats": np.float32}[kind])
    names = list(keys.flat) if isinstance(keys, np.ndarray) else keys
    has_nan = any(_key(element) == "NaN" for element in X.flat if not isinstance(element, str))
    if has_nan and node.opset < 4:
        raise Unsupported("LabelEncoder of NaN below version 4")
    table = {_key(key): value for key, value in zip(names, values, strict=True)}
    return [_look_up(map(_key, X.flat), table, default, dtype).reshape(X.shape)]


def _look_up(keys: Iterable[Any], table: Mapping[Any, Any], default: Any, dtype: Any) -> Array:
    """Return the values of keys as a vector, with a default for a key that the table lacks."""
    found = [table.get(key, default) for key in keys]
    return object_array(found, (len(found),)) if np.dtype(dtype).kind == "O" else np.array(found, dtype)


def _key(element: Any) -> Any:
    """Return an element as a key of a table: numbers of all types, and one NaN."""
    if isinstance(element, str):
        return element
    number = element.item() if isinstance(element, np.generic) else element
    return "NaN" if number != number else number  # noqa: PLR0124


def _encode_classes(node: Node, X: Array) -> list[Tensor]:
    """Map strings to their places in a list of classes, or places to strings."""
    classes = node.attributes["classes_strings"]
    given = node.attributes
    pairs = list(enumerate(classes))
    return [_translate(X, {name: place for place, name in reversed(pairs)}, dict(pairs), given)]


def _translate(X: Array, numbers: Mapping[str, int], names: Mapping[int, str], given: Mapping[str, Any]) -> Array:
    """Return the numbers of texts, or the texts of numbers; the attributes state the default of both."""
    if X.dtype.kind == "O":
        return _look_up(X.flat, numbers, given.get("default_int64", -1), np.int64).reshape(X.shape)
    return _look_up(map(int, X.flat), names, given.get("default_string", "_Unused"), object).reshape(X.shape)


def _category_mapper(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = known_elements(inputs[0])
    given = node.attributes
    pairs = list(zip(given["cats_strings"], given["cats_int64s"], strict=True))
    numbers = dict(pairs)
    names = {number: name for name, number in pairs}
    if min(len(numbers), len(names)) < len(pairs):
        raise Unsupported("CategoryMapper with a category twice")
    return [_translate(X, numbers, names, given)]


def _one_hot_encoder(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = known_elements(inputs[0])
    given = node.attributes
    categories = given.get("cats_strings") or given.get("cats_int64s") or []
    if X.dtype.kind != "O":
        if not np.isfinite(X.astype(np.float64)).all():
            raise Unsupported("OneHotEncoder of an infinity or NaN")
        X = X.astype(np.int64)
    Y = np.array([[element == each for each in categories] for element in X.flat], np.float32)
    if not given.get("zeros", 1) and not Y.any(axis=-1).all():
        raise Unsupported("OneHotEncoder of a missing category")
    return [Y.reshape(*X.shape, len(categories))]


def _scaler(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    return [(_in_float(inputs[0]) - _exact(node.attributes["offset"])) * _exact(node.attributes["scale"])]


def _normalizer(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Normalizer. Runtimes take magnitudes in L1 and keep signs in L2; a row with a negative number is open.

    The largest element of a row with NaN is unspecified, so that all other elements of the row are open for MAX.
    """
    X = _in_float(inputs[0])
    norm = node.attributes.get("norm", "MAX")
    if norm == "MAX":
        divisor = X.extreme([-1], largest=True, keepdims=True)
    else:
        divisor = X.sum([-1], keepdims=True) if norm == "L1" else (X * X).sum([-1], keepdims=True)
    is_zero = divisor.value == 0
    divisor = Enclosure(np.where(is_zero, 1.0, divisor.value), np.where(is_zero, 0.0, divisor.error), FLOAT)
    Y = X / divisor
    if norm == "L2":
        Y = admit("Normalizer by L2", quotient=lambda: X / sqrt(divisor), root=lambda: _root(X * X / divisor))
    is_open = np.broadcast_to((X.value < 0).any(axis=-1, keepdims=True), Y.shape)
    if norm == "MAX":
        is_nan = np.isnan(X.value)
        is_open = is_open | (is_nan.any(axis=-1, keepdims=True) & ~is_nan)
    return [Y.leave_open(is_open, "norm of signed numbers")]


def _root(squares: Enclosure) -> Enclosure:
    """Return the square roots of computed squares, which are not negative also where their error exceeds them."""
    result = sqrt(squares)
    limit = np.sqrt(squares.value + squares.error) * (1 + np.finfo(FLOAT).eps)
    return replace(result, error=np.where(squares.value <= squares.error, limit, result.error))


# Scores


def _transformed(scores: Enclosure, name: str) -> Enclosure:
    """Return scores after `post_transform`. The result of a score that overflows may be NaN.

    Raises:
        Unsupported: the page does not define the transformation.
    """
    if name in ("", "NONE"):
        return scores
    if name == "LOGISTIC":
        return sigmoid(scores, name).undetermined(np.isinf(scores.error))
    if name == "SOFTMAX":
        return softmax(scores, [1]).undetermined(np.asarray(np.isinf(scores.error).any(axis=1, keepdims=True)))
    raise Unsupported(f"post_transform {name}, which the page does not define")


def _linear(node: Node, X: Enclosure, targets: int) -> Enclosure:
    weights = np.array(node.attributes["coefficients"], np.float64).reshape(targets, -1)
    Y = matmul(X, _exact(weights.T))
    intercepts = node.attributes.get("intercepts")
    return Y if not intercepts else Y.plus(_exact(intercepts), is_fused=True)


def _rows(given: Tensor) -> Enclosure:
    X = _in_float(given)
    return X if len(X.shape) == 2 else X.moved(lambda x: x.reshape(1, -1))


def _linear_regressor(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    Y = _linear(node, _rows(inputs[0]), node.attributes.get("targets", 1))
    return [_transformed(Y, node.attributes.get("post_transform", "NONE"))]


def _linear_classifier(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = node.attributes
    labels = _class_labels(node)
    X = _rows(inputs[0])
    if len(labels) < 2 or len(given["coefficients"]) != len(labels) * X.shape[1]:
        raise Unsupported("LinearClassifier without coefficients for each class, whose scores the page does not state")
    scores = _linear(node, X, len(labels))
    return [_top_class(scores, labels), _transformed(scores, given.get("post_transform", "NONE"))]


def _top_class(scores: Enclosure, labels: Sequence[Any]) -> Tensor:
    """Return the labels of the largest scores; a label that rounding or a tie decides is open.

    Raises:
        Unsupported: such a label is a string.
    """
    return _labels_at(*find_largest(scores, 1, 1), labels)


def _class_labels(node: Node) -> Sequence[Any]:
    """Return the labels of the classes, which some operators name `ints` and others `int64s`."""
    given = (node.attributes.get(f"classlabels_{kind}") for kind in ("ints", "int64s", "strings"))
    return next(filter(None, given), ())


def _labels_at(places: Array, is_certain: Array, labels: Sequence[Any]) -> Tensor:
    """Return the labels at places; every label is admissible where a place is not certain."""
    if isinstance(labels[0], str):
        if not is_certain.all():
            raise Unsupported("rounding of a score, or a tie, decides a label")
        return object_array((labels[place] for place in places), places.shape)
    found = np.array(labels, np.int64)[places]
    if is_certain.all():
        return found
    middle = (max(labels) + min(labels)) / 2
    half = (max(labels) - min(labels)) / 2
    value = np.where(is_certain, found, middle)
    error = np.where(is_certain, 0.0, half)
    return Enclosure(value, error, np.dtype(np.int64), unspecified=~is_certain, silences=("label by rounding",))


# Support vectors


def _kernel(node: Node, X: Enclosure) -> Enclosure:
    """Return the kernel of each sample and each support vector, as in LIBSVM, whose names the attributes have.

    Raises:
        Unsupported: the kernel is unknown.
    """
    given = node.attributes
    kind = given.get("kernel_type", "LINEAR")
    vectors = _exact(given["support_vectors"])
    vectors = vectors.moved(lambda v: v.reshape(-1, X.shape[1]))
    gamma, offset, degree = given.get("kernel_params") or (0.0, 0.0, 0.0)
    products = matmul(X, vectors.moved(np.transpose))
    if kind == "LINEAR":
        return products
    if kind == "RBF":
        return exp(-gamma * squared_distances(X, vectors))
    scaled = gamma * products + offset
    if kind == "SIGMOID":
        return tanh(scaled)
    if kind == "POLY":
        return tensor(ELEMENTWISE_ENCLOSURES["Pow"](node, [scaled, np.array(degree)])[0])
    raise Unsupported(f"the kernel {kind}")


def _svm_regressor(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose SVMRegressor: sums of kernels times coefficients, and for one class the sign of such a sum."""
    given = node.attributes
    X = _rows(inputs[0])
    if not given.get("n_supports", 0) and given.get("kernel_type", "LINEAR") != "LINEAR":
        raise Unsupported("SVMRegressor with a kernel and without support vectors")
    kernels = _kernel(node, X) if given.get("n_supports", 0) else X
    sums = matmul(kernels, _exact(given["coefficients"]).moved(lambda c: c.reshape(-1, 1)))
    Y = sums.plus(_exact(given["rho"][:1]), is_fused=True)
    if given.get("one_class", 0):
        is_certain = np.abs(Y.value) > Y.error
        sign = Enclosure(np.where(is_certain, np.sign(Y.value), 0.0), np.where(is_certain, 0.0, 1.0), FLOAT)
        return [sign.leave_open(~is_certain, "sign of a sum")]
    return [_transformed(Y, given.get("post_transform", "NONE"))]


def _svm_classifier(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose SVMClassifier: each pair of classes has a decision, and the class with most of them wins.

    Raw scores are open, and from four classes on also their number: the page has one for each class, and the decisions
    belong to pairs of classes. With probabilities, the page does not state whether they decide the label.

    Raises:
        Unsupported: the page does not state the decisions.
    """
    given = node.attributes
    X = _rows(inputs[0])
    labels = _class_labels(node)
    counts = given.get("vectors_per_class") or []
    if len(counts) < 2 or len(labels) != len(counts) or min(given["coefficients"]) >= 0:
        raise Unsupported("SVMClassifier without support vectors, or without negative coefficients")
    kernels = _kernel(node, X)
    ends = np.cumsum(counts)
    coefficients = np.array(given["coefficients"], np.float64).reshape(len(counts) - 1, -1)
    votes = np.zeros((X.shape[0], len(counts)))
    is_certain = np.ones(X.shape[0], bool)
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    decisions = []
    for (i, j), rho in zip(pairs, given["rho"], strict=True):
        weights = np.zeros(coefficients.shape[1])
        for own, other in ((i, j - 1), (j, i)):
            place = slice(ends[own] - counts[own], ends[own])
            weights[place] = coefficients[other, place]
        decision = matmul(kernels, _exact(weights)).plus(_exact(rho), is_fused=True)
        votes[np.arange(len(votes)), np.where(decision.value > 0, i, j)] += 1
        is_certain &= np.abs(decision.value) > decision.error
        decisions.append(decision)
    winners = votes.argmax(1)
    scores = None
    if len(counts) < 4:
        scores = _exact(0 * votes).leave_open(np.ones(votes.shape, bool), "scores of pairs")
    is_certain &= (votes == votes.max(1, keepdims=True)).sum(1) == 1
    if given.get("prob_a"):
        probabilities = _probabilities(decisions, given["prob_a"], given["prob_b"], len(counts))
        likeliest, is_known = find_largest(probabilities, 1, 1)
        is_certain &= is_known & (likeliest == winners)
        scores = _transformed(probabilities, given.get("post_transform", "NONE"))
        is_open = np.any([~np.isfinite(each.value) | ~np.isfinite(each.error) for each in decisions], axis=0)
        scores = scores.leave_open(np.repeat(is_open.reshape(-1, 1), len(counts), 1), "probability of a decision")
        if isinstance(labels[0], str) and not is_certain.all():
            return [None, scores]
    return [_labels_at(winners, is_certain, labels), scores]


def _probabilities(decisions: Sequence[Enclosure], a: Sequence[float], b: Sequence[float], classes: int) -> Enclosure:
    """Return the probabilities of two classes, by the function of Platt, or the range of those of more classes.

    LIBSVM approximates them by an iteration, which ends when a derivative is below 0.005 / classes. For two classes,
    the distance from the result is then at most twice this number.
    """
    if classes > 2:
        half = np.full((len(decisions[0].value), classes), 0.5)
        return Enclosure(half, half, FLOAT)
    first = sigmoid(-(decisions[0] * _exact(a[0]) + _exact(b[0])))
    value = np.stack([first.value, 1 - first.value], 1)
    return Enclosure(value, np.stack([first.error] * 2, 1) + 0.005, FLOAT)


# Maps


def _zip_map(node: Node, inputs: Sequence[Any]) -> list[Any]:
    scores = known_elements(inputs[0])
    labels = _class_labels(node)
    return [[dict(zip(labels, map(float, row), strict=True)) for row in scores.reshape(-1, scores.shape[-1])]]


def _dictionary(given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, dict):
        raise Unsupported("the map is not known")
    return given


def _dict_vectorizer(node: Node, inputs: Sequence[Any]) -> list[Any]:
    """Return the values of the keys of a vocabulary, and 0 or an empty text for a key that the map lacks."""
    X = _dictionary(inputs[0])
    keys = node.attributes.get("string_vocabulary") or node.attributes.get("int64_vocabulary") or []
    if not X or not {*X} <= {*keys}:
        raise Unsupported("DictVectorizer of no key, or of a key outside of the vocabulary")
    kind = type(next(iter(X.values())))
    found = [X.get(key, kind()) for key in keys]
    dtype = np.dtype({int: np.int64, float: np.float32}.get(kind, kind))
    return [object_array(found, (1, len(keys))) if kind is str else np.array([found], dtype)]


def _cast_map(node: Node, inputs: Sequence[Any]) -> list[Any]:
    """Return the values of a map in the order of its keys, or at the places that the keys state."""
    X = _dictionary(inputs[0])
    given = node.attributes
    to = given.get("cast_to", "TO_FLOAT")
    if to == "TO_STRING" or any(isinstance(value, str) for value in X.values()):
        raise Unsupported("CastMap of texts, whose format the page does not state")
    values = [X[key] for key in sorted(X)]
    if given.get("map_form", "DENSE") == "SPARSE":
        size = given.get("max_map", 1)
        if any(not 0 <= key < size for key in X):
            raise Unsupported("CastMap of a key outside of the tensor")
        values = [X.get(key, 0) for key in range(size)]
    return [np.array([values], np.float32 if to == "TO_FLOAT" else np.int64)]


MAP_OPERATORS: Mapping[str, Callable[[Node, Sequence[Any]], list[Any]]] = {
    "ZipMap": _zip_map,
    "DictVectorizer": _dict_vectorizer,
    "CastMap": _cast_map,
}
"""The operators of maps, by op_type. A map is a `dict` of numbers and texts.

A tensor is one row here, as ONNX Runtime returns it. The page of DictVectorizer has one dimension, and that of CastMap
has no shape, so `enclose_part` admits one dimension too.
"""


# Trees

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")


@dataclass(frozen=True)
class _Trees:
    """Trees with inner nodes and leaves in one numbering.

    Attributes:
        roots: the root of each tree.
        features: the feature that each inner node compares.
        splits: the number that it is compared with.
        modes: the comparison, a position in `_MODES`; -1 for a leaf.
        children: the next node if the comparison is false, and if it is true.
        follows_nan: whether NaN takes the true branch, whatever the mode; `nodes_missing_value_tracks_true` decides.
        members: the set of each node with `BRANCH_MEMBER`.
        weights: the votes of each leaf for each target; NaN for no vote.
    """

    roots: Array
    features: Array
    splits: Array
    modes: Array
    children: Array
    follows_nan: Array
    members: Mapping[int, Array]
    weights: Array

    def votes(self, X: Array) -> Array:
        """Return the votes (samples, trees, targets) of the leaves that samples reach.

        Raises:
            Unsupported: the nodes are no trees.
        """
        at = np.broadcast_to(self.roots, (len(X), len(self.roots))).copy()
        for _ in range(len(self.modes) + 1):
            is_inner = self.modes[at] >= 0
            if not is_inner.any():
                return np.asarray(self.weights[at])
            x = np.take_along_axis(X, np.where(is_inner, self.features[at], 0), axis=1)
            at = np.where(is_inner, self.children[at, self._is_true(x, at).astype(int)], at)
        raise Unsupported("the nodes of a tree ensemble are no trees")

    def _is_true(self, x: Array, at: Array) -> Array:
        y = self.splits[at]
        mode = self.modes[at]
        results = [x <= y, x < y, x >= y, x > y, x == y, x != y]
        chosen = np.select([mode == number for number in range(6)], results, default=False)
        for number, members in self.members.items():
            chosen = np.where(at == number, np.isin(x, members), chosen)
        return np.where(np.isnan(x), self.follows_nan[at], chosen)


def _attribute(node: Node, name: str, default: Any = None) -> Array:
    value = node.attributes.get(f"{name}_as_tensor", node.attributes.get(name, default))
    return np.asarray(value)


def _read_trees(node: Node, kind: str, targets: int) -> _Trees:
    """Return the trees of TreeEnsembleClassifier or TreeEnsembleRegressor, whose votes begin with `kind`.

    Raises:
        Unsupported: the attributes contradict each other.
    """
    given = node.attributes
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    number = {key: place for place, key in enumerate(keys)}
    modes = np.array([-1 if mode == "LEAF" else _MODES.index(mode) for mode in given["nodes_modes"]])
    children = np.zeros((len(keys), 2), np.int64)
    for place, (tree, _) in enumerate(keys):
        if modes[place] >= 0:
            ends = given["nodes_falsenodeids"][place], given["nodes_truenodeids"][place]
            children[place] = [number[tree, end] for end in ends]
    is_inner = modes >= 0
    reached = set(children[is_inner].ravel().tolist())
    roots = [place for place in range(len(keys)) if place not in reached]
    below = np.array(roots, np.int64)
    count = 0
    while below.size and count <= len(keys):
        count += len(below)
        below = children[below[is_inner[below]]].ravel()
    if len(number) < len(keys) or len(roots) != len({tree for tree, _ in keys}) or count != len(keys):
        raise Unsupported("a tree ensemble whose nodes are no trees with one root each")
    weights = np.full((len(keys), targets), np.nan)
    votes = zip(
        given[f"{kind}_treeids"],
        given[f"{kind}_nodeids"],
        given[f"{kind}_ids"],
        _attribute(node, f"{kind}_weights").tolist(),
        strict=True,
    )
    for tree, identity, target, weight in votes:
        place = number[tree, identity]
        if not np.isnan(weights[place, target]):
            raise Unsupported("a leaf with two votes for a target")
        weights[place, target] = weight
    follows = np.array(given.get("nodes_missing_value_tracks_true") or [0] * len(keys), bool)
    splits = _attribute(node, "nodes_values").astype(np.float64)
    features = np.array(given["nodes_featureids"])
    return _Trees(np.array(roots), features, splits, modes, children, follows, {}, weights)


def _tree_scores(node: Node, trees: _Trees, given: Tensor, aggregate: str, dtype: np.dtype[Any]) -> Enclosure:
    """Return the votes of all trees for each target, added or as the mean, the smallest or the largest."""
    known = known_elements(given)
    X = known.astype(np.float64) if known.ndim == 2 else known.astype(np.float64).reshape(1, -1)
    votes = trees.votes(X)
    is_mixed = known.dtype == np.float64 and dtype == FLOAT and "nodes_values" in node.attributes
    if is_mixed and not np.array_equal(trees.votes(X.astype(FLOAT).astype(np.float64)), votes, equal_nan=True):
        raise Unsupported("a comparison in double and one in float differ")
    if aggregate in ("MIN", "MAX"):
        if np.isnan(votes).all(axis=1).any():
            raise Unsupported("a target without a vote")
        scores = Enclosure.exact((np.nanmin if aggregate == "MIN" else np.nanmax)(votes, axis=1)).as_type(dtype)
    else:
        count = votes.shape[1]
        summands = np.nan_to_num(votes)
        value = summands.sum(axis=1)
        exact = Enclosure.exact(value, dtype)
        scores = exact.from_terms(value, np.abs(summands).sum(axis=1), exact.error, count)
        scores = scores.over(scores.constant(count)) if aggregate == "AVERAGE" else scores
    base = _attribute(node, "base_values", [])
    return scores.plus(_exact(base).with_dtype(dtype), is_fused=True) if base.size else scores


def _tree_regressor(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = node.attributes
    trees = _read_trees(node, "target", given.get("n_targets", 1))
    scores = _tree_scores(node, trees, inputs[0], given.get("aggregate_function", "SUM"), FLOAT)
    return [_transformed(scores, given.get("post_transform", "NONE"))]


def _tree_classifier(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = node.attributes
    labels = _class_labels(node)
    if len(labels) == 2 and set(given["class_ids"]) == {1}:
        return _binary_tree_classifier(node, inputs, labels)
    if len(labels) < 2 or len(set(given["class_ids"])) < len(labels):
        raise Unsupported("a tree ensemble without votes for each class, whose scores the page does not state")
    scores = _tree_scores(node, _read_trees(node, "class", len(labels)), inputs[0], "SUM", FLOAT)
    return [_top_class(scores, labels), _transformed(scores, given.get("post_transform", "NONE"))]


def _binary_tree_classifier(node: Node, inputs: Sequence[Tensor], labels: Sequence[Any]) -> list[Tensor]:
    """Enclose a classifier of two classes of which only the second has votes.

    The page does not state the score of the first class: 0, or a complement of the other score by the convention of
    converters. Therefore this score is open, and so is a label on which the readings differ. With a vote below 0, the
    second class wins by a score above 0, and otherwise surely by a score above a half.

    Raises:
        Unsupported: the page does not state the score of the second class either.
    """
    given = node.attributes
    transform = given.get("post_transform", "NONE")
    if transform not in ("NONE", "LOGISTIC") or _attribute(node, "base_values", []).size:
        raise Unsupported("a tree ensemble with votes for one of two classes, whose scores the page does not state")
    scores = _tree_scores(node, _read_trees(node, "class", 2), inputs[0], "SUM", FLOAT)
    second = scores.value[:, 1]
    error = scores.error[:, 1]
    threshold = 0.0 if np.min(_attribute(node, "class_weights")) < 0 else 0.5
    is_certain = (second - error > threshold) | (second + error < 0)
    is_open = np.broadcast_to([True, False], scores.shape)
    label = None
    if is_certain.all() or not isinstance(labels[0], str):
        label = _labels_at((second > 0).astype(int), is_certain, labels)
    return [label, _transformed(scores, transform).leave_open(is_open, "score of the first class")]


def _tree_ensemble(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose TreeEnsemble, whose leaves have numbers of their own."""
    given = node.attributes
    X = inputs[0]
    assert X is not None
    inner = len(given["nodes_featureids"])
    leaves = np.array(given["leaf_targetids"])
    modes = [*given["nodes_modes"].tolist(), *[-1] * len(leaves)]
    ends = (
        np.array(given[f"nodes_{way}nodeids"]) + inner * np.array(given[f"nodes_{way}leafs"])
        for way in ("false", "true")
    )
    children = np.pad(np.stack(list(ends), -1), [(0, len(leaves)), (0, 0)])
    weights = np.full((inner + len(leaves), given["n_targets"]), np.nan)
    weights[inner + np.arange(len(leaves)), leaves] = given["leaf_weights"]
    follows = np.array(given.get("nodes_missing_value_tracks_true") or [0] * inner, bool)
    sets = np.asarray(given.get("membership_values", []), np.float64)
    pieces = np.split(sets, np.flatnonzero(np.isnan(sets)))
    members = [number for number, mode in enumerate(modes) if mode == _MODES.index("BRANCH_MEMBER")]
    padded = (np.pad(each, (0, len(leaves))) for each in (given["nodes_featureids"], given["nodes_splits"], follows))
    features, splits, follows = padded
    roots = np.array(given["tree_roots"])
    of_members = dict(zip(members, pieces, strict=False))
    doubles = splits.astype(np.float64)
    trees = _Trees(roots, features, doubles, np.array(modes), children, follows, of_members, weights)
    aggregate = ("AVERAGE", "SUM", "MIN", "MAX")[given.get("aggregate_function", 1)]
    name = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[given.get("post_transform", 0)]
    return [_transformed(_tree_scores(node, trees, X, aggregate, X.dtype), name)]


MACHINE_LEARNING_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "ArrayFeatureExtractor": _array_feature_extractor,
    "Binarizer": _binarizer,
    "CategoryMapper": _category_mapper,
    "FeatureVectorizer": _feature_vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot_encoder,
    "SVMClassifier": _svm_classifier,
    "SVMRegressor": _svm_regressor,
    "Scaler": _scaler,
    "TreeEnsemble": _tree_ensemble,
    "TreeEnsembleClassifier": _tree_classifier,
    "TreeEnsembleRegressor": _tree_regressor,
}
"""The function that encloses the outputs of each operator of ai.onnx.ml, by op_type."""
