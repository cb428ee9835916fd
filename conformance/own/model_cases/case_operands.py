"""Elements of the operands of a part: those of the model, those of the user's inputs, and hard ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.factors.covering_array import Declaration, covering_array
from conformance.exact.declarations.declaration_tables import Rule
from conformance.exact.declarations.exact_sums import sparse_numbers
from conformance.exact.declarations.hard_values import (
    MODES,
    PROBE_MODES,
    SMALL_KINDS,
    elements,
    free_operands,
    hard_elements,
    hard_numbers_of,
    input_places,
    operand_rule,
)
from conformance.exact.models.arrays import is_computed, is_text
from conformance.exact.models.graphs import names_taken_by
from conformance.own.graphs.model_inputs import TEXTS, random_texts
from conformance.own.graphs.nested_nodes import control_variants, drawn_numbers, inner_nodes, ordinary_controls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.model_cases.parts import Part

REGION_PROBES = (1,)
"""The probes of a region: numbers that stay finite, because a fused kernel may overflow elsewhere."""

REGION_PERIOD = 16
"""One element in so many differs from 0 in the sparse elements of a region: sums of few numbers have narrow bounds."""

OPERATORS_OF_STEPS = frozenset(("DFT", "GRU", "LSTM", "RNN", "STFT"))
"""Operators that compute many sums from each other; like a region, they have numbers that stay finite."""

MAX_PAIRED_OPERANDS = 16
"""Number of operands with hard elements up to which each pair of their probes occurs."""

MAX_PROBED_OPERANDS = 128
"""Number of operands with hard elements above which a node has the probes of a region, which are fewer."""

SINGLE_PROBES = (0, 1, 3, 4)
"""The probes of a node whose operands all have the same probe: a few hard numbers, halves, only hard ones, and wide."""

ORDINARY = MODES.index("near 1")

MAX_DRAWS = 24
"""Number of further draws of the numbers of a node with nodes inside, of which those with other shapes are kept."""


class Operands:
    """The operands of a part with their elements.

    Args:
        part: the part, with its final sizes.
        has_values: whether constants have the elements of the model. Otherwise they are canonical.
        in_pairs: whether each pair of kinds of hard elements of two operands occurs.
    """

    def __init__(self, part: Part, *, has_values: bool, in_pairs: bool = True) -> None:
        self._part = part
        self._in_pairs = in_pairs
        self._has_values = has_values
        self._nodes = [*inner_nodes(part.model, part.nodes)] if part.is_nested else part.nodes
        self._base = {name: self._ordinary(name) for name in part.operands}
        has_steps = not OPERATORS_OF_STEPS.isdisjoint(node.op_type for node in self._nodes)
        self._is_finite = part.is_region or part.is_nested or has_steps

    @property
    def constants(self) -> dict[str, Array]:
        """The elements of the constants."""
        return {name: self._base[name] for name, value in self._part.operands.items() if value.is_constant}

    @property
    def _fed(self) -> dict[str, Array]:
        return {name: self._base[name] for name, value in self._part.operands.items() if not value.is_constant}

    def data_sets(self) -> Iterator[dict[str, Array]]:
        """Yield the elements of the other operands: those on the user's inputs, ordinary, hard and sparse ones."""
        own = {name: value.array for name, value in self._part.operands.items() if value.is_given}
        if own:
            yield {name: own.get(name, array) for name, array in self._fed.items()}  # type: ignore[misc]
        if self._has_ordinary:
            yield self._fed
        variants = self._control_variants
        yield from ({**self._fed, **each} for each in variants)
        for probes in self._probes():
            hard = self._hard_data_set(probes)
            yield hard
            yield from ({**hard, **each} for each in variants)
        if self._has_sparse:
            yield self._sparse_data_set()
        if self._part.is_nested:
            yield from map(self._drawn_data_set, range(MAX_DRAWS))

    def data_set_count(self) -> int:
        """Return the number of data sets, without their elements."""
        has_own = any(value.is_given for value in self._part.operands.values())
        probes = len(self._probes())
        variants = len(self._control_variants)
        return has_own + self._has_ordinary + variants + probes * (1 + variants) + self._has_sparse

    @cached_property
    def _control_variants(self) -> list[dict[str, Array]]:
        """Other elements of the operands that decide which subgraph runs, and how often."""
        return control_variants(self._part.tested, self._part.opset, self._fed)

    def _drawn_data_set(self, number: int) -> dict[str, Array]:
        """Return further ordinary numbers of the operands that do not determine shapes."""
        free = {name: array for name, array in self._fed.items() if name not in self._part.kept}
        return {**self._fed, **drawn_numbers(free, number)}

    @property
    def _has_sparse(self) -> bool:
        return self._part.is_region and any(self._can_be_sparse(name) for name in self.kinds)

    def _can_be_sparse(self, name: str) -> bool:
        return self.kinds[name][1] in ("number", "positive") and is_computed(self._base[name].dtype)

    def _sparse_data_set(self) -> dict[str, Array]:
        """Return sparse elements of the operands that have any numbers: bounds of their sums are below the values."""
        places = {name: place for place, name in enumerate(self.kinds)}
        return {
            name: sparse_numbers(f"X{places[name]}/sparse", array, REGION_PERIOD)
            if name in places and self._can_be_sparse(name)
            else array
            for name, array in self._fed.items()
        }

    @property
    def _has_ordinary(self) -> bool:
        return self._is_finite or not self.kinds

    @cached_property
    def kinds(self) -> dict[str, tuple[onnx.NodeProto, str | Rule]]:
        """The node that takes an operand, and the kind of its elements, for each operand that has hard elements."""
        fixed = {*self.constants, *self._part.kept}
        found: dict[str, tuple[onnx.NodeProto, str | Rule]] = {}
        for node in self._nodes:
            own = {name: self._base[name] for name in node.input if name in self._base}
            outer = {*fixed, *node.input} - (own.keys() - fixed)
            for name, kind in free_operands(node, self._part.opset, own, outer).items():
                found.setdefault(name, (node, kind))
        return found

    def _probes(self) -> list[dict[str, int]]:
        """Return the numbers of probes of the operands, so that each probe, or each pair of two operands, occurs."""
        if not self.kinds:
            return []
        if self._is_finite or len(self.kinds) > MAX_PROBED_OPERANDS:
            return [dict.fromkeys(self.kinds, probe) for probe in REGION_PROBES]
        counts = {name: self._modes(name, kind) for name, (_, kind) in self.kinds.items()}
        is_small = len(counts) <= MAX_PAIRED_OPERANDS
        if len(counts) == 1 or not self._in_pairs or not is_small:
            rounds = [n for n in range(max(counts.values())) if (self._in_pairs and is_small) or n in SINGLE_PROBES]
            return [{name: number % count for name, count in counts.items()} for number in rounds]
        return [dict(zip(counts, row, strict=True)) for row in _pairwise_rows(tuple(counts.values()))]

    def _modes(self, name: str, kind: str | Rule) -> int:
        """Return the number of probes that differ for an operand."""
        dtype = self._base[name].dtype
        if isinstance(kind, Rule) or dtype.kind == "b" or kind == "scale":
            return 2
        return 3 if kind in SMALL_KINDS else len(PROBE_MODES) - (dtype.kind in "iu")

    def _hard_data_set(self, probes: Mapping[str, int]) -> dict[str, Array]:
        """Return hard elements of the operands that have them, scales first, because ties of steps depend on them."""
        values = dict(self._base)
        places = {id(node): input_places(node) for node in self._nodes}
        for name, (node, kind) in sorted(self.kinds.items(), key=lambda each: each[1][1] != "scale"):
            try:
                hard = hard_numbers_of(node, self._part.opset, values)
            except KeyError:  # another node computes the scale of QuantizeLinear
                hard = []
            values[name] = hard_elements(node, values, places[id(node)][name], kind, probes[name], hard)
        return {name: values[name] for name in self._fed}

    @cached_property
    def _places(self) -> dict[str, tuple[onnx.NodeProto, int]]:
        """The first node that takes an operand, and the place of the operand there, by name."""
        found: dict[str, tuple[onnx.NodeProto, int]] = {}
        for node in (*self._nodes, *self._part.nodes):
            for place, name in enumerate(names_taken_by(node)):
                found.setdefault(name, (node, place))
        return found

    def _ordinary(self, name: str) -> Array:
        """Return the elements of an operand when it has no hard ones."""
        value = self._part.operands[name]
        if value.array is not None and (name in self._part.kept or (self._has_values and not value.is_given)):
            return value.array
        if name in (controls := ordinary_controls(self._part.tested)):
            return np.full(value.shape, controls[name]).astype(value.dtype)
        node, place = self._places[name]
        if is_text(value.dtype):
            others = () if node.op_type == "OneHotEncoder" else TEXTS  # a text that is no category can be an error
            return random_texts(f"{node.op_type}/X{place}", value.shape, self._nodes, others)
        kind = operand_rule(node, self._part.opset, place)
        if isinstance(kind, Rule):
            return self._from_rule(kind, node, place, value.dtype, value.shape)
        is_float = value.dtype.kind not in "biu"
        return elements(f"{node.op_type}/X{place}", value.dtype, value.shape, kind, ORDINARY if is_float else 0, ())

    def _from_rule(
        self, rule: Rule, node: onnx.NodeProto, place: int, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> Array:
        """Return elements that a rule allows: the first option, or indices from 0 on that differ."""
        options = [option for option in rule.options if not isinstance(option, str)]
        if options:
            return np.full(shape, options[0]).astype(dtype)
        if rule.columns:
            data = self._shape_of(node.input[0])
            sizes = data[: shape[-1]] or (1,)
            places = np.unravel_index(np.arange(int(np.prod(shape[:-1]))) % int(np.prod(sizes)), sizes)
            return np.stack(places, -1).reshape(shape).astype(dtype)
        if node.op_type.startswith(("Gather", "Scatter")) and place == 1:
            axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
            data = self._shape_of(node.input[0]) or shape
            grid = np.indices(shape)[axis if len(shape) == len(data) else -1]
            return (grid % max(data[axis], 1)).astype(dtype) if shape else np.zeros(shape, dtype)
        return np.zeros(shape, dtype) if not rule.low.isdigit() else np.full(shape, int(rule.low)).astype(dtype)

    def _shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of an operand; that of a scalar for a value that a node inside of another one makes."""
        return self._part.operands[name].shape if name in self._part.operands else ()


@cache
def _pairwise_rows(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return rows of numbers below the counts, so that each pair of numbers in two columns occurs."""
    rows = covering_array(
        Declaration({str(place): tuple(map(str, range(count))) for place, count in enumerate(counts)})
    )
    return [tuple(int(row[str(place)]) for place in range(len(counts))) for row in rows]


def hard_data_sets(part: Part) -> Iterator[dict[str, Array]]:
    """Yield elements of the operands that are no constants: those that have hard ones are ordinary or hard.

    All operands have the same kind of elements at a time, and the others keep their elements.
    """
    free = {name for name, (_, kind) in Operands(part, has_values=True).kinds.items() if isinstance(kind, str)}
    if free:
        values = {name: replace(each, array=None) if name in free else each for name, each in part.operands.items()}
        yield from Operands(replace(part, operands=values), has_values=True, in_pairs=False).data_sets()
