"""Cases with types and shapes that graph optimizers often handle wrongly. The pass applies, and the result is valid."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.corpus.factors.message_fields import constant_node
from conformance.exact.models.model_building import argmax_shape, array_value_info, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    APPLIES,
    DOES_NOT_APPLY,
    SHAPE,
    ScenarioGraph,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case

FAMILY = "types_and_shapes"
X = permuted_quarters("types/X", SHAPE, np.float32)
SIZES: Mapping[str, tuple[Sequence[int], int, str]] = {
    "rows_empty": ((0, 3), 1, "without rows"),
    "all_others_empty": ((0, 3, 0), 1, "whose other axes are empty"),
    "axis_of_size_1": ((3, 1), 1, "whose axis has size 1"),
    "all_of_size_1": ((1, 1, 1), 1, "of one element"),
    "vector_of_one": ((1,), 0, "of rank 1 and one element"),
    "rank_8": ((1, 2, 1, 2, 1, 2, 1, 2), 5, "of rank 8"),
}
"""Shape of X and axis by name, with a description."""

SMALL_TYPES: Mapping[str, tuple[int, bytes, int, int]] = {
    "float8_e4m3fn": (17, b"\x38\x40", 9, 19),
    "float8_e4m3fnuz": (18, b"\x40\x48", 9, 19),
    "float8_e5m2": (19, b"\x3c\x40", 9, 19),
    "float8_e5m2fnuz": (20, b"\x40\x44", 9, 19),
    "uint4": (21, b"\x21", 10, 21),
    "int4": (22, b"\x21", 10, 21),
    "float4_e2m1": (23, b"\x42", 11, 23),
    "float8_e8m0": (24, b"\x7f\x80", 11, 23),
}
"""Recent element types: number, bytes of the elements 1 and 2, and IR version and opset of the model.

