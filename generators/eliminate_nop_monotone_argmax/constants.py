"""Cases with constants in addition to the pair: large constants, equal constants, and foldable nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import constant_node, if_node, make_branch, make_function
from conformance.exact.models.model_building import make_value_info, pseudo_random_array
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    APPLIES,
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
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case

FAMILY = "surroundings"
X = permuted_quarters("surroundings/X", SHAPE, np.float32)
ABOVE_1_KIB = 257
ABOVE_64_KIB = 16_385
"""Numbers of floats that need slightly more memory than the name says."""
ABOVE_1_MIB = 2**20 + 1
"""Number of bytes."""


def cases() -> Iterator[Case]:
    """Yield the cases with constants."""
    yield from _large()
    yield from _constants()
    yield from _computed()


def _large() -> Iterator[Case]:
    """Yield cases with tensors above 1 KiB, 64 KiB and 1 MiB, which some tools move to external data."""
    W = pseudo_random_array("surroundings/W", (ABOVE_1_KIB,), np.float32)
    take = [
        constant_node("last", np.array([ABOVE_1_KIB - 1], dtype=np.int64)),
        helper.make_node("Gather", ["W", "last"], ["w"]),
    ]
    inner = helper.make_graph(
        [helper.make_node("Gather", ["V", "last"], ["v"])],
        "then",
        [],
        [make_value_info("v", "float", [1])],
        [numpy_helper.from_array(W[::-1].copy(), "V")],
    )
    other = make_branch("else", [helper.make_node("Neg", ["w"], ["u"])], ["u"], [1], "float")
    body = make_function("Last", [constant_node("T", W * 2), helper.make_node("Gather", ["T", "A"], ["B"])])
    call = helper.make_node("Last", ["last"], ["t"], domain="acme")
    shown = [make_value_info(name, "float", [1]) for name in ("w", "z", "t", "c")]
    held = [constant_node("C", -W), helper.make_node("Gather", ["C", "last"], ["c"])]
    yield _case(
        "above_1_kib",
        "Tensors of more than 1 KiB stay in a graph, a branch, a function and a Constant",
        ScenarioGraph(
            [*take, *pair(), constant_node("yes", np.array(True)), if_node("yes", "z", inner, other), call, *held],
            (X,),
            outputs=[index_info(SHAPE), *shown],
            initializers={"W": W},
            functions=[body],
            opsets={"": 13, "acme": 1},
        ),
        ("preservation", "exp"),
        check="preservation",
    )
    W = pseudo_random_array("surroundings/V", (ABOVE_64_KIB,), np.float32)
    last = constant_node("last", np.array([ABOVE_64_KIB - 1], dtype=np.int64))
    yield _case(
        "above_64_kib",
        "An initializer of more than 64 KiB stays",
        ScenarioGraph(
            [last, helper.make_node("Gather", ["W", "last"], ["w"]), *pair()],
            (X,),
            outputs=[index_info(SHAPE), shown[0]],
            initializers={"W": W},
        ),
        ("preservation", "exp"),
        check="preservation",
    )

    bytes_ = np.zeros(ABOVE_1_MIB, dtype=np.uint8)  # mostly zeros, so that the corpus compresses well
    bytes_[:: ABOVE_1_MIB // 4] = np.arange(1, 6)
    last = constant_node("last", np.array([0, ABOVE_1_MIB - 1], dtype=np.int64))
    yield _case(
        "above_1_mib",
        "An initializer of more than 1 MiB stays",
        ScenarioGraph(
            [last, helper.make_node("Gather", ["W", "last"], ["ends"]), *pair()],
            (X,),
            outputs=[index_info(SHAPE), make_value_info("ends", "uint8", [2])],
            initializers={"W": bytes_},
        ),
        ("preservation", "exp"),
        check="preservation",
    )


def _constants() -> Iterator[Case]:
    """Yield cases with equal initializers, and with an initializer that is also a graph input."""
    W = np.full(SHAPE, 0.625, dtype=np.float32)
    then = make_branch("then", [helper.make_node("Less", ["V", "X"], ["above_V"])], ["above_V"], SHAPE)
    other = make_branch("else", [helper.make_node("Less", ["X", "W"], ["below_W"])], ["below_W"], SHAPE)
    yield _case(
        "equal_initializers",
        "Two equal initializers stay separate if only a branch of an If uses one of them",
        ScenarioGraph(
            [
                *pair(),
                constant_node("yes", np.array(True)),
                if_node("yes", "Z", then, other),
                helper.make_node("Less", ["W", "X"], ["above_W"]),
            ],
            (X,),
            outputs=[index_info(SHAPE), *(make_value_info(name, "bool", SHAPE) for name in ("Z", "above_W"))],
            initializers={"W": W, "V": W},
        ),
        ("preservation", "exp"),
        check="preservation",
    )
    yield from _alike_initializers()
    yield _case(
        "shared_by_pair_and_branch",
        "An initializer stays if Exp before an ArgMax, a branch of an If and another node use it",
        ScenarioGraph(
            [
                producer("Exp", "W"),
                argmax(),
                constant_node("yes", np.array(True)),
                if_node(
                    "yes",
                    "Z",
                    make_branch("then", [helper.make_node("Less", ["X", "W"], ["below"])], ["below"], SHAPE),
                    make_branch("else", [helper.make_node("Less", ["W", "X"], ["above"])], ["above"], SHAPE),
                ),
                helper.make_node("Neg", ["W"], ["minus"]),
            ],
            (X,),
            outputs=[
                index_info(SHAPE),
                make_value_info("Z", "bool", SHAPE),
                make_value_info("minus", "float", SHAPE),
            ],
            initializers={"W": permuted_quarters("surroundings/shared", SHAPE, np.float32)},
        ),
        ("fires", "preservation", "exp"),
        check="structure",
    )
    yield _case(
        "initializer_at_ir_3",
        "An initializer that is also an input, as IR version 3 requires, stays both",
        ScenarioGraph(
            [*pair(), helper.make_node("Add", ["X", "W"], ["Z"])],
            (X,),
            inputs=[make_value_info("X", "float", SHAPE), make_value_info("W", "float", SHAPE)],
            outputs=[index_info(SHAPE), make_value_info("Z", "float", SHAPE)],
            initializers={"W": W},
            opsets={"": 7},
            ir_version=3,
        ),
        ("interface", "exp"),
        check="interface",
    )


def _alike_initializers() -> Iterator[Case]:
    """Yield cases with initializers that are equal in their bytes, or in their numbers, but not in both."""
    ones = np.ones(SHAPE, dtype=np.float32)
    casts = [
        helper.make_node("Cast", [name], [f"{name}_float"], to=onnx.TensorProto.FLOAT)
        for name in ("integers", "bytes", "signed_bytes")
    ]
    sums = [helper.make_node("Add", ["ones", "ones"], ["twos"]), helper.make_node("Neg", ["ones_across"], ["minus"])]
    shapes = dict.fromkeys(("twos", "integers_float", "bytes_float", "signed_bytes_float"), SHAPE)
    yield _case(
        "equal_bytes",
        "Initializers of equal bytes that differ in type or shape stay separate",
        ScenarioGraph(
            [*pair(), *casts, *sums],
            (X,),
            outputs=[
                index_info(SHAPE),
                *(make_value_info(name, "float", shape) for name, shape in {**shapes, "minus": SHAPE[::-1]}.items()),
            ],
            initializers={
                "ones": ones,
                "ones_across": ones.reshape(SHAPE[::-1]),
                "integers": ones.view(np.int32),
                "bytes": np.full(SHAPE, 255, dtype=np.uint8),
                "signed_bytes": np.full(SHAPE, -1, dtype=np.int8),
            },
        ),
        ("preservation", "exp"),
        check="preservation",
    )
    signs = [helper.make_node("Reciprocal", [name], [f"below_{name}"]) for name in ("zeros", "minus_zeros")]
    yield _case(
        "signed_zeros",
        "Initializers of zeros that differ in sign stay separate",
        ScenarioGraph(
            [*pair(), *signs],
            (X,),
            outputs=[index_info(SHAPE), *(make_value_info(node.output[0], "float", SHAPE) for node in signs)],
            initializers={"zeros": np.zeros(SHAPE, np.float32), "minus_zeros": np.full(SHAPE, -0.0, np.float32)},
        ),
        ("preservation", "exp"),
        check="answers",
        level=Level.SHOULD,  # signs of zeros follow from IEEE 754, not from the text of ONNX
    )


def _computed() -> Iterator[Case]:
    """Yield cases with nodes that a tool may replace by a constant of the same value (constant folding)."""
    empty = np.zeros((2, 0, 3), dtype=np.float32)
    yield _case(
        "argmax_of_empty_initializer",
        "ArgMax of an empty initializer along its first axis keeps its output shape",
        ScenarioGraph(
            [*pair(), argmax("W", "index2", axis=-3, keepdims=1)],
            (X,),
            outputs=[index_info(SHAPE), index_info(empty.shape, -3, 1, "index2")],
            initializers={"W": empty},
        ),
        ("preservation", "argmax.index"),
        check="answers",
    )
    W = pseudo_random_array("surroundings/softmax", (1, 2, 2), np.float32)
    for opset in (11, 12, 13):
        nodes = [helper.make_node(op_type, ["W"], [f"Y_{word}"]) for op_type, word in ALONG_AXIS.items()]
        outputs = [make_value_info(f"Y_{word}", "float", W.shape) for word in ALONG_AXIS.values()]
        yield _case(
            f"softmax_of_initializer_opset_{opset}",
            f"Softmax and LogSoftmax of an initializer follow opset {opset}, even if a tool folds them",
            ScenarioGraph(
                [*pair(), *nodes],
                (X,),
                outputs=[index_info(SHAPE), *outputs],
                initializers={"W": W},
                opsets={"": opset},
            ),
            ("preservation", *(["coercion"] if opset < 13 else []), *ALONG_AXIS.values()),
            check="answers",
        )


def _case(
    name: str, title: str, graph: ScenarioGraph, clauses: Sequence[str], check: str, level: Level = Level.MUST
) -> Case:
    return scenario(FAMILY, name, title, clauses, APPLIES, graph, check=check, level=level)
