"""Models that are none: a graph optimizer may raise an error or leave them alone, and must not end its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case, CaseKind, Firing, Rewrite
from conformance.generation.models import declared, declared_as, model
from conformance.generation.values import ranked
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.scenario import SHAPE, argmax, index_of, pair, producer, touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

FAMILY = "invalid_models"
X = ranked("invalid/pass/X", SHAPE, np.float32)


def cases() -> Iterator[Case]:
    """One fault each."""
    yield _article()
    for name, (title, nodes) in _graphs().items():
        yield _case(name, title, nodes, [index_of(SHAPE)])
    yield _case(
        "undefined_output",
        "A graph with an output that no node gives",
        pair(),
        [index_of(SHAPE), declared_as("nothing", "int64", (2,))],
    )
    yield _case("no_output_defined", "A graph whose one output no node gives", pair(result="other"), [index_of(SHAPE)])
    yield _without_import()


def _graphs() -> Mapping[str, tuple[str, Sequence[onnx.NodeProto]]]:
    """Per name the fault and the nodes."""
    exp = producer("Exp")
    softmax = helper.make_node("Softmax", ["X"], ["Y"])
    return {
        "argmax_axis_float": ("ArgMax after Exp with its axis as a float", [exp, _with(argmax(), axis=1.0)]),
        "argmax_axis_string": ("ArgMax after Exp with its axis as a string", [exp, _with(argmax(), axis="1")]),
        "argmax_axis_list": ("ArgMax after Exp with its axis as a list", [exp, _with(argmax(), axis=[1])]),
        "softmax_axis_float": (
            "Softmax before ArgMax with its axis as a float",
            [helper.make_node("Softmax", ["X"], ["Y"], axis=1.0), argmax()],
        ),
        "softmax_axis_string": (
            "Softmax before ArgMax with its axis as a string",
            [helper.make_node("Softmax", ["X"], ["Y"], axis="1"), argmax()],
        ),
        "softmax_axis_list": (
            "Softmax before ArgMax with its axis as a list",
            [helper.make_node("Softmax", ["X"], ["Y"], axis=[1]), argmax()],
        ),
        "axis_out_of_range": ("ArgMax after Exp along axis 2 of a matrix", pair(axis=2)),
        "undefined_input": ("Exp before ArgMax of a value that nothing gives", [producer("Exp", "Z"), argmax()]),
        "argmax_without_input": ("ArgMax without an input", [exp, helper.make_node("ArgMax", [], ["index"], axis=1)]),
        "exp_of_two_inputs": (
            "Exp of two inputs before ArgMax",
            [helper.make_node("Exp", ["X", "X"], ["Y"]), argmax()],
        ),
        "exp_without_input": ("Exp without an input before ArgMax", [helper.make_node("Exp", [], ["Y"]), argmax()]),
        "given_twice": ("Exp and Log that give the same value before ArgMax", [exp, producer("Log"), argmax()]),
        "cycle": ("Exp and Log before ArgMax that take each other's result", [*_cycle(), argmax()]),
        "softmax_unknown_attribute": (
            "Softmax before ArgMax with the attribute axes",
            [_with(softmax, axis=1, axes=1), argmax()],
        ),
    }


def _with(node: onnx.NodeProto, **attributes: Any) -> onnx.NodeProto:
    """A node with these attributes in place of those of their names."""
    kept = [attribute for attribute in node.attribute if attribute.name not in attributes]
    del node.attribute[:]
    node.attribute.extend([*kept, *(helper.make_attribute(name, value) for name, value in attributes.items())])
    return node


def _cycle() -> list[onnx.NodeProto]:
    return [producer("Exp", "Z", "Y"), producer("Log", "Y", "Z")]


def _article() -> Case:
    """As the article prints it: Log has an axis, and Concat has none."""
    fed = ranked("article", (10,), np.float32)
    nodes = [
        node
        for number, op_type in enumerate(("Relu", "Softmax", "Log"))
        for node in (
            producer(op_type, "X", f"Y{number}", axis=0),
            helper.make_node("ArgMax", [f"Y{number}"], [f"index{number}"], axis=0),
        )
    ]
    _with(nodes[4], axis=0)
    nodes.append(helper.make_node("Concat", ["index0", "index1", "index2"], ["Y"]))
    return _case(
        "article_as_printed",
        "The article's model, with a Log along an axis and a Concat without one,",
        nodes,
        [declared_as("Y", "int64", (3,))],
        fed,
    )


def _without_import() -> Case:
    """The model says nothing of the opset its nodes are of."""
    case = _case("no_opset", "A model that imports no opset", pair(), [index_of(SHAPE)])
    return Case(**{**vars(case), "model": touched(case.model, lambda proto: proto.ClearField("opset_import"))})


def _case(
    name: str,
    title: str,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
    fed: Any = X,
) -> Case:
    id = f"test_invalid_argmax_pass_{name}"
    return Case(
        id=id,
        title=f"{title} is invalid",
        level=Level.SHOULD,
        clauses=("monotone.invalid",),
        tags=("argmax", "pass", FAMILY, CaseKind.INVALID, "checker"),
        model=model(id, nodes, [declared("X", fed)], outputs, {"": 13}),
        data_sets=((fed,),),
        kind=CaseKind.INVALID,
        rewrite=Rewrite(Firing.MAY),
    )
