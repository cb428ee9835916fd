"""Describe which properties of their models and data distinguish failing cases from passing ones.

`case_properties` lists the properties of a case, and `common_properties` finds those that failing cases share and
passing cases lack.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.serialization.printable_text import plain_decimal
from conformance.exact.models.arrays import format_of, is_floating, type_name
from conformance.exact.models.graphs import MAIN_DOMAINS, onnx_op_type, top_level_graphs
from conformance.exact.models.input_files import fed_input_names, initializer_arrays
from conformance.exact.models.summaries import shortest_decimal
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS, find_training_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.exact.models.arrays import Array


LARGE_MAGNITUDE = 1e6
SMALL_MAGNITUDE = 1e-6
"""Data counts as large from the first magnitude on, and as small up to the second."""


_HAVE_TAG = "have the tag "


@dataclass(frozen=True)
class Properties:
    """The properties of a case.

    Attributes:
        words: properties of the case as verb phrases in the plural: "set alpha", "have double tensors". The most
            informative phrases come first.
        numbers: by the name of a numeric property, all its values in the case, such as the T of every data set.
    """

    words: tuple[str, ...]
    numbers: Mapping[str, tuple[float, ...]]


def case_properties(case: CaseInMemory, tags: Iterable[str] = ()) -> Properties:
    """Return the properties of a case.

    Args:
        tags: the tags of its case.json.
    """
    numbers: dict[str, list[float]] = defaultdict(list)
    words = dict.fromkeys(chain(_node_properties(case, numbers), _model_properties(case, numbers)))
    tagged = (f"{_HAVE_TAG}{tag}" for tag in tags)
    return Properties((*words, *tagged), {name: tuple(filter(isfinite, values)) for name, values in numbers.items()})


def _node_properties(case: CaseInMemory, numbers: dict[str, list[float]]) -> Iterator[str]:
    constants = initializer_arrays(case.model.graph)
    graph = case.model.graph
    fed = [
        dict(zip(fed_input_names(graph, len(data_set.inputs)), data_set.inputs, strict=False)) for data_set in case.held
    ]
    runs = [{**constants, **inputs} for inputs in fed]
    produced = {name for node in case.model.graph.node for name in node.output}
    for node in case.model.graph.node:
        yield from _attribute_properties(node, numbers)
        yield from _connection_properties(node, set(constants) - set(fed[0] if fed else ()), produced)
        for values in runs:
            yield from _operand_properties(node, [values.get(name) for name in node.input], numbers)


def _attribute_properties(node: onnx.NodeProto, numbers: dict[str, list[float]]) -> Iterator[str]:
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    optimizer = find_training_optimizer(node.domain, node.op_type)
    for name, value in given.items():
        yield f"set {name}"
        if isinstance(value, bytes):
            yield f"have {name} {value.decode(errors='replace')}"
    defaults: Mapping[str, Any] = optimizer.defaults if optimizer else {}
    for name, value in {**{name: float(np.float32(value)) for name, value in defaults.items()}, **given}.items():
        if name not in given:
            yield f"leave {name} to its default"
        if isinstance(value, int | float):
            numbers[name].append(value)
    if optimizer is None:
        yield f"have {node.op_type}"
        if "axis" not in given:
            yield f"leave the axis of {node.op_type} to its default"
        elif given["axis"] < 0:
            yield f"have a negative axis of {node.op_type}"


def _connection_properties(node: onnx.NodeProto, constants: set[str], produced: set[str]) -> Iterator[str]:
    groups = _operand_names(node)
    for name, group in zip(node.input, groups, strict=False):
        if name in constants:
            yield f"have {group} as an initializer"
        elif name in produced and onnx_op_type(node) in TRAINING_OPTIMIZERS:
            yield f"compute {group} in the graph"
    if len(set(node.input)) < len(node.input):
        yield "take one value for several inputs"
    if not all(node.output):
        yield "leave outputs of a node without names"


def _operand_names(node: onnx.NodeProto) -> list[str]:
    """Return, for each input of a node, its name in the specification of the operator."""
    optimizer = find_training_optimizer(node.domain, node.op_type)
    if optimizer is None:
        return [f"the input of {node.op_type}"] * len(node.input)
    count = max((len(node.input) - 2) // len(optimizer.operands), 1)
    return ["R", "T", *(name for name in optimizer.operands for _ in range(count))]


def _operand_properties(
    node: onnx.NodeProto, operands: Sequence[Array | None], numbers: dict[str, list[float]]
) -> Iterator[str]:
    known = [(name, array) for name, array in zip(_operand_names(node), operands, strict=False) if array is not None]
    tensors = [(name, array) for name, array in known if name not in {"R", "T"}]
    for name, array in known:
        if name in {"R", "T"} and array.size == 1:
            numbers[name].append(array.reshape(-1)[0].item())
        yield f"have {name} of type {type_name(array.dtype)}"
    if (optimizer := find_training_optimizer(node.domain, node.op_type)) is not None:
        count = max((len(node.input) - 2) // len(optimizer.operands), 1)
        numbers["tensors of a node"].append(count)
        types = {type_name(array.dtype) for _, array in tensors}
        yield from (f"have {type} tensors" for type in sorted(types))
        if len(types) == 1 and any(name == "R" and type_name(array.dtype) not in types for name, array in known):
            yield "have an R of another type than the tensors"
        elif len(types) == 1:
            yield "have an R of the type of the tensors"
    else:
        kinds = ("floating-point" if array.dtype.kind in "fV" else "integer" for _, array in tensors)
        yield from (f"have {kind} operands of {node.op_type}" for kind in kinds)
        for name, array in tensors:
            if is_floating(array.dtype) and array.size:
                numbers[f"a magnitude of {name}"].append(_largest_magnitude(array))
    for name, array in tensors:
        yield from _shape_properties(array, numbers)
        yield from (f"have {what} in {name}" for what in _data_properties(array))


def _shape_properties(array: Array, numbers: dict[str, list[float]]) -> Iterator[str]:
    numbers["elements of a tensor"].append(array.size)
    numbers["dimensions of a tensor"].append(array.ndim)
    yield f"have a tensor of shape {list(array.shape)}"
    if not array.size:
        yield "have an empty tensor"
    if not array.ndim:
        yield "have a 0-d tensor"
    if 1 in array.shape:
        yield "have a dimension of size 1"


def _data_properties(array: Array) -> Iterator[str]:
    if not array.size:
        return
    values = array.astype(np.float64) if array.dtype.kind in "fV" else array
    if values.dtype.kind == "f":
        magnitude = np.abs(values)
        finite = magnitude[np.isfinite(magnitude)]
        yield from (
            what
            for what, found in (
                ("a NaN", np.isnan(values).any()),
                ("an infinity", np.isinf(values).any()),
                ("a negative zero", ((values == 0) & np.signbit(values)).any()),
                ("a subnormal", _has_subnormal(array)),
                ("a large number", (finite >= LARGE_MAGNITUDE).any()),
                ("a small number", ((finite > 0) & (finite <= SMALL_MAGNITUDE)).any()),
            )
            if found
        )
    if (values == 0).any():
        yield "only zeros" if (values == 0).all() else "a zero"
    if (values < 0).any():
        yield "a negative number"
    if (values > 0).any():
        yield "a positive number"


def _largest_magnitude(array: Array) -> float:
    """Return the largest magnitude of the elements; an infinity counts as the largest number of the type, NaN as 0."""
    largest = float(format_of(array.dtype).largest)
    return float(np.nan_to_num(np.abs(array.astype(np.float64)), nan=0, posinf=largest).max())


def _has_subnormal(array: Array) -> bool:
    if array.dtype.kind != "f":
        return False
    return bool(((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)).any())


def _model_properties(case: CaseInMemory, numbers: dict[str, list[float]]) -> Iterator[str]:
    model = case.model
    numbers["runs of a prepared model"].append(len(case.held))
    numbers["nodes of the graph"].append(len(model.graph.node))
    numbers["opset"].extend(one.version for one in model.opset_import if one.domain in MAIN_DOMAINS)
    if model.functions:
        yield "have a function"
    if any(onnx_op_type(node) in TRAINING_OPTIMIZERS for graph in top_level_graphs(model)[1:] for node in graph.node):
        yield "have training information"
    declared = chain(model.graph.input, model.graph.output)
    dimensions = [dimension for value in declared for dimension in value.type.tensor_type.shape.dim]
    if any(not dimension.HasField("dim_value") for dimension in dimensions):
        yield "have a dimension of unspecified size"
    shapes = {tuple(array.shape for array in data_set.inputs) for data_set in case.held}
    if len(shapes) > 1:
        yield "have data sets of several shapes"
    if len({tuple(array.tobytes() for array in data_set.inputs) for data_set in case.held}) > 1:
        yield "run a prepared model on other data"


MAX_SHARE_OF_OTHERS = 0.1
"""Maximum share of the passing cases with a property that is reported as common to all failing cases."""

MAX_SHARE_IF_NOTHING_BETTER = 0.2
"""Maximum share of the passing cases with such a property if no property distinguishes the cases better."""

MIN_SHARE_OF_CASES = 0.25
"""Minimum share of the failing cases with a property that is reported for a part of them."""

MAX_CHANCE = 0.05
"""A property is reported only if the probability that the failing cases share it by chance is at most this."""


@dataclass(frozen=True)
class CommonProperty:
    """A property that cases have in common.

    Attributes:
        text: a verb phrase in the plural: "set alpha", "have T ≥ 2 and set beta".
        cases: the ids of the failing cases that have the property.
        others: the ids of the other cases that have the property.
    """

    text: str
    cases: frozenset[str]
    others: frozenset[str]

    def __and__(self, other: CommonProperty) -> CommonProperty:
        return CommonProperty(f"{self.text} and {other.text}", self.cases & other.cases, self.others & other.others)

    def is_telling(self, among: int) -> bool:
        """Return whether it is improbable that the failing cases have the property by chance.

        Args:
            among: the number of passing cases.
        """
        part = (len(self.cases) + len(self.others)) / (len(self.cases) + among)
        return len(self.cases) > 1 and part ** len(self.cases) <= MAX_CHANCE


def common_properties(cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> list[CommonProperty]:
    """Return the properties that distinguish failing cases from passing ones.

    If one property, or two together, belong to all failing cases and to few passing cases, the result is that property
    or pair. Otherwise the result is properties that no passing case has, each of which a part of the failing cases has.
    It then starts with a property of all failing cases that at most a fifth of the passing cases have, if there is one.

    Args:
        cases: the properties of the failing cases, by case id.
        others: the properties of the passing cases, by case id; at least one.
    """
    traits = list(_traits(cases, others))
    of_all = sorted((trait for trait in traits if len(trait.cases) == len(cases)), key=lambda one: len(one.others))
    pairs = (one & other for one, other in combinations(of_all, 2))
    best = [*of_all[:1], *sorted(pairs, key=lambda one: len(one.others))[:1]]
    best = [trait for trait in best if trait.is_telling(len(others))]
    for trait in best:
        if len(trait.others) <= MAX_SHARE_OF_OTHERS * len(others) and (
            not trait.others or trait is best[-1] or _is_pair_redundant(*best)
        ):
            return [trait]
    own = [trait for trait in traits if not trait.others and trait.is_telling(len(others))]
    parts = list(_covering_traits([trait for trait in own if len(trait.cases) >= MIN_SHARE_OF_CASES * len(cases)]))
    weak = [trait for trait in best[-1:] if len(trait.others) <= MAX_SHARE_IF_NOTHING_BETTER * len(others)]
    return [*weak, *parts]


MAX_CONDITION_CHANCE = 1e-3
"""A condition is reported only if the probability that a random property separates the cases so is at most this."""

MAX_EXCEPTIONS_SHARE = 0.02
"""Maximum share of the unaffected cases that may satisfy a condition."""

NO_CONDITIONS = {"nodes of the graph", "runs of a prepared model"}
"""Numeric properties that are no condition of a kernel."""

MAX_PAIRED_TRAITS = 40
"""Number of properties that are tried in pairs."""


def separating_condition(
    cases: Mapping[str, Properties], unaffected: Mapping[str, Properties], doubtful: Mapping[str, Properties]
) -> CommonProperty | None:
    """Return the simplest condition that all of some cases satisfy and, with few exceptions, no unaffected case.

    None if there is no such condition. One property is simpler than two. Tags of cases are no condition.

    Args:
        cases: the properties of the cases in which the mistake shows, by id.
        unaffected: those of the cases in which it would show if there were no condition.
        doubtful: those of cases that may satisfy the condition or not; as few as possible do.
    """
    if not cases or not unaffected:
        return None
    share = len(cases) / (len(cases) + len(unaffected))
    chance = share ** len(cases) * (1 - share) ** len(unaffected)
    others = {**unaffected, **doubtful}
    traits = [trait for trait in _traits(cases, others, is_condition=True) if len(trait.cases) == len(cases)]
    traits = [trait for trait in traits if len(trait.others) < len(others)]

    def exceptions(trait: CommonProperty) -> int:
        return len(trait.others & unaffected.keys())

    max_exceptions = len(unaffected) * MAX_EXCEPTIONS_SHARE
    closest = sorted(traits, key=exceptions)[:MAX_PAIRED_TRAITS]
    pairs = (one & other for one, other in combinations(closest, 2))
    for options, max_chance, allowed in (
        (traits, MAX_CONDITION_CHANCE, max_exceptions),
        (pairs, MAX_CONDITION_CHANCE**2, max_exceptions if chance <= MAX_CONDITION_CHANCE**4 else 0),
    ):
        exact = [trait for trait in options if exceptions(trait) <= allowed] if chance <= max_chance else []
        if exact:
            return min(exact, key=lambda trait: len(trait.others))
    return None


def _is_pair_redundant(one: CommonProperty, pair: CommonProperty) -> bool:
    """Return whether two properties together distinguish the cases only slightly better than one of them."""
    return len(pair.others) * 2 > len(one.others)


def _covering_traits(traits: list[CommonProperty]) -> Iterator[CommonProperty]:
    """Yield properties, those of most cases first; each covers at least two cases that earlier ones do not cover."""
    seen: frozenset[str] = frozenset()
    while traits and len((largest := max(traits, key=lambda one: len(one.cases - seen))).cases - seen) > 1:
        yield largest
        seen |= largest.cases


def _traits(
    cases: Mapping[str, Properties], others: Mapping[str, Properties], *, is_condition: bool = False
) -> Iterator[CommonProperty]:
    """Yield all properties of the cases: attributes first, then types, shapes, data, structure and tags.

    Args:
        is_condition: yield only properties on which a kernel can depend.
    """
    words = dict.fromkeys(word for one in cases.values() for word in one.words)
    tags = [word for word in words if word.startswith(_HAVE_TAG)]
    names = dict.fromkeys(name for one in cases.values() for name, values in one.numbers.items() if values)
    for word in (word for word in words if word not in tags):
        yield _phrase_trait(word, cases, others)
    for name in names:
        if not (is_condition and name in NO_CONDITIONS):
            yield from _numeric_traits(name, cases, others, is_condition=is_condition)
    for word in () if is_condition else tags:
        yield _phrase_trait(word, cases, others)


def _phrase_trait(word: str, cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> CommonProperty:
    having = [frozenset(id for id, one in group.items() if word in one.words) for group in (cases, others)]
    return CommonProperty(word, *having)


def _numeric_traits(
    name: str, cases: Mapping[str, Properties], others: Mapping[str, Properties], *, is_condition: bool
) -> Iterator[CommonProperty]:
    """Yield conditions on a numeric property (=, ≠, ≥, ≤) that may distinguish the failing cases from the passing ones.

    The numbers in the conditions are the smallest and largest values of the failing cases, and values of failing cases
    that no passing case reaches.
    """
    numbers = [
        {id: one.numbers[name] for id, one in group.items() if one.numbers.get(name)} for group in (cases, others)
    ]
    own, foreign = numbers

    def trait(relation: str, limit: float) -> CommonProperty:
        holds = _RELATIONS[relation]
        having = [frozenset(id for id, values in group.items() if holds(values, limit)) for group in numbers]
        text = f"have {name} = {_format_number(limit)} at least once" if relation == "once" else ""
        return CommonProperty(text or f"have {name} {relation} {_format_number(limit)}", *having)

    for value in sorted({value for values in own.values() for value in values}):
        if all(set(values) == {value} for values in own.values()) or value == 0:
            yield trait("=", value)
    if is_condition and own:
        for value in sorted(set.intersection(*(set(values) for values in own.values()))):
            yield trait("once", value)
    yield trait("≠", 0)
    yield trait("≥", min(max(values) for values in own.values()))
    yield trait("≤", max(min(values) for values in own.values()))
    above = [max(values) for values in own.values() if max(values) > max(map(max, foreign.values()), default=inf)]
    below = [min(values) for values in own.values() if min(values) < min(map(min, foreign.values()), default=-inf)]
    if above:
        yield trait("≥", min(above))
    if below:
        yield trait("≤", max(below))


def _format_number(number: float) -> str:
    """Format a number with as few digits as identify it; attributes are 32-bit floats."""
    with np.errstate(over="ignore"):
        single = np.float32(number)
    if isinstance(number, int) or float(single) != number:
        return str(number)
    return plain_decimal(shortest_decimal(single))


_RELATIONS: Mapping[str, Callable[[Sequence[float], float], bool]] = {
    "once": lambda values, limit: limit in values,
    "=": lambda values, limit: all(value == limit for value in values),
    "≠": lambda values, limit: any(value != limit for value in values),
    "≥": lambda values, limit: max(values) >= limit,
    "≤": lambda values, limit: min(values) <= limit,
}
"""By symbol: whether the values of a case satisfy a condition. A case can have several values, such as T in each
run.
"""
