"""Conditions of a failing example: the features without which the failure disappears.

A feature is everything that distinguishes an example from the plainest example, such as the enclosing scope, an
attribute, T, the element type or the number of tensors. A feature is a *condition* of a failure if the failure
disappears when the feature is restored to each of its plain values.

Titles of failing examples list the conditions. They also separate faults: an example that still fails in the same way
without the conditions of a known fault has another fault.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.factors.name_factors import PLAIN_NAMES
from conformance.corpus.factors.training_factors import USUAL_ATTRIBUTES
from conformance.exact.models.arrays import Array, type_name
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.drawn_example import AnyExample, DrawnExample
from conformance.studies.search.example import ARGMAX, DEFAULT_OPSET, Example, keep_tensors, slice_tensor
from conformance.studies.search.program_example import ProgramExample, plainer_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


PLAIN_ATTRIBUTE = 0.5
"""Plain value of a float attribute without a default."""
PLAIN_RATE = 0.5
PLAIN_COUNTS = (0, 1)
PLAIN_SIZES = (1, 2)
MAX_SHOWN_ELEMENTS = 3
"""Number of elements of an operand up to which a title shows them."""


@dataclass(frozen=True)
class Feature:
    """A feature of an example.

    Attributes:
        name: the name, by which features of different examples are compared, such as `attribute alpha`.
        text: the feature in words, for titles.
        restored: examples in which the feature has a plain value; they are otherwise equal.
    """

    name: str
    text: str
    restored: tuple[AnyExample, ...]


def features(example: AnyExample) -> list[Feature]:
    """Return the features of an example that are not plain."""
    if isinstance(example, DrawnExample):
        return [*_choice_features(example)]
    if isinstance(example, ProgramExample):
        return [Feature(name, name, tuple(plainer)) for name, plainer in plainer_parts(example).items()]
    builders = (_operator_features, _attribute_features, _operand_features, _size_features, _context_features)
    return [feature for builder in builders for feature in builder(example)]


def find_conditions(example: AnyExample, is_same: Callable[[AnyExample], bool | None]) -> list[str]:
    """Return the names of the features without which the failure of an example disappears.

    Args:
        is_same: returns whether an example has the same failure; None if this is unknown, because the example has no
            determinate outputs or cannot be built.
    """
    names = []
    for feature in features(example):
        answers = [is_same(restored) for restored in feature.restored]
        if True not in answers and False in answers:
            names.append(feature.name)
    return names


def restore(example: AnyExample, names: Iterable[str]) -> AnyExample:
    """Return an example in which the features with these names are restored to a plain value, if they have one."""
    for name in names:
        feature = next((each for each in features(example) if each.name == name), None)
        if feature is not None and feature.restored:
            example = feature.restored[0]
    return example


def describe_conditions(example: AnyExample, names: Iterable[str]) -> list[str]:
    """Return the texts of the features with these names; names that the example does not have are ignored."""
    chosen = set(names)
    return [feature.text for feature in features(example) if feature.name in chosen]


def _choice_features(example: DrawnExample) -> Iterator[Feature]:
    """Yield a feature for each choice of a drawn example that is not the plainest one."""
    for name, choice in example.node.choices.items():
        if not choice.is_plain and name != "declaration":
            yield Feature(name, f"{name.removeprefix('attribute ')} = {choice.text}", (example.choosing(name, 0),))


def _operator_features(example: Example) -> Iterator[Feature]:
    if example.chain:
        without = replace(example, chain=(), axis_relation="same")
        yield Feature("chain", f"{' and '.join(example.chain)} before it", (without,))
    if example.axis_relation != "same":
        text = "the default axis" if example.axis_relation == "default" else "another axis"
        yield Feature("axis relation", f"{text} of the operator before it", (replace(example, axis_relation="same"),))
    if example.opset != DEFAULT_OPSET:
        yield Feature("opset", f"opset {example.opset}", (replace(example, opset=DEFAULT_OPSET),))
    if len(example.runs) > 1:
        singles = tuple(replace(example, runs=(run,)) for run in example.runs)
        yield Feature("runs", f"{len(example.runs)} runs", singles)
    if example.is_resized:
        fixed = example.map_operands(lambda name, array: array if name in {"R", "T"} else example.operands[name])
        yield Feature("shapes of runs", "runs of different shapes", (fixed,))
    if example.repeated:
        text = " and ".join(f"one value for {other} and {name}" for name, other in example.repeated.items())
        yield Feature("repeated", text, (replace(example, repeated={}),))
    if example.names != PLAIN_NAMES:
        yield Feature("names", f"names of kind {example.names}", (replace(example, names=PLAIN_NAMES),))


def _attribute_features(example: Example) -> Iterator[Feature]:
    given = dict(example.attributes)
    optional = example.operator == ARGMAX or TRAINING_OPTIMIZERS[example.operator].defaults
    for name, value in given.items():
        if optional:
            plain = {key: each for key, each in given.items() if key != name}
        elif name == "mode":
            plain = {**given, name: "nesterov" if value == "standard" else "standard"}
        else:
            plain = {**given, name: PLAIN_ATTRIBUTE}
        if plain != given:
            yield Feature(f"attribute {name}", f"{name} = {value}", (replace(example, attributes=plain),))
    if example.operator != ARGMAX:
        listed = {name: given[name] for name in USUAL_ATTRIBUTES[example.operator] if name in given}
        if list(listed) != list(given):
            text = f"the attributes in the order {', '.join(given)}"
            yield Feature("attribute order", text, (replace(example, attributes=listed),))


def _operand_features(example: Example) -> Iterator[Feature]:
    operands = example.operands
    tensors = [name for name in operands if name not in {"R", "T"}]
    own = operands[tensors[0]].dtype
    if example.operator != ARGMAX:
        T = int(operands["T"])
        rate = operands["R"]
        yield Feature("T", f"T = {T}", _with_operand(example, "T", [count for count in PLAIN_COUNTS if count != T]))
        if float(rate) != PLAIN_RATE:
            yield Feature("R", f"R = {float(rate):g}", _with_operand(example, "R", [PLAIN_RATE]))
        if rate.dtype != own:
            text = f"R of type {type_name(rate.dtype)}"
            yield Feature("type of R", text, (_with_types(example, ["R"], own),))
    if own != np.float32:
        # R keeps its relation to the type of the tensors
        converted = [*tensors, *(["R"] if example.operator != ARGMAX and operands["R"].dtype == own else [])]
        plain = (_with_types(example, converted, np.dtype(np.float32)),)
        yield Feature("type", f"element type {type_name(own)}", plain)
    for name in tensors:
        array = operands[name]
        is_special = array.dtype.kind not in "iu" and not np.isfinite(array.astype(np.float64)).all()
        if array.size and (is_special or (example.operator != ARGMAX and array.size <= MAX_SHOWN_ELEMENTS)):
            shown = [float(value) for value in array.flat if is_special is not bool(np.isfinite(float(value)))]
            text = f"{name} = {shown[0]:g}" if len({str(value) for value in shown}) == 1 else f"{name} = {shown[:3]}"
            yield Feature(f"values of {name}", text, _with_operand(example, name, [1.0], only_special=is_special))


def _with_operand(
    example: Example, name: str, values: Sequence[float], *, only_special: bool = False
) -> tuple[Example, ...]:
    """Return examples in which the operand has each of these values in all runs.

    Args:
        only_special: whether to replace only infinities and NaN.
    """

    def changed(value: float, other: str, array: Array) -> Array:
        if other != name:
            return array
        replaced = np.full_like(array, value)
        if only_special:
            replaced = np.where(np.isfinite(array.astype(np.float64)), array, replaced).astype(array.dtype)
        return replaced.reshape(array.shape)

    return tuple(example.map_operands(partial(changed, value)) for value in values)


def _with_types(example: Example, names: Iterable[str], dtype: np.dtype[Any]) -> Example:
    chosen = set(names)
    with np.errstate(all="ignore"):
        return example.map_operands(lambda name, array: array.astype(dtype) if name in chosen else array)


def _size_features(example: Example) -> Iterator[Feature]:
    if example.operator == ARGMAX:
        yield from _argmax_size_features(example)
        return
    count = example.tensor_count
    if count > 1:
        yield Feature("tensors", f"{count} tensors", tuple(keep_tensors(example, [place]) for place in range(count)))
    shapes = [array.shape for name, array in example.operands.items() if name[0] == "X"]
    for place, shape in enumerate(shapes):
        size = int(np.prod(shape))
        which = f" of tensor {place + 1}" if count > 1 else ""
        if size != 1:
            smaller = [part for part in PLAIN_SIZES if part < size]
            restored = tuple(slice_tensor(example, place, slice(0, part)) for part in smaller)
            if restored:
                yield Feature(f"size {place + 1}", f"{size} elements{which}", restored)
            elif not size:
                yield Feature(f"size {place + 1}", f"no elements{which}", ())
        if len(shape) != 1:
            flat = (slice_tensor(example, place, slice(0, size)),)
            yield Feature(f"shape {place + 1}", f"shape {list(shape)}{which}", flat)


def _argmax_size_features(example: Example) -> Iterator[Feature]:
    X = example.operands["X"]
    axis = example.attributes.get("axis", 0) % X.ndim

    def taken(indices: dict[int, slice]) -> Example:
        parts = tuple(indices.get(place, slice(None)) for place in range(X.ndim))
        return example.map_operands(lambda _, array: np.ascontiguousarray(array[parts]))

    if X.shape[axis] > 1:
        lengths = [length for length in PLAIN_SIZES if length < X.shape[axis]]
        yield Feature("length", f"length {X.shape[axis]}", tuple(taken({axis: slice(0, one)}) for one in lengths))
    slices = X.size // X.shape[axis] if X.size else 0
    if slices > 1:
        first = taken({place: slice(0, 1) for place in range(X.ndim) if place != axis})
        yield Feature("slices", f"{slices} slices", (first,))
    if X.ndim > 1 and X.size == X.shape[axis]:
        attributes = {**example.attributes, **({"axis": 0} if "axis" in example.attributes else {})}
        flat = example.map_operands(lambda _, array: array.reshape(-1))
        yield Feature("rank", f"rank {X.ndim}", (replace(flat, attributes=attributes),))


def _context_features(example: Example) -> Iterator[Feature]:
    context = example.context

    def plainer(**parts: Any) -> tuple[Example, ...]:
        return (replace(example, context=context.changed(**parts)),)

    if context.scope != "main":
        yield Feature("scope", f"scope {context.scope}", plainer(scope="main"))
    for name, word in context.sources.items():
        others = {key: each for key, each in context.sources.items() if key != name}
        yield Feature(f"source of {name}", f"{name} from {word}", plainer(sources=others))
    for name, word in context.consumers.items():
        others = {key: each for key, each in context.consumers.items() if key != name}
        yield Feature(f"consumer of {name}", f"{name} {word}", plainer(consumers=others))
    if context.shared:
        yield Feature("shared", f"{' and '.join(context.shared)} read by another node", plainer(shared=()))
    if context.stored != "raw":
        yield Feature("stored", f"{context.stored} constants", plainer(stored="raw"))
    if context.imports != "main_first":
        yield Feature("imports", f"imports {context.imports}", plainer(imports="main_first"))
    if context.trains:
        yield Feature("training information", "training information", plainer(trains=False))
    if example.distractor:
        text = f"distractor {example.distractor}"
        yield Feature("distractor", text, (replace(example, distractor=""),))
