"""Mutants that apply the pass in the wrong places.

The faults concern the set of monotone operators, axes, domains, chains of operators, and the limits of implementations,
such as a largest length of chains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx
from onnx import TensorProto

from checks.mutation.pass_mutants.pass_mutant import PassMutant, damage_result, invalidate, replace_steps
from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import iter_messages
from conformance.corpus.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    Elimination,
    bypass_producer,
    eliminate,
    explicit_axis,
    is_monotone,
    is_only_use,
    is_standard,
)
from conformance.exact.models.graphs import MAIN_DOMAINS, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.corpus.passes.eliminate_nop_monotone_argmax import Site


ALSO = {
    "Relu": "which is not injective",
    "Neg": "which reverses the order",
    "Abs": "which is not monotone",
    "Reciprocal": "which reverses the order",
    "Floor": "which is not injective",
    "Sign": "which is not injective",
    "Tanh": "which the pass does not know",
    "Sigmoid": "which the pass does not know",
    "Identity": "which other passes remove",
    "Cast": "which can round",
}

NORMALIZATIONS = ("LpNormalization", "LayerNormalization", "BatchNormalization")

IN_BETWEEN = ("Cast", "Transpose", "Reshape", "Flatten", "Unsqueeze")
"""Operators that keep all elements."""


def _also(op_type: str) -> Callable[[Site], bool]:
    """Return a step `is_monotone` that also accepts the operator `op_type`, with any attributes."""

    def fires(site: Site) -> bool:
        return is_monotone(site) or (site.producer.op_type == op_type and explicit_axis(site.argmax) is not None)

    return fires


def _never(op_type: str) -> Callable[[Site], bool]:
    return lambda site: is_monotone(site) and site.producer.op_type != op_type


def _hardmax_too(site: Site) -> bool:
    axis = explicit_axis(site.argmax)
    return is_monotone(site) or (site.producer.op_type == "Hardmax" and explicit_axis(site.producer) == axis)


def _before(op_type: str) -> Callable[..., onnx.ModelProto]:
    """Return an optimizer that removes monotone operators before `op_type` too, and not only before ArgMax.

    Before `op_type` the axes are not compared.
    """

    def monotone(site: Site) -> bool:
        return site.producer.op_type in ELEMENTWISE | ALONG_AXIS

    other = Elimination(consumer=op_type, is_monotone=monotone)

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        return other(eliminate(model, fixed_point), fixed_point)

    return optimize


def _normalizations_removed(op_type: str) -> Callable[[onnx.ModelProto], None]:
    """Return a function that bypasses the normalizations of a type whose only consumer is an ArgMax."""

    def spoil(model: onnx.ModelProto) -> None:
        scope = Scope(model, model.graph)
        for node in [node for node in model.graph.node if node.op_type == "ArgMax"]:
            before = scope.producer(node.input[0])
            if before is not None and before.op_type == op_type and scope.use_count(node.input[0]) == 1:
                node.input[0] = before.input[0]
                model.graph.node.remove(before)

    return spoil


def _double_negations_removed(model: onnx.ModelProto) -> None:
    """Bypass two Neg before an ArgMax if their results have no other use."""
    scope = Scope(model, model.graph)
    for node in [node for node in model.graph.node if node.op_type == "ArgMax"]:
        last = scope.producer(node.input[0])
        first = None if last is None else scope.producer(last.input[0])
        if first is None or last is None or {first.op_type, last.op_type} != {"Neg"}:
            continue
        if scope.use_count(node.input[0]) == scope.use_count(last.input[0]) == 1:
            node.input[0] = first.input[0]
            for gone in (first, last):
                model.graph.node.remove(gone)


def _through(op_type: str) -> Callable[[onnx.ModelProto], None]:
    """Return a function that bypasses Log, Exp and Sqrt before a node of a type that is before an ArgMax."""

    def spoil(model: onnx.ModelProto) -> None:
        scope = Scope(model, model.graph)
        for node in [node for node in model.graph.node if node.op_type == "ArgMax"]:
            between = scope.producer(node.input[0])
            if between is None or between.op_type != op_type or scope.use_count(node.input[0]) != 1:
                continue
            before = scope.producer(between.input[0])
            if before is not None and before.op_type in ELEMENTWISE and scope.use_count(between.input[0]) == 1:
                between.input[0] = before.input[0]
                model.graph.node.remove(before)

    return spoil


def _through_identity(scope: Scope, name: str) -> onnx.NodeProto | None:
    """Return the producer of the value `name`.

    If the producer is an Identity after a monotone operator, remove the Identity and return that operator.
    """
    node = scope.producer(name)
    if node is not None and node.op_type == "Identity" and scope.use_count(name) == 1:
        before = scope.producer(node.input[0])
        if before is not None and before.op_type in ELEMENTWISE and scope.use_count(node.input[0]) == 1:
            before.output[0] = name
            scope.graph.node.remove(node)
            invalidate(scope)
            return before
    return node


def _of_float_only(site: Site) -> bool:
    graph = site.scope.graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.value_info)}
    return is_monotone(site) and types.get(site.before, TensorProto.FLOAT) == TensorProto.FLOAT


def _where(condition: Callable[[dict[str, Any]], bool]) -> Callable[[Site], bool]:
    """Return a step `is_monotone` with an additional condition on the integer attributes of ArgMax."""
    return lambda site: is_monotone(site) and condition({held.name: held.i for held in site.argmax.attribute})


def _nothing(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return replace(eliminate, consumer="")(model)


PREDICATE = (
    *(
        replace_steps(f"removes_{op_type.lower()}", f"removes {op_type} too, {why}", is_monotone=_also(op_type))
        for op_type, why in ALSO.items()
    ),
    replace_steps("removes_hardmax", "removes Hardmax along the same axis too", is_monotone=_hardmax_too),
    *(
        replace_steps(f"leaves_{op_type.lower()}", f"does not know {op_type}", is_monotone=_never(op_type))
        for op_type in sorted(ELEMENTWISE | ALONG_AXIS)
    ),
    PassMutant("before_argmin", "applies before ArgMin too", _before("ArgMin")),
    PassMutant("before_reduce_max", "applies before ReduceMax too", _before("ReduceMax")),
    replace_steps(
        "through_identity", "bypasses an Identity between the operator and ArgMax", producer=_through_identity
    ),
    *(
        damage_result(
            f"removes_{op_type.lower()}", f"removes {op_type} before ArgMax too", _normalizations_removed(op_type)
        )
        for op_type in NORMALIZATIONS
    ),
    damage_result("removes_neg_twice", "removes two Neg before ArgMax", _double_negations_removed),
    *(
        damage_result(
            f"through_{op_type.lower()}", f"removes operators before a {op_type} before ArgMax", _through(op_type)
        )
        for op_type in IN_BETWEEN
    ),
    replace_steps("float_only", "applies on float alone of the element types", is_monotone=_of_float_only),
    replace_steps(
        "keepdims_zero_only",
        "applies only where keepdims is 0",
        is_monotone=_where(lambda given: given.get("keepdims", 1) == 0),
    ),
    replace_steps(
        "first_index_only",
        "does not apply where select_last_index is set",
        is_monotone=_where(lambda given: not given.get("select_last_index", 0)),
    ),
    PassMutant("never", "never fires", _nothing),
)


def _compared(agree: Callable[[int | None, int | None], bool], *, explicit: bool = True) -> Callable[[Site], bool]:
    """Return a step `is_monotone` with a different comparison of the axes of Softmax and ArgMax.

    Args:
        agree: function that returns whether the axis of the operator and the axis of ArgMax count as equal; None is a
            missing axis.
        explicit: whether the axis of ArgMax must be set.
    """

    def fires(site: Site) -> bool:
        own, reduced = explicit_axis(site.producer), explicit_axis(site.argmax)
        if explicit and reduced is None:
            return False
        if site.producer.op_type in ELEMENTWISE:
            return True
        return site.producer.op_type in ALONG_AXIS and agree(own, reduced)

    return fires


def _absolute(own: int | None, reduced: int | None) -> bool:
    return own is not None and reduced is not None and abs(own) == abs(reduced)


def _default_last(own: int | None, reduced: int | None) -> bool:
    return (-1 if own is None else own) == reduced


def _missing_is_equal(own: int | None, reduced: int | None) -> bool:
    return own is None or own == reduced


def _argmax_default(own: int | None, reduced: int | None) -> bool:
    return own == (0 if reduced is None else reduced)


def _same_sign_only(site: Site) -> bool:
    return is_monotone(site) and (explicit_axis(site.argmax) or 0) >= 0


def _first_axes_only(site: Site) -> bool:
    return is_monotone(site) and explicit_axis(site.argmax) in {-1, 0, 1}


def _since_13(site: Site) -> bool:
    versions = {entry.domain: entry.version for entry in site.scope.model.opset_import}
    return is_monotone(site) and versions.get("", versions.get("ai.onnx", 13)) >= 13


def _dropping(*names: str) -> Callable[[Site], None]:
    """Return a step `rewire` that also removes the attributes `names` of ArgMax."""

    def rewired(site: Site) -> None:
        bypass_producer(site)
        kept = [attribute for attribute in site.argmax.attribute if attribute.name not in names]
        del site.argmax.attribute[:]
        site.argmax.attribute.extend(kept)

    return rewired


def _equal_sizes(site: Site) -> bool:
    """Return whether the operator may be removed; its dimension must have the size of ArgMax's, if it is declared."""
    declared = {value.name: value.type.tensor_type for value in (*site.scope.graph.input, *site.scope.graph.value_info)}
    own, reduced, type = explicit_axis(site.producer), explicit_axis(site.argmax), declared.get(site.before)
    if is_monotone(site) or type is None or own is None or reduced is None or site.producer.op_type not in ALONG_AXIS:
        return is_monotone(site)
    sizes = dict(enumerate(dim.dim_value for dim in type.shape.dim))
    return bool(sizes.get(own, -1) == sizes.get(reduced, -2))