The bytes are given explicitly, because older libraries do not know all of the types.
"""

OTHER_TYPES = (np.bool_, np.int8, np.uint16, np.uint32, np.uint64, np.complex64)


def cases() -> Iterator[Case]:
    """Yield cases with unusual sizes, and with tensors of other types in addition to the pair."""
    for name, (shape, axis, text) in SIZES.items():
        yield _case(
            name,
            f"Exp before ArgMax of a tensor {text} is removed",
            ScenarioGraph(
                pair(axis=axis),
                (permuted_quarters(name, shape, np.float32),),
                outputs=[make_value_info("index", "int64", argmax_shape(shape, axis, 0))],
            ),
        )
    yield from _dynamic()
    for name, (number, elements, ir_version, opset) in SMALL_TYPES.items():
        yield _small_type_case(
            name, number, elements, ScenarioGraph(pair(), (X,), opsets={"": opset}, ir_version=ir_version)
        )
    for dtype in OTHER_TYPES:
        yield _initializer_case(np.dtype(dtype).name, np.array([0, 1], dtype=dtype))
    yield _initializer_case("string", np.array(["one", "größer"], dtype=object))
    yield from _scalars()
    yield from _sparse()
    yield from _containers()


def _dynamic() -> Iterator[Case]:
    for word, op_type in (("softmax", "Softmax"), ("sqrt", "Sqrt")):
        yield _case(
            f"dynamic_{word}",
            f"{op_type} before ArgMax of a tensor with dynamic dimensions is removed",
            ScenarioGraph(
                pair(op_type),
                (X,),
                inputs=[make_value_info("X", "float", ("batch", "classes"))],
                outputs=[make_value_info("index", "int64", ("batch",))],
            ),
        )
    for (op_type, word), opset in product(ALONG_AXIS.items(), (9, 11, 13)):
        yield _case(
            f"dynamic_{word}_opset_{opset}",
            f"{op_type} of opset {opset} before ArgMax of a tensor with dynamic dimensions is removed",
            ScenarioGraph(
                pair(op_type),
                (X,),
                inputs=[make_value_info("X", "float", ("batch", "classes"))],
                outputs=[make_value_info("index", "int64", ("batch",))],
                opsets={"": opset},
            ),
        )
    yield _case(
        "dynamic_and_empty",
        "Exp before ArgMax of a tensor whose dynamic dimension happens to be 0 is removed",
        ScenarioGraph(
            pair(),
            (np.zeros((0, 3), dtype=np.float32),),
            inputs=[make_value_info("X", "float", ("batch", 3))],
            outputs=[make_value_info("index", "int64", ("batch",))],
        ),
    )


def _initializer_case(name: str, array: Any) -> Case:
    title = f"Exp before ArgMax is removed from a graph with an initializer of type {name}"
    return _case(f"initializer_{name}", title, ScenarioGraph(pair(), (X,), initializers={"W": array}))


def _small_type_case(name: str, number: int, elements: bytes, graph: ScenarioGraph) -> Case:
    tensor = onnx.TensorProto(name="W", data_type=number, dims=[2], raw_data=elements)
    return scenario(
        FAMILY,
        f"initializer_{name}",
        f"Exp before ArgMax is removed from a graph with an initializer of type {name}",
        ("valid", "exp"),
        APPLIES,
        graph,
        modify=lambda model: model.graph.initializer.append(tensor),
    )


def _scalars() -> Iterator[Case]:
    """Yield cases with scalars in addition to the pair."""
    below = helper.make_node("Less", ["S", "X"], ["less"])
    outputs = [index_info(SHAPE), make_value_info("less", "bool", SHAPE)]
    scalar = np.array(0.625, dtype=np.float32)
    yield _case(
        "scalar_input",
        "Exp before ArgMax is removed from a graph with a scalar input",
        ScenarioGraph(
            [*pair(), below],
            (X, scalar),
            inputs=[array_value_info("X", X), array_value_info("S", scalar)],
            outputs=outputs,
        ),
    )
    yield _case(
        "scalar_initializer",
        "Exp before ArgMax is removed from a graph with a scalar initializer",
        ScenarioGraph([*pair(), below], (X,), outputs=outputs, initializers={"S": scalar}),
    )
    yield _case(
        "scalar_index",
        "Exp before an ArgMax whose index is a scalar is removed",
        ScenarioGraph(pair(axis=0), (X[0],), outputs=[make_value_info("index", "int64", [])]),
    )


def _sparse() -> Iterator[Case]:
    """Yield cases with sparse constants."""
    values = numpy_helper.from_array(np.array([1.0, 0.5], dtype=np.float32), "S")
    places = numpy_helper.from_array(np.array([1, 5], dtype=np.int64), "S_places")
    tensor = helper.make_sparse_tensor(values, places, list(SHAPE))
    less = helper.make_node("Less", ["S", "X"], ["less"])
    outputs = [index_info(SHAPE), make_value_info("less", "bool", SHAPE)]
    sparse = helper.make_node("Constant", [], ["S"], sparse_value=tensor)
    yield _case(
        "sparse_constant",
        "Exp before ArgMax is removed from a graph with a sparse Constant",
        ScenarioGraph([sparse, *pair(), less], (X,), outputs=outputs),
    )
    yield _case(
        "sparse_initializer",
        "Exp before ArgMax is removed from a graph with a sparse initializer, which stays sparse",
        ScenarioGraph(pair(), (X,), sparse=[tensor]),
        "preservation",
    )


def _containers() -> Iterator[Case]:
    """Yield cases with sequences and optionals, as intermediate values, inputs and outputs."""
    construct = helper.make_node("SequenceConstruct", ["X", "X"], ["S"])
    length = helper.make_node("SequenceLength", ["S"], ["length"])
    number = make_value_info("length", "int64", [])
    yield _case(
        "sequence",
        "Exp before ArgMax is removed from a graph with a sequence",
        ScenarioGraph([*pair(), construct, length], (X,), outputs=[index_info(SHAPE), number]),
    )
    at = [constant_node("first", np.array(0, dtype=np.int64)), helper.make_node("SequenceAt", ["S", "first"], ["Z"])]
    yield _case(
        "sequence_element",
        "Exp of an element of a sequence before ArgMax is removed",
        ScenarioGraph([construct, *at, producer("Exp", "Z"), argmax()], (X,)),
    )
    sequence = helper.make_tensor_sequence_value_info("S", onnx.TensorProto.FLOAT, SHAPE)
    optional = helper.make_value_info(
        "O", helper.make_optional_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, SHAPE))
    )
    present = helper.make_node("OptionalHasElement", ["O"], ["present"])
    given = helper.make_node("Optional", ["X"], ["O"])
    there = make_value_info("present", "bool", [])
    rows: Mapping[str, tuple[str, Sequence[Any], Sequence[Any], Sequence[Any]]] = {
        "sequence_input": ("an input that is a sequence", [length], [sequence], [number]),
        "sequence_output": ("an output that is a sequence", [construct], [], [sequence]),
        "optional_input": ("an input that is optional", [present], [optional], [there]),
        "optional_output": ("an output that is optional", [given], [], [optional]),
    }
    for name, (text, nodes, inputs, outputs) in rows.items():
        graph = ScenarioGraph(
            [*pair(), *nodes],
            (X,),
            [array_value_info("X", X), *inputs],
            [index_info(SHAPE), *outputs],
            {"": 15},
        )
        yield _structural(
            _case(name, f"Exp before ArgMax is removed from a graph with {text}, which stays unchanged", graph)
        )
    yield _structural(_captured_by_list_of_graphs())


def _captured_by_list_of_graphs() -> Case:
    """Define a case with a capture by the second graph of an attribute that is a list of graphs."""
    graphs = [
        helper.make_graph([helper.make_node("Neg", [read], ["B"])], "each", [], [make_value_info("B", "float", SHAPE)])
        for read in ("X", "Y")
    ]
    choose = helper.make_node("Choose", ["X"], ["Z"], domain="acme", graphs=graphs)
    outputs = [index_info(SHAPE), make_value_info("Z", "float", SHAPE)]
    graph = ScenarioGraph([*pair(), choose], (X,), outputs=outputs, opsets={"": 15, "acme": 1})
    title = "Exp stays if a graph in a list of graphs captures its result"
    return scenario(FAMILY, "captured_by_list_of_graphs", title, ("capture", "exp"), DOES_NOT_APPLY, graph)


def _structural(case: Case) -> Case:
    """Return a copy of a case without data sets, for a model with inputs or outputs that are not tensors."""
    return replace(case, data_sets=())


def _case(name: str, title: str, graph: ScenarioGraph, check: str = "structure") -> Case:
    return scenario(FAMILY, name, title, ("valid", "exp"), APPLIES, graph, check=check)
