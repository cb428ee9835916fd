"""Mutants that only models of a few dimensions detect: each group needs cases that combine two properties of a model.

The catalogue of `conformance.run.mutants` has the mutants that a diagnosis can name. These mutants measure the corpus
only.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from checks.mutation.programs import KERNELS, REWRITES, kernels_in_loops
from checks.mutation.searched_results import REWRITES as SEARCH_REWRITES
from conformance.base.verdicts import Level
from conformance.exact.models.graphs import all_nodes, is_operator, iter_nodes, onnx_op_type
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import catalogue
from conformance.run.mutants.argmax_wrappers import set_attributes_where
from conformance.run.mutants.mutant import Mutant
from conformance.run.mutants.training_wrappers import (
    R,
    change_scalar_type,
    group_operands,
    operands_by_tensor,
    operands_with_groups,
    update_first_elements,
    update_first_tensors,
)
from conformance.run.mutants.wrappers import STORED, change_each_input, replace_outputs, set_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.run.mutants.mutant import Kernel, KernelWrapper, ModelRewrite


# Kernels


def _with_t(function: Callable[[Array], Array]) -> KernelWrapper:
    return lambda kernel: lambda node, inputs: kernel(node, [inputs[R], np.asarray(function(inputs[1])), *inputs[2:]])


def _for_long_tensors(count: int, wrap: KernelWrapper) -> KernelWrapper:
    """Return a wrapper that applies another wrapper to the tensors of more than `count` elements."""

    def wrap_kernel(kernel: Kernel) -> Kernel:
        changed = wrap(kernel)

        def run(node: Node, inputs: list[Array]) -> list[Array]:
            tensors = operands_by_tensor(node, inputs)
            return group_operands(
                [(changed if X.size > count else kernel)(node, [*inputs[:2], X, *rest]) for X, *rest in tensors]
            )

        return run

    return wrap_kernel


def _keep_first_length(kernel: Kernel) -> Kernel:
    """Search at most as many elements along the axis as the first run has."""
    first: list[int] = []

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        axis = node.attributes.get("axis", 0)
        first[:] = first or [inputs[0].shape[axis]]
        return kernel(node, [np.take(inputs[0], range(min(first[0], inputs[0].shape[axis])), axis)])

    return run


def _nan_after_infinite_block(size: int) -> KernelWrapper:
    """Return NaN for rows along the last axis whose first elements are all -infinity."""

    def spoil(_: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        X, Y = inputs[0], outputs[0]
        if X.shape[-1:] <= (size,):
            return outputs
        return [np.where((X[..., :size] == -np.inf).all(-1, keepdims=True), np.nan, Y).astype(Y.dtype)]

    return replace_outputs(spoil)


def _narrow_long(kinds: str, bytes: int, narrow: type) -> KernelWrapper:
    """Convert inputs with more than 256 elements in a dimension to a narrower type."""
    return change_each_input(
        lambda X: X.astype(narrow) if X.dtype.itemsize == bytes and max(X.shape, default=0) > 256 else X, kinds
    )


def _update_stored(kernel: Kernel) -> Kernel:
    """Write the new X and the new state into the copies of initializers: a later run reads them."""
    written: dict[str, Array] = {}

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        taken = [written.get(name, array) for name, array in zip(node.inputs, inputs, strict=True)]
        outputs = kernel(node, taken)
        groups = zip(node.inputs[2:], operands_with_groups(node, inputs), strict=True)
        updated = zip((name for name, (group, _) in groups if group != "G"), outputs, strict=True)
        written.update({name: array for name, array in updated if name.endswith(STORED)})
        return outputs

    return run


# Models


def _copy_initializers(model: onnx.ModelProto, _: str) -> None:
    """Let nodes of the main graph read copies of the initializers that are no inputs."""
    inputs = {value.name for value in model.graph.input}
    for tensor in [tensor for tensor in model.graph.initializer if tensor.name not in inputs]:
        copy = model.graph.initializer.add()
        copy.CopyFrom(tensor)
        copy.name = f"{tensor.name}{STORED}"
        for node in model.graph.node:
            node.input[:] = [copy.name if name == tensor.name else name for name in node.input]


def _merge_printed_attributes(model: onnx.ModelProto, op_type: str) -> None:
    """Give nodes of equal inputs the attributes of the first of them, if floats are equal in six digits."""
    first: dict[tuple[str, ...], onnx.NodeProto] = {}
    for node in (node for node in all_nodes(model) if onnx_op_type(node) == op_type):
        printed = sorted(f"{held.name} {held.ref_attr_name} {held.f:f} {held.i} {held.s!r}" for held in node.attribute)
        same = first.setdefault((*node.input, *printed), node)
        if same is not node:
            del node.attribute[:]
            node.attribute.extend(same.attribute)


_INITIALIZERS_BY_STRUCTURE: dict[tuple[str, bytes], list[onnx.TensorProto]] = {}
"""Initializers of the first model of a structure, by op_type and the model without the values of initializers."""


def _reuse_initializers(model: onnx.ModelProto, op_type: str) -> None:
    """Replace the initializers by those of the first model of the process that is equal except for their values."""
    structure = type(model)()
    structure.CopyFrom(model)
    for tensor in structure.graph.initializer:
        tensor.CopyFrom(TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims))
    key = op_type, structure.SerializeToString(deterministic=True)
    own = [TensorProto.FromString(tensor.SerializeToString()) for tensor in model.graph.initializer]
    first = _INITIALIZERS_BY_STRUCTURE.setdefault(key, own)
    del model.graph.initializer[:]
    model.graph.initializer.extend(first)


def _tested(model: onnx.ModelProto, op_type: str) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of an operator in the main graph."""
    return (node for node in model.graph.node if onnx_op_type(node) == op_type)


