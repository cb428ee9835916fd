"""The effect of a rewrite on the outputs of a model: it keeps the bits, keeps the admissible intervals, or neither.

Both models are judged by arithmetic of the suite alone, on given inputs:

- `bits`: if each node rounds its exact result once, both models return the same bits. This is also tried on inputs with
  digits up to the last bit of their types, because few roundings change results of short numbers.
- `interval`: the enclosures of both models have a common value for each element. After a Cast to a smaller type, this
  value is a number of the smaller type.
- `hazard`: they have none, but they have one for ordinary numbers: neither NaN nor infinite, neither tiny nor huge.
- `fault`: they have none for ordinary numbers either, or the outputs have other types or shapes.

A witness is a smallest input of a hazard or of a fault: elements that are not needed are 1 or 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from conformance.base.serialization.printable_text import first_line
from conformance.base.verdicts import RewriteEffect, Unsupported
from conformance.exact.models.arrays import dtype_of, equal_elements, is_computed
from conformance.exact.models.graphs import MAIN_DOMAINS, Scope, all_nodes
from conformance.exact.models.input_files import DeclaredInput, initializer_arrays
from conformance.exact.models.model_validity import model_violation
from conformance.exact.models.summaries import shortest_decimal
from conformance.exact.reference.model_enclosures import AcceptableIndices, are_apart, enclose_model
from conformance.exact.reference.node_enclosures import enclose, outputs_of_model
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.operators.data_movement import REPEATED_AXIS
from conformance.exact.reference.oracle import evaluate, quiet_evaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from conformance.exact.models.arrays import Array

    Inputs = Mapping[str, Array]

MAX_WITNESS_STEPS = 60
"""Number of smaller inputs that are tried for a witness."""

COPIES = frozenset({"Abs", "Flatten", "Identity", "Neg", "Relu", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators whose results have the magnitudes of their operand, or zeros."""

ORDINARY = (2.0**-10, 2.0**10)
"""Magnitudes of ordinary numbers."""


@dataclass(frozen=True)
class RewriteJudgement:
    """The effect of a rewrite on one set of inputs.

    Attributes:
        effect: the effect; None if the reference cannot compute one of the models.
        output: the name of the output that decides.
        before: its value before the rewrite: an enclosure or an array.
        after: its value after the rewrite.
        reason: why the outputs cannot be judged, or why nothing computes the rewritten model.
        inputs: the inputs of a hazard or of a fault.
    """

    effect: RewriteEffect | None
    output: str = ""
    before: Any = None
    after: Any = None
    reason: str = ""
    inputs: Inputs = field(default_factory=dict)

    @property
    def is_wrong(self) -> bool:
        """Whether an output after the rewrite is not admissible before it."""
        return self.effect in (RewriteEffect.HAZARD, RewriteEffect.FAULT)

    @property
    def value_before(self) -> Array | None:
        """The output before the rewrite; None if several indices are acceptable."""
        return _value(self.before)

    @property
    def value_after(self) -> Array | None:
        """The output after the rewrite; None if several indices are acceptable."""
        return _value(self.after)


def _value(tensor: Any) -> Array | None:
    with np.errstate(all="ignore"):
        given = tensor.value.astype(tensor.dtype) if isinstance(tensor, Enclosure) else tensor
    return given if isinstance(given, np.ndarray) else None


def judge_rewrite_of(before: onnx.ModelProto, after: onnx.ModelProto, inputs: Inputs) -> RewriteJudgement:
    """Return the effect of a rewrite on the outputs for some inputs.

    Inputs that have defaults get other values too, because a caller can replace a default, unless the input is gone.

    Args:
        before: the model before the rewrite.
        after: the model after the rewrite, with the same outputs.
        inputs: the inputs by name.
    """
    found = _judge(before, after, inputs)
    fed = {value.name for value in before.graph.input} & {value.name for value in after.graph.input} - {*inputs}
    defaults = {name: array for name, array in initializer_arrays(before.graph).items() if name in fed}
    if found.is_wrong or not defaults:
        return found
    for change in (_next_values, _values_below_zeros, _reversed_values, _reversed_values_after_zero):
        others = _judge(before, after, {**inputs, **{name: change(array) for name, array in defaults.items()}})
        if others.is_wrong and _is_declared(before, others):
            return others
    return found


