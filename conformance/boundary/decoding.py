"""From bytes that were read to typed values: the one boundary that documents in JSON come through.

What is not exactly as typed is refused with a reason: keys that no type names, numbers that are none or beyond what a
machine counts with, text that is no Unicode, nesting that no type has.
"""

from __future__ import annotations

import keyword
from contextlib import contextmanager
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""How many, or which place."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
"""How many, at least one."""

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What ONNX's int64 can be."""

Seconds = Annotated[float, msgspec.Meta(ge=0)]
"""How long something took."""

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
"""Text that says something."""

LONGEST_REASON = 300


class MalformedError(ValueError):
    """A document is not as typed; its text is the reason, for people."""


class JsonDecoder:
    """Reads documents of a typed dict, or of several that a key tells apart.

    A type may say `Annotated[str, SomeEnum]` or `Annotated[str, Literal["a", "b"]]`: text that is one of these.

    Args:
        types: the typed dict, or the typed dicts by what the key says.
        key: which key says it.
    """

    def __init__(self, types: Any, key: str = "") -> None:
        tagged = types if key else {"": types}
        closed = [_closed(type, key, tag) for tag, type in tagged.items()]
        self._decoder = msgspec.json.Decoder(Union[tuple(closed)])  # noqa: UP007 - made of what is in a tuple

    def __call__(self, content: bytes) -> Any:
        """The document, as a plain dict.

        Raises:
            MalformedError: it is not as typed.
        """
        with _refusals():
            return msgspec.to_builtins(self._decoder.decode(content))


def parsed(content: bytes) -> Any:
    """A document in JSON that a schema has the types of.

    Raises:
        MalformedError: it is no JSON, or has text that is no Unicode.
    """
    with _refusals():
        return msgspec.json.decode(content)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8 text ({error.reason})") from None
    except RecursionError:
        raise MalformedError("it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise MalformedError(_reason(str(error))) from None


def _reason(text: str) -> str:
    """What msgspec says, with the place first where it names one."""
    what, _, place = text.partition(" - at `$")
    place = place.removesuffix("`")
    reason = what[:1].lower() + what[1:] if what[1:2].islower() else what
    return (f"{place.lstrip('.')}: {reason}" if place else reason)[:LONGEST_REASON]


@cache
def _closed(type: Any, key: str = "", tag: str = "") -> Any:
    """A typed dict as a type of msgspec's that has no other keys; it passes over what a typed dict does not name."""
    hints = {name: hint for name, hint in get_type_hints(type, include_extras=True).items() if name != key}
    names = {name: f"{name}_" if keyword.iskeyword(name) else name for name in hints}
    return msgspec.defstruct(
        type.__name__,
        [_field(names[name], hint) for name, hint in hints.items()],
        rename={own: name for name, own in names.items()},
        tag_field=key or None,
        tag=tag or None,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _field(name: str, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    if get_origin(hint) is NotRequired:
        (hint,) = get_args(hint)
        return name, Union[_strict(hint), msgspec.UnsetType], msgspec.UNSET  # noqa: UP007 - made as it runs
    return name, _strict(hint)


def _strict(hint: Any) -> Any:
    """A type in which typed dicts are closed, and named texts are of their enumeration."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return _closed(hint)
    if origin is Annotated:
        inner, meaning = arguments[0], arguments[1]
        return Annotated[_strict(inner), meaning] if isinstance(meaning, msgspec.Meta) else meaning
    if origin in {Union, UnionType}:
        return Union[tuple(map(_strict, arguments))]  # noqa: UP007 - made of what is in a tuple
    if origin in {None, Literal, NoneType}:
        return hint
    return origin[tuple(map(_strict, arguments))]
