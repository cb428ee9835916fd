"""Elements of the operands of a part: those of the model, those of the user's inputs, and hard ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.declarations.node_operands import free_operands, hard_elements, hard_numbers_of, operand_rule
from conformance.declarations.probe_values import PROBE_MODES
from conformance.declarations.tables import Rule
from conformance.declarations.values import MODES, elements
from conformance.factors.covering_array import Declaration, covering_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx

    from conformance.model_cases.parts import Part
    from conformance.models.arrays import Array

REGION_PROBES = (1,)
"""The probes of a region: numbers that stay finite, because a fused kernel may overflow elsewhere."""

ORDINARY = MODES.index("near 1")


class Operands:
    """The operands of a part with their elements.

    Args:
        part: the part, with its final sizes.
        has_values: whether constants have the elements of the model. Otherwise they are canonical.
    """

    def __init__(self, part: Part, *, has_values: bool) -> None:
        self._part, self._has_values = part, has_values
        self._base = {name: self._ordinary(name) for name in part.operands}

    @property
    def constants(self) -> dict[str, Array]:
        """The elements of the constants."""
        return {name: self._base[name] for name, value in self._part.operands.items() if value.is_constant}

    @property
    def _fed(self) -> dict[str, Array]:
        return {name: self._base[name] for name, value in self._part.operands.items() if not value.is_constant}

    def data_sets(self) -> Iterator[dict[str, Array]]:
        """Yield the elements of the other operands: those on the user's inputs, ordinary ones, and hard ones."""
        own = {name: value.array for name, value in self._part.operands.items() if value.is_given}
        if own:
            yield {name: own.get(name, array) for name, array in self._fed.items()}  # type: ignore[misc]
        kinds = self._kinds
        if not kinds or self._part.is_region:
            yield self._fed
        for probes in self._probes(kinds):
            yield {name: self._hard(name, kinds, probes) for name in self._fed}

    @property
    def _kinds(self) -> dict[str, tuple[onnx.NodeProto, str | Rule]]:
        """The node that takes an operand, and the kind of its elements, for each operand that has hard elements."""
        fixed = {*self.constants, *self._part.kept}
        found: dict[str, tuple[onnx.NodeProto, str | Rule]] = {}
        for node in self._part.nodes:
            own = {name: self._base[name] for name in node.input if name in self._base}
            outer = {*fixed, *node.input} - (own.keys() - fixed)
            for name, kind in free_operands(node, self._part.opset, own, outer).items():
                found.setdefault(name, (node, kind))
        return found

    def _probes(self, kinds: Mapping[str, tuple[onnx.NodeProto, str | Rule]]) -> list[dict[str, int]]:
        """Return the numbers of probes of the operands, so that each pair of probes of two operands occurs."""
        if not kinds:
            return []
        if self._part.is_region:
            return [dict.fromkeys(kinds, probe) for probe in REGION_PROBES]
        levels = {name: tuple(map(str, range(self._modes(name, kind)))) for name, (_, kind) in kinds.items()}
        if len(levels) == 1:
            return [{name: int(level)} for name, each in levels.items() for level in each]
        rows = covering_array(Declaration(levels))
        return [{name: int(level) for name, level in row.items()} for row in rows]

    def _modes(self, name: str, kind: str | Rule) -> int:
        """Return the number of probes that differ for an operand."""
        dtype = self._base[name].dtype
        if isinstance(kind, Rule) or dtype.kind == "b" or kind == "scale":
            return 2
        return 3 if kind == "small" else len(PROBE_MODES) - (dtype.kind in "iu")

    def _hard(
        self, name: str, kinds: Mapping[str, tuple[onnx.NodeProto, str | Rule]], probes: Mapping[str, int]
    ) -> Array:
        if name not in kinds:
            return self._base[name]
        node, kind = kinds[name]
        own = {each: self._base[each] for each in node.input if each in self._base}
        try:
            hard = hard_numbers_of(node, self._part.opset, own)
        except KeyError:  # another node computes the scale of QuantizeLinear
            hard = []
        return hard_elements(node, own, name, kind, probes[name], hard)

    def _ordinary(self, name: str) -> Array:
        """Return the elements of an operand when it has no hard ones."""
        value = self._part.operands[name]
        if value.array is not None and (name in self._part.kept or (self._has_values and not value.is_given)):
            return value.array
        node = next(node for node in self._part.nodes if name in node.input)
        place = list(node.input).index(name)
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
            data = self._part.operands[node.input[0]].shape
            sizes = data[: shape[-1]] or (1,)
            places = np.unravel_index(np.arange(int(np.prod(shape[:-1]))) % int(np.prod(sizes)), sizes)
            return np.stack(places, -1).reshape(shape).astype(dtype)
        if node.op_type.startswith(("Gather", "Scatter")) and place == 1:
            axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
            data = self._part.operands[node.input[0]].shape
            grid = np.indices(shape)[axis if len(shape) == len(data) else -1]
            return (grid % max(data[axis], 1)).astype(dtype) if shape else np.zeros(shape, dtype)
        return np.zeros(shape, dtype) if not rule.low.isdigit() else np.full(shape, int(rule.low)).astype(dtype)
