"""The declarations of operators: tables of TOML, read as data.

Each table `[[operator]]` declares nodes of one or more operators; an operator may have several tables. The keys are the
fields of `OperatorDeclaration`. Options are in order of simplicity: the first option of each choice gives the plainest
node.

A *size* is an expression of integers, names and the operators `+`, `-`, `*` and `/`, computed from left to right. The
name `r` is the rank of the declaration. A *shape* is a list of sizes and of these forms:

- `S...` stands for S1 to Sr; so does every other size with three dots.
- `S~` is a shape that broadcasts to `S...`, or to the shape that `shapes` has under this name.
- `S[axis]` is the size of `S...` at the attribute `axis`, `S[axis:]` are the sizes from there, and `S[axis=n]` has the
  size n there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import onnx

from conformance.base.errors import UsageError
from conformance.base.serialization.decoding import read_own_toml
from conformance.exact.models.graphs import normal_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Scalar: TypeAlias = int | float | str


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that gives a number, a text or a list.

    A text that begins with `=` is a size. A text of an attribute is a text.

    Attributes:
        options: the values of a number or of an element.
        low: the smallest integer, a size.
        high: the largest integer, a size.
        count: the length of a list of an attribute, a size.
        distinct: a size; the elements differ modulo this number. With `columns`, so many rows differ.
        axis: the name of an attribute; the indices along the axis that it has differ modulo the size.
        first: the first elements of a list; the rule draws the others.
        shape: a shape, whose sizes are the list.
        lists: the lists of which one is taken.
        columns: a shape; each element in column j is an index of dimension j, from either end.
        type: the name of a type variable, whose number is the value.
        tensor: the name of a type variable; the value is a tensor of this type, with one element or one of `lists`.
        by: a size, which is the index of the rule in `cases`.
        cases: the rules of which `by` selects one.
    """

    options: tuple[Scalar, ...] = ()
    low: str = ""
    high: str = ""
    count: str = ""
    distinct: str = ""
    axis: str = ""
    first: tuple[Scalar, ...] = ()
    shape: str = ""
    lists: tuple[tuple[Scalar, ...], ...] = ()
    columns: str = ""
    type: str = ""
    tensor: str = ""
    by: str = ""
    cases: tuple[Rule | Scalar, ...] = ()


Option: TypeAlias = Rule | Scalar | tuple[Scalar, ...]


class OperatorDeclaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A declaration of nodes.

    Attributes:
        names: the operators.
        opsets: the versions; of these, an operator has those of its schemas.
        inputs: the inputs, each as `name: type[shape]`. `?` before the name is an optional input, `*` repeats the input
            `count` times, and `-` is an input that is left out.
        domain: the domain.
        types: the element types of each type variable, or the name of a set in `TYPE_SETS`.
        ranks: the values of `r`.
        sizes: the values of each named size, the name of a set in `SIZE_SETS`, or a rule.
        most: the largest value that callers choose of each size that is slow to judge, such as a number of steps.
        shapes: the named shapes.
        attributes: the options of each attribute; `absent` leaves the attribute out.
        values: the kind of the elements of each input, one of `VALUE_KINDS`, or a rule; of several kinds, one is taken.
        outputs: the numbers of outputs.
        output_types: the type of each output, a name of type variables or an element type, if the shape inference of
            onnx returns none.
        output_ranks: the rank of each output, a size, if the shape inference of onnx returns none.
        hard: numbers at which a result is hard to compute, besides those that are hard for every operator.
        cases: the number of its nodes that the corpus of `generate --onnx` has; 0 for seeds alone. A table with cases
            of its own has values that few seeds would have, and is drawn only if it is chosen.
    """

    names: tuple[str, ...]
    opsets: tuple[int, ...]
    inputs: tuple[str, ...]
    domain: str = ""
    types: dict[str, str | tuple[str, ...]] = {}
    ranks: tuple[int, ...] = (1, 2, 3, 0)
    sizes: dict[str, str | tuple[int, ...] | Rule] = {}
    most: dict[str, int] = {}
    shapes: dict[str, str] = {}
    attributes: dict[str, tuple[Option, ...]] = {}
    values: dict[str, str | Rule | tuple[str | Rule, ...]] = {}
    outputs: tuple[int | str, ...] = (1,)
    output_types: tuple[str, ...] = ()
    output_ranks: tuple[str, ...] = ()
    hard: tuple[float, ...] = ()
    cases: int = 0

    def operands(self) -> list[DeclaredOperand]:
        """Return the inputs."""
        return [DeclaredOperand.parse(text) for text in self.inputs]

    def value_kinds(self, name: str) -> tuple[str | Rule, ...]:
        """Return the kinds of the elements of an input."""
        kinds = self.values.get(name, "number")
        return kinds if isinstance(kinds, tuple) else (kinds,)

    def opsets_of(self, operator: str) -> list[int]:
        """Return the versions of an operator that the declaration and the installed onnx have."""
        known = _versions(domain_and_type(operator)[1], self.domain)
        return [opset for opset in self.opsets if opset in known or not has_schemas(self.domain)]


@dataclass(frozen=True)
class DeclaredOperand:
    """An input of a declaration.

    Attributes:
        name: its name.
        mark: `?` for an optional input, `*` for a repeated one, `-` for one that is left out; otherwise empty.
        type: names of type variables, of which the schema has one, or an element type; with `/`, one of several.
        shape: its shape.
    """

    name: str
    mark: str
    type: str = ""
    shape: str = ""

    @classmethod
    def parse(cls, text: str) -> DeclaredOperand:
        """Read an input of a declaration."""
        found = _INPUT.fullmatch(text)
        assert found is not None, text
        mark, name, type, shape = found.groups(default="")
        return cls(name, mark, type, shape)


_INPUT = re.compile(r"([?*-]?)(\w+)(?:: ([\w|/]+)\[(.*)\])?")


def expression_value(text: str, operand: Callable[[str], int]) -> int:
    """Return the value of an expression of a declaration, from the left to the right; a quotient is rounded down.

    Args:
        text: the expression, with or without the `=` at its begin.
        operand: returns the value of a name or of a number.
    """
    first, *rest = re.split(r"([-+*/])", text.removeprefix("="))
    value = operand(first)
    for operator, name in zip(rest[::2], rest[1::2], strict=True):
        other = operand(name)
        if operator == "/":
            value //= max(other, 1)
        else:
            value = value * other if operator == "*" else value + other if operator == "+" else value - other
    return value


_SETS = read_own_toml("conformance.exact.declarations", "sets.toml")

TYPE_SETS: dict[str, Sequence[str]] = _SETS["types"]
"""Element types by the name of a set; a type that occurs twice is drawn more often."""

SIZE_SETS: dict[str, Sequence[int]] = _SETS["sizes"]
"""Sizes by the name of a set; `any` has the values of a size that a declaration does not restrict."""

UNDECLARED: dict[str, str] = {name: reason for reason, names in _SETS["undeclared"].items() for name in names}
"""Operators that the reference judges and that have no declaration, each with the reason."""


@cache
def has_schemas(domain: str) -> bool:
    """Return whether the installed onnx has schemas of a domain."""
    return domain in {schema.domain for schema in _schemas_with_history()}


def operator_name(op_type: str, domain: str) -> str:
    """Return the name by which the declarations of an operator are found.

    It has the domain, as `com.microsoft.FusedConv` has, if onnx has no schemas of the domain.
    """
    return op_type if has_schemas(domain) else f"{domain}.{op_type}"


@cache
def domain_and_type(operator: str) -> tuple[str, str]:
    """Return the domain and the type of an operator, whose name may have the domain before it.

    Without a domain, it is that of the main domain, or else the only one of this name that the installed onnx has.
    """
    domain, _, op_type = operator.rpartition(".")
    domain = normal_domain(domain)
    domains = {schema.domain for schema in _schemas_with_history() if schema.name == op_type}
    return next(iter(domains)) if not domain and len(domains) == 1 else domain, op_type


@cache
def declarations() -> dict[str, tuple[OperatorDeclaration, ...]]:
    """Return the declarations by operator, in the order of the names."""
    found: dict[str, list[OperatorDeclaration]] = {}
    for file in sorted(resources.files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            rows = read_own_toml("conformance.exact.declarations", file.name).get("operator", ())
            for declaration in msgspec.convert(rows, list[OperatorDeclaration]):
                for name in declaration.names:
                    found.setdefault(operator_name(name, declaration.domain), []).append(declaration)
    usable = {name: tuple(each for each in found[name] if each.opsets_of(name)) for name in sorted(found)}
    return {name: each for name, each in usable.items() if each}


def declarations_of(operator: str) -> tuple[OperatorDeclaration, ...]:
    """Return the declarations of an operator.

    Raises:
        UsageError: it has none.
    """
    domain, op_type = domain_and_type(operator)
    name = operator_name(op_type, domain)
    if name not in declarations():
        known = declarations()
        raise UsageError("operator-not-declared", operator=operator, known=known, count=len(known))
    return declarations()[name]


@cache
def _versions(operator: str, domain: str) -> frozenset[int]:
    return frozenset(each.since_version for each in schemas_of(operator, domain) if not each.deprecated)


@cache
def schemas_of(op_type: str, domain: str) -> tuple[Any, ...]:
    """Return the schemas of all versions of an operator that the installed onnx has."""
    return tuple(each for each in _schemas_with_history() if (each.name, each.domain) == (op_type, domain))


@cache
def _schemas_with_history() -> tuple[Any, ...]:
    return tuple(onnx.defs.get_all_schemas_with_history())
