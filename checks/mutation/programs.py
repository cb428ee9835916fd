"""Mutants of training optimizers that only the programs of the corpus detect: faults of memory, Loops and functions."""

from __future__ import annotations

import unicodedata
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.exact.models.arrays import array_of, tensor_of
from conformance.exact.models.graphs import all_nodes, is_operator, iter_nodes, onnx_op_type, subgraphs_of
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants.training_wrappers import group_operands, operands_by_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.run.mutants.mutant import Kernel, KernelWrapper, ModelRewrite

VIEWS = ("Squeeze", "Unsqueeze", "Flatten", "Cast")
"""Operators whose result may share the memory of their operand."""

LEAST_SPREAD = 8
"""The least number of elements of a constant that a runtime takes for one repeated element."""


# Memory


def _tested(model: onnx.ModelProto, op_type: str) -> Iterator[tuple[int, onnx.NodeProto]]:
    """Yield the nodes of an operator with one tensor in the main graph, each with its place."""
    for place, node in enumerate(model.graph.node):
        if onnx_op_type(node) == op_type and len(node.input) == 2 + len(TRAINING_OPTIMIZERS[op_type].operands):
            yield place, node


def _replaced(op_type: str, node: onnx.NodeProto) -> Iterator[tuple[str, str]]:
    """Yield each operand of a node with one tensor that has a new value, with the name of the result."""
    letters = TRAINING_OPTIMIZERS[op_type].operands
    kept = [name for letter, name in zip(letters, node.input[2:], strict=True) if letter != "G"]
    yield from zip(kept, node.output, strict=True)


def _overwrite_viewed(kind: str, model: onnx.ModelProto, op_type: str) -> None:
    """Let later nodes read a result in place of a value of which an operand is a view."""
    viewed = {node.output[0]: node.input[0] for node in model.graph.node if is_operator(node, kind)}
    for place, node in _tested(model, op_type):
        taken = {viewed[operand]: result for operand, result in _replaced(op_type, node) if operand in viewed}
        for later in list(model.graph.node)[place + 1 :]:
            later.input[:] = [taken.get(name, name) for name in later.input]


def _overwrite_in(
    find: Callable[[onnx.NodeProto], Iterator[onnx.NodeProto]], model: onnx.ModelProto, op_type: str
) -> None:
    """Let the nodes that `find` returns for a later node read a result in place of an operand that a node made."""
    made = {name for node in model.graph.node for name in node.output}
    for place, node in _tested(model, op_type):
        later = list(model.graph.node)[place + 1 :]
        read = {name for other in later for name in other.input}
        taken = {operand: result for operand, result in _replaced(op_type, node) if operand in made - read}
        for inner in (inner for other in later for inner in find(other)):
            inner.input[:] = [taken.get(name, name) for name in inner.input]


