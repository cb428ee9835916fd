"""Regions of a graph that runtimes fuse into one kernel.

A region is a chain of nodes, a formula of several nodes, or an operator between DequantizeLinear and QuantizeLinear. No
node outside takes a value within the region.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from conformance.base.serialization.decoding import read_own_toml
from conformance.exact.models.graphs import MAIN_DOMAINS, find_producers, names_taken_by, subgraphs_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    import onnx


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stage of a chain of nodes: a set of operators, and whether the chain must have one of them."""

    operators: frozenset[str]
    required: bool = False


class Formula(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that together compute one function.

    Attributes:
        first: the operators of the first node, whose operand the other nodes can take too.
        others: the operators of the other nodes.
        required: operators that the formula has.
    """

    first: frozenset[str]
    others: frozenset[str]
    required: frozenset[str]


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `regions.toml`."""

    products: frozenset[str]
    activations: frozenset[str]
    chains: list[list[Stage]]
    formulas: list[Formula]


_TABLES = msgspec.convert(read_own_toml("conformance.own.model_cases", "regions.toml"), _Tables)
PRODUCTS = _TABLES.products
ACTIVATIONS = _TABLES.activations

MAX_FORMULA_NODES = 12
"""Maximum number of nodes of a formula."""


class Regions:
    """The regions of a graph.

    Args:
        graph: the main graph or a subgraph.
        constants: names of values that are initializers or Constants.
    """

    def __init__(self, graph: onnx.GraphProto, constants: Container[str]) -> None:
        self._nodes = list(graph.node)
        self._constants = constants
        self._makers = find_producers(graph)
        self._returned = {value.name for value in graph.output}

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        users: dict[str, list[int]] = defaultdict(list)
        for number, node in enumerate(self._nodes):
            for name in names_taken_by(node):
                users[name].append(number)
        return users

    def used_outside(self, numbers: Sequence[int]) -> list[str]:
        """Return the results of some nodes that other nodes take, or that the graph returns."""
        made = [name for number in numbers for name in self._nodes[number].output if name]
        return [name for name in made if name in self._returned or not {*self._users[name]} <= {*numbers}]

    def find(self) -> list[tuple[int, ...]]:
        """Return the numbers of the nodes of each region, each region once."""
        found = chain(
            *(self._chains(number) for number in range(len(self._nodes))),
            *(self._formulas(number) for number in range(len(self._nodes))),
            *(self._quantized(number) for number in range(len(self._nodes))),
        )
        regions = dict.fromkeys(tuple(sorted(each)) for each in found if len(each) > 1)
        return [each for each in regions if not any({*each} < {*other} for other in regions)]

    def _is(self, number: int, operators: Container[str]) -> bool:
        node = self._nodes[number]
        return node.domain in MAIN_DOMAINS and node.op_type in operators and not subgraphs_of(node)

    def _next(self, number: int) -> int | None:
        """Return the only node that takes the result of a node; None if there are several or none."""
        node = self._nodes[number]
        if any(name in self._returned or self._users[name] for name in node.output[1:] if name):
            return None
        users = self._users[node.output[0]]
        return users[0] if len(users) == 1 and node.output[0] not in self._returned else None

    def _chains(self, number: int) -> Iterator[list[int]]:
        for first, *stages in _TABLES.chains:
            if not self._is(number, first.operators):
                continue
            found: list[int] | None = [number]
            for stage in stages:
                following = self._next(found[-1]) if found else None
                if found and following is not None and self._is(following, stage.operators):
                    found.append(following)
                elif stage.required:
                    found = None
                    break
            yield found or []

    def _formulas(self, number: int) -> Iterator[list[int]]:
        for formula in _TABLES.formulas:
            if not self._is(number, formula.first):
                continue
            entries = {name for name in self._nodes[number].input if name and name not in self._constants}
            if len(entries) != 1:
                continue
            found = self._grown(number, formula, entries)
            if found:
                yield [*self._before(found, entries), *found]

    def _grown(self, number: int, formula: Formula, entries: set[str]) -> list[int]:
        """Return the nodes of a formula that begins with a node; an empty list if it is not there."""
        region = [number]
        complete = list[int]()
        known = {*entries, *self._nodes[number].output}
        for other in range(number + 1, min(number + 4 * MAX_FORMULA_NODES, len(self._nodes))):
            taken = [name for name in self._nodes[other].input if name and name not in self._constants]
            if not self._is(other, formula.others) or not taken or not known.issuperset(taken):
                continue
            if len(region) == MAX_FORMULA_NODES:
                break
            region.append(other)
            known.update(self._nodes[other].output)
            operators = {self._nodes[each].op_type for each in region}
            if formula.required <= operators and len(self.used_outside(region)) == 1:
                complete = [*region]
        return complete

    def _before(self, region: Sequence[int], entries: set[str]) -> list[int]:
        """Return the product and the sum with a constant whose result only a region takes."""
        found: list[int] = []
        (name,) = entries
        for operators in (frozenset(("Add", "BatchNormalization")), PRODUCTS):
            maker = self._makers.get(name)
            is_inner = maker is not None and {*self._users[name]} <= {*region, *found} and name not in self._returned
            if maker is None or not is_inner or not self._is(maker, operators | PRODUCTS):
                break
            found.insert(0, maker)
            if self._is(maker, PRODUCTS):
                break
            inner = [each for each in self._nodes[maker].input if each in self._makers and each not in self._constants]
            if len(inner) != 1:
                break
            (name,) = inner
        return found if found and self._is(found[0], PRODUCTS) else []

    def _quantized(self, number: int) -> Iterator[list[int]]:
        """Yield the nodes from DequantizeLinear to QuantizeLinear around a node."""
        if self._is(number, ("DequantizeLinear", "QuantizeLinear", "Constant")):
            return
        makers = [self._makers[name] for name in self._nodes[number].input if name in self._makers]
        before = [maker for maker in makers if self._is(maker, ("DequantizeLinear",))]
        alone = [maker for maker in before if {*self._users[self._nodes[maker].output[0]]} == {number}]
        following = self._next(number) if self._nodes[number].output else None
        found = [number]
        if following is not None and self._is(following, ACTIVATIONS):
            found.append(following)
            following = self._next(following)
        if before and following is not None and self._is(following, ("QuantizeLinear",)):
            yield [*alone, *found, following]
