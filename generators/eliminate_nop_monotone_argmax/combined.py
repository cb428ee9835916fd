"""Cases that combine what can surround the operator, as rows of two covering arrays.

`combined_declaration` has factors of the graph: nodes before and after the operator, its operand, twins of it, opset
imports. `annotated_declaration` has factors of the information about values: declarations, annotations, training. The
two are apart, because many graph optimizers lose such information: in one array, this fault would hide all others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.message_fields import add_quantization_annotations, constant_node, if_node, make_branch
from conformance.exact.models.model_building import array_value_info, make_value_info
from generators.declarations.family import FamilyDeclaration, Omission
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    PASS_OPERATORS,
    ScenarioGraph,
    argmax,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.corpus.factors.covering_array import Row

FAMILY = "combined"
ANNOTATED_FAMILY = "annotated"
SIDE = 3
"""Size of both dimensions of every matrix, so that a shape does not show which axis is meant."""

SCALE = (97 / 16, 53 / 16, 29 / 16)
"""Scale of normalizations. The numerators are primes above 24, so that no two scaled elements are equal.

An element minus the mean of its row is a multiple of 1/12 with a magnitude of at most 24/12.
"""

OPSET = 17
LOWER_OPSET = 15
"""Version of the main domain, and a lower one in which all used operators except LayerNormalization are the same."""

REMOVED = {word: op_type for op_type, word in PASS_OPERATORS.items()}
"""Levels of the factor `operator` that the pass removes, with the op_type."""

KEPT = {
    "neg_twice": "Neg twice",
    "cast": "Cast",
    "lp_normalization": "LpNormalization",
    "layer_normalization": "LayerNormalization",
    "batch_normalization": "BatchNormalization",
}
"""Levels of the factor `operator` that keep the order of elements, but that the pass must not remove."""

IMPORTS: dict[str, Sequence[tuple[str, int]]] = {
    "once": [("", OPSET)],
    "twice": [("", OPSET), ("", OPSET)],
    "lower_first": [("", LOWER_OPSET), ("", OPSET)],
    "lower_last": [("", OPSET), ("", LOWER_OPSET)],
    "by_name_too": [("", OPSET), ("ai.onnx", OPSET)],
}
"""Levels of the factor `imports`: domain and version of each opset import."""

DOUBTFUL = {"imports": ("lower_last", "by_name_too"), "training": ("reads_result",)}
"""Levels that only `should` cases have, by factor.

