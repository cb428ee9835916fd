"""Enclosures of the outputs of one node: the values that any correct implementation of the node may return.

`enclose_node` computes them on whole arrays, so that `conformance.own.audit` can judge the nodes of a user's own model.
The oracle of the corpus (`conformance.exact.reference.oracle`) is tighter, but handles only small tensors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import format_of, is_computed, type_name
from conformance.exact.models.graphs import MAIN_DOMAINS
from conformance.exact.reference.enclosures.casts import CAST_ENCLOSURES, through_float
from conformance.exact.reference.enclosures.earlier_texts import by_earlier_texts
from conformance.exact.reference.enclosures.exact import EXACT_OPERATORS, MOVEMENT, evaluate_exactly
from conformance.exact.reference.enclosures.images import IMAGE_ENCLOSURES
from conformance.exact.reference.enclosures.machine_learning import MACHINE_LEARNING_ENCLOSURES
from conformance.exact.reference.enclosures.microsoft import MICROSOFT_ENCLOSURES
from conformance.exact.reference.enclosures.old_versions import modernize
from conformance.exact.reference.enclosures.open_elements import INTEGER_ENCLOSURES, leave_open
from conformance.exact.reference.enclosures.products import PRODUCT_ENCLOSURES
from conformance.exact.reference.enclosures.quantization import QUANTIZATION_ENCLOSURES
from conformance.exact.reference.enclosures.random_values import RANDOM_ENCLOSURES
from conformance.exact.reference.enclosures.regions import REGION_ENCLOSURES
from conformance.exact.reference.enclosures.resizing import RESIZE_ENCLOSURES
from conformance.exact.reference.enclosures.signals import SIGNAL_ENCLOSURES
from conformance.exact.reference.formulas.elementwise import ELEMENTWISE_ENCLOSURES
from conformance.exact.reference.formulas.linear import FLOAT, LINEAR_ENCLOSURES
from conformance.exact.reference.formulas.normalization import NORMALIZATION_ENCLOSURES
from conformance.exact.reference.formulas.recurrent import FORMULAS as RECURRENT_FORMULAS
from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    as_enclosure,
    current_reading,
    has_strict_bounds,
    is_strict,
    judged_at,
    read_as,
)
from conformance.exact.reference.operators import LATER_FORMS_SINCE
from conformance.exact.reference.tolerances import NARROW, SIGNED_ZERO, WIDE_FORMULAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

OF_ANY_TYPE: Mapping[str, NodeEnclosure] = {
    **CAST_ENCLOSURES,
    **INTEGER_ENCLOSURES,
    **QUANTIZATION_ENCLOSURES,
    **RANDOM_ENCLOSURES,
    **RESIZE_ENCLOSURES,
    "MaxPool": IMAGE_ENCLOSURES["MaxPool"],
    "Col2Im": REGION_ENCLOSURES["Col2Im"],
}
"""The functions that take tensors of integers too. Other functions take at least one tensor of floating-point
numbers, and a node without such a tensor is evaluated exactly."""

OF_INTEGERS = frozenset({"Erf", "ReduceLogSum", "ReduceLogSumExp"})
"""Functions of floating-point numbers whose schemas also admit integers, and which are no integers."""

ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **ELEMENTWISE_ENCLOSURES,
    **LINEAR_ENCLOSURES,
    **NORMALIZATION_ENCLOSURES,
    **RECURRENT_FORMULAS,
    **IMAGE_ENCLOSURES,
    **PRODUCT_ENCLOSURES,
    **REGION_ENCLOSURES,
    **SIGNAL_ENCLOSURES,
    **OF_ANY_TYPE,
}
"""The function that encloses the outputs of each operator of the main domain that rounds, by op_type."""


OTHER_DOMAINS: Mapping[str, Mapping[str, NodeEnclosure]] = {
    "ai.onnx.ml": MACHINE_LEARNING_ENCLOSURES,
    "com.microsoft": MICROSOFT_ENCLOSURES,
}
"""The functions that enclose the outputs of the operators of other domains, by domain and op_type."""

MAX_FLUSHED_TOGETHER = 4
"""The largest number of operands with subnormal numbers of which a kernel may flush any. Of more operands it may flush
all, all but one, or one."""

MAX_FLUSHED_SINGLY = 16
"""The largest number of operands with subnormal numbers of which each is flushed alone, which takes a time that is
quadratic in the number. Of more operands, results that flushed numbers can change are undetermined."""


def is_supported(node: Node) -> bool:
    """Return whether `enclose_node` knows the operator of a node. Some of its attributes may still be unsupported."""
    if node.domain in MAIN_DOMAINS:
        return node.op_type in ENCLOSURES or node.op_type in EXACT_OPERATORS
    return node.op_type in OTHER_DOMAINS.get(node.domain, {})


def enclose_node(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return enclosures of the outputs of a node.

    Args:
        node: the node.
        inputs: its inputs. A tensor of numbers may be an array, if its elements are known, or an `Enclosure`.

    Returns:
        An `Enclosure` for each output whose elements may differ by rounding or that the specification leaves open, and
        an array for every other output. The enclosure has the bounds of level `must`; its attribute `should` has those
        of level `should`, except in `without_strict_bounds`.

    Raises:
        Unsupported: there is no reference for the operator, an attribute or a type, or rounding of an input decides
            which elements the outputs have.
    """
    if not is_supported(node):
        raise Unsupported(f"no reference for {node.domain or 'ai.onnx'}.{node.op_type}")
    if node.domain in MAIN_DOMAINS and node.opset < LATER_FORMS_SINCE:
        node, inputs = modernize(node, inputs)
    for tensor in inputs:
        if isinstance(tensor, Enclosure) and has_strict_bounds():
            _ = tensor.should  # now, because the bounds of a long chain of nodes would need a deep recursion
    with np.errstate(all="ignore"):
        results = _in_range(node, _admit_flushed(node, inputs, _enclose_at(Level.MUST, node, inputs)))
    if not has_strict_bounds() or all(not isinstance(each, Enclosure) or each.is_exact for each in results):
        return results

    reading = current_reading()

    @cache
    def strict() -> list[Tensor]:
        given = [tensor.should or tensor if isinstance(tensor, Enclosure) else tensor for tensor in inputs]
        try:
            with np.errstate(all="ignore"), read_as(reading):
                return _in_range(node, _enclose_at(Level.SHOULD, node, given))
        except Unsupported:
            return results

    def bound(position: int) -> Enclosure | None:
        tensor = strict()[position]
        return Enclosure.exact(tensor) if isinstance(tensor, np.ndarray) else tensor

    return [
        replace(result, compute_should=partial(bound, position)) if isinstance(result, Enclosure) else result
        for position, result in enumerate(results)
    ]


