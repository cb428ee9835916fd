"""Cases about what is near the pair: declarations, sparse initializers, default attributes, uses, and equal sizes.

Each family is a covering array. The pair is in the main graph or in a branch of an If.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.message_fields import (
    add_quantization_annotations,
    constant_node,
    if_node,
    make_branch,
)
from conformance.exact.models.model_building import argmax_shape, array_value_info, make_value_info
from generators.declarations.family import FamilyDeclaration, Omission
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case import Case
    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array
    from conformance.exact.models.model_building import DimensionSize

OPERATORS = {word: op_type for op_type, word in PASS_OPERATORS.items()}
"""Levels of the factor `operator`, with the op_type."""

SCOPES = ("main", "branch")

SPARSE_COUNT = 9
"""Number of sparse initializers beside the pair."""

DEFAULT_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "all_defaults": {"axis": 0, "keepdims": 1, "select_last_index": 0},
    "default_axis": {"axis": 0},
    "default_keepdims": {"axis": 1, "keepdims": 1},
    "default_select": {"axis": -1, "select_last_index": 0},
    "others": {"axis": 1, "keepdims": 0, "select_last_index": 1},
}
"""Attributes of ArgMax by level: default values that are written, and attributes that are left out."""

CAPTURED = "captured"
OUTPUT = "output"
CONSUMER = "consumer"
USES: Mapping[str, Sequence[str]] = {
    "captured_and_output": (CAPTURED, OUTPUT),
    "captured_twice": (CAPTURED, CAPTURED),
    "captured_and_read": (CAPTURED, CONSUMER),
    "output_and_read": (OUTPUT, CONSUMER),
    "all": (CAPTURED, CAPTURED, OUTPUT, CONSUMER),
}
"""Uses of a value besides those in the pair, by level: by branches, as output of the graph, and by another node."""

SIZES: Mapping[str, tuple[int, DimensionSize]] = {
    "1": (1, 1),
    "3": (3, 3),
    "5": (5, 5),
    "symbolic": (3, "N"),
    "open": (3, None),
}
"""Size of both axes, and how the model declares it, by level."""


def declared_declaration() -> FamilyDeclaration:
    """Return the factors of the family `declared`: many declared or annotated values, of which the pass removes one."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "softmax", "sqrt"),
            "entries": ("value_info", "annotations", "both"),
            "place": ("first", "middle", "last"),
            "scope": SCOPES,
        }
    )


def sparse_declaration() -> FamilyDeclaration:
    """Return the factors of the family `sparse`: sparse initializers beside the pair."""
    return FamilyDeclaration(
        {"operator": ("exp", "softmax"), "sparse": ("several", "equal", "coordinates"), "scope": SCOPES},
        omissions=(
            Omission("a sparse initializer that a node reads", "ONNX's shape inference refuses it as an operand."),
        ),
    )


def defaults_declaration() -> FamilyDeclaration:
    """Return the factors of the family `defaults`: attributes of ArgMax with default values, written or left out."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "softmax", "log_softmax"),
            "attributes": tuple(DEFAULT_ATTRIBUTES),
            "opset": ("13", "12"),
            "scope": SCOPES,
        },
        forbidden=(
            LevelCombination(
                {
                    "operator": ("softmax", "log_softmax"),
                    "attributes": ("all_defaults", "default_axis"),
                    "opset": ("12",),
                },
                "Below opset 13, axis 0 normalizes all dimensions together.",
            ),
        ),
    )


def read_declaration() -> FamilyDeclaration:
    """Return the factors of the family `read`: several uses of the operand, of the removed value, or of the index."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "log", "softmax"),
            "value": ("operand", "result", "index"),
            "uses": tuple(USES),
            "scope": SCOPES,
        }
    )


