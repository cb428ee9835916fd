"""Mutants of ArgMax that only results of other operators, bodies of nodes and calls of functions detect.

Each mutant changes a model before it runs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from onnx import helper, numpy_helper

from conformance.exact.models.graphs import all_nodes, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import onnx

    from conformance.run.mutants.mutant import ModelRewrite


def _integer(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((held.i for held in node.attribute if held.name == name), default)


def _pairs(model: onnx.ModelProto, *op_types: str) -> Iterator[tuple[onnx.NodeProto, onnx.NodeProto]]:
    """Yield each ArgMax of the main graph whose operand one of the operators makes, with the node of the operator."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    for node in (node for node in model.graph.node if is_operator(node, "ArgMax")):
        before = made_by.get(node.input[0])
        if before is not None and is_operator(before, *op_types):
            yield before, node


def _drop(op_type: str, model: onnx.ModelProto, _: str) -> None:
    """Let ArgMax read the first operand of an operator in place of its result."""
    for before, node in _pairs(model, op_type):
        if before.input[0]:
            node.input[0] = before.input[0]


def _set_last(op_type: str, change: Callable[[int], int], model: onnx.ModelProto, _: str) -> None:
    """Change `select_last_index` of each ArgMax that reads the result of an operator."""
    for _, node in _pairs(model, op_type):
        last = change(_integer(node, "select_last_index", 0))
        kept = [held for held in node.attribute if held.name != "select_last_index"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("select_last_index", last)])


def _search_sorted(model: onnx.ModelProto, _: str) -> None:
    """Take the first element for the largest one of the result of TopK."""
    for node in [node for _, node in _pairs(model, "TopK")]:
        zero = helper.make_node("Mul", [node.input[0], f"{node.output[0]}_zero"], [f"{node.output[0]}_zeros"])
        made = helper.make_node("Constant", [], [f"{node.output[0]}_zero"], value_float=0.0)
        place = list(model.graph.node).index(node)
        node.input[0] = zero.output[0]
        model.graph.node.insert(place, zero)
        model.graph.node.insert(place, made)


def _make_scalars(model: onnx.ModelProto, _: str) -> None:
    """Store a Constant whose list has one element as a scalar."""
    for node in (node for node in all_nodes(model) if is_operator(node, "Constant")):
        held = node.attribute[0]
        if held.name == "value_ints" and len(held.ints) == 1:
            held.CopyFrom(helper.make_attribute("value_int", held.ints[0]))


def _forget_zeros(model: onnx.ModelProto, _: str) -> None:
    """Leave out the attributes of a call that are 0 and have a default."""
    defaults = {(body.domain, body.name): {held.name for held in body.attribute_proto} for body in model.functions}
    for node in all_nodes(model):
        own = defaults.get((node.domain, node.op_type), set())
        kept = [held for held in node.attribute if held.name not in own or held.i or held.ref_attr_name]
        if len(kept) < len(node.attribute):
            del node.attribute[:]
            node.attribute.extend(kept)


def _compare_low_halves(model: onnx.ModelProto, _: str) -> None:
    """Exchange the low halves of 64-bit constants as if their highest bit were a sign."""
    searched = {node.input[0] for node in model.graph.node if is_operator(node, "ArgMax")}
    for tensor in model.graph.initializer:
        if tensor.data_type == tensor.INT64 and tensor.name in searched:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) ^ 2**31, tensor.name))


DROPPED = ("Hardmax", "ReduceMax", "Clip", "Floor", "Ceil", "Round", "Sign", "Where", "Expand", "Gather")
"""Operators whose result ArgMax must search, since it has other ties or another order than the operand."""

REWRITES: Mapping[str, tuple[str, ModelRewrite]] = {
    **{
        f"{op_type.lower()}_dropped": (f"drops {op_type} before ArgMax", partial(_drop, op_type)) for op_type in DROPPED
    },
    "last_lost_after_neg": ("ignores select_last_index after Neg", partial(_set_last, "Neg", lambda _: 0)),
    "last_exchanged_after_slice": (
        "exchanges the first and the last index after Slice",
        partial(_set_last, "Slice", lambda last: 1 - last),
    ),
    "last_lost_after_concat": ("gives the last index after Concat", partial(_set_last, "Concat", lambda _: 1)),
    "first_of_sorted": ("takes the first element of the result of TopK for the largest one", _search_sorted),
    "one_element_scalar": ("reads a Constant of one integer as a scalar", _make_scalars),
    "zeros_of_calls_lost": ("takes the default of a function where a call gives 0", _forget_zeros),
    "low_halves_signed": ("compares the low halves of 64-bit integers as signed ones", _compare_low_halves),
}
"""Texts and changes of the model by the last part of the mutant's id."""
