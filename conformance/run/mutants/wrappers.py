"""Kernel wrappers for any operator, and the register of the wrappers that TOML files can name.

A kernel is the implementation of an operator. A kernel wrapper is a function from a kernel to a faulty kernel: it
changes inputs, outputs or attributes, or keeps state between runs. The modules `training_wrappers` and
`argmax_wrappers` add wrappers for their operators.
"""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conformance.exact.models.graphs import all_nodes, is_operator, iter_nodes, onnx_op_type
from conformance.exact.models.input_files import dense_array
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.run.mutants.mutant import Kernel, KernelWrapper, ModelRewrite

    Arrays: TypeAlias = list[Array]
    Change: TypeAlias = Callable[[Any], Any]


WRAPPERS: dict[str, Callable[..., KernelWrapper]] = {}
"""Functions that return a kernel wrapper, by the name in TOML files.

The keys of the wrapper's table, other than `name`, are the keyword arguments of the function.
"""


def named(
    name: str, wrap: Callable[[Callable[..., Any]], KernelWrapper] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., KernelWrapper]]:
    """Return a decorator that registers a function in `WRAPPERS`, and makes it return a kernel wrapper.

    Args:
        name: the name of the wrapper in TOML files.
        wrap: a function that converts a function of operands, such as the node and its inputs, to a wrapper. The
            parameters of the decorated function are these operands, and then those of the registered function. None if
            the decorated function returns a wrapper.
    """

    def register(function: Callable[..., Any]) -> Callable[..., KernelWrapper]:
        def parametrized(*given: Any, **values: Any) -> KernelWrapper:
            assert wrap is not None
            return wrap(lambda *operands: function(*operands, *given, **values))

        WRAPPERS[name] = parametrized if wrap else function
        return WRAPPERS[name]

    return register


def as_wrapper(wrap_kernel: KernelWrapper) -> KernelWrapper:
    """Return the wrapper: the argument `wrap` of `named` for a function of a kernel that keeps state between runs."""
    return wrap_kernel


def around(function: Callable[[Kernel, Node, Arrays], Sequence[Array]]) -> KernelWrapper:
    """Replace the kernel by `function`, given the kernel, the node and the inputs."""
    return lambda kernel: lambda node, inputs: list(function(kernel, node, inputs))


@named("inputs")
def replace_inputs(function: Callable[[Node, Arrays], Sequence[Array]]) -> KernelWrapper:
    """Replace the inputs of the kernel by the result of `function`, given the node and the inputs."""
    return lambda kernel: lambda node, inputs: kernel(node, list(function(node, inputs)))


@named("outputs")
def replace_outputs(function: Callable[[Node, Arrays, list[Array]], Sequence[Array]]) -> KernelWrapper:
    """Replace the outputs of the kernel by the result of `function`, given the node, the inputs and the outputs."""
    return lambda kernel: lambda node, inputs: list(function(node, inputs, kernel(node, inputs)))


@named("changed_attributes")
def replace_attributes(function: Callable[[dict[str, Any]], Mapping[str, Any]]) -> KernelWrapper:
    """Replace the attributes of the node by the result of `function`, given these attributes."""
    return lambda kernel: (
        lambda node, inputs: kernel(dataclasses.replace(node, attributes=function(dict(node.attributes))), inputs)
    )