def _merge_ignoring(place: int, model: onnx.ModelProto, op_type: str) -> None:
    """Let nodes with one tensor that differ only in the input at a place read the first one's input."""
    first: dict[tuple[bytes | str, ...], str] = {}
    for node in _tested(model, op_type):
        if len(node.input) == 2 + len(TRAINING_OPTIMIZERS[op_type].operands):
            rest = [*node.input[:place], *node.input[place + 1 :]]
            attributes = sorted(held.SerializeToString(deterministic=True) for held in node.attribute)
            node.input[place] = first.setdefault((*rest, *attributes), node.input[place])


def _read_stale_state(model: onnx.ModelProto, op_type: str) -> None:
    """Let a node whose state is a result of an earlier node, but whose X and G are not, read that node's old state."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    old: dict[str, str] = {}
    for node in _tested(model, op_type):
        if len(node.input) == 2 + len(optimizer.operands):
            if not {*node.input[2:4]} & old.keys():
                node.input[4:] = [old.get(name, name) for name in node.input[4:]]
            old |= dict(zip(node.output[1:], node.input[4:], strict=True))


def _forget_references_in_branches(model: onnx.ModelProto, op_type: str) -> None:
    """Replace references to attributes in branches of functions: floats by 0.5, the mode by standard."""
    for function in model.functions:
        inner = (node for outer in function.node for held in outer.attribute for node in iter_nodes(held.g))
        for attribute in (held for node in inner if onnx_op_type(node) == op_type for held in node.attribute):
            value = "standard" if attribute.type == attribute.STRING else 0.375
            if attribute.ref_attr_name:
                attribute.CopyFrom(helper.make_attribute(attribute.name, value))


def _share_norm_coefficient(model: onnx.ModelProto, _: str) -> None:
    """Give all optimizers of the main graph the norm_coefficient of the first one of another type."""
    nodes = [node for node in model.graph.node if onnx_op_type(node) in TRAINING_OPTIMIZERS]
    for node in nodes:
        for held in node.attribute:
            if held.name == "norm_coefficient" and node.op_type != nodes[0].op_type:
                held.f = next(one.f for one in nodes[0].attribute if one.name == held.name)


def _refuse(is_refused: Callable[[onnx.ModelProto], bool], model: onnx.ModelProto, _: str) -> None:
    if is_refused(model):
        raise ValueError("the model is refused")


def _has_unused_input(model: onnx.ModelProto) -> bool:
    used = {name for node in all_nodes(model) for name in node.input}
    return any(value.name not in used for value in model.graph.input)


def _overwrite_namesakes(model: onnx.ModelProto, _: str) -> None:
    """Let later nodes of the main graph read a value of a called function in place of a value of the same name."""
    for function in model.functions:
        inner = {name for node in function.node for name in node.output} - {*function.output}
        for place, call in enumerate(model.graph.node):
            if (call.domain, call.op_type) == (function.domain, function.name):
                for name in sorted(inner & {name for node in model.graph.node for name in node.output}):
                    function.output.append(name)
                    call.output.append(f"{name}_inlined")
                    for node in model.graph.node[place + 1 :]:
                        node.input[:] = [f"{name}_inlined" if taken == name else taken for taken in node.input]


def _invert_permutations(model: onnx.ModelProto, _: str) -> None:
    """Replace each permutation of a Transpose by its inverse."""
    for node in (node for node in all_nodes(model) if is_operator(node, "Transpose")):
        for held in node.attribute:
            held.ints[:] = np.argsort(held.ints).tolist()


def _ignore_negative_steps(model: onnx.ModelProto, _: str) -> None:
    """Reverse both axes of the results of Slices with steps of -1 again."""
    constants = {node.output[0]: node.attribute[0].t for node in model.graph.node if is_operator(node, "Constant")}
    for node in [node for node in model.graph.node if is_operator(node, "Slice") and len(node.input) > 4]:
        steps = constants.get(node.input[4])
        if steps is not None and np.frombuffer(steps.raw_data, np.int64).tolist() == [-1, -1]:
            ends = helper.make_node("Constant", [], [f"{node.output[0]}_ends"], value_ints=[-99, -99])
            taken = [f"{node.output[0]}_raw", node.input[4], ends.output[0], node.input[3], node.input[4]]
            again = helper.make_node("Slice", taken, list(node.output))
            node.output[0] = taken[0]
            place = list(model.graph.node).index(node)
            model.graph.node.insert(place + 1, again)
            model.graph.node.insert(place, ends)


def _push_through_transposes(model: onnx.ModelProto, _: str) -> None:
    """Let ArgMax reduce the axis of the inverse permutation of a Transpose before it."""
    permutations = {
        node.output[0]: list(node.attribute[0].ints)
        for node in model.graph.node
        if is_operator(node, "Transpose") and node.attribute
    }
    for node in model.graph.node:
        if is_operator(node, "ArgMax") and node.input[0] in permutations:
            permutation = permutations[node.input[0]]
            for held in node.attribute:
                if held.name == "axis" and len({*permutation}) == len(permutation):
                    turned = permutation[permutation[held.i]]
                    held.i = turned if turned != held.i else permutation[held.i]


def _share_branch_constants(kind: str, chosen: int, model: onnx.ModelProto, _: str) -> None:
    """Give the initializers, or the Constants, of one name in all branches and bodies the value of one of them."""
    values: dict[str, list[onnx.TensorProto]] = {}
    for graph in [held.g for node in all_nodes(model) for held in node.attribute if held.type == held.GRAPH]:
        constants = [(node.output[0], node.attribute[0].t) for node in graph.node if is_operator(node, "Constant")]
        own = constants if kind == "constants" else [(tensor.name, tensor) for tensor in graph.initializer]
        for name, tensor in own:
            values.setdefault(name, []).append(tensor)
    for tensors in values.values():
        content = tensors[chosen].SerializeToString()
        for tensor in tensors:
            tensor.ParseFromString(content)


def _overwrite_captured(place: int, model: onnx.ModelProto, op_type: str) -> None:
    """Let captures read a result in place of an operand of its type, if no later node of the main graph reads that.

    Args:
        place: the number of the operand among the operands of the node's only tensor.
    """
    graph, kinds = model.graph, TRAINING_OPTIMIZERS[op_type].operands
    made = {name for node in graph.node for name in node.output} - {value.name for value in graph.output}
    for number, node in enumerate(graph.node):
        if onnx_op_type(node) == op_type and len(node.input) == 2 + len(kinds):
            later, operand = list(graph.node)[number + 1 :], node.input[2 + place]
            if operand in made and not any(operand in other.input for other in later):
                inner = (one for other in later for held in other.attribute for one in iter_nodes(held.g))
                for one in inner:
                    one.input[:] = [node.output[min(place, 1)] if name == operand else name for name in one.input]


def _set_trip_counts(count: int, model: onnx.ModelProto, op_type: str) -> None:
    """Run each Loop with the operator at least `count` times, whatever its first condition is."""
    for node in [node for node in model.graph.node if is_operator(node, "Loop")]:
        if node.input[0] and any(onnx_op_type(one) == op_type for one in iter_nodes(node.attribute[0].g)):
            least = helper.make_node("Constant", [], [f"{node.input[0]}_least"], value_int=count)
            trips = helper.make_node("Max", [node.input[0], least.output[0]], [f"{node.output[0]}_trips"])
            node.input[:2] = [trips.output[0], ""]
            place = list(model.graph.node).index(node)
            model.graph.node.insert(place, trips)
            model.graph.node.insert(place, least)


def _ignore_loop_conditions(model: onnx.ModelProto, op_type: str) -> None:
    """Run each Loop with the operator as often as its trip count, whatever its conditions are."""
    for node in (node for node in model.graph.node if is_operator(node, "Loop")):
        body = node.attribute[0].g
        if node.input[0] and any(onnx_op_type(one) == op_type for one in iter_nodes(body)):
            node.input[1] = ""
            always = helper.make_node("Constant", [], [f"{body.output[0].name}_always"])
            always.attribute.append(
                helper.make_attribute("value", helper.make_tensor("true", TensorProto.BOOL, (), [True]))
            )
            body.node.append(always)
            body.output[0].name = always.output[0]


def _drop_roots_of_nonnegatives(model: onnx.ModelProto, _: str) -> None:
    """Let ArgMax read the input of a Sqrt whose input is the result of Abs or Relu."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    for node in (node for node in model.graph.node if is_operator(node, "ArgMax")):
        root = made_by.get(node.input[0])
        before = None if root is None or not is_operator(root, "Sqrt") else made_by.get(root.input[0])
        if before is not None and is_operator(before, "Abs", "Relu"):
            node.input[0] = before.output[0]


