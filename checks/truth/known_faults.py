"""The table `known_faults.toml`: faults that the sweep meets, each with a model of one node and exact arithmetic."""

from __future__ import annotations

import ast
import operator
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import onnx
from onnx import helper, parser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

TABLE = Path(__file__).with_suffix(".toml")

OPERATIONS: Mapping[type[ast.operator | ast.unaryop], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
"""The operations of arithmetic in the table."""

FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    **{name: getattr(mpmath, name) for name in ("exp", "log", "sqrt", "cos", "tanh")},
    "float": lambda number: mpmath.mpf(float(np.float32(float(number)))),
}
"""The functions that arithmetic in the table may call: those of mpmath, and the float nearest to a number."""


@dataclass(frozen=True)
class KnownFault:
    """A fault of a subject with the smallest model that shows it.

    Attributes:
        subject: the beginning of the subject's name.
        operator: the operator.
        fault: the fault in words.
        node: the node in onnx's text format.
        inputs: the type and the elements of each input.
        exact: the exact value of one element, as arithmetic.
        opset: the version of the operator's domain.
        output: the number of the output that has the element.
        element: the number of the element in its output.
        kinds: the accusations that the fault explains.
        needs: an attribute or an operand without which a node does not have the fault.
        lacks: an attribute or an operand with which a node does not have it.
        below: the version of the domain from which on a node does not have it.
        types: the element types of the first operand for which the fault was shown, beside the type of this model.
    """

    subject: str
    operator: str
    fault: str
    node: str
    inputs: Mapping[str, Sequence[Any]]
    exact: str
    opset: int = 22
    output: int = 0
    element: int = 0
    kinds: Sequence[str] = ()
    needs: str = ""
    lacks: str = ""
    below: int = sys.maxsize
    types: Sequence[str] = ()

    @cached_property
    def operands(self) -> dict[str, NDArray[Any]]:
        """The arrays of the inputs by name."""
        arrays = {}
        for name, (type, *elements) in self.inputs.items():
            kind, _, sizes = type.rstrip("]").partition("[")
            dtype = helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(kind.upper()))
            shape = [int(size) for size in sizes.split(",") if size]
            arrays[name] = (
                np.array(elements, np.int64 if dtype.kind in "iu" else np.float64).astype(dtype).reshape(shape)
            )
        return arrays

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The model of the node alone, whose outputs have the types that onnx infers."""
        node = parser.parse_node(self.node)
        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.operands.items()
        ]
        graph = helper.make_graph([node], "fault", values, [onnx.ValueInfoProto(name=name) for name in node.output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, self.opset)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)

    def in_types(self) -> list[KnownFault]:
        """Return the fault with operands of its own type, and of each of `types`."""
        own = next(iter(self.inputs.values()))[0].partition("[")[0]
        changed = (
            {name: [kind.replace(own, type, 1), *rest] for name, (kind, *rest) in self.inputs.items()}
            for type in self.types
        )
        return [self, *(replace(self, inputs=inputs, types=()) for inputs in changed)]

    def explains(self, subject: str, model: onnx.ModelProto, kind: str) -> bool:
        """Return whether the fault explains an accusation of a subject on a model of one node.

        Args:
            subject: the subject.
            model: the model.
            kind: the accusation: the level, and what kind of element is instead of what.
        """
        (node,), (opset,) = model.graph.node, model.opset_import
        if (self.subject, self.operator) != (subject, operator_name(node)):
            return False
        schema = onnx.defs.get_schema(node.op_type, opset.version, node.domain)
        defaults = {name: helper.get_attribute_value(each.default_value) for name, each in schema.attributes.items()}
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        names = {name for name, value in given.items() if value != defaults[name]}
        names |= {each.name for each, name in zip(schema.inputs, node.input, strict=False) if name}
        own, found = map(type_of_first_operand, (self.model, model))
        return (
            bool({kind, kind.partition(", ")[2]} & {*self.kinds})
            and (not self.needs or self.needs in names)
            and self.lacks not in names
            and opset.version < self.below
            and (own == found or onnx.TensorProto.DataType.Name(found or 0).lower() in self.types)
        )

    @cached_property
    def exact_value(self) -> Any:
        """The exact value of the element."""
        return evaluate_arithmetic(self.exact)


def type_of_first_operand(model: onnx.ModelProto) -> int | None:
    """Return the element type of the first operand of a model of one node; None if the node has none."""
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    types |= {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    return next((types.get(name) for name in model.graph.node[0].input), None)


def operator_name(node: onnx.NodeProto) -> str:
    """Return the operator of a node, with a domain that has no schemas of ONNX before its name."""
    return f"{node.domain}.{node.op_type}" if node.domain == "com.microsoft" else node.op_type


def known_faults() -> list[KnownFault]:
    """Return the rows of the table."""
    return [KnownFault(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["fault"]]


def evaluate_arithmetic(text: str) -> Any:
    """Return the value of arithmetic with the numbers `pi`, `inf` and `nan`.

    Raises:
        ValueError: the text is not arithmetic.
    """
    return _evaluate(ast.parse(text, mode="eval").body)


def _evaluate(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return mpmath.mpf(number)
        case ast.Name(id="pi" | "inf" | "nan" as name):
            return +getattr(mpmath, name)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](_evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return OPERATIONS[type(op)](_evaluate(left), _evaluate(right))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](_evaluate(argument))
    raise ValueError(f"{ast.unparse(node)} is not arithmetic of the table of known faults.")
