"""Rows of features that reach a split of a decision tree with the number that the split compares.

Only there do `<` and `<=` give different leaves. A row of random numbers rarely reaches one, also if its numbers are
those of other splits.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.helper import get_attribute_value

from conformance.exact.models.arrays import array_of, is_computed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
"""The modes of a split, in the order of the numbers that TreeEnsemble-5 has for them."""

_HOLDS = {
    "LEQ": operator.le,
    "LT": operator.lt,
    "GTE": operator.ge,
    "GT": operator.gt,
    "EQ": operator.eq,
    "NEQ": operator.ne,
}


@dataclass(frozen=True)
class Split:
    """A node of a tree that compares a feature with a number.

    Attributes:
        feature: the number of the feature.
        mode: one of `MODES`.
        number: the number.
        parent: the place of the split above, and whether the branch to this one is that of a comparison that holds;
            None for a root.
    """

    feature: int
    mode: str
    number: float
    parent: tuple[int, bool] | None

    def leads(self, value: float, *, holds: bool) -> bool:
        """Return whether a value of the feature takes the branch of a comparison that holds, or the other."""
        return self.mode in _HOLDS and bool(_HOLDS[self.mode](value, self.number)) == holds


def splits_of(node: onnx.NodeProto) -> list[Split]:
    """Return the splits of an operator of decision trees; none for another operator, or if the attributes disagree."""
    return _splits_in(node.SerializeToString(deterministic=True))


@lru_cache(maxsize=2)
def _splits_in(content: bytes) -> list[Split]:
    """Return the splits of a serialized node; each probe of a node asks for them, and a forest may have a million."""
    given = {each.name: get_attribute_value(each) for each in onnx.NodeProto.FromString(content).attribute}
    try:
        return _splits(given)
    except (KeyError, IndexError, ValueError, TypeError):
        return []


def _splits(given: Mapping[str, Any]) -> list[Split]:
    features = given["nodes_featureids"]
    if "nodes_splits" in given:
        modes = [MODES[number] for number in array_of(given["nodes_modes"]).ravel()]
        numbers = array_of(given["nodes_splits"]).ravel()
        leaves = [given["nodes_falseleafs"], given["nodes_trueleafs"]]
        ends = [given["nodes_falsenodeids"], given["nodes_truenodeids"]]
        below = {
            ends[side][place]: (place, bool(side))
            for side in (0, 1)
            for place in range(len(features))
            if not leaves[side][place]
        }
        places: Sequence[Any] = range(len(features))
    else:
        modes = [mode.decode().removeprefix("BRANCH_") for mode in given["nodes_modes"]]
        tensor = given.get("nodes_values_as_tensor")
        numbers = given["nodes_values"] if tensor is None else array_of(tensor).ravel()
        trees = given["nodes_treeids"]
        ends = [given["nodes_falsenodeids"], given["nodes_truenodeids"]]
        below = {
            (trees[place], ends[side][place]): (place, bool(side))
            for side in (0, 1)
            for place, mode in enumerate(modes)
            if mode != "LEAF"
        }
        places = list(zip(trees, given["nodes_nodeids"], strict=True))
    rows = zip(features, modes, numbers, places, strict=True)
    return [Split(int(feature), mode, float(number), below.get(place)) for feature, mode, number, place in rows]


def reach_splits(node: onnx.NodeProto, X: Array, bits: Array) -> Array:
    """Return features in which every other row reaches a split with its number; other operators keep theirs.

    Args:
        node: the node.
        X: the features, of one row or of several.
        bits: pseudo-random bits, as many as rows or more.
    """
    splits = splits_of(node) if is_computed(X.dtype) and X.ndim in (1, 2) else []
    inner = [place for place, split in enumerate(splits) if split.mode in _HOLDS]
    if not inner:
        return X
    rows = np.array(X, ndmin=2)
    for place in range(int(bits.flat[0] % 2), len(rows), 2):
        target = inner[int(bits.flat[place] % len(inner))]
        for feature, value in _features_towards(splits, target, X.dtype):
            if feature < rows.shape[1]:
                rows[place, feature] = value
    return rows.reshape(X.shape)


def _features_towards(splits: Sequence[Split], target: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the features that lead to a split, with values of a type, the number of the split among them."""
    path: list[tuple[Split, bool]] = []
    above = splits[target].parent
    while above is not None and len(path) < len(splits):
        path.append((splits[above[0]], above[1]))
        above = path[-1][0].parent
    wanted = splits[target]
    for feature in dict.fromkeys([wanted.feature, *(split.feature for split, _ in path)]):
        own = [(split, holds) for split, holds in path if split.feature == feature]
        numbers = [wanted.number] if feature == wanted.feature else [split.number for split, _ in own]
        exact = [dtype.type(number) for number in numbers]
        others = [np.nextafter(each, dtype.type(end)) for each in exact for end in (-np.inf, np.inf)]
        for value in exact if feature == wanted.feature else [*exact, *others]:
            if all(split.leads(float(value), holds=holds) for split, holds in own):
                yield feature, value
                break