def _is_declared(model: onnx.ModelProto, found: RewriteJudgement) -> bool:
    """Return whether the output that decides has the declared shape; with other sizes the model contradicts itself."""
    declared = next((value for value in model.graph.output if value.name == found.output), None)
    value = found.value_before
    if declared is None or value is None:
        return True
    try:
        DeclaredInput.of(declared).check(value.dtype, value.shape)
    except ValueError:
        return False
    return True


def _next_values(array: Array) -> Array:
    """Return other values for a default, with the same signs."""
    if array.dtype == np.bool_:
        return np.asarray(~array)
    with np.errstate(all="ignore"):
        return np.asarray(array + np.where(array < 0, -1, 1)).astype(array.dtype)


def _values_below_zeros(array: Array) -> Array:
    """Return other values for a default, in which -1 replaces 0 if the type has negative numbers."""
    values = _next_values(array)
    return np.where(array == 0, -1, values).astype(array.dtype) if array.dtype.kind in "fi" else values


def _reversed_values(array: Array) -> Array:
    """Return the values of a default in another order, such as the sizes of a shape of as many elements."""
    return np.flip(array).copy()


def _reversed_values_after_zero(array: Array) -> Array:
    """Return the values of a default in another order, of which 0 replaces the first, such as a size to copy."""
    values = _reversed_values(array)
    if values.size and values.dtype.kind in "iu":
        values.flat[0] = 0
    return values


def _judge(before: onnx.ModelProto, after: onnx.ModelProto, inputs: Inputs) -> RewriteJudgement:
    found = _compare(before, after, inputs)
    if found.effect is RewriteEffect.INTERVAL and all(
        _has_same_bits(before, after, given, _round_each_node) for given in (inputs, _with_all_digits(inputs))
    ):
        return RewriteJudgement(RewriteEffect.BITS)
    if found.effect is None and _has_same_bits(before, after, inputs, _evaluate_in_types):
        return RewriteJudgement(RewriteEffect.BITS)
    if found.effect is None and (problem := _contradiction(before, after, inputs)):
        return RewriteJudgement(RewriteEffect.FAULT, reason=problem, inputs=inputs)
    if found.effect is not RewriteEffect.FAULT or _is_other_form(found):
        return found
    ordinary = _compare(before, after, {name: _ordinary(array) for name, array in inputs.items()}, only_finite=True)
    return found if ordinary.effect is RewriteEffect.FAULT else replace(found, effect=RewriteEffect.HAZARD)


def _contradiction(before: onnx.ModelProto, after: onnx.ModelProto, inputs: Inputs) -> str:
    """Return why a rewrite has no result, whose original can be computed; otherwise the text is empty.

    The page does not define its result, or the reference and onnx's reference evaluator both fail on the rewrite, which
    has operators of ONNX only. A rewrite that this evaluator does not load is not judged.
    """
    first, second = (_enclose(model, inputs) for model in (before, after))
    reason = next((each for each in second.values() if isinstance(each, str)), "")
    is_known = all(node.domain in MAIN_DOMAINS for node in all_nodes(after))
    if not reason or not is_known or any(isinstance(each, str) for each in first.values()):
        return ""
    if model_violation(after):
        return ""  # the check of validity reports it
    if reason == REPEATED_AXIS:
        return f"the page does not define the result of the rewritten model: {reason}"
    try:
        evaluator = ReferenceEvaluator(after)  # a model that it does not load is not judged
        with np.errstate(all="ignore"):
            ReferenceEvaluator(before).run(None, _fed(before, inputs))
    except Exception:  # noqa: BLE001 - the evaluator raises errors of several kinds
        return ""
    try:
        with np.errstate(all="ignore"):
            evaluator.run(None, _fed(after, inputs))
    except NotImplementedError:
        return ""
    except Exception as error:  # noqa: BLE001 - the evaluator raises errors of several kinds
        return f"the rewritten model cannot be computed: {first_line(error)}"
    return ""