def has_signed_zeros(node: Node | onnx.NodeProto) -> bool:
    """Return whether IEEE 754 determines the sign of each zero that a node returns: a requirement of level `should`.

    The expected values of `enclose_node` have these signs.
    """
    return node.domain in MAIN_DOMAINS and node.op_type in SIGNED_ZERO


def _enclose_at(level: Level, node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    with judged_at(level):
        results = _enclose(node, inputs)
    returned = [result.returned() if isinstance(result, Enclosure) else result for result in results]
    if node.domain not in MAIN_DOMAINS:
        return returned
    return by_earlier_texts(node, inputs, leave_open(node, inputs, returned))


def _in_range(node: Node, results: list[Tensor]) -> list[Tensor]:
    """Return outputs in the range of the function that the page of the operator names."""
    if node.domain not in MAIN_DOMAINS or not results or not isinstance(results[0], Enclosure):
        return results
    return [results[0].limited(node.op_type), *results[1:]]


def _admit_flushed(node: Node, inputs: Sequence[Tensor], results: list[Tensor]) -> list[Tensor]:
    """Return outputs together with those of kernels that flush subnormal operands to zero; copies keep all bits.

    A kernel may flush all operands, or some of them, such as the constants.
    """
    if node.op_type in MOVEMENT:
        return results  # before a large table is compared
    flushed = [_flush(tensor) for tensor in inputs]
    changed = [place for place, X in enumerate(flushed) if X is not inputs[place]]
    sizes = range(len(changed), 0, -1) if len(changed) <= MAX_FLUSHED_TOGETHER else (len(changed), len(changed) - 1, 1)
    if len(changed) > MAX_FLUSHED_SINGLY:
        sizes = range(len(changed), len(changed) - 1, -1)
        results = [_without_small(result, len(changed)) for result in results]
    for some in (some for size in sizes for some in combinations(changed, size)):
        given = [flushed[place] if place in some else X for place, X in enumerate(inputs)]
        try:
            others = _enclose_at(Level.MUST, node, given)
        except Unsupported:
            continue
        hulls = [_hull_if_different(*each) for each in zip(results, others, strict=True)]
        if len(some) == len(changed) and all(map(_is_unaffected, hulls, results)):
            return hulls
        results = hulls
    return results


def _without_small(result: Tensor, count: int) -> Tensor:
    """Return a result without bounds of the elements that a number of subnormal terms can change."""
    if not isinstance(result, Enclosure) or not is_computed(result.dtype):
        return result
    limits = format_of(result.dtype)
    return result.undetermined(np.abs(result.value) < float(count * limits.smallest_normal / limits.unit_roundoff))


def _is_unaffected(hull: Tensor, result: Tensor) -> bool:
    """Return whether a hull has nothing new, and no element is as small as subnormal terms that cancel."""
    if hull is not result or not isinstance(result, Enclosure) or not is_computed(result.dtype):
        return False
    return bool(np.all(np.abs(result.value) >= float(format_of(result.dtype).smallest_normal)))


def _flush(tensor: Tensor) -> Tensor:
    """Return a tensor of float, double or bfloat16 without subnormal numbers; the operands of a model are exact."""
    if not isinstance(tensor, np.ndarray) or not is_computed(tensor.dtype) or tensor.dtype == np.float16:
        return tensor
    is_subnormal = (np.abs(tensor) < float(format_of(tensor.dtype).smallest_normal)) & (tensor != 0)
    return np.where(is_subnormal, np.copysign(np.zeros_like(tensor), tensor), tensor) if is_subnormal.any() else tensor


def _hull_if_different(result: Tensor, other: Tensor) -> Tensor:
    if result is None or other is None or result.shape != other.shape:
        return result
    first = as_enclosure(result)
    second = as_enclosure(other)
    same = (np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True) for name in ("value", "error"))
    marked = [each.unspecified for each in (first, second) if each.unspecified is not None]
    if all(same):
        return result
    joined = first.hull([lambda: second])
    return joined.with_open_elements(np.any(marked, axis=0), (*first.silences, *second.silences))