# The mutants


def _optimizer_mutants(op_type: str) -> Iterator[Mutant]:
    optimizer = TRAINING_OPTIMIZERS[op_type]

    def mutant(
        id: str,
        text: str,
        clause: str,
        *wrappers: KernelWrapper,
        within: str | None = None,
        rewrite: ModelRewrite | None = None,
    ) -> Mutant:
        return Mutant(
            id=f"{op_type.lower()}.{id}",
            text=text,
            clause=f"{op_type.lower()}.{clause}",
            wrappers=wrappers,
            within=within,
            operator=op_type,
            rewrites=(rewrite,) if rewrite else (),
        )

    for count in (64, 1024, 4096, 65536):
        wrap = _for_long_tensors(count, _with_t(lambda T: np.maximum(T, 1)))
        yield mutant(
            f"t_at_least_1_beyond_{count}", f"uses T = 1 for T = 0 beyond {count} elements", "elementwise", wrap
        )
    for count in (64, 128, 255, 256):
        yield mutant(
            f"{count}_tensors_at_most", f"updates {count} tensors", "several_tensors", update_first_tensors(count)
        )
    for scope in ("If", "Loop", "Scan", "function"):
        wrap = update_first_elements(64)
        yield mutant(
            f"64_elements_in_{scope}".lower(), f"updates 64 elements in {scope}", "elementwise", wrap, within=scope
        )
    wrap = change_scalar_type(R, "float32")
    yield mutant("r_as_float_in_scan", "narrows R in a Scan", "learning_rate_type", wrap, within="Scan")
    if op_type == "Momentum":
        for mode in ("standard", "nesterov"):
            for count in (64, 4096, 65536):
                wrap = _for_long_tensors(count, set_attributes(mode=mode))
                yield mutant(f"{mode}_beyond_{count}", f"is {mode} beyond {count} elements", "mode", wrap)
            for scope in ("If", "Loop", "Scan"):
                wrap = set_attributes(mode=mode)
                yield mutant(f"{mode}_in_{scope}".lower(), f"is always {mode} in {scope}", "mode", wrap, within=scope)
    for place, name in enumerate(("R", "T", *optimizer.operands)):
        rewrite: ModelRewrite = partial(_merge_ignoring, place)
        text = f"merges nodes that differ only in {name}"
        yield mutant(f"merged_without_{name}".lower(), text, "operands", rewrite=rewrite)
    rows: Sequence[tuple[str, str, str, ModelRewrite]] = (
        (
            "stale_state",
            "reads the old state of an earlier node whose new state is the operand",
            "pure",
            _read_stale_state,
        ),
        (
            "branch_references",
            "ignores references in branches of a function",
            "operands",
            _forget_references_in_branches,
        ),
        ("unused_input_refused", "refuses a model with an unused input", "pure", partial(_refuse, _has_unused_input)),
        (
            "later_opset_refused",
            "refuses a model of an opset of the main domain above 17",
            "pure",
            partial(_refuse, lambda model: any(not one.domain and one.version > 17 for one in model.opset_import)),
        ),
        ("namesakes_overwritten", "overwrites a value by that of a called function", "pure", _overwrite_namesakes),
        ("inverse_permutations", "permutes axes in the inverse order", "operands", _invert_permutations),
        ("steps_not_negative", "ignores the sign of the steps of a Slice", "operands", _ignore_negative_steps),
        (
            "printed_attributes",
            "merges nodes whose attributes are equal in six digits",
            "pure",
            _merge_printed_attributes,
        ),
        ("initializers_of_first_model", "uses the initializers of an earlier model", "pure", _reuse_initializers),
    )
    for id, text, clause, rewrite in rows:
        yield mutant(id, text, clause, rewrite=rewrite)
    for kind in ("initializers", "constants"):
        for word, chosen in (("first", 0), ("last", -1)):
            rewrite = partial(_share_branch_constants, kind, chosen)
            text = f"keeps one table of the {kind} of all branches, in which the {word} of a name counts"
            yield mutant(f"{word}_of_branch_{kind}", text, "operands", rewrite=rewrite)
    for place, name in enumerate(optimizer.operands):
        text = f"overwrites {name} although a later branch captures it"
        yield mutant(f"captured_{name}_overwritten".lower(), text, "pure", rewrite=partial(_overwrite_captured, place))
    text = "runs the body of a Loop at least once"
    yield mutant("loop_runs_once", text, "pure", rewrite=partial(_set_trip_counts, 1))
    text = "ignores the conditions of a Loop that has a trip count"
    yield mutant("loop_conditions_ignored", text, "pure", rewrite=_ignore_loop_conditions)
    for id, (text, change) in REWRITES.items():
        yield mutant(id, text, "pure", rewrite=change)
    for id, (text, wrap) in KERNELS.items():
        yield mutant(id, text, "several_tensors", wrap)
    for id, text, wrap in kernels_in_loops(op_type):
        yield mutant(id, text, "pure", wrap, within="Loop")
    text = "writes the new X and state into initializers"
    yield mutant("initializers_updated", text, "pure", _update_stored, rewrite=_copy_initializers)
    if op_type == "Adam":
        text = "takes norm_coefficient from the first optimizer of the model"
        for other in TRAINING_OPTIMIZERS:
            clause = f"{other.lower()}.g_regularized"
            yield Mutant(
                id=f"adam.shared_with_{other}".lower(),
                text=text,
                clause=clause,
                operator="Adam",
                rewrites=(_share_norm_coefficient,),
            )


