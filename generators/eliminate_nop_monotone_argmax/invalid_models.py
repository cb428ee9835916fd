"""Cases with invalid models for graph optimizers.

An optimizer may raise an error or return the model unchanged, but it must not crash its process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case, CaseKind, PassEffect, Rewrite
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    SHAPE,
    argmax,
    index_info,
    modify_model,
    pair,
    producer,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

FAMILY = "invalid_models"
X = permuted_quarters("invalid/pass/X", SHAPE, np.float32)


def cases() -> Iterator[Case]:
    """Yield cases whose models have a single fault each."""
    yield _article()
    for name, (title, nodes) in _graphs().items():
        yield _case(name, title, nodes, [index_info(SHAPE)])
    yield _case(
        "undefined_output",
        "A graph with an output that no node computes",
        pair(),
        [index_info(SHAPE), make_value_info("nothing", "int64", (2,))],
    )
    yield _case(
        "no_output_defined", "A graph whose only output no node computes", pair(result="other"), [index_info(SHAPE)]
    )
    yield _missing_import_case()


def _graphs() -> Mapping[str, tuple[str, Sequence[onnx.NodeProto]]]:
    """Return the description of each fault and the nodes with the fault, by name of the case."""
    exp = producer("Exp")
    softmax = helper.make_node("Softmax", ["X"], ["Y"])
    return {
        "argmax_axis_float": ("ArgMax after Exp with its axis as a float", [exp, _set_attributes(argmax(), axis=1.0)]),
        "argmax_axis_string": (
            "ArgMax after Exp with its axis as a string",
            [exp, _set_attributes(argmax(), axis="1")],
        ),
        "argmax_axis_list": ("ArgMax after Exp with its axis as a list", [exp, _set_attributes(argmax(), axis=[1])]),
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
        "undefined_input": ("Exp before ArgMax of a value that nothing computes", [producer("Exp", "Z"), argmax()]),
        "argmax_without_input": ("ArgMax without an input", [exp, helper.make_node("ArgMax", [], ["index"], axis=1)]),
        "exp_of_two_inputs": (
            "Exp with two inputs before ArgMax",
            [helper.make_node("Exp", ["X", "X"], ["Y"]), argmax()],
        ),
        "exp_without_input": ("Exp without an input before ArgMax", [helper.make_node("Exp", [], ["Y"]), argmax()]),
        "given_twice": ("Exp and Log that compute the same value before ArgMax", [exp, producer("Log"), argmax()]),
        "cycle": ("Exp and Log before ArgMax that use each other's result", [*_cycle(), argmax()]),
        "softmax_unknown_attribute": (
            "Softmax before ArgMax with the attribute axes",
            [_set_attributes(softmax, axis=1, axes=1), argmax()],
        ),
    }


def _set_attributes(node: onnx.NodeProto, **attributes: Any) -> onnx.NodeProto:
    """Replace or add attributes of a node, and return the node."""
    kept = [attribute for attribute in node.attribute if attribute.name not in attributes]
    del node.attribute[:]
    node.attribute.extend([*kept, *(helper.make_attribute(name, value) for name, value in attributes.items())])
    return node


def _cycle() -> list[onnx.NodeProto]:
    return [producer("Exp", "Z", "Y"), producer("Log", "Y", "Z")]


def _article() -> Case:
    """Define a case with the model printed in the article about the pass: Log has an axis and Concat has none."""
    fed = permuted_quarters("article", (10,), np.float32)
    nodes = [
        node
        for number, op_type in enumerate(("Relu", "Softmax", "Log"))
        for node in (
            producer(op_type, "X", f"Y{number}", axis=0),
            helper.make_node("ArgMax", [f"Y{number}"], [f"index{number}"], axis=0),
        )
    ]
    _set_attributes(nodes[4], axis=0)
    nodes.append(helper.make_node("Concat", ["index0", "index1", "index2"], ["Y"]))
    return _case(
        "article_as_printed",
        "The article's model, with a Log along an axis and a Concat without one,",
        nodes,
        [make_value_info("Y", "int64", (3,))],
        fed,
    )


def _missing_import_case() -> Case:
    """Define a model without opset imports."""
    case = _case("no_opset", "A model that imports no opset", pair(), [index_info(SHAPE)])
    return Case(**{**vars(case), "model": modify_model(case.model, lambda proto: proto.ClearField("opset_import"))})


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
        model=build_model(id, nodes, [array_value_info("X", fed)], outputs, {"": 13}),
        data_sets=((fed,),),
        kind=CaseKind.INVALID,
        rewrite=Rewrite(PassEffect.OPTIONAL),
    )