def equal_sizes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `equal_sizes`: different axes of one size."""
    return FamilyDeclaration(
        {
            "operator": ("softmax", "log_softmax"),
            "size": tuple(SIZES),
            "rank": ("2", "3"),
            "scope": SCOPES,
        }
    )


@dataclass
class _Content:
    """The pair and its neighbours in one graph.

    Attributes:
        nodes: the nodes, which read X of the main graph.
        outputs: outputs of the graph.
        value_info: declarations of intermediate values.
        annotated: names of the values with quantization annotations.
        initializers: dense initializers by name.
        sparse: sparse initializers.
    """

    nodes: list[onnx.NodeProto]
    outputs: list[onnx.ValueInfoProto]
    value_info: Sequence[onnx.ValueInfoProto] = ()
    annotated: Sequence[str] = ()
    initializers: Mapping[str, Array] = field(default_factory=dict)
    sparse: Sequence[onnx.SparseTensorProto] = ()

    def graph(self, X: Array, row: Row, declared: Sequence[DimensionSize] | None = None) -> ScenarioGraph:
        """Return the parts of the model, with the content in the scope of the row."""
        inputs = [make_value_info("X", "float", declared or X.shape)]
        opsets = {"": int(row.get("opset", "13"))}
        if row["scope"] == "main":
            return ScenarioGraph(
                self.nodes,
                (X,),
                inputs,
                self.outputs,
                opsets,
                self.initializers,
                value_info=self.value_info,
                sparse=self.sparse,
            )
        inner = helper.make_graph(
            self.nodes,
            "then",
            [],
            self.outputs,
            [numpy_helper.from_array(array, name) for name, array in self.initializers.items()],
            value_info=self.value_info,
            sparse_initializer=self.sparse,
        )
        add_quantization_annotations(inner, *self.annotated)
        other = [_instead_of(value, number) for number, value in enumerate(self.outputs)]
        names = [f"Z{number}" for number in range(len(self.outputs))]
        node = helper.make_node(
            "If",
            ["yes"],
            names,
            then_branch=inner,
            else_branch=helper.make_graph([node for node, _ in other], "else", [], [value for _, value in other]),
        )
        outputs = [type(value).FromString(value.SerializeToString()) for value in self.outputs]
        for value, name in zip(outputs, names, strict=True):
            value.name = name
        return ScenarioGraph([constant_node("yes", np.array(True)), node], (X,), inputs, outputs, opsets)

    def annotate(self, row: Row) -> Callable[[onnx.ModelProto], None] | None:
        """Return a function that adds the quantization annotations of the main graph."""
        if row["scope"] != "main" or not self.annotated:
            return None
        return lambda model: add_quantization_annotations(model.graph, *self.annotated)


def _instead_of(value: onnx.ValueInfoProto, number: int) -> tuple[onnx.NodeProto, onnx.ValueInfoProto]:
    """Return a node for the branch that is not taken, and its output, which has the type of a value."""
    kind = value.type.tensor_type.elem_type
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    zeros = np.zeros(shape, dtype=helper.tensor_dtype_to_np_dtype(kind))
    name = f"instead_{number}"
    return constant_node(name, zeros), array_value_info(name, zeros)


def cases() -> Iterator[Case]:
    """Yield a case for each row of each family."""
    for family, (declaration, build) in FAMILIES.items():
        for number, row in enumerate(declaration.rows, 1):
            case = build(family, f"{number:03}_{row['operator']}_{row['scope']}", row)
            yield replace(case, tags=(*case.tags, *(f"{factor}={level}" for factor, level in row.items())))


def _removed(row: Row) -> Any:
    """Return the effect of a case in which the producer of Y is removed."""
    return APPLIES if row["scope"] == "main" else applies_to("Z0/then_branch/Y")


def _rest(row: Row) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in row.items() if factor != "operator")


def _pair(row: Row, source: str = "X") -> list[onnx.NodeProto]:
    return [producer(OPERATORS[row["operator"]], source), argmax()]


def _declared_case(family: str, name: str, row: Row) -> Case:
    X = permuted_quarters(f"{family}/{name}", SHAPE, np.float32)
    before = [
        helper.make_node("Abs", ["X"], ["B"]),
        helper.make_node("Neg", ["X"], ["y"]),
        helper.make_node("Neg", ["X"], ["XY"]),
        helper.make_node("Neg", ["X"], ["Y2"]),
        helper.make_node("Neg", ["X"], ["open"]),
        helper.make_node("Neg", ["X"], ["without_shape"]),
        constant_node("constant", X[::-1].copy()),
        helper.make_node("ReduceMax", ["X"], ["scalar"], keepdims=0),
        helper.make_node("SequenceConstruct", ["X"], ["sequence"]),
        constant_node("place", np.array(0, dtype=np.int64)),
        helper.make_node("SequenceAt", ["sequence", "place"], ["element"]),
    ]
    read = ("y", "XY", "Y2", "open", "without_shape", "constant", "scalar", "element", "W")
    after = helper.make_node("Max", read, ["largest"])
    captured = if_node(
        "taken",
        "captured",
        make_branch("inner", [helper.make_node("Neg", ["XY"], ["inner"])], ["inner"], SHAPE, "float"),
        make_branch("outer", [helper.make_node("Abs", ["XY"], ["outer"])], ["outer"], SHAPE, "float"),
    )
    types: Mapping[str, Sequence[DimensionSize]] = {
        **dict.fromkeys(("B", "y", "Y2", "XY", "constant", "W", "element", "largest", "captured"), SHAPE),
        "open": (None, None),
        "scalar": (),
    }
    declared = [make_value_info(name, "float", shape) for name, shape in types.items()]
    declared.append(helper.make_tensor_value_info("without_shape", TensorProto.FLOAT, None))
    declared.append(helper.make_tensor_sequence_value_info("sequence", TensorProto.FLOAT, SHAPE))
    declared.append(index_info(SHAPE))
    place = {"first": 0, "middle": len(declared) // 2, "last": len(declared)}[row["place"]]
    declared.insert(place, make_value_info("Y", "float", SHAPE))
    names = [value.name for value in declared if value.name != "sequence"]
    content = _Content(
        [*before, *_pair(row, "B"), after, constant_node("taken", np.array(True)), captured],
        [index_info(SHAPE), make_value_info("largest", "float", SHAPE), make_value_info("captured", "float", SHAPE)],
        declared if row["entries"] != "annotations" else (),
        names if row["entries"] != "value_info" else (),
        {"W": X},
    )
    return scenario(
        family,
        name,
        f"Only the declarations of the removed result of {OPERATORS[row['operator']]} go ({_rest(row)})",
        ("preservation", row["operator"]),
        _removed(row),
        content.graph(X, row),
        modify=content.annotate(row),
        check="preservation",
    )


def _sparse_case(family: str, name: str, row: Row) -> Case:
    X = permuted_quarters(f"{family}/{name}", SHAPE, np.float32)
    content = _Content(
        [*_pair(row), helper.make_node("Add", ["X", "W"], ["sum"])],
        [index_info(SHAPE), make_value_info("sum", "float", SHAPE)],
        initializers={"W": X},
        sparse=[_sparse_tensor(number, row["sparse"]) for number in range(SPARSE_COUNT)],
    )
    return scenario(
        family,
        name,
        f"Unused sparse initializers stay beside {OPERATORS[row['operator']]} ({_rest(row)})",
        ("preservation", row["operator"]),
        _removed(row),
        content.graph(X, row),
        check="preservation",
    )


def _sparse_tensor(number: int, level: str) -> onnx.SparseTensorProto:
    """Return a sparse tensor with two elements; the level `equal` gives it the elements of all others."""
    values = np.array([0.5, 1.5], dtype=np.float32) + (0 if level == "equal" else number)
    places = np.array([1, 4] if level == "equal" else [number % 5, 5], dtype=np.int64)
    if level == "coordinates":
        places = np.stack(np.unravel_index(places, SHAPE), axis=1).astype(np.int64)
    return helper.make_sparse_tensor(
        numpy_helper.from_array(values, f"S{number}"), numpy_helper.from_array(places, f"S{number}_places"), SHAPE
    )


def _defaults_case(family: str, name: str, row: Row) -> Case:
    X = permuted_quarters(f"{family}/{name}", SHAPE, np.float32)
    attributes = DEFAULT_ATTRIBUTES[row["attributes"]]
    axis = attributes["axis"]
    keepdims = attributes.get("keepdims", 1)
    nodes = [
        producer(OPERATORS[row["operator"]], axis=axis),
        helper.make_node("ArgMax", ["Y"], ["index"], **attributes),
    ]
    content = _Content(nodes, [make_value_info("index", "int64", argmax_shape(SHAPE, axis, keepdims))])
    written = ", ".join(f"{attribute} {value}" for attribute, value in attributes.items())
    return scenario(
        family,
        name,
        f"{OPERATORS[row['operator']]} is removed before an ArgMax with {written} alone ({_rest(row)})",
        ("fires", row["operator"]),
        _removed(row),
        content.graph(X, row),
    )


def _read_case(family: str, name: str, row: Row) -> Case:
    X = permuted_quarters(f"{family}/{name}", SHAPE, np.float32)
    value = {"operand": "B", "result": "Y", "index": "index"}[row["value"]]
    kind, shape = ("int64", SHAPE[:1]) if value == "index" else ("float", SHAPE)
    uses = USES[row["uses"]]
    nodes = [helper.make_node("Abs", ["X"], ["B"]), *_pair(row, "B"), constant_node("taken", np.array(True))]
    outputs = [] if value == "index" and OUTPUT not in uses else [index_info(SHAPE)]
    for number in range(uses.count(CAPTURED)):
        branches = [
            make_branch(
                word, [helper.make_node(op_type, [value], [f"{word}_{number}"])], [f"{word}_{number}"], shape, kind
            )
            for word, op_type in (("same", "Identity"), ("minus", "Neg"))
        ]
        nodes.append(if_node("taken", f"captured_{number}", *branches))
        outputs.append(make_value_info(f"captured_{number}", kind, shape))
    if CONSUMER in uses:
        nodes.append(helper.make_node("Neg", [value], ["read"]))
        outputs.append(make_value_info("read", kind, shape))
    if OUTPUT in uses and value != "index":
        outputs.append(make_value_info(value, kind, shape))
    op_type = OPERATORS[row["operator"]]
    stays = value == "Y"
    return scenario(
        family,
        name,
        f"{op_type} {'stays' if stays else 'is removed'} with these uses of the {row['value']} ({_rest(row)})",
        ("capture" if CAPTURED in uses else "other_use", row["operator"]) if stays else ("fires", row["operator"]),
        DOES_NOT_APPLY if stays else _removed(row),
        _Content(nodes, outputs).graph(X, row),
    )


def _equal_sizes_case(family: str, name: str, row: Row) -> Case:
    size, declared = SIZES[row["size"]]
    rest = () if row["rank"] == "2" else (2,)
    X = permuted_quarters(f"{family}/{name}", (size, size, *rest), np.float32)
    op_type = OPERATORS[row["operator"]]
    index = make_value_info("index", "int64", argmax_shape((declared, declared, *rest), 1, 0))
    content = _Content([producer(op_type, axis=0), argmax(axis=1)], [index])
    return scenario(
        family,
        name,
        f"{op_type} along axis 0 stays before ArgMax along axis 1 of the same size ({_rest(row)})",
        ("axis", row["operator"]),
        DOES_NOT_APPLY,
        content.graph(X, row, (declared, declared, *rest)),
    )


FAMILIES: Mapping[str, tuple[FamilyDeclaration, Callable[[str, str, Row], Case]]] = {
    "declared": (declared_declaration(), _declared_case),
    "sparse": (sparse_declaration(), _sparse_case),
    "defaults": (defaults_declaration(), _defaults_case),
    "read": (read_declaration(), _read_case),
    "equal_sizes": (equal_sizes_declaration(), _equal_sizes_case),
}
"""Declarations and builders of the families, by the tag of the family."""