def _fed(model: onnx.ModelProto, inputs: Inputs) -> dict[str, Array]:
    """Return the inputs that a model has."""
    names = {value.name for value in model.graph.input}
    return {name: array for name, array in inputs.items() if name in names}


def _enclose(model: onnx.ModelProto, inputs: Inputs) -> dict[str, Any]:
    return enclose_model(model, {**initializer_arrays(model.graph), **_fed(model, inputs)})


def find_witness(before: onnx.ModelProto, after: onnx.ModelProto, found: RewriteJudgement) -> str:
    """Return a smallest input for which an output after the rewrite is not admissible before it, as text."""
    kept = {name: array.copy() for name, array in found.inputs.items()}
    steps = 0
    for number in (1, 0):
        for name, array in kept.items():
            for place in range(array.size):
                if steps == MAX_WITNESS_STEPS or array.dtype.kind not in "fiuV" or array.flat[place] in (0, 1):
                    continue
                steps += 1
                smaller = array.copy()
                smaller.flat[place] = number
                if _compare(before, after, {**kept, name: smaller}).effect is RewriteEffect.FAULT:
                    array.flat[place] = number
    return "; ".join(f"{name} = {_text(array)}" for name, array in kept.items())


def _text(array: Array) -> str:
    return f"{list(array.shape)} {{{', '.join(shortest_decimal(element) for element in array.flat)}}}"


def _is_other_form(found: RewriteJudgement) -> bool:
    """Return whether the outputs differ in type or shape."""
    if isinstance(found.before, (AcceptableIndices, list)) or isinstance(found.after, (AcceptableIndices, list)):
        return False
    return bool(found.before.dtype != found.after.dtype or found.before.shape != found.after.shape)


def _compare(
    before: onnx.ModelProto, after: onnx.ModelProto, inputs: Inputs, *, only_finite: bool = False
) -> RewriteJudgement:
    """Return `interval` or `fault` for the enclosures of all outputs.

    Args:
        only_finite: compare only elements that are finite numbers before the rewrite.
    """
    first, second = (_enclose(model, inputs) for model in (before, after))
    narrow = _narrow_types(before)
    reason = ""
    for (name, old), new in zip(first.items(), second.values(), strict=False):
        apart = are_apart(_finite(old, new), new) if only_finite else are_apart(old, new)
        if apart or (apart is False and name in narrow and _has_other_numbers(new, narrow[name])):
            return RewriteJudgement(RewriteEffect.FAULT, name, old, new, inputs=inputs)
        if apart is None and not reason:
            texts = [each for each in (old, new) if isinstance(each, str)]
            reason = texts[0] if texts else f"the output {name} is not a tensor"
    return RewriteJudgement(None, reason=reason) if reason else RewriteJudgement(RewriteEffect.INTERVAL)


def _finite(old: Any, new: Any) -> Any:
    """Return a value whose elements that are no finite numbers are those of another value."""
    if not isinstance(old, Enclosure) or not isinstance(new, (Enclosure, np.ndarray)) or old.shape != new.shape:
        return old
    return Enclosure(old.value, np.where(np.isfinite(old.value), old.error, np.inf), old.dtype)


