"""Families of training optimizer cases about attributes: of several nodes and calls, with powers of T, 0 or close.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import Fragment
from conformance.corpus.factors.scopes import CUSTOM_DOMAIN
from conformance.corpus.factors.training_factors import TYPES, USUAL_ATTRIBUTES, tensor_names
from conformance.corpus.factors.wrapping import IR_VERSION, OPSET, BuiltModel, Context, build_in_context
from conformance.exact.models.model_building import array_value_info, build_model
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.numbers import build_node, scalar_operands, tensor_operands
from generators.declarations.training_dimensions import RATE, other_attributes, usual_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

POWER_COUNTS: Mapping[str, Sequence[int]] = {
    "float": (2**8 + 1, 2**11 + 1, 2**16 + 1),
    "double": (2**8 + 1, 2**11 + 1, 2**16 + 1, 2**24 + 1),
}
"""Values of T by element type. Each becomes even if it is rounded to bfloat16, float16 or float."""

COUNTS: Mapping[str, Sequence[int]] = {
    "Momentum": (2**8, 2**16, 2**32, 2**48, -(2**7) - 1, -(2**15) - 1, -(2**31) - 1),
    "Adagrad": (2**8 + 1, 2**11 + 1, 2**16 + 2**4 + 1, 2**32 + 2**12),
}
"""Values of T by operator. A narrower integer changes the sign or is 0; a narrower float has fewer digits."""

SMALL_DECAY = 2.0**-12
"""Value of decay_factor for which 1 + T * decay_factor is exact in float for each T of `COUNTS`."""

ZERO_WEIGHTS: Mapping[str, Sequence[Mapping[str, float]]] = {
    "Adam": (
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"beta": 0.0},
        {"beta": 1.0},
        {"norm_coefficient": 0.0},
        {"norm_coefficient_post": 1.0},
    ),
    "Momentum": ({"alpha": 0.0}, {"beta": 0.0}, {"norm_coefficient": 0.0}),
    "Adagrad": ({"norm_coefficient": 0.0}, {"epsilon": 0.0}),
}
"""Attributes of each node: with each of them, a term of the formula has the weight 0."""

NONFINITE: Mapping[str, Sequence[float]] = {
    "X": (np.inf, np.nan),
    "G": (np.inf, np.nan, -np.inf),
    "V": (np.inf, np.nan, -np.inf),
    "H": (np.inf, np.nan),
}
"""Values of the operands that are not finite. Each is in an element of its own, in which the others are finite."""


CLOSE_VALUES = (1e-7, 3e-7)
"""Values of an attribute of two nodes. Both are 0 with six digits after the point."""

CLOSE_OPERANDS: Mapping[str, Sequence[float]] = {
    "X": (0.0, 2.0**20, 1.0, 1.0, 1.0),
    "G": (1e-7, 0.5, 0.5, 0.5, 2.0**20),
    "V": (0.0, 0.0, 2.0**20, 0.0, 0.0),
    "H": (0.0, 0.0, 0.0, 2.0**20, 0.0),
}
"""Values of the operands. Each of the `CLOSE_VALUES` of an attribute has another result in an element of its own."""

LARGE_COUNT = 2**20
"""Value of T for which each of the `CLOSE_VALUES` of decay_factor has another result."""

CALLS = ("attributes", "types", "operator_name", "branch")
"""Differences between the calls of a function, a function with the name of the operator in another domain, and a
function whose node is in a branch of an If.
"""

LONGER_SHAPE = (5, 15)
"""Shape of a tensor in a branch or a function: more elements than the registers of a vector unit have."""


def counts_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `counts`: values of T that a narrower type changes."""
    scalars = {"Adam": ("alpha", "beta"), "Momentum": ("beta",), "Adagrad": ("decay_factor",)}.get(op_type, ("none",))
    return FamilyDeclaration(
        {"scalar": scalars, "types": ("float", "double")},
        omissions=(
            Omission("larger T with an attribute of -1", "The bounds are wide, because a loop may compute the power."),
        ),
    )


def calls_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `calls`: a function that a model calls several times in different ways."""
    del op_type
    return FamilyDeclaration({"calls": CALLS, "types": ("float",)})


def build_own_attributes(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `own_attributes`: nodes of one type, each of which differs in one attribute."""
    own, _ = TYPES[row["types"]]
    usual = USUAL_ATTRIBUTES[op_type]
    other = {**other_attributes(op_type, own), **({"mode": "standard"} if "mode" in usual else {})}
    attributes = [
        usual,
        *({**usual, changed: other[changed]} for changed in usual),
        *(
            {n: value for n, value in usual.items() if n != omitted}
            for omitted in TRAINING_OPTIMIZERS[op_type].defaults
        ),
    ]
    operands = {
        **scalar_operands(RATE, usual_count(op_type, own), own),
        **tensor_operands(op_type, name, own, [LONGER_SHAPE]),
    }
    order, scope = row["order"].split("_", maxsplit=1)
    return _build_nodes(
        op_type, name, attributes[:: -1 if order == "reversed" else 1], [operands], Context(scope=scope)
    )