def _enclose(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    is_main = node.domain in MAIN_DOMAINS
    if is_main and node.op_type in EXACT_OPERATORS:
        return evaluate_exactly(node, inputs)
    given = [tensor for tensor in inputs if tensor is not None]
    if (
        is_main
        and node.op_type not in OF_ANY_TYPE
        and node.op_type not in OF_INTEGERS
        and not any(isinstance(tensor, Enclosure) or is_computed(tensor.dtype) for tensor in given)
    ):
        return evaluate_exactly(node, inputs)
    if is_main and node.op_type in OF_INTEGERS and isinstance(inputs[0], np.ndarray) and inputs[0].dtype.kind in "iu":
        return through_float(ENCLOSURES[node.op_type], node, inputs)
    operands = [_as_enclosure(tensor) for tensor in inputs]
    narrow = next((tensor.dtype for tensor in operands if isinstance(tensor, Enclosure)), None)
    function = (ENCLOSURES if is_main else OTHER_DOMAINS[node.domain])[node.op_type]
    is_wide = not is_main or node.op_type in WIDE_FORMULAS
    if narrow is None or not is_strict() or type_name(narrow) not in NARROW or not is_wide:
        return list(function(node, operands))
    wide = [tensor.with_dtype(FLOAT) if isinstance(tensor, Enclosure) else tensor for tensor in operands]
    results = function(node, wide)
    return [
        result.as_type(narrow) if isinstance(result, Enclosure) and result.dtype == FLOAT else result
        for result in results
    ]


def _as_enclosure(tensor: Tensor) -> Tensor:
    """Return a tensor of floating-point numbers as an enclosure, and every other tensor unchanged."""
    if tensor is None or isinstance(tensor, Enclosure) or not is_computed(tensor.dtype):
        return tensor
    return Enclosure.exact(tensor)
