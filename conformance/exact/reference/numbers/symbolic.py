"""Symbolic numbers: a training optimizer's formula, called with symbolic numbers, becomes a graph of ONNX operators.

A `Term` stands for a value of that graph. The pseudo-code of an optimizer is thereby expanded to primitive operators
without a second implementation (`trace`). A formula may branch on `T > 0`. Both branches are traced, and a `Where` node
selects between them. `TermEmitter` writes the terms as nodes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.exact.models.arrays import type_name, type_number
from conformance.exact.reference.numbers import ArithmeticOperators

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INT64 = np.dtype(np.int64)
NAME = "name"
CONSTANT = "constant"
ATTRIBUTE = "attribute"
"""The kinds of terms that no operator computes: a value of the graph, a number, and an attribute of a function."""


_OPERATORS = {operator.add: "Add", operator.sub: "Sub", operator.mul: "Mul", operator.truediv: "Div"}


@dataclass(frozen=True, eq=False)
class Term(ArithmeticOperators):
    """A symbolic value of the emitted graph: a leaf, or an operator applied to other terms.

    Attributes:
        factory: the factory that made the term. It makes equal terms only once.
        op: an ONNX operator, or the kind of a leaf.
        operands: the terms that the operator is applied to.
        detail: the number or the name of a leaf; the attribute `to` of a Cast; None for any other operator.
        dtype: the type of the elements.
    """

    factory: TermFactory = field(repr=False)
    op: str
    operands: tuple[Term, ...]
    detail: Any
    dtype: np.dtype[Any]

    def __pow__(self, count: UpdateCount) -> Term:
        """Return this term to the power T if T > 0, else to the power 1.

        Formulas have powers only in the branch of T > 0. The graph computes this branch for every T, so the exponent 1
        avoids an overflow or a NaN where the result is not used.
        """
        return self._apply("Pow", self, count.at_least_one(self.dtype))

    def sqrt(self) -> Term:
        """Return the square root. NumPy calls this method for `np.sqrt` of an object."""
        return self._apply("Sqrt", self)

    def _operate(self, operation: Callable[..., Any], a: Term | int, b: Term | int) -> Term:
        return self._apply(_OPERATORS[operation], a, b)

    def _apply(self, op: str, *operands: Term | int) -> Term:
        terms = (self.factory.constant(term, self.dtype) if isinstance(term, int) else term for term in operands)
        return self.factory.term(op, tuple(terms), dtype=self.dtype)


@dataclass(frozen=True)
class UpdateCount:
    """The update count T in one of the two branches of a formula.

    Attributes:
        T: the symbolic value of the update count.
        is_positive: whether this object belongs to the branch in which T > 0.
        dtype: the type that the formula computes in.
    """

    T: Term
    is_positive: bool
    dtype: np.dtype[Any]

    def __gt__(self, other: int) -> bool:
        if other != 0:
            raise NotImplementedError("T can only be compared with 0")
        return self.is_positive

    def __mul__(self, other: Term) -> Term:
        return cast(self.T, self.dtype) * other

    def at_least_one(self, dtype: np.dtype[Any]) -> Term:
        """Return a term of type `dtype` with the value of T if T > 0, else 1."""
        one = self.T.factory.constant(1, INT64)
        return cast(self.T.factory.term("Where", (is_above_zero(self.T), self.T, one), dtype=INT64), dtype)


@dataclass
class TermFactory:
    """Creator of terms; equal terms are the same object."""

    _terms: dict[Any, Term] = field(default_factory=dict)

    def term(self, op: str, operands: tuple[Term, ...] = (), detail: Any = None, *, dtype: np.dtype[Any]) -> Term:
        """Return the term for the operator `op` applied to `operands`."""
        key = op, tuple(map(id, operands)), repr(detail), dtype
        return self._terms.setdefault(key, Term(self, op, operands, detail, dtype))

    def named_value(self, name: str, dtype: np.dtype[Any]) -> Term:
        """Return a term for a value that the graph already has."""
        return self.term(NAME, detail=name, dtype=dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Term:
        """Return a term for a scalar constant."""
        return self.term(CONSTANT, detail=dtype.type(number), dtype=dtype)

    def attribute(self, name: str, dtype: np.dtype[Any]) -> Term:
        """Return a term for a float attribute of the function that contains the formula, converted to a type."""
        return cast(self.term(ATTRIBUTE, detail=name, dtype=np.dtype(np.float32)), dtype)


def cast(term: Term, dtype: np.dtype[Any]) -> Term:
    """Return a term converted to a type."""
    return (
        term if term.dtype == dtype else term.factory.term("Cast", (term,), type_number(type_name(dtype)), dtype=dtype)
    )


def is_above_zero(T: Term) -> Term:
    """Return the term for T > 0, written as 0 < T, because more runtimes implement `Less` than `Greater`."""
    return T.factory.term("Less", (T.factory.constant(0, INT64), T), dtype=np.dtype(bool))


def trace(
    formula: Callable[..., Any], R: Term, T: Term, tensors: Sequence[Term], attributes: Mapping[str, Term | str]
) -> list[Term]:
    """Return the terms that a formula computes for one tensor, in that tensor's type.

    Args:
        formula: the pseudo-code of an optimizer.
        R: the learning rate.
        T: the update count.
        tensors: the operands of the tensor: X, G and its state.
        attributes: all attributes by name; numbers are terms of the tensor's type.
    """
    dtype = tensors[0].dtype
    branches = (
        formula(cast(R, dtype), UpdateCount(T, is_positive, dtype), *tensors, **attributes)
        for is_positive in (True, False)
    )
    return [_select(is_above_zero(T), *pair) for pair in zip(*branches, strict=True)]


def _select(condition: Term, a: Term, b: Term) -> Term:
    """Return a term with the value of `a` if the condition is true, else of `b`.

    If `a` and `b` are the same operator and differ in one operand only, only that operand is selected.
    """
    if a is b:
        return a
    pairs = enumerate(zip(a.operands, b.operands, strict=False))
    different = [index for index, (operand, other) in pairs if operand is not other]
    has_same_operator = (a.op, len(a.operands), a.detail) == (b.op, len(b.operands), b.detail)
    if has_same_operator and len(different) == 1:
        operands = list(a.operands)
        (index,) = different
        operands[index] = _select(condition, a.operands[index], b.operands[index])
        return a.factory.term(a.op, tuple(operands), a.detail, dtype=a.dtype)
    return a.factory.term("Where", (condition, a, b), dtype=a.dtype)


@dataclass
class TermEmitter:
    """Writes terms as nodes and constants of a graph.

    Attributes:
        unique_name: function that returns an unused name of the graph, made from a hint.
        nodes: the nodes written so far, in topological order.
        constants: the constants that the nodes read.
    """

    unique_name: Callable[[str], str]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)
    _reserved: dict[int, str] = field(default_factory=dict)

    def emit(self, results: Mapping[str, Term]) -> None:
        """Add the nodes that compute the terms `results`, given by the names of their outputs.

        A term with two names is copied by an Identity node.
        """
        for name, term in results.items():
            self._reserved.setdefault(id(term), name)
        for name, term in results.items():
            if (own := self._name(term)) != name:
                self.nodes.append(helper.make_node("Identity", [own], [name], name=self.unique_name("Identity")))

    def _name(self, term: Term) -> str:
        if id(term) not in self._names:
            self._names[id(term)] = self._emit_term(term)
        return self._names[id(term)]

    def _emit_term(self, term: Term) -> str:
        if term.op == NAME:
            return str(term.detail)
        operands = [self._name(operand) for operand in term.operands]
        unique_name = self.unique_name(term.op)
        if term.op == CONSTANT:
            self.constants.append(numpy_helper.from_array(np.array(term.detail), unique_name))
            return unique_name
        name = self._reserved.get(id(term), unique_name)
        self.nodes.append(_node(term, operands, name, unique_name))
        return name


def _node(term: Term, operands: Sequence[str], output: str, name: str) -> onnx.NodeProto:
    if term.op == ATTRIBUTE:
        node = helper.make_node("Constant", [], [output], name=name)
        node.attribute.add(name="value_float", ref_attr_name=term.detail, type=onnx.AttributeProto.FLOAT)
        return node
    attributes = {"to": term.detail} if term.op == "Cast" else {}
    return helper.make_node(term.op, operands, [output], name=name, **attributes)
