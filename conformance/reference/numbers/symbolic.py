"""The symbolic number system: numbers that are nodes, so that a formula run on them is the graph that computes it.

An optimizer's pseudo-code is thereby lowered to primitive operators without being written a second time. Its branch on
`T > 0` is taken both ways; where the two computations part, `Where` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.models.arrays import type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INT64 = np.dtype(np.int64)
NAME, CONSTANT, ATTRIBUTE = "name", "constant", "attribute"
"""What a term is that no operator computes: a value of the graph around it, a number, an attribute of a function."""


@dataclass(frozen=True, eq=False)
class Term:
    """A value of the graph to be: a leaf, or an operator applied to other terms.

    Attributes:
        terms: where it was made; equal terms are one.
        op: an ONNX operator, or the kind of a leaf.
        operands: the terms it is computed from.
        detail: a leaf's number or name; what else the operator has to be told.
        dtype: the type of its elements.
    """

    terms: Terms = field(repr=False)
    op: str
    operands: tuple[Term, ...]
    detail: Any
    dtype: np.dtype[Any]

    def __add__(self, other: Term | int) -> Term:
        return self._with("Add", self, other)

    def __radd__(self, other: int) -> Term:
        return self._with("Add", other, self)

    def __sub__(self, other: Term | int) -> Term:
        return self._with("Sub", self, other)

    def __rsub__(self, other: int) -> Term:
        return self._with("Sub", other, self)

    def __mul__(self, other: Term | int) -> Term:
        return self._with("Mul", self, other)

    def __rmul__(self, other: int) -> Term:
        return self._with("Mul", other, self)

    def __truediv__(self, other: Term | int) -> Term:
        return self._with("Div", self, other)

    def __pow__(self, count: Count) -> Term:
        """A power, whose exponent is T where T > 0, the only branch that has one, and 1 in the other.

        The branch that is not taken is computed all the same, and must not meet an overflow or a NaN on the way.
        """
        return self._with("Pow", self, count.at_least_one(self.dtype))

    def sqrt(self) -> Term:
        """What NumPy calls for `np.sqrt` of an object."""
        return self._with("Sqrt", self)

    def _with(self, op: str, *operands: Term | int) -> Term:
        terms = (self.terms.constant(term, self.dtype) if isinstance(term, int) else term for term in operands)
        return self.terms.of(op, tuple(terms), dtype=self.dtype)


@dataclass(frozen=True)
class Count:
    """T, in one of the two branches of a formula.

    Attributes:
        T: the term.
        positive: whether this is the branch of T > 0.
        dtype: the type that the formula computes in.
    """

    T: Term
    positive: bool
    dtype: np.dtype[Any]

    def __gt__(self, other: int) -> bool:
        if other != 0:
            raise NotImplementedError("T is compared with 0 only")
        return self.positive

    def __mul__(self, other: Term) -> Term:
        return cast(self.T, self.dtype) * other

    def at_least_one(self, dtype: np.dtype[Any]) -> Term:
        """T where it is above 0, else 1."""
        one = self.T.terms.constant(1, INT64)
        return cast(self.T.terms.of("Where", (is_positive(self.T), self.T, one), dtype=INT64), dtype)


@dataclass
class Terms:
    """Makes terms, equal ones once."""

    _made: dict[Any, Term] = field(default_factory=dict)

    def of(self, op: str, operands: tuple[Term, ...] = (), detail: Any = None, *, dtype: np.dtype[Any]) -> Term:
        """The term of this operator on these operands."""
        key = op, tuple(map(id, operands)), repr(detail), dtype
        return self._made.setdefault(key, Term(self, op, operands, detail, dtype))

    def named(self, name: str, dtype: np.dtype[Any]) -> Term:
        """A value that the graph has."""
        return self.of(NAME, detail=name, dtype=dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Term:
        """A scalar constant."""
        return self.of(CONSTANT, detail=dtype.type(number), dtype=dtype)

    def attribute(self, name: str, dtype: np.dtype[Any]) -> Term:
        """A float attribute of the function around it, in a type."""
        return cast(self.of(ATTRIBUTE, detail=name, dtype=np.dtype(np.float32)), dtype)


def cast(term: Term, dtype: np.dtype[Any]) -> Term:
    """A term in a type."""
    return term if term.dtype == dtype else term.terms.of("Cast", (term,), type_number(type_name(dtype)), dtype=dtype)


def is_positive(T: Term) -> Term:
    """Whether T > 0, as `Less`, which more runtimes have than `Greater`."""
    return T.terms.of("Less", (T.terms.constant(0, INT64), T), dtype=np.dtype(bool))


def traced(
    formula: Callable[..., Any], R: Term, T: Term, tensors: Sequence[Term], attributes: Mapping[str, Term | str]
) -> list[Term]:
    """The terms that a formula computes for one tensor, in that tensor's type.

    Args:
        attributes: in the tensor's type, but for those that are text.
    """
    dtype = tensors[0].dtype
    branches = (
        formula(cast(R, dtype), Count(T, positive, dtype), *tensors, **attributes) for positive in (True, False)
    )
    return [_chosen(is_positive(T), *pair) for pair in zip(*branches, strict=True)]


def _chosen(condition: Term, a: Term, b: Term) -> Term:
    """`a` where the condition holds and `b` elsewhere, chosen as early as the two computations differ in one place."""
    if a is b:
        return a
    differing = [
        place for place, pair in enumerate(zip(a.operands, b.operands, strict=False)) if pair[0] is not pair[1]
    ]
    if (a.op, len(a.operands), a.detail) == (b.op, len(b.operands), b.detail) and len(differing) == 1:
        operands = list(a.operands)
        operands[differing[0]] = _chosen(condition, a.operands[differing[0]], b.operands[differing[0]])
        return a.terms.of(a.op, tuple(operands), a.detail, dtype=a.dtype)
    return a.terms.of("Where", (condition, a, b), dtype=a.dtype)


@dataclass
class Emission:
    """The nodes and constants that compute some terms.

    Attributes:
        fresh: gives a name that nothing has yet, for a hint.
    """

    fresh: Callable[[str], str]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)
    _reserved: dict[int, str] = field(default_factory=dict)

    def emit(self, results: Mapping[str, Term]) -> None:
        """Add what computes these terms under these names; a term that has another name already is copied."""
        for name, term in results.items():
            self._reserved.setdefault(id(term), name)
        for name, term in results.items():
            if (own := self._name(term)) != name:
                self.nodes.append(helper.make_node("Identity", [own], [name], name=self.fresh("Identity")))

    def _name(self, term: Term) -> str:
        if id(term) not in self._names:
            self._names[id(term)] = self._added(term)
        return self._names[id(term)]

    def _added(self, term: Term) -> str:
        if term.op == NAME:
            return str(term.detail)
        operands = [self._name(operand) for operand in term.operands]
        fresh = self.fresh(term.op)
        if term.op == CONSTANT:
            self.constants.append(numpy_helper.from_array(np.array(term.detail), fresh))
            return fresh
        name = self._reserved.get(id(term), fresh)
        self.nodes.append(_node(term, operands, name, fresh))
        return name


def _node(term: Term, operands: Sequence[str], output: str, name: str) -> onnx.NodeProto:
    if term.op == ATTRIBUTE:
        node = helper.make_node("Constant", [], [output], name=name)
        node.attribute.add(name="value_float", ref_attr_name=term.detail, type=onnx.AttributeProto.FLOAT)
        return node
    attributes = {"to": term.detail} if term.op == "Cast" else {}
    return helper.make_node(term.op, operands, [output], name=name, **attributes)