AXES = (
    replace_steps("axes_of_one_size", "compares the sizes of the two dimensions", is_monotone=_equal_sizes),
    replace_steps("any_axis", "does not compare the axes at all", is_monotone=_compared(lambda _, __: True)),
    replace_steps("axis_absolute", "compares the axes without their signs", is_monotone=_compared(_absolute)),
    replace_steps(
        "axis_smaller",
        "applies where the operator's axis is at most ArgMax's",
        is_monotone=_compared(lambda own, reduced: own is not None and reduced is not None and own <= reduced),
    ),
    replace_steps(
        "softmax_default_axis", "takes a missing axis of Softmax for -1", is_monotone=_compared(_default_last)
    ),
    replace_steps("missing_axis_agrees", "takes a missing axis for the same", is_monotone=_compared(_missing_is_equal)),
    replace_steps(
        "argmax_default_axis",
        "takes a missing axis of ArgMax for 0",
        is_monotone=_compared(_argmax_default, explicit=False),
    ),
    replace_steps(
        "axes_both_missing",
        "takes two missing axes for the same",
        is_monotone=_compared(lambda own, reduced: own == reduced, explicit=False),
    ),
    replace_steps("no_negative_axis", "does not apply where the axis is negative", is_monotone=_same_sign_only),
    replace_steps("no_far_axis", "does not apply where the axis is none of -1, 0 and 1", is_monotone=_first_axes_only),
    replace_steps("opset_13_only", "does not apply below opset 13", is_monotone=_since_13),
    replace_steps("drops_keepdims", "drops keepdims of ArgMax", rewire=_dropping("keepdims")),
    replace_steps(
        "drops_select_last_index", "drops select_last_index of ArgMax", rewire=_dropping("select_last_index")
    ),
    replace_steps("drops_axis", "drops ArgMax's axis", rewire=_dropping("axis")),
)