def build_counts(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `counts_declaration`, with a data set for each T."""
    own, _ = TYPES[row["types"]]
    value = {"Adam": -1.0, "Adagrad": SMALL_DECAY}.get(op_type)
    attributes = {**USUAL_ATTRIBUTES[op_type], **({row["scalar"]: value} if value is not None else {})}
    tensors = tensor_operands(op_type, name, own, [(2, 2)])
    if op_type == "Adam":
        tensors["G"] = abs(tensors["G"]) + own(2)  # H_new is positive although the weight of H is -1
    counts = COUNTS.get(op_type, POWER_COUNTS[row["types"]])
    factors = [1 + T * SMALL_DECAY if op_type == "Adagrad" else 1.0 for T in counts]
    return build_node(
        op_type,
        name,
        attributes,
        [{**scalar_operands(RATE * factor, T, own), **tensors} for T, factor in zip(counts, factors, strict=True)],
    )


def build_zero_weights(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `zero_weights`: infinities and NaN in a term that has the weight 0."""
    own, _ = TYPES[row["types"]]
    operands = TRAINING_OPTIMIZERS[op_type].operands
    count = 1 + sum(len(NONFINITE[operand]) for operand in operands)
    tensors = tensor_operands(op_type, name, own, [(count,)])
    place = 1
    for operand in operands:
        tensors[operand][place : place + len(NONFINITE[operand])] = NONFINITE[operand]
        place += len(NONFINITE[operand])
    attributes = [{**USUAL_ATTRIBUTES[op_type], **zero} for zero in ZERO_WEIGHTS.get(op_type, ({},))]
    T = 0 if op_type == "Adam" else 2  # alpha = 1 of Adam has no R_adjusted above T = 0
    runs = [{**scalar_operands(rate, T, own), **tensors} for rate in (RATE, 0.0)]
    return _build_nodes(op_type, name, attributes, runs, Context())


def build_close_attributes(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `close_attributes`: nodes that differ in one attribute by less than 1e-6."""
    own, _ = TYPES[row["types"]]
    usual = USUAL_ATTRIBUTES[op_type]
    attributes = [
        {**usual, changed: close}
        for changed, value in usual.items()
        if isinstance(value, float)
        for close in CLOSE_VALUES
    ]
    count = LARGE_COUNT if op_type == "Adagrad" else usual_count(op_type, own)
    letters = TRAINING_OPTIMIZERS[op_type].operands
    tensors = {letter: np.array(CLOSE_OPERANDS[letter], dtype=own) for letter in letters}
    operands = {**scalar_operands(RATE, count, own), **tensors}
    return _build_nodes(op_type, name, attributes, [operands], Context())


def build_calls(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `calls_declaration`."""
    own, _ = TYPES[row["types"]]
    operands = {
        **scalar_operands(RATE, usual_count(op_type, own), own),
        **tensor_operands(op_type, name, own, [LONGER_SHAPE]),
    }
    if row["calls"] == "branch":
        return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], Context(scope="if_in_function"))
    if row["calls"] == "attributes":
        return _build_calls(op_type, name, _swapping_function(op_type), _various_attributes(op_type), operands)
    if row["calls"] == "operator_name":
        doubling = helper.make_node("Add", ["R", "R"], ["R_doubled"])
        inner = _optimizer_node(op_type, "R_doubled", **USUAL_ATTRIBUTES[op_type])
        function = _make_function(op_type, op_type, [doubling, inner], [], [])
        namesake = helper.make_node("Neg", ["R"], ["R_doubled"])
        beside = [_optimizer_node(op_type, "R_doubled")]
        return _build_calls(op_type, name, function, [{}], operands, beside=beside, before=[namesake])
    function = _make_function(op_type, "Step", [_optimizer_node(op_type, "R", **USUAL_ATTRIBUTES[op_type])], [], [])
    others: list[Mapping[str, Array]] = [
        {
            operand: array if operand == "T" else np.asarray(array / np.float64(3))
            for operand, array in operands.items()
        },
        {operand: array.reshape(-1)[:3] if array.ndim else array for operand, array in operands.items()},
        {operand: array[:1, :1].reshape(()) if array.ndim else array for operand, array in operands.items()},
    ]
    return _build_calls(op_type, name, function, [{}], operands, others=others)