def _narrow_types(model: onnx.ModelProto) -> dict[str, np.dtype[Any]]:
    """Return the type to which a Cast rounds the numbers of an output before conversions to larger types and copies."""
    scope = Scope(model, model.graph)
    found: dict[str, np.dtype[Any]] = {}
    for output in model.graph.output:
        node = scope.producer(output.name)
        while node is not None and node.domain in MAIN_DOMAINS and node.op_type in {"Cast", *COPIES}:
            if node.op_type == "Cast":
                number = next((each.i for each in node.attribute if each.name == "to" and each.i), TensorProto.STRING)
                to = dtype_of(number)
                if not is_computed(to) or to.itemsize >= found.get(output.name, np.dtype(np.longdouble)).itemsize:
                    break
                found[output.name] = to
            node = scope.producer(node.input[0])
    return found


def _has_other_numbers(tensor: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether an element of an output cannot be a number of a type."""
    enclosure = tensor if isinstance(tensor, Enclosure) else Enclosure.exact(np.asarray(tensor))
    with np.errstate(all="ignore"):
        distance = np.abs(enclosure.value.astype(dtype).astype(np.float64) - enclosure.value)
        return bool(np.any(distance > enclosure.error))


def _has_same_bits(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    inputs: Inputs,
    evaluate_each: Callable[[onnx.ModelProto, Inputs], list[Any]],
) -> bool:
    """Return whether both models return the same bits if each node rounds its exact result once.

    Args:
        evaluate_each: returns the outputs of a model.
    """
    try:
        with quiet_evaluation():
            first, second = (evaluate_each(model, inputs) for model in (before, after))
    except Unsupported:
        return False
    return all(
        isinstance(old, np.ndarray)
        and isinstance(new, np.ndarray)
        and old.dtype == new.dtype
        and old.shape == new.shape
        and bool(np.all(equal_elements(old, new, with_signs=True)))
        for old, new in zip(first, second, strict=True)
    )


def _round_each_node(model: onnx.ModelProto, inputs: Inputs) -> list[Any]:
    """Return the outputs if each node rounds its exact result once.

    Raises:
        Unsupported: the reference cannot compute the model.
    """

    def rounded(scope: Any, node: onnx.NodeProto, values: Mapping[str, Any]) -> list[Any]:
        results = enclose(scope, node, values)
        return [each.value.astype(each.dtype) if isinstance(each, Enclosure) else each for each in results]

    names = [value.name for value in model.graph.input]
    given = {**initializer_arrays(model.graph), **_fed(model, inputs)}
    return outputs_of_model(rounded, model, [given[name] for name in names if name in given])


def _evaluate_in_types(model: onnx.ModelProto, inputs: Inputs) -> list[Any]:
    """Return the outputs by the oracle, which also has models with integers that wrap around.

    Raises:
        Unsupported: the oracle cannot compute the model.
    """
    return evaluate(model, inputs, declared=True)


def _with_all_digits(inputs: Inputs) -> Inputs:
    """Return inputs of similar numbers whose digits reach the last bit of their types."""
    factors = {
        name: 1 + np.modf(np.arange(1, array.size + 1) * 0.6180339887498949)[0].reshape(array.shape) / 8
        for name, array in inputs.items()
    }
    with np.errstate(all="ignore"):
        return {
            name: (array * factors[name]).astype(array.dtype) if is_computed(array.dtype) else array
            for name, array in inputs.items()
        }


def _ordinary(array: Array) -> Array:
    """Return an array in which quarters replace each number that is not ordinary."""
    if not is_computed(array.dtype) and array.dtype.kind not in "iu":
        return array
    numbers = array.astype(np.float64)
    with np.errstate(all="ignore"):
        magnitude = np.abs(numbers)
        is_ordinary = (magnitude >= ORDINARY[0]) & (magnitude <= ORDINARY[1])
    places = np.arange(1, array.size + 1).reshape(array.shape)
    if array.dtype.kind in "iu":
        return np.where(is_ordinary | (numbers == 0), array, places % 5).astype(array.dtype)
    return np.where(is_ordinary, numbers, places / 4).astype(array.dtype)