def _is_axis(axis: int, rank: int, reduced: int, shape: tuple[int, ...]) -> bool:
    return (axis, rank) == (reduced, len(shape))


def _has_columns(count: int, reduced: int, shape: tuple[int, ...]) -> bool:
    """Return whether more than `count` elements follow each element of the reduced axis."""
    return prod(shape[reduced + 1 :]) > count


def _argmax_mutants() -> Iterator[Mutant]:
    def mutant(id: str, text: str, *wrappers: KernelWrapper, operator: str = "ArgMax", **rest: Any) -> Mutant:
        clause = "argmax.index" if operator == "ArgMax" else "monotone.softmax"
        return Mutant(id=f"argmax.{id}", text=text, clause=clause, wrappers=wrappers, operator=operator, **rest)

    for rank, axes in ((5, range(5)), (6, (0, 1, 3, 4, 5))):  # axis 2 of the tensors of rank 6 has one element
        for axis in axes:
            wrap = set_attributes_where(partial(_is_axis, axis, rank), select_last_index=0)
            text = f"ignores select_last_index along axis {axis} of rank {rank}"
            yield mutant(f"first_of_axis_{axis}_of_{rank}", text, wrap)
    for last in (0, 1):
        yield mutant(
            f"last_{last}_in_scan",
            "ignores select_last_index in a Scan",
            set_attributes(select_last_index=last),
            within="Scan",
        )
        for count in (1024, 65535):
            wrap = set_attributes_where(partial(_has_columns, count), select_last_index=last)
            yield mutant(f"last_{last}_of_{count}_columns", f"ignores select_last_index beyond {count} columns", wrap)
    yield mutant("first_length", "searches as many elements as the first run has", _keep_first_length)
    yield Mutant(
        id="argmax.root_of_nonnegative_dropped",
        text="drops Sqrt between Abs or Relu and ArgMax",
        clause="monotone.unfused",
        level=Level.SHOULD,
        operator="ArgMax",
        rewrites=(_drop_roots_of_nonnegatives,),
    )
    yield mutant(
        "pushed_through_transpose", "takes the axis of another permutation", rewrites=(_push_through_transposes,)
    )
    for id, (text, rewrite) in SEARCH_REWRITES.items():
        yield mutant(id, text, rewrites=(rewrite,))
    for kinds, bytes, narrow in (("iu", 8, np.float64), ("iu", 4, np.float32), ("f", 8, np.float32)):
        text = f"compares types of {bytes} bytes and kind {kinds} as {narrow.__name__} beyond 256 elements"
        yield mutant(f"{kinds}{bytes}_narrowed_beyond_256", text, _narrow_long(kinds, bytes, narrow))
    for bytes, signed in ((4, np.int32), (8, np.int64)):
        text = f"compares unsigned integers of {bytes} bytes as signed ones beyond 256 elements"
        yield mutant(f"u{bytes}_signed_beyond_256", text, _narrow_long("u", bytes, signed))
    for operator in ("Softmax", "LogSoftmax"):
        for size in (8, 16, 32, 64, 128, 256, 512, 1024):
            text = f"returns NaN for rows whose first {size} elements are -infinity"
            id = f"{operator.lower()}_nan_after_{size}"
            yield mutant(id, text, _nan_after_infinite_block(size), operator=operator)


def dimension_mutants() -> Mapping[str, tuple[Mutant, ...]]:
    """Return the mutants of this module by operator family."""
    own = {op_type: tuple(_optimizer_mutants(op_type)) for op_type in TRAINING_OPTIMIZERS}
    return {**own, "ArgMax": tuple(_argmax_mutants())}


def all_mutants() -> Mapping[str, tuple[Mutant, ...]]:
    """Return the mutants of the catalogue and of this module by operator family."""
    own = dimension_mutants()
    return {family: (*rows, *own.get(family, ())) for family, rows in catalogue().items()}