def _optimizer_node(op_type: str, rate: str, **attributes: Any) -> onnx.NodeProto:
    """Return a node with the usual names of operands and results, except for R."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    given = attributes or USUAL_ATTRIBUTES[op_type]
    return helper.make_node(
        op_type, [rate, "T", *optimizer.operands], list(optimizer.results), domain=optimizer.domain, **given
    )


def _make_function(
    op_type: str,
    name: str,
    nodes: Sequence[onnx.NodeProto],
    required: Sequence[str],
    defaults: Sequence[onnx.AttributeProto],
) -> onnx.FunctionProto:
    """Return a function with the operands and results of an optimizer."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(optimizer.domain, optimizer.version)]
    inputs = ["R", "T", *optimizer.operands]
    return helper.make_function(
        CUSTOM_DOMAIN, name, inputs, list(optimizer.results), list(nodes), imports, list(required), list(defaults)
    )


def _swapping_function(op_type: str) -> onnx.FunctionProto:
    """Return a function in which each float attribute of the node refers to one of another name.

    Every second attribute of the function has a default.
    """
    node = _optimizer_node(op_type, "R")
    floats = [attribute.name for attribute in node.attribute if attribute.type == attribute.FLOAT]
    referred = dict(zip(floats, [*floats[1:], floats[0]], strict=True))
    values = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    for attribute in node.attribute:
        kind = attribute.type
        own = attribute.name
        attribute.Clear()
        attribute.name = own
        attribute.type = kind
        attribute.ref_attr_name = referred.get(own, own)
    other = other_attributes(op_type, np.float32)
    defaults = [helper.make_attribute(name, other[name]) for name in floats[1::2]]
    return _make_function(op_type, "Step", [node], [name for name in values if name not in floats[1::2]], defaults)


def _various_attributes(op_type: str) -> list[Mapping[str, Any]]:
    """Return attributes of calls: the usual ones, others, none with a default, and single differences."""
    usual = USUAL_ATTRIBUTES[op_type]
    floats = sorted(name for name, value in usual.items() if isinstance(value, float))
    other = {**other_attributes(op_type, np.float32), **({"mode": "standard"} if "mode" in usual else {})}
    return [
        usual,
        other,
        {name: value for name, value in usual.items() if name not in floats[1::2]},
        *({**usual, name: other[name]} for name in usual),
        usual,
    ]


def _build_calls(
    op_type: str,
    name: str,
    function: onnx.FunctionProto,
    calls: Sequence[Mapping[str, Any]],
    operands: Mapping[str, Array],
    others: Sequence[Mapping[str, Array]] = (),
    beside: Sequence[onnx.NodeProto] = (),
    before: Sequence[onnx.NodeProto] = (),
) -> BuiltModel:
    """Build a model that calls a function, and its data. The number of the call ends the names of its results.

    Args:
        op_type: type of the optimizer.
        name: name of the graph.
        function: the function.
        calls: attributes of the calls with `operands`.
        operands: operands of these calls, by the names of the inputs.
        others: operands of further calls, which have their own inputs.
        beside: nodes of the main graph after the calls.
        before: nodes of the main graph before the calls, whose results are no outputs.
    """
    optimizer = TRAINING_OPTIMIZERS[op_type]
    inputs = dict(operands)
    nodes = list(beside)
    outputs = []
    outputs += [array_value_info(result, operands["X"]) for node in beside for result in node.output]
    made = [(attributes, operands, "") for attributes in calls]
    made += [({}, given, f"_{number}") for number, given in enumerate(others, 2)]
    for number, (attributes, given, suffix) in enumerate(made, 1):
        inputs |= {f"{operand}{suffix}": array for operand, array in given.items()}
        results = [f"{result}_{number}" for result in optimizer.results]
        taken = [f"{operand}{suffix}" for operand in operands]
        nodes.insert(number - 1, helper.make_node(function.name, taken, results, domain=CUSTOM_DOMAIN, **attributes))
        outputs += [array_value_info(result, given["X"]) for result in results]
    model = build_model(
        name,
        [*before, *nodes],
        [array_value_info(*named) for named in inputs.items()],
        outputs,
        {"": OPSET, optimizer.domain: optimizer.version, CUSTOM_DOMAIN: 1},
        functions=[function],
        ir_version=IR_VERSION,
    )
    return BuiltModel(model, (tuple(inputs.values()),))


def _build_nodes(
    op_type: str,
    name: str,
    attributes: Sequence[Mapping[str, Any]],
    data_sets: Sequence[Mapping[str, Array]],
    context: Context,
) -> BuiltModel:
    """Build a model whose nodes read the same operands and have different attributes, and its data."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    operands = data_sets[0]
    names = tensor_names(optimizer.results, len(attributes))
    results = [names[number :: len(attributes)] for number in range(len(attributes))]
    nodes = tuple(
        helper.make_node(op_type, list(operands), outputs, domain=optimizer.domain, **given)
        for outputs, given in zip(results, attributes, strict=True)
    )
    fragment = Fragment(nodes, operands, dict.fromkeys(names, operands["X"]), {optimizer.domain: optimizer.version})
    return build_in_context(name, fragment, context, data_sets[1:])