Of several imports, the highest counts according to onnx.proto, but onnx's checker uses the last. The specification does
not mention the name ai.onnx for the main domain, but the checker accepts it. It does not forbid a graph optimizer to
remove training information, and with it a use of a value.
"""

OUTSIDE: Row = {
    "before": "none",
    "between": "none",
    "axis": "same",
    "imports": "once",
    "declared": "nothing",
    "annotated": "nothing",
    "training": "absent",
}
"""Levels of the factors that a declaration does not have."""


def combined_declaration() -> FamilyDeclaration:
    """Return the factors of the graph: the operator, its neighbours, its operand, twins, and the opset imports."""
    return FamilyDeclaration(
        factors={
            "operator": (*REMOVED, *KEPT),
            "before": ("none", "neg_twice", "cast", "transpose", "reshape", "lp_normalization"),
            "between": ("none", "cast", "transpose", "reshape", "flatten", "unsqueeze", "neg_twice"),
            "axis": ("same", "negative", "other"),
            "operand": ("input", "initializer", "shared_initializer", "default"),
            "beside": ("nothing", "twin", "read_twin", "twin_in_branch"),
            "imports": tuple(IMPORTS),
        },
        forbidden=(
            LevelCombination(
                {"axis": ("other",), "operator": ("exp", "log", "sqrt", "neg_twice", "cast")},
                "These operators have no axis.",
            ),
            LevelCombination(
                {"axis": ("other",), "operator": ("layer_normalization", "batch_normalization")},
                "The axes of these operators are fixed.",
            ),
            LevelCombination(
                {"operator": ("layer_normalization",), "before": ("cast",)},
                "LayerNormalization of double computes in float, by default.",
            ),
            LevelCombination(
                {"operator": ("layer_normalization",), "imports": ("lower_first", "lower_last")},
                "Below opset 17 there is no LayerNormalization.",
            ),
        ),
        omissions=(
            Omission("external data", "The interface of a graph optimizer has no folder that files are relative to."),
        ),
    )


def annotated_declaration() -> FamilyDeclaration:
    """Return the factors of the information about values, and of the graph around it."""
    return FamilyDeclaration(
        factors={
            "operator": ("exp", "softmax", "neg_twice"),
            "operand": ("input", "shared_initializer"),
            "beside": ("nothing", "twin", "read_twin"),
            "declared": ("nothing", "removed", "all", "prefixes"),
            "annotated": ("nothing", "removed", "all", "shared_parameters"),
            "training": ("absent", "reads_operand", "reads_result", "has_pair", "several"),
        },
    )


def cases() -> Iterator[Case]:
    """Yield a case for each row of the two covering arrays."""
    for number, row in enumerate(combined_declaration().rows, 1):
        yield _case(FAMILY, f"{number:03}_{row['operator']}_{row['between']}", row, "structure")
    for number, row in enumerate(annotated_declaration().rows, 1):
        yield _case(ANNOTATED_FAMILY, f"{number:03}_{row['operator']}_{row['training']}", row, "preservation")


def _case(family: str, name: str, levels: Row, check: str) -> Case:
    row = {**OUTSIDE, **levels}
    built = _Builder(family, row).build()
    removed = tuple(built.removed)
    effect = PassEffect.APPLIES if removed else PassEffect.DOES_NOT_APPLY
    case = scenario(
        family,
        name,
        _title(row, levels, removed),
        _clauses(row, removed),
        Rewrite(effect, removed, removed),
        built.graph,
        modify=built.modify,
        level=Level.SHOULD if any(row[factor] in levels for factor, levels in DOUBTFUL.items()) else Level.MUST,
        check=check,
    )
    return replace(case, tags=(*case.tags, *(f"{factor}={level}" for factor, level in levels.items())))


def _title(row: Row, levels: Row, removed: Sequence[str]) -> str:
    name = REMOVED.get(row["operator"]) or KEPT[row["operator"]]
    rest = ", ".join(f"{factor} {level}" for factor, level in levels.items() if factor != "operator")
    return f"{name} {'is removed' if 'Y' in removed else 'stays'} before ArgMax ({rest})"


def _clauses(row: Row, removed: Sequence[str]) -> tuple[str, ...]:
    found = ["fires"] if removed else []
    if row["operator"] in KEPT:
        found.append("other_producer")
    elif row["between"] != "none":
        found.append("adjacent")
    elif row["axis"] == "other":
        found.append("axis")
    if row["training"] == "reads_result" or row["beside"] == "read_twin":
        found.append("other_use")
    if row["beside"] == "twin_in_branch":
        found.append("subgraph")
    found += [row["operator"]] if row["operator"] in REMOVED else []
    return (*found, "preservation")


@dataclass
class _BuiltRow:
    """The graph of a row, the paths of the values whose producers the pass removes, and a change of the model."""

    graph: ScenarioGraph
    removed: list[str]
    modify: Any


@dataclass
class _Builder:
    """Builds the model of a row.

    Attributes:
        family: name of the family.
        row: the row.
        nodes: nodes of the main graph so far.
        outputs: outputs of the graph so far.
        constants: initializers so far.
        removed: paths of the values whose producers the pass removes.
        types: element types of the values of the main graph that are declared in `value_info`, by name.
    """

    family: str
    row: Row
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)

    def build(self) -> _BuiltRow:
        """Return the model of the row and what the pass removes from it."""
        row = self.row
        X = permuted_quarters(f"{self.family}/{'/'.join(row.values())}", (SIDE, SIDE), np.float32)
        operand = self._operand(X)
        source, type = self._before(operand)
        rank = 2
        result = self._apply_operator(source, "Y", type, self.nodes)
        self.types["Y"] = result
        value, last_type, rank = self._between("Y", result)
        axis = -1 if row["axis"] == "negative" else 1
        self._argmax(value, "index", axis, rank)
        is_kept = row["between"] != "none" or row["axis"] == "other" or row["training"] == "reads_result"
        if row["operator"] in REMOVED and not is_kept:
            self.removed.append("Y")
        self._beside(source, type, axis)
        self.types.update({} if value == "Y" else {value: last_type})
        inputs = [array_value_info("X", X)]
        inputs += [array_value_info("W", X)] if row["operand"] == "default" else []
        graph = ScenarioGraph(
            self.nodes,
            (X,),
            inputs=inputs,
            outputs=self.outputs,
            initializers=self.constants,
            opsets={"": OPSET},
            value_info=self._declarations(rank, value),
        )
        return _BuiltRow(graph, self.removed, lambda model: self._modify(model, operand))

    def _node(self, op_type: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))

    def _constant(self, name: str, array: Any) -> str:
        self.constants[name] = array
        return name

    def _operand(self, X: Any) -> str:
        """Return the name of the operand: the input X, or an initializer beside an input with another consumer."""
        if self.row["operand"] == "input":
            return "X"
        self._constant("W", X[::-1, ::-1].copy())
        self._node("Identity", ["X"], "same")
        self.outputs.append(make_value_info("same", "float", X.shape))
        if self.row["operand"] == "shared_initializer":
            self._node("Neg", ["W"], "minus_W")
            self.outputs.append(make_value_info("minus_W", "float", X.shape))
        return "W"

    def _before(self, operand: str) -> tuple[str, str]:
        """Add the nodes before the operator; return the name and the element type of their result."""
        level = self.row["before"]
        if level == "none":
            return operand, "float"
        type = "double" if level == "cast" else "float"
        match level:
            case "neg_twice":
                self._node("Neg", [operand], "B1")
                self._node("Neg", ["B1"], "B")
            case "cast":
                self._node("Cast", [operand], "B", to=TensorProto.DOUBLE)
            case "transpose":
                self._node("Transpose", [operand], "B", perm=[1, 0])
            case "reshape":
                self._node("Reshape", [operand, self._constant("B_shape", np.array([SIDE, -1]))], "B")
            case "lp_normalization":
                self._node("LpNormalization", [operand], "B", axis=0, p=1)
        self.types["B"] = type
        return "B", type

    def _apply_operator(self, source: str, result: str, type: str, nodes: list[onnx.NodeProto]) -> str:
        """Add the operator to nodes; return the element type of its result."""
        level = self.row["operator"]
        axis = {"same": 1, "negative": -1, "other": 0}[self.row["axis"]]
        dtype = np.float64 if type == "double" else np.float32
        if level in REMOVED:
            along: dict[str, Any] = {"axis": axis} if REMOVED[level] in ALONG_AXIS else {}
            nodes.append(helper.make_node(REMOVED[level], [source], [result], **along))
        elif level == "neg_twice":
            nodes.append(helper.make_node("Neg", [source], [f"{result}_minus"]))
            nodes.append(helper.make_node("Neg", [f"{result}_minus"], [result]))
        elif level == "cast":
            nodes.append(helper.make_node("Cast", [source], [result], to=TensorProto.DOUBLE))
            return "double"
        elif level == "lp_normalization":
            nodes.append(helper.make_node("LpNormalization", [source], [result], axis=axis, p=2))
        elif level == "layer_normalization":
            scale = self._constant("scale", np.array(SCALE, dtype=dtype))
            nodes.append(helper.make_node("LayerNormalization", [source, scale], [result], axis=1))
        else:
            statistics = {"scale": SCALE, "shift": [0, 0.25, 3], "mean": [1, 0.5, 0], "variance": [1, 4, 0.25]}
            names = [self._constant(name, np.array(each, dtype=dtype)) for name, each in statistics.items()]
            nodes.append(helper.make_node("BatchNormalization", [source, *names], [result]))
        return type

    def _between(self, source: str, type: str) -> tuple[str, str, int]:
        """Add the nodes between the operator and ArgMax; return name, element type and rank of their result."""
        level = self.row["between"]
        match level:
            case "none":
                return source, type, 2
            case "cast":
                type = "float" if type == "double" else "double"
                self._node("Cast", [source], "Z", to=TensorProto.FLOAT if type == "float" else TensorProto.DOUBLE)
            case "transpose":
                self._node("Transpose", [source], "Z", perm=[1, 0])
            case "reshape":
                self._node("Reshape", [source, self._constant("Z_shape", np.array([-1, SIDE]))], "Z")
            case "flatten":
                self._node("Flatten", [source], "Z")
            case "unsqueeze":
                self._node("Unsqueeze", [source, self._constant("Z_axes", np.array([0]))], "Z")
            case "neg_twice":
                self._node("Neg", [source], "Z1")
                self._node("Neg", ["Z1"], "Z")
        return "Z", type, 3 if level == "unsqueeze" else 2

    def _argmax(self, source: str, result: str, axis: int, rank: int) -> None:
        self.nodes.append(argmax(source, result, axis=axis))
        self.outputs.append(make_value_info(result, "int64", (SIDE,) if rank == 2 else (1, SIDE)))

    def _beside(self, source: str, type: str, axis: int) -> None:
        """Add a twin: the same operator on the same operand, with its own ArgMax."""
        level = self.row["beside"]
        if level == "nothing":
            return
        is_removable = self.row["operator"] in REMOVED and self.row["axis"] != "other"
        if level == "twin_in_branch":
            within: list[onnx.NodeProto] = []
            self._apply_operator(source, "Y_in", type, within)
            within.append(argmax("Y_in", "index_then", axis=axis))
            then = make_branch("then", within, ["index_then"], (SIDE,), "int64")
            other = make_branch("else", [argmax(source, "index_else", axis=axis)], ["index_else"], (SIDE,), "int64")
            self.nodes += [constant_node("yes", np.array(True)), if_node("yes", "index2", then, other)]
            self.outputs.append(make_value_info("index2", "int64", (SIDE,)))
            self.removed += ["index2/then_branch/Y_in"] if is_removable else []
            return
        result = self._apply_operator(source, "Y2", type, self.nodes)
        self._argmax("Y2", "index2", axis, 2)
        if level == "read_twin":
            self._node("ReduceMax", ["Y2"], "largest", keepdims=0)
            self.outputs.append(make_value_info("largest", result, ()))
        elif is_removable:
            self.removed.append("Y2")

    def _declarations(self, rank: int, last: str) -> list[onnx.ValueInfoProto]:
        """Return declarations in `value_info`: of Y alone, of all values, or of values whose names start with Y."""
        level = self.row["declared"]
        types = dict(self.types)
        if level == "nothing":
            return []
        if level == "removed":
            types = {"Y": types["Y"]}
        if level == "prefixes":
            for name in ("Y_of_others", "Y10"):
                self._node("Neg" if name == "Y10" else "Abs", ["X"], name)
                self._node("Less", ["X", name], f"below_{name}")
                self.outputs.append(make_value_info(f"below_{name}", "bool", (SIDE, SIDE)))
            types = {"Y_of_others": "float", "Y": types["Y"], "Y10": "float"}
        shapes = {last: (1, SIDE, SIDE)} if rank == 3 else {}
        return [make_value_info(name, type, shapes.get(name, (SIDE, SIDE))) for name, type in types.items()]

    def _modify(self, model: onnx.ModelProto, operand: str) -> None:
        """Add what a `ScenarioGraph` does not have: opset imports, quantization annotations, training information."""
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(*each) for each in IMPORTS[self.row["imports"]])
        names = {"nothing": (), "removed": ("Y",), "all": (operand, "Y", "index"), "shared_parameters": ("Y", "X")}
        add_quantization_annotations(model.graph, *names[self.row["annotated"]])
        if self.row["annotated"] == "shared_parameters":
            first, second = model.graph.quantization_annotation
            del second.quant_parameter_tensor_names[:]
            second.quant_parameter_tensor_names.extend(first.quant_parameter_tensor_names)
        match self.row["training"]:
            case "reads_operand":
                _add_training(model, operand)
            case "reads_result":
                _add_training(model, "Y")
            case "has_pair":
                _add_training(model, operand, has_pair=True)
            case "several":
                _add_training(model, operand)
                _add_training(model, operand, "second_")


def _add_training(model: onnx.ModelProto, taken: str, prefix: str = "", *, has_pair: bool = False) -> None:
    """Add training information with two bindings.

    Args:
        taken: name of a value of the main graph that the algorithm reads.
        prefix: prefix of all new names.
        has_pair: whether the algorithm has an Exp before an ArgMax.
    """
    weights = [f"{prefix}weight", f"{prefix}bias"]
    for name in weights:
        model.graph.initializer.append(numpy_helper.from_array(np.array([0.5, 2.0], dtype=np.float32), name))
    nodes = []
    if has_pair:
        nodes = [helper.make_node("Exp", [taken], ["raised"]), argmax("raised", "places")]
        taken = "places"
    nodes.append(helper.make_node("Cast", [taken], [f"{prefix}number"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node("ReduceMax", [f"{prefix}number"], [f"{prefix}total"], keepdims=0))
    nodes += [helper.make_node("Mul", [name, f"{prefix}total"], [f"{name}_next"]) for name in weights]
    info = model.training_info.add()
    outputs = [make_value_info(f"{name}_next", "float", (2,)) for name in weights]
    info.algorithm.CopyFrom(helper.make_graph(nodes, f"{prefix}step", [], outputs))
    for name in weights:
        info.update_binding.add(key=name, value=f"{name}_next")