def _nodes_in_nested_branches(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    for outer in (outer for graph in subgraphs_of(node) for outer in graph.node):
        for graph in subgraphs_of(outer):
            yield from iter_nodes(graph)


def _nodes_in(name: str, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of the subgraph of an attribute."""
    return (inner for held in node.attribute if held.name == name for inner in held.g.node)


# Loops, Scans and functions


def _bodies(model: onnx.ModelProto, *kinds: str) -> Iterator[tuple[onnx.NodeProto, onnx.GraphProto]]:
    """Yield the nodes of control flow of these types, each with its body."""
    for node in [node for node in all_nodes(model) if is_operator(node, *kinds)]:
        yield from ((node, held.g) for held in node.attribute if held.name == "body")


def _keep_first_number(model: onnx.ModelProto, op_type: str) -> None:
    """Give optimizers in a Loop the iteration number 0 as T."""
    for _, body in _bodies(model, "Loop"):
        for node in [
            node for node in body.node if onnx_op_type(node) == op_type and node.input[1] == body.input[0].name
        ]:
            zero = helper.make_node("Constant", [], [f"{node.output[0]}_count"], value_int=0)
            node.input[1] = zero.output[0]
            body.node.insert(0, zero)


def _take_inner_number(model: onnx.ModelProto, op_type: str) -> None:
    """Give an optimizer after a Loop in the body of a Loop the trip count of the inner Loop as iteration number."""
    for _, body in _bodies(model, "Loop"):
        inner = [node for node in body.node if is_operator(node, "Loop")]
        for node in body.node:
            if inner and onnx_op_type(node) == op_type and node.input[1] == body.input[0].name:
                node.input[1] = inner[0].input[0]


def _copy_in_order(first: int, kind: str, model: onnx.ModelProto, _: str) -> None:
    """Let a carried value that the body hands on read the new value, if the body changes that one before."""
    for _node, body in _bodies(model, kind):
        carried = [value.name for value in body.input][2 * first :]
        given = [value.name for value in body.output][first:]
        for node in (node for node in body.node if is_operator(node, "Identity")):
            if node.input[0] in carried and node.output[0] in given:
                source, target = carried.index(node.input[0]), given.index(node.output[0])
                if source < target and source < len(given):
                    node.input[0] = given[source]
                    node_copy = type(node)()
                    node_copy.CopyFrom(node)
                    body.node.remove(node)
                    body.node.append(node_copy)
                    break


def _copy_names_in_order(first: int, kind: str, model: onnx.ModelProto, _: str) -> None:
    """Let a state whose new value is another state take the new value of that one, if it comes before."""
    for _node, body in _bodies(model, kind):
        carried = [value.name for value in body.input][2 * first :]
        given = list(body.output)[first:][: len(carried)]
        for target, value in enumerate(given):
            source = carried.index(value.name) if value.name in carried else target
            if source < target and source < len(given):
                value.name = given[source].name


def _overwrite_operands_of_bodies(model: onnx.ModelProto, op_type: str) -> None:
    """Let outputs and later nodes of the body of a Loop read a result in place of an operand that is an input."""
    for _node, body in _bodies(model, "Loop"):
        inputs = {value.name for value in body.input}
        for place, node in enumerate(body.node):
            if onnx_op_type(node) == op_type and len(node.input) == 2 + len(TRAINING_OPTIMIZERS[op_type].operands):
                taken = {operand: result for operand, result in _replaced(op_type, node) if operand in inputs}
                for later in list(body.node)[place + 1 :]:
                    later.input[:] = [taken.get(name, name) for name in later.input]
                for value in body.output:
                    value.name = taken.get(value.name, value.name)


def _drop_attribute(name: str, model: onnx.ModelProto, _: str) -> None:
    """Remove an attribute from each Scan."""
    for node, _body in _bodies(model, "Scan"):
        kept = [held for held in node.attribute if held.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)


def _bind_in_order(model: onnx.ModelProto, _: str) -> None:
    """Bind references of a call to attributes one after the other: a later one refers to a new value."""
    for call in (node for function in model.functions for node in function.node if node.domain == function.domain):
        bound: dict[str, str] = {}
        for held in call.attribute:
            held.ref_attr_name = bound.get(held.ref_attr_name, held.ref_attr_name)
            bound[held.name] = held.ref_attr_name


def _ignore_overloads(model: onnx.ModelProto, _: str) -> None:
    """Keep the first function of a name, whatever its overload is."""
    names = [(function.domain, function.name) for function in model.functions]
    for place in reversed(range(len(names))):
        if names[place] in names[:place]:
            del model.functions[place]
    for named in (*model.functions, *all_nodes(model)):
        named.overload = ""


def _merge_similar(form: Callable[[str], str], model: onnx.ModelProto, _: str) -> None:
    """Let nodes read the first input of the model whose name has the same form."""
    first: dict[str, str] = {}
    for value in model.graph.input:
        first.setdefault(form(value.name), value.name)
    for node in model.graph.node:
        node.input[:] = [first.get(form(name), name) for name in node.input]


def _as_identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


# Fusion and folding


def _fuse_decay(model: onnx.ModelProto, op_type: str) -> None:
    """Add c to norm_coefficient, for all tensors of a node, if the first gradient is G + c * X."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    numbers = {tensor.name: array_of(tensor) for tensor in model.graph.initializer if not tensor.dims}
    for node in [node for node in model.graph.node if onnx_op_type(node) == op_type]:
        place = 2 + (len(node.input) - 2) // len(TRAINING_OPTIMIZERS[op_type].operands)
        total = made_by.get(node.input[place])
        if total is not None and is_operator(total, "Add") and total.input[0] in made_by:
            product, rest = made_by[total.input[0]], total.input[1]
            if is_operator(product, "Mul") and product.input[0] == node.input[2] and product.input[1] in numbers:
                node.input[place] = rest
                for held in (held for held in node.attribute if held.name == "norm_coefficient"):
                    held.f += float(numbers[product.input[1]])


def _spread_first_element(model: onnx.ModelProto, _: str) -> None:
    """Replace all elements of a constant by the first one if the last element is equal to the first."""
    for tensor in (*model.graph.initializer, *_constants(model)):
        array = array_of(tensor)
        if array.size >= LEAST_SPREAD and array.dtype.kind == "f" and array.flat[0] == array.flat[-1]:
            tensor.CopyFrom(tensor_of(np.full_like(array, array.flat[0]), tensor.name))


def _constants(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for node in (node for node in all_nodes(model) if is_operator(node, "Constant")):
        yield from (held.t for held in node.attribute if held.name == "value")


def _initialize(model: onnx.ModelProto, _: str) -> None:
    """Apply the bindings of the initialization in training information that are Constants."""
    for info in model.training_info:
        made = {
            node.output[0]: node.attribute[0].t for node in info.initialization.node if is_operator(node, "Constant")
        }
        bound = {binding.key: binding.value for binding in info.initialization_binding}
        for tensor in model.graph.initializer:
            if bound.get(tensor.name) in made:
                tensor.CopyFrom(tensor_of(array_of(made[bound[tensor.name]]), tensor.name))


# Kernels


def _keep_results_without(operand: str, kernel: Kernel) -> Kernel:
    """Return the results of an earlier run if only an operand differs."""
    kept: dict[tuple[tuple[str, ...], tuple[bytes, ...]], list[Array]] = {}

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        letters = ("R", "T", *TRAINING_OPTIMIZERS[node.op_type].operands)
        others = tuple(
            array.tobytes()
            for letter, array in zip(letters, inputs, strict=False)
            if letter != operand or len(inputs) > len(letters)
        )
        return [array.copy() for array in kept.setdefault((node.outputs, others), kernel(node, inputs))]

    return run


def _regularize_shared(kernel: Kernel) -> Kernel:
    """Write the regularized gradient of each tensor in place of its gradient, which later tensors of the node read."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors, outputs = operands_by_tensor(node, inputs), []
        written: dict[str, Array] = {}
        for number, (X, G, *state) in enumerate(tensors):
            name = node.inputs[2 + len(tensors) + number]
            taken = written.get(name, G)
            outputs.append(kernel(node, [*inputs[:2], X, taken, *state]))
            written[name] = (node.attributes["norm_coefficient"] * X + taken).astype(G.dtype)
        return group_operands(outputs)

    return run


def _end_full_launch(chunk: int, most: int, kernel: Kernel) -> Kernel:
    """Drop the rest of a tensor when the chunks of a launch are used up, except for the first tensor."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors, outputs = operands_by_tensor(node, inputs), kernel(node, inputs)
        old = [array for place, array in enumerate(inputs[2:]) if place // len(tensors) != 1]
        used = 0
        for number, (X, *_) in enumerate(tensors):
            chunks, room = -(-X.size // chunk), most - used
            if number and chunks > room:
                for place in range(number, len(outputs), len(tensors)):
                    outputs[place].reshape(-1)[room * chunk :] = old[place].reshape(-1)[room * chunk :]
            used = (used + chunks) % most
        return outputs

    return run


def _keep_first_sizes(kernel: Kernel) -> Kernel:
    """Update as many elements of each tensor as it had in the first run with this size of the first tensor."""
    sizes: dict[tuple[str, int], list[int]] = {}

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors = operands_by_tensor(node, inputs)
        counts = sizes.setdefault((node.outputs[0], tensors[0][0].size), [X.size for X, *_ in tensors])
        outputs = kernel(node, inputs)
        old = [array for place, array in enumerate(inputs[2:]) if place // len(tensors) != 1]
        for place, (array, before) in enumerate(zip(outputs, old, strict=True)):
            array.reshape(-1)[counts[place % len(tensors)] :] = before.reshape(-1)[counts[place % len(tensors)] :]
        return outputs

    return run


def _convert_to_first_type(kernel: Kernel) -> Kernel:
    """Compute all tensors in the type of the first one."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors = operands_by_tensor(node, inputs)
        first = inputs[2].dtype
        changed = group_operands([[array.astype(first) for array in tensor] for tensor in tensors])
        types = [tensor[0].dtype for tensor in tensors]
        outputs = kernel(node, [*inputs[:2], *changed])
        return [array.astype(types[place % len(types)]) for place, array in enumerate(outputs)]

    return run


def _spoil_infinite(kernel: Kernel) -> Kernel:
    """Update no tensor of a node with several if a gradient has an infinity."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors = operands_by_tensor(node, inputs)
        if len(tensors) > 1 and any(np.isinf(G).any() for _, G, *_ in tensors):
            return group_operands([[X, *state] for X, _, *state in tensors])
        return kernel(node, inputs)

    return run


REWRITES: dict[str, tuple[str, ModelRewrite]] = {
    **{
        f"{kind.lower()}_overwritten": (
            f"overwrites a value of which an operand is a {kind}",
            partial(_overwrite_viewed, kind),
        )
        for kind in VIEWS
    },
    "nested_capture_overwritten": (
        "overwrites an operand that a branch in a later branch captures",
        partial(_overwrite_in, _nodes_in_nested_branches),
    ),
    "other_branch_overwritten": (
        "overwrites an operand that a later else_branch captures",
        partial(_overwrite_in, partial(_nodes_in, "else_branch")),
    ),
    "later_loop_overwritten": (
        "overwrites an operand that a later Loop captures",
        partial(_overwrite_in, partial(_nodes_in, "body")),
    ),
    "first_iteration_number": ("takes the iteration number of the first iteration as T", _keep_first_number),
    "inner_iteration_number": ("takes the iteration number of an inner Loop as T", _take_inner_number),
    "loop_copies_in_order": ("copies carried values of a Loop one after the other", partial(_copy_in_order, 1, "Loop")),
    "scan_copies_in_order": ("copies states of a Scan one after the other", partial(_copy_in_order, 0, "Scan")),
    **{
        f"{name}_ignored": (f"ignores {name} of a Scan", partial(_drop_attribute, name))
        for name in ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")
    },
    "loop_exchanges_in_order": (
        "stores new states of a Loop one after the other in the old ones",
        partial(_copy_names_in_order, 1, "Loop"),
    ),
    "scan_exchanges_in_order": (
        "stores new states of a Scan one after the other in the old ones",
        partial(_copy_names_in_order, 0, "Scan"),
    ),
    "body_input_overwritten": (
        "overwrites an input of the body of a Loop that the body reads later or hands on",
        _overwrite_operands_of_bodies,
    ),
    "decay_fused": ("adds the decay of the first gradient to norm_coefficient of all tensors", _fuse_decay),
    "constant_spread": (
        "folds a constant whose first and last elements are equal to one element",
        _spread_first_element,
    ),
    "initialization_applied": ("applies the initialization of training information", _initialize),
    "references_in_order": ("binds the attributes of a call in a function one after the other", _bind_in_order),
    "overloads_ignored": ("calls the first function of a name, whatever its overload is", _ignore_overloads),
    "names_as_identifiers": ("replaces characters of names by _", partial(_merge_similar, _as_identifier)),
    "names_normalized": (
        "compares names in a normal form of Unicode",
        partial(_merge_similar, partial(unicodedata.normalize, "NFC")),
    ),
    "names_by_their_end": (
        "compares the last 63 characters of names",
        partial(_merge_similar, lambda name: name[-63:]),
    ),
}
"""Text and change of the model of each mutant, by the end of its id."""

KERNELS: dict[str, tuple[str, KernelWrapper]] = {
    "sizes_of_first_tensor": ("keeps the sizes of all tensors by the size of the first one", _keep_first_sizes),
    "type_of_first_tensor": ("computes all tensors of a node in the type of the first one", _convert_to_first_type),
    "gradient_regularized_in_place": (
        "reads the regularized gradient for a later tensor with the same gradient",
        _regularize_shared,
    ),
    **{
        f"launch_of_{most}_chunks_of_{chunk}": (
            f"updates {most} chunks of {chunk} elements in a launch, and drops the rest of the tensor",
            partial(_end_full_launch, chunk, most),
        )
        for chunk, most in ((1024, 320), (512, 64), (65536, 4))
    },
    "infinite_gradient_stops": ("updates no tensor of a node with an infinite gradient", _spoil_infinite),
}
"""Text and kernel wrapper of each mutant, by the end of its id."""


def kernels_in_loops(op_type: str) -> Iterator[tuple[str, str, KernelWrapper]]:
    """Yield the end of the id, the text and the kernel wrapper of each mutant of nodes in Loops."""
    for operand in ("R", "T", *TRAINING_OPTIMIZERS[op_type].operands):
        text = f"moves a node of which only {operand} changes out of a Loop"
        yield f"moved_without_{operand}".lower(), text, partial(_keep_results_without, operand)