def _standard_or_inside(scope: Scope, node: onnx.NodeProto) -> bool:
    return scope.parent is not None or is_standard(scope, node)


def _outputs_of_other_graphs(scope: Scope) -> set[str]:
    """Return the names of the outputs of all graphs of the model but the graph of `scope`."""
    every = Scope(scope.model, scope.model.graph).walk()
    return {value.name for other in every if other.path != scope.path for value in other.graph.output}


def _any(_: Scope, __: onnx.NodeProto) -> bool:
    return True


def _producer_of_any(scope: Scope, node: onnx.NodeProto) -> bool:
    return node.op_type != "ArgMax" or is_standard(scope, node)


def _argmax_of_any(scope: Scope, node: onnx.NodeProto) -> bool:
    return node.op_type == "ArgMax" or is_standard(scope, node)


def _no_functions_at_all(scope: Scope, node: onnx.NodeProto) -> bool:
    return is_standard(scope, node) and all(function.name != node.op_type for function in scope.model.functions)


def _standard_or_of_others(scope: Scope, node: onnx.NodeProto) -> bool:
    return node.domain not in MAIN_DOMAINS or is_standard(scope, node)


def _is_of_argmax_domain(site: Site) -> bool:
    of_main = [node.domain in MAIN_DOMAINS for node in (site.producer, site.argmax)]
    return is_monotone(site) and (all(of_main) or site.producer.domain == site.argmax.domain)


def _one_input(scope: Scope, name: str) -> onnx.NodeProto | None:
    """Return the node that produces the value `name`.

    Raises:
        ValueError: the node has the op_type of a monotone operator (Log, Exp, Sqrt, Softmax or LogSoftmax), in any
            domain, but a number of inputs other than one.
    """
    node = scope.producer(name)
    if node is not None and node.op_type in {"Log", "Exp", "Sqrt", "Softmax", "LogSoftmax"} and len(node.input) != 1:
        raise ValueError(f"{node.op_type} has {len(node.input)} inputs")
    return node


