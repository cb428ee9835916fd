"""Chains of one operator that is drawn from its declaration, with all attributes and types that the operator has.

An optimizer replaces a node by another form of it, folds it, moves a neighbour to its other side, or merges it with an
equal node. `FORMS_OF_NODE` has the neighbours and the constants that give each of these rewrites a place.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.exact.declarations.declaration_tables import declarations, domain_and_type
from conformance.exact.declarations.drawing import DrawnNode, InvalidNodeError, draw_node
from conformance.exact.models.arrays import BFLOAT16_DTYPE, dtype_of
from conformance.exact.models.graphs import MAIN_DOMAINS, copy_of, infer_shapes, main_opset
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.model_validity import is_fully_valid
from generators.patterns.chains import ATTEMPTS, OPSETS, Chain, Value, around, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

FORMS_OF_NODE = (
    "constants",
    "moved operand",
    "moved result",
    "nearly equal",
    "repeated",
    "negated",
    "converted",
)
"""Neighbours of a node: constants as operands, a node that moves elements, an equal node with another attribute, or a
negation or conversion."""

OPERAND_FORMS = ("moved operand", "negated", "converted")
"""The forms in which another node makes an operand."""

REPEATED = 2
"""Number of chains of one operator that takes its own result."""

MAX_ELEMENTS = 64
"""The most elements of an operand."""

LEAST_OPSET = 7
"""The oldest version of the main domain, since which operands broadcast."""

AXES_AS_INPUT = 13
"""The version since which Squeeze has its axes as an input."""

BFLOAT16_IN_BRANCHES = 16
"""The version since which an If has results of bfloat16."""

AROUND = frozenset(map(np.dtype, ("float32", "float64", "float16", "int32", "int64", "bool")))
"""Types of values that have an operator around them."""

WIDER = {"float32": np.float64, "float16": np.float32, "int32": np.int64, "int8": np.int32, "uint8": np.int32}
"""A type for some types, which holds all their values."""


def declared_operators() -> Iterator[str]:
    """Yield the declared operators of the main domain."""
    return (name for name in declarations() if domain_and_type(name)[0] in MAIN_DOMAINS)


def declared_chains(operators: Iterable[str] | None = None, forms: Sequence[str] = FORMS_OF_NODE) -> Iterator[Chain]:
    """Yield chains of operators, all declared ones without `operators`, in each form that a draw can make."""
    for operator in declared_operators() if operators is None else operators:
        for form in forms:
            chance = random.Random(f"declared/{operator}/{form}")  # noqa: S311 - nothing is to be kept secret
            attempts = (_grown(operator, form, chance) for _ in range(ATTEMPTS))
            found = (chain for chain in attempts if chain is not None)
            yield from islice(found, REPEATED if form == "repeated" else 1)


def _grown(operator: str, form: str, chance: random.Random) -> Chain | None:
    """Return a chain of a form; None if the node that is drawn has it not."""
    seed = str(chance.random())
    try:
        drawn = draw_node(operator, seed)
    except InvalidNodeError:
        return None
    opset = _usual_opset(drawn)
    arrays = [*drawn.operands.values()]
    if opset is None or any(array.size > MAX_ELEMENTS for array in arrays):
        return None
    if opset < BFLOAT16_IN_BRANCHES and any(array.dtype == BFLOAT16_DTYPE for array in arrays):
        return None
    chain = Chain(chance, opset)
    moved = next((name for name in drawn.free if drawn.operands[name].ndim), "")
    names = {name: _fed(chain, drawn, name, form if name == moved else "") for name in drawn.operands}
    if form in OPERAND_FORMS and names.get(moved) not in chain.made:
        return None
    if form == "constants":
        chain.constants |= chain.inputs
        chain.inputs.clear()
    results = _append(chain, drawn, names)
    if not results:
        return None
    if form == "repeated" and not _append_again(chain, operator, seed, drawn, results[0]):
        return None
    if form == "nearly equal" and not _append_other(chain, operator, seed, drawn, names):
        return None
    first = results[0]
    if form == "moved result" and len(first.shape) > 1 and first.type in AROUND:
        first = chain.node("Transpose", [first], first.shape[::-1])
    elif form not in ("nearly equal", "repeated", "negated") and first.type in AROUND:
        around(chain, first)
    read = {name for node in chain.nodes for name in node.input}
    chain.outputs = [name for name in chain.made if name not in read]
    model = joined([chain], chance)[0]
    return chain if is_fully_valid(model.SerializeToString(deterministic=True)) else None


def _usual_opset(drawn: DrawnNode) -> int | None:
    """Return a version of `OPSETS` with the operator of the node, else the version of the node if it is not newer."""
    opset = main_opset(drawn.model)
    op_type = drawn.proto.op_type
    since = onnx.defs.get_schema(op_type, opset, "").since_version
    for usual in OPSETS:
        if usual >= since and onnx.defs.get_schema(op_type, usual, "").since_version == since:
            return usual
    return opset if LEAST_OPSET <= opset <= max(OPSETS) else None


def _fed(chain: Chain, drawn: DrawnNode, name: str, form: str) -> str:
    """Add the elements of an operand, in some forms with a node that makes them, and return the name of the value."""
    array = drawn.operands[name]
    if name not in drawn.inputs:
        given = chain.name("c")
        chain.constants[given] = array
        return given
    x = Value(chain.name("x"), array.dtype, array.shape)
    form = form if array.dtype in AROUND else ""
    if form == "moved operand" and array.ndim > 1 and chain.is_likely(0.7):
        chain.inputs[x.name] = np.ascontiguousarray(array.T)
        return chain.node("Transpose", [x], array.shape).name
    if form == "moved operand" and chain.opset >= AXES_AS_INPUT:
        chain.inputs[x.name] = array[np.newaxis]
        return chain.node("Squeeze", [x, chain.constant([0])], array.shape).name
    if form == "negated" and array.dtype.name in ("float16", "float32", "float64"):
        chain.inputs[x.name] = -array
        return chain.node("Neg", [x], array.shape).name
    if form == "converted" and array.dtype.name in WIDER:
        chain.inputs[x.name] = array.astype(WIDER[array.dtype.name])
        to = next(each.type.tensor_type.elem_type for each in drawn.model.graph.input if each.name == name)
        return chain.node("Cast", [x], array.shape, array.dtype, to=to).name
    chain.inputs[x.name] = array
    return x.name


def _append(chain: Chain, drawn: DrawnNode, names: Mapping[str, str]) -> Sequence[Value]:
    """Append the node with other names of its operands, and return its results; none if a size is not known."""
    node = copy_of(drawn.proto)
    node.input[:] = [names.get(name, "") for name in node.input]
    results = []
    for place, value in enumerate(drawn.model.graph.output):
        type = value.type.tensor_type
        if value.type.WhichOneof("value") != "tensor_type" or not type.HasField("shape"):
            return []
        if any(not size.HasField("dim_value") for size in type.shape.dim):
            return []
        shape = tuple(size.dim_value for size in type.shape.dim)
        results.append(Value(chain.name("y"), dtype_of(type.elem_type), shape))
        node.output[place] = results[-1].name
        chain.made[results[-1].name] = results[-1]
    chain.nodes.append(node)
    return results


def _append_other(chain: Chain, operator: str, seed: str, drawn: DrawnNode, names: Mapping[str, str]) -> bool:
    """Append a node of the same operands with another option of one attribute; return whether there is one."""
    options = [name for name, each in drawn.choices.items() if each.count > 1 and name.startswith("attribute")]
    if not options:
        return False
    changed = chain.one(options)
    choice = drawn.choices[changed]
    try:
        other = draw_node(operator, seed, {changed: (choice.index + 1) % choice.count})
    except InvalidNodeError:
        return False
    is_same = main_opset(other.model) == main_opset(drawn.model) and {*other.operands} == {*drawn.operands}
    pairs = ((array, drawn.operands.get(name, array)) for name, array in other.operands.items())
    return is_same and all(map(_are_equal, *zip(*pairs, strict=True))) and bool(_append(chain, other, names))


def _append_again(chain: Chain, operator: str, seed: str, drawn: DrawnNode, result: Value) -> bool:
    """Append a node that takes the first result as its first operand; return whether it can.

    In half of the draws, the node has another option of one choice: of an attribute, or of a constant.
    """
    first = next(iter(drawn.operands))
    other = drawn
    options = [name for name, each in drawn.choices.items() if each.count > 1]
    if options and chain.is_likely(0.5):
        changed = chain.one(options)
        with suppress(InvalidNodeError):
            other = draw_node(
                operator, seed, {changed: (drawn.choices[changed].index + 1) % drawn.choices[changed].count}
            )
    if main_opset(other.model) != main_opset(drawn.model) or {*other.operands} != {*drawn.operands}:
        return False
    if first not in drawn.inputs or other.operands[first].dtype != result.type:
        return False
    names = {name: _fed(chain, other, name, "") for name in other.operands if name != first}
    model = copy_of(other.model)
    for value in model.graph.input:
        if value.name == first:
            value.CopyFrom(array_value_info(first, np.empty(result.shape, result.type)))
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        inferred = infer_shapes(model, data_prop=True, strict_mode=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return False
    again = replace(other, model=inferred)
    return bool(_append(chain, again, {**names, first: result.name}))


def _are_equal(one: Array, two: Array) -> bool:
    """Return whether arrays have equal types, shapes and elements."""
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