@named("attributes", replace_attributes)
def set_attributes(given: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Set attributes of the node to these values."""
    return {**given, **values}


@named("float_attributes", replace_attributes)
def change_float_attributes(given: dict[str, Any], function: Change) -> dict[str, Any]:
    """Replace every float attribute by the result of `function`."""
    return {name: function(value) if isinstance(value, float) else value for name, value in given.items()}


@named("each_input", replace_inputs)
def change_each_input(_: Node, inputs: Arrays, function: Change, kinds: str = "") -> Arrays:
    """Replace every input by the result of `function`.

    Args:
        kinds: the NumPy kinds of the inputs to replace, such as "iu" for integers; all if empty.
    """
    return [function(array) if not kinds or array.dtype.kind in kinds else array for array in inputs]


@named("each_output", replace_outputs)
def change_each_output(_: Node, __: Arrays, outputs: Arrays, function: Change) -> Arrays:
    """Replace every output by the result of `function`."""
    return [function(array) for array in outputs]


@named("output_type")
def change_output_type(dtype: str) -> KernelWrapper:
    """Convert every output to a NumPy type."""
    return change_each_output(lambda array: array.astype(dtype))


@named("error", replace_inputs)
def raise_if(_: Node, inputs: Arrays, function: Callable[[Array], bool], message: str, first_input: int = 0) -> Arrays:
    """Raise an error if `function` returns True for an input; inputs before the index `first_input` are not tested."""
    if any(map(function, inputs[first_input:])):
        raise ValueError(message)
    return inputs


# Rewrites of models


def _sparse_constants(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, Array]]:
    """Yield each Constant with a sparse value, and the value as a dense array."""
    for node in all_nodes(model):
        for attribute in node.attribute:
            if is_operator(node, "Constant") and attribute.name == "sparse_value":
                yield node, dense_array(attribute.sparse_tensor)


def _store_dense(node: onnx.NodeProto, array: Array) -> None:
    del node.attribute[:]
    node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.ascontiguousarray(array))))


def _forget_sparse_elements(model: onnx.ModelProto, _: str) -> None:
    """Replace every sparse Constant by zeros."""
    for node, array in _sparse_constants(model):
        _store_dense(node, np.zeros_like(array))


def _pack_sparse_elements(model: onnx.ModelProto, _: str) -> None:
    """Move the stored elements of every sparse Constant to the front, as if it had no indices."""
    for node, array in _sparse_constants(model):
        stored = array.reshape(-1)[array.reshape(-1) != 0]
        _store_dense(node, np.resize(np.pad(stored, (0, array.size - stored.size)), array.shape))


_ATTRIBUTES_BY_NAME: dict[tuple[str, str, str], list[onnx.AttributeProto]] = {}
"""Attributes of the first node with a name, by op_type, name of the main graph and name of the node."""


def _share_attributes_by_node_name(model: onnx.ModelProto, op_type: str) -> None:
    """Replace the attributes of each named node by those of the first node of that name, in any model of the process.

    Only models whose main graphs have equal names share attributes, so that a case does not affect another one.
    """
    for node in all_nodes(model):
        if onnx_op_type(node) == op_type and node.name:
            first = _ATTRIBUTES_BY_NAME.setdefault((op_type, model.graph.name, node.name), list(node.attribute))
            kept = [type(attribute).FromString(attribute.SerializeToString()) for attribute in first]
            del node.attribute[:]
            node.attribute.extend(kept)


def _share_attribute(name: str, model: onnx.ModelProto, op_type: str) -> None:
    """Replace an attribute of each node by that of the first node of its type in the model, if both have it."""
    first: onnx.AttributeProto | None = None
    for node in all_nodes(model):
        for attribute in node.attribute if onnx_op_type(node) == op_type else ():
            if attribute.name == name and not attribute.ref_attr_name:
                first = first or type(attribute).FromString(attribute.SerializeToString())
                attribute.CopyFrom(first)


def _keep_omitted_attributes(model: onnx.ModelProto, op_type: str) -> None:
    """Give each node the attributes that it omits and an earlier node of its type in the model has."""
    known: dict[str, onnx.AttributeProto] = {}
    for node in all_nodes(model):
        if onnx_op_type(node) == op_type and not any(attribute.ref_attr_name for attribute in node.attribute):
            given = {attribute.name: attribute for attribute in node.attribute}
            missing = [attribute for name, attribute in known.items() if name not in given]
            known.update({name: type(held).FromString(held.SerializeToString()) for name, held in given.items()})
            node.attribute.extend(missing)


STORED = "_stored"
"""End of the names of initializers that mutants add."""


def _ignore_fed_defaults(model: onnx.ModelProto, _: str) -> None:
    """Let nodes of the main graph read copies of the initializers that are also inputs."""
    inputs = {value.name for value in model.graph.input}
    for tensor in [tensor for tensor in model.graph.initializer if tensor.name in inputs]:
        copy = model.graph.initializer.add()
        copy.CopyFrom(tensor)
        copy.name = f"{tensor.name}{STORED}"
        for node in model.graph.node:
            node.input[:] = [copy.name if name == tensor.name else name for name in node.input]


def _confuse_names(function: Change) -> ModelRewrite:
    """Return a rewrite that confuses the values for whose names `function` returns the same text with the first one."""

    def rewrite(model: onnx.ModelProto, _: str) -> None:
        first: dict[str, str] = {}
        for name in (*(value.name for value in model.graph.input), *(t.name for t in model.graph.initializer)):
            first.setdefault(function(name), name)
        for node in iter_nodes(model.graph):
            node.input[:] = [first.get(function(name), name) for name in node.input]
            for name in node.output:
                first.setdefault(function(name), name)

    return rewrite


def _ignore_attributes_with_names_of_values(model: onnx.ModelProto, op_type: str) -> None:
    """Remove the attributes of nodes that have the name of a value."""
    names = {name for node in all_nodes(model) for name in (*node.input, *node.output)}
    for node in all_nodes(model):
        kept = [attribute for attribute in node.attribute if attribute.name not in names]
        if onnx_op_type(node) == op_type:
            del node.attribute[:]
            node.attribute.extend(kept)


def _take_operands_by_name(model: onnx.ModelProto, op_type: str) -> None:
    """Let nodes take an input with the name that the specification gives to an operand as that operand."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    for node in all_nodes(model):
        count = (len(node.input) - 2) // len(optimizer.operands)
        numbers = map(str, range(1, count + 1)) if count > 1 else [""]
        expected = ["R", "T", *map("".join, product(optimizer.operands, numbers))]
        if onnx_op_type(node) == op_type and len(expected) == len(node.input):
            named = {*node.input}
            node.input[:] = [name if name in named else own for name, own in zip(expected, node.input, strict=True)]


def _refuse_trailing_empty_names(model: onnx.ModelProto, _: str) -> None:
    if any("" in (*node.input[-1:], *node.output[-1:]) for node in all_nodes(model)):
        raise ValueError("a node has an empty name at the end")


def _refer_by_own_names(model: onnx.ModelProto, _: str) -> None:
    """Let attributes in functions refer to the attribute of the call that has their own name, if there is one."""
    for function in model.functions:
        names = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
        for attribute in (attribute for node in iter_nodes(function) for attribute in node.attribute):
            if attribute.ref_attr_name and attribute.name in names:
                attribute.ref_attr_name = attribute.name


def _calls_of_functions(model: onnx.ModelProto) -> Iterator[list[onnx.NodeProto]]:
    """Yield the nodes that call a function, for each function of the model."""
    for function in model.functions:
        yield [node for node in all_nodes(model) if (node.domain, node.op_type) == (function.domain, function.name)]


def _keep_omitted_attributes_of_calls(model: onnx.ModelProto, _: str) -> None:
    """Give each call of a function the attributes that it omits and the first call has."""
    for calls in _calls_of_functions(model):
        for call in calls[1:]:
            given = {attribute.name for attribute in call.attribute}
            call.attribute.extend(attribute for attribute in calls[0].attribute if attribute.name not in given)


def _compute_later_calls_in_float(model: onnx.ModelProto, _: str) -> None:
    """Convert the double inputs of calls to float, if the third input of the first call of the function is float."""
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    for first, *later in (calls for calls in _calls_of_functions(model) if calls):
        if len(first.input) > 2 and types.get(first.input[2]) == TensorProto.FLOAT:
            for name in {name for call in later for name in call.input if types.get(name) == TensorProto.DOUBLE}:
                narrow = helper.make_node("Cast", [name], [f"{name}_narrow"], to=TensorProto.FLOAT)
                wide = helper.make_node("Cast", [f"{name}_narrow"], [f"{name}_wide"], to=TensorProto.DOUBLE)
                model.graph.node.insert(0, wide)
                model.graph.node.insert(0, narrow)
                for call in later:
                    call.input[:] = [f"{name}_wide" if taken == name else taken for taken in call.input]


def _call_operator_for_function(model: onnx.ModelProto, op_type: str) -> None:
    """Replace each call of a function with the name of the operator, in which the operator is, by the operator."""
    for function in model.functions:
        inner = [node for node in function.node if function.name == op_type == onnx_op_type(node)]
        for call in (node for node in all_nodes(model) if inner and node.domain == function.domain):
            call.domain = inner[0].domain
            call.attribute.extend(inner[0].attribute)


MODEL_REWRITES: Mapping[str, ModelRewrite] = {
    "forget_sparse_elements": _forget_sparse_elements,
    "pack_sparse_elements": _pack_sparse_elements,
    "share_attributes_by_node_name": _share_attributes_by_node_name,
    "ignore_fed_defaults": _ignore_fed_defaults,
    **{
        f"share_{name}": partial(_share_attribute, name)
        for name in (
            "alpha",
            "beta",
            "epsilon",
            "norm_coefficient",
            "norm_coefficient_post",
            "decay_factor",
            "mode",
            "axis",
            "keepdims",
            "select_last_index",
        )
    },
    "keep_omitted_attributes": _keep_omitted_attributes,
    **{
        f"cut_names_at_{word}": _confuse_names(partial(re.sub, f"{re.escape(character)}.*", ""))
        for word, character in {"colon": ":", "slash": "/", "dot": ".", "space": " "}.items()
    },
    "ignore_case_of_names": _confuse_names(str.lower),
    "cut_long_names": _confuse_names(lambda name: name[:256]),
    "ignore_attributes_with_names_of_values": _ignore_attributes_with_names_of_values,
    "take_operands_by_name": _take_operands_by_name,
    "refuse_trailing_empty_names": _refuse_trailing_empty_names,
    "refer_by_own_names": _refer_by_own_names,
    "keep_omitted_attributes_of_calls": _keep_omitted_attributes_of_calls,
    "compute_later_calls_in_float": _compute_later_calls_in_float,
    "call_operator_for_function": _call_operator_for_function,
}
"""Functions that modify a model, by the name in TOML files. They define faults of loading a model."""