DOMAINS = (
    replace_steps("ignores_domains", "does not look at domains", is_standard=_any),
    replace_steps("ignores_domains_inside", "does not look at domains in subgraphs", is_standard=_standard_or_inside),
    replace_steps(
        "outputs_of_any_graph",
        "takes an output of another graph for another use, if it has the name of the result",
        is_only_use=lambda site: is_only_use(site) and site.between not in _outputs_of_other_graphs(site.scope),
    ),
    replace_steps("ignores_producer_domain", "does not look at the operator's domain", is_standard=_producer_of_any),
    replace_steps("ignores_argmax_domain", "does not look at ArgMax's domain", is_standard=_argmax_of_any),
    replace_steps(
        "compares_domains",
        "compares the domains of the two nodes with each other only",
        is_standard=_standard_or_of_others,
        is_monotone=_is_of_argmax_domain,
    ),
    replace_steps(
        "any_function",
        "does not apply where a function of any domain has the operator's name",
        is_standard=_no_functions_at_all,
    ),
    replace_steps("raises_on_other_arity", "raises where an operator of others has not one input", producer=_one_input),
)


def _whole_chain(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return eliminate(model, fixed_point=True)


def _single_run(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return eliminate(model)


def _two_runs(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    return eliminate(eliminate(model)) if fixed_point else eliminate(model)


def _one_argmax(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Apply the pass only at the first ArgMax that follows a monotone operator."""
    chosen: list[str] = []

    def first(site: Site) -> bool:
        if is_monotone(site) and not chosen:
            chosen.append(site.argmax.output[0])
        return is_monotone(site) and site.argmax.output[0] in chosen

    return replace_steps("", "", is_monotone=first).optimize(model, fixed_point=fixed_point)  # type: ignore[no-any-return]


def _ends_a_chain(site: Site) -> bool:
    """Return whether the operator may be removed; it may not if another monotone operator precedes it."""
    before = site.scope.producer(site.before)
    return is_monotone(site) and (before is None or before.op_type not in {"Log", "Exp", "Sqrt", "Softmax"})


CHAINS = (
    PassMutant("once_is_fixed_point", "removes a whole chain in a single run", _whole_chain),
    PassMutant("fixed_point_is_once", "removes one operator of a chain at a fixed point", _single_run),
    PassMutant("fixed_point_is_twice", "removes two operators of a chain at a fixed point", _two_runs),
    PassMutant("first_argmax_only", "applies at the first ArgMax alone", _one_argmax),
    replace_steps("no_chains", "does not apply before a chain", is_monotone=_ends_a_chain),
)


def _runs(most: int) -> Callable[..., onnx.ModelProto]:
    """Return an optimizer that repeats the pass at most `most` times, instead of until nothing changes."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        for _ in range(most if fixed_point else 1):
            model = eliminate(model)
        return model

    return optimize


def _once_inside(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Apply the pass repeatedly in the main graph, but only once in subgraphs."""
    after = eliminate(model)
    return replace(eliminate, scopes=lambda scope: iter([scope]))(after, fixed_point=True) if fixed_point else after


def _at_most(count: int) -> Callable[..., onnx.ModelProto]:
    """Return an optimizer that applies the pass only at the first `count` ArgMax nodes where it applies."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        chosen: set[str] = set()

        def among(site: Site) -> bool:
            path = site.scope.path_of(site.argmax)
            if is_monotone(site) and (path in chosen or len(chosen) < count):
                chosen.add(path)
                return True
            return False

        result: onnx.ModelProto = replace(eliminate, is_monotone=among)(model, fixed_point)
        return result

    return optimize


def _within(distance: int) -> Callable[[Site], bool]:
    """Return a step `is_monotone` that requires ArgMax to be among the next `distance` nodes after the operator."""

    def fires(site: Site) -> bool:
        outputs = [list(node.output) for node in site.scope.graph.node]
        gap = outputs.index(list(site.argmax.output)) - outputs.index(list(site.producer.output))
        return is_monotone(site) and gap <= distance

    return fires


def _where_opset(condition: Callable[[int], bool]) -> Callable[[Site], bool]:
    def fires(site: Site) -> bool:
        versions = [entry.version for entry in site.scope.model.opset_import if entry.domain in MAIN_DOMAINS]
        return is_monotone(site) and all(map(condition, versions))

    return fires


def _short_import(site: Site) -> bool:
    return is_monotone(site) and any(not entry.domain for entry in site.scope.model.opset_import)


def _young(site: Site) -> bool:
    return is_monotone(site) and site.scope.model.ir_version >= 4


def _modulo(rank: int) -> Callable[[Site], bool]:
    """Return a step `is_monotone` that compares axes modulo `rank`, as if every tensor had this rank."""

    def fires(site: Site) -> bool:
        own, reduced = explicit_axis(site.producer), explicit_axis(site.argmax)
        if own is None or reduced is None:
            return is_monotone(site)
        return is_monotone(site) or (site.producer.op_type.endswith("Softmax") and own % rank == reduced % rank)

    return fires


def _first_attribute(site: Site) -> bool:
    """Return whether the operator may be removed; the first attribute of ArgMax must be its axis."""
    held = site.argmax.attribute
    return is_monotone(site) and len(held) > 0 and held[0].i == explicit_axis(site.argmax)


def _large(model: onnx.ModelProto, size: int) -> list[Any]:
    tensors = [message for _, message in iter_messages(model) if isinstance(message, onnx.TensorProto)]
    return [tensor for tensor in tensors if len(tensor.raw_data) > size]


def _moved_out(size: int) -> Callable[[onnx.ModelProto], None]:
    """Return a function that moves the elements of tensors with more than `size` bytes to an external file.

    The fault is that the file does not exist.
    """

    def spoil(model: onnx.ModelProto) -> None:
        for tensor in _large(model, size):
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights")

    return spoil


def _cut(size: int) -> Callable[[onnx.ModelProto], None]:
    """Return a function that sets all bytes of a tensor after the first `size` to 0."""

    def spoil(model: onnx.ModelProto) -> None:
        for tensor in _large(model, size):
            tensor.raw_data = tensor.raw_data[:size] + bytes(len(tensor.raw_data) - size)

    return spoil


def _by_name() -> Callable[..., onnx.ModelProto]:
    """Return an optimizer with a cache: for a later model with the same graph name, it returns the first result."""
    made: dict[tuple[str, bool], onnx.ModelProto] = {}

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        return made.setdefault((model.graph.name, fixed_point), eliminate(model, fixed_point))

    return optimize


LIMITS = (
    *(
        PassMutant(f"chains_of_{most}", f"removes at most {most} operators of a chain at a fixed point", _runs(most))
        for most in (5, 8, 11, 100)
    ),
    PassMutant("chains_once_inside", "removes one operator of a chain inside of nodes", _once_inside),
    *(
        PassMutant(f"first_{count}_argmax", f"applies at the first {count} ArgMax alone", _at_most(count))
        for count in (8, 16)
    ),
    replace_steps(
        "next_node_only", "applies where ArgMax is the node after the operator alone", is_monotone=_within(1)
    ),
    replace_steps("near_only", "applies where at most 16 nodes lie between alone", is_monotone=_within(17)),
    replace_steps(
        "since_opset_7", "does not apply below opset 7", is_monotone=_where_opset(lambda version: version >= 7)
    ),
    replace_steps(
        "until_opset_21", "does not apply above opset 21", is_monotone=_where_opset(lambda version: version <= 21)
    ),
    replace_steps(
        "not_opset_14", "does not apply at opset 14", is_monotone=_where_opset(lambda version: version != 14)
    ),
    replace_steps(
        "import_by_name",
        "does not apply where ai.onnx is imported by its name",
        level=Level.SHOULD,
        is_monotone=_short_import,
    ),
    replace_steps("since_ir_version_4", "does not apply below IR version 4", is_monotone=_young),
    *(
        replace_steps(f"axes_modulo_{rank}", f"compares axes as if the rank were {rank}", is_monotone=_modulo(rank))
        for rank in (2, 3)
    ),
    replace_steps("axis_comes_first", "takes the first attribute of ArgMax for its axis", is_monotone=_first_attribute),
    damage_result("moved_out_1_kib", "moves tensors of more than 1 KiB to a file", _moved_out(2**10)),
    damage_result("moved_out_64_kib", "moves tensors of more than 64 KiB to a file", _moved_out(2**16)),
    damage_result("moved_out_1_mib", "moves tensors of more than 1 MiB to a file", _moved_out(2**20)),
    damage_result("cut_at_64_kib", "keeps the first 64 KiB of a tensor", _cut(2**16)),
    damage_result("cut_at_1_mib", "keeps the first 1 MiB of a tensor", _cut(2**20)),
    PassMutant("by_name", "gives for a model what it made of an earlier one of that name", _by_name()),
)
