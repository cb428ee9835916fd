"""Given attributes of a drawn node: the declarations that fit them, and the sizes that they state.

A caller who states `hidden_size` or `kernel_shape` states sizes of operands. Draws with other sizes would be invalid.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.declarations.declaration_tables import TYPE_SETS, OperatorDeclaration, Rule, declarations_of
from conformance.exact.models.arrays import type_name, type_number
from conformance.exact.reference.nodes import attribute_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.exact.declarations.declaration_tables import Option

_FACTORS = re.compile(r"=?\w+(\*\w+)*")
_SHIFTED = re.compile(r"(\w+)([-+])(\d+)")


def default_attributes(schema: Any) -> dict[str, Any]:
    """Return the defaults of the attributes of an operator, on which the shapes of its inputs can depend."""
    given = schema.attributes.values() if schema else ()
    return attribute_values(each.default_value for each in given if each.default_value.name)


def stated_attributes(
    declaration: OperatorDeclaration, given: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the given attributes without those that have their defaults and that the declaration can leave out."""
    return {
        name: value
        for name, value in given.items()
        if "absent" not in declaration.attributes.get(name, ()) or not _are_equal(value, defaults.get(name))
    }


def _are_equal(value: Any, other: Any) -> bool:
    """Return whether two values of an attribute are equal; a tensor is an array."""
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(value, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(value, other)
    return bool(value == other)


def declarations_for(operator: str, given: Mapping[str, Any]) -> tuple[OperatorDeclaration, ...]:
    """Return the declarations of an operator, with those that are made for a given equation, or for given keys.

    Raises:
        UsageError: the operator has no declaration.
    """
    every = (*declarations_of(operator), *keyed_declarations(operator, given))
    equation = given.get("equation")
    if operator != "Einsum" or not isinstance(equation, str):
        return every
    terms = equation.partition("->")[0].replace(" ", "").replace("...", ".").split(",")
    shapes = [" ".join("S..." if each == "." else f"n{each}" for each in term) for term in terms]
    opsets = tuple({opset for each in every for opset in each.opsets})
    own = OperatorDeclaration(
        names=(operator,),
        opsets=opsets,
        types={"T": "numeric"},
        ranks=(1, 2, 0) if "..." in equation else (0,),
        sizes=dict.fromkeys(["S", *(f"n{letter}" for letter in equation if letter.isalpha())], "short"),
        attributes={"equation": (equation,)},
        inputs=tuple(f"X{place}: T[{shape}]" for place, shape in enumerate(shapes)),
    )
    return (*every, own)


_KEYS = {
    "keys_strings": "string",
    "keys_int64s": "int64",
    "keys_floats": "float",
    "cats_strings": "string",
    "cats_int64s": "int64",
}
"""The element type of an input of which an attribute has the keys."""

_OTHER_KEYS = {"string": ("", "another text"), "int64": (7, -7), "float": (0.75, -7.0)}
"""Elements that are drawn beside the keys, by type."""


def keyed_declarations(operator: str, given: Mapping[str, Any]) -> list[OperatorDeclaration]:
    """Return declarations whose input has given keys as elements, and others; none for other attributes.

    A key that begins with `=` would be read as a size, so there is none for it.
    """
    every = declarations_of(operator)
    listed = {_KEYS[name]: tuple(each) for name, each in given.items() if name in _KEYS and len(each)}
    if isinstance(given.get("keys_tensor"), np.ndarray):
        listed[type_name(given["keys_tensor"].dtype)] = tuple(given["keys_tensor"].ravel().tolist())
    attributes: dict[str, tuple[Option, ...]] = {name: (_given_option(each),) for name, each in given.items()}
    texts = [each for value in given.values() for each in np.ravel(np.array(value, object))]
    if any(isinstance(each, str) and each.startswith("=") for each in texts):
        return []
    return [
        OperatorDeclaration(
            names=(operator,),
            domain=every[0].domain,
            opsets=tuple({opset for each in every for opset in each.opsets}),
            attributes=attributes,
            inputs=(f"X: {type}[S...]",),
            values={"X": Rule(options=(*keys, *_OTHER_KEYS.get(type, (9,))))},
        )
        for type, keys in listed.items()
    ]


def _given_option(value: Any) -> Option:
    """Return the option of an attribute that has a given value."""
    if isinstance(value, np.ndarray):
        return Rule(tensor=type_name(value.dtype), lists=(tuple(value.ravel().tolist()),))
    return tuple(value) if isinstance(value, list) else value


def depends_on_sizes(option: Option | None) -> bool:
    """Return whether the value of an option of an attribute depends on sizes or on the rank."""
    if isinstance(option, Rule):
        return bool(option.by or option.shape or option.low or (option.count and not option.count.isdecimal()))
    if isinstance(option, tuple):
        return any(map(depends_on_sizes, option))
    return isinstance(option, str) and option.startswith("=")


def best_fitting(
    declarations: Sequence[OperatorDeclaration],
    places: Iterable[int],
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> list[int]:
    """Return the places of the declarations that have options for the most given attributes.

    A declaration of constant padding has negative pads; those of reflection have none. Each is taken for its own mode.

    Args:
        declarations: the declarations of the operator.
        places: the places of those that have its version.
        given: the given attributes, with their defaults.
        defaults: the defaults of attributes.
    """
    missing = {
        place: sum(not _has_option(declarations[place], name, given.get(name), defaults.get(name)) for name in names)
        for place in places
        for names in [{*given, *declarations[place].attributes}]
    }
    return [place for place, count in missing.items() if count == min(missing.values())]


def _has_option(declaration: OperatorDeclaration, name: str, value: Any, default: Any) -> bool:
    """Return whether a declaration has a value of an attribute; None stands for an absent attribute."""
    options = declaration.attributes.get(name, ("absent",))
    return any(_is_value(declaration, option, value, default) for option in options)


def _is_value(declaration: OperatorDeclaration, option: Option, value: Any, default: Any) -> bool:
    if option == "absent":
        return value is None or _are_equal(value, default)
    if value is None:
        return False
    if isinstance(option, tuple):
        return depends_on_sizes(option) or _are_equal(list(option), value)
    if not isinstance(option, Rule):
        return depends_on_sizes(option) or _are_equal(option, value)
    if option.tensor:
        return _is_tensor(declaration, option, value)
    if option.by:
        return any(_is_value(declaration, case, value, default) for case in option.cases)
    if option.type:
        types = declaration.types.get(option.type, ())
        return value in map(type_number, TYPE_SETS[types] if isinstance(types, str) else types)
    if option.options and not option.count:
        return value in option.options
    return True


def _is_tensor(declaration: OperatorDeclaration, option: Rule, value: Any) -> bool:
    """Return whether a value is a tensor of a type of an option, whose lists, if any, have its length."""
    if not isinstance(value, np.ndarray):
        return False
    types = declaration.types.get(option.tensor, (option.tensor,))
    is_long = any(len(each) == value.size for each in option.lists) if option.lists else value.size == 1
    return is_long and type_name(value.dtype) in (TYPE_SETS[types] if isinstance(types, str) else types)


def bound_sizes(declaration: OperatorDeclaration, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes by name that given attributes state; `r` is the rank."""
    bound: dict[str, int] = {}
    for _ in range(2):  # a product is solved for its last factor when the others are known
        for name, value in given.items():
            options = declaration.attributes.get(name, ())
            fixed = {len(option) for option in options if isinstance(option, tuple) and not depends_on_sizes(option)}
            for option in options:  # a list of a fixed length states no size
                if depends_on_sizes(option) and not (isinstance(value, list) and len(value) in fixed):
                    _bind(option, value, bound)
    return bound


def _bind(option: Option, value: Any, bound: dict[str, int]) -> None:
    if isinstance(option, str):
        if isinstance(value, int):
            _solve(option, value, bound)
    elif isinstance(option, tuple):
        if isinstance(value, list) and len(value) == len(option):
            for text, each in zip(option, value, strict=True):
                _bind(text, each, bound)
    elif isinstance(option, Rule) and option.by:
        found = [place for place, case in enumerate(option.cases) if case == value]
        if len(found) == 1:
            _solve(option.by, found[0], bound)
    elif isinstance(option, Rule) and isinstance(value, list):
        parts = option.shape.split()
        if len(parts) == 1 and "..." in parts[0]:
            bound.setdefault("r", len(value))
            parts = [parts[0].replace("...", str(number)) for number in range(1, len(value) + 1)]
        if len(parts) == len(value):
            for part, each in zip(parts, value, strict=True):
                _solve(part, each, bound)
        if option.count:
            _solve(option.count, len(value), bound)


def _solve(text: str, value: int, bound: dict[str, int]) -> None:
    """Bind the only unknown name of a product, or of a name and a number that is added, to what gives a value."""
    if found := _SHIFTED.fullmatch(text):
        name, sign, number = found.groups()
        bound.setdefault(name, value + int(number) if sign == "-" else value - int(number))
    elif _FACTORS.fullmatch(text):
        unknown: list[str] = []
        for factor in text.removeprefix("=").split("*"):
            known = int(factor) if factor.isdecimal() else bound.get(factor)
            if known is None:
                unknown.append(factor)
            elif known == 0 or value % known:
                return
            else:
                value //= known
        if len(unknown) == 1 and value:  # 0 stands for an attribute that is not given, and for no size
            bound.setdefault(unknown[0], value)
