"""Where two messages differ first: the path to it, and both contents in short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message  # type: ignore[import-untyped]

LONGEST = 60


def first_difference(before: Message, after: Message) -> str | None:
    """`graph.node[1].input[0] changed from 'Y' to 'X'`; None where both are the same."""
    if before == after:
        return None
    return next(_differences(before, after, ""), "its content is another")


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    for field in before.DESCRIPTOR.fields:
        old, new = getattr(before, field.name), getattr(after, field.name)
        where = f"{path}.{field.name}" if path else field.name
        if hasattr(old, "extend"):  # a repeated field, in every version of protobuf
            yield from _in_lists(list(old), list(new), where)
        elif field.message_type is not None:
            if before.HasField(field.name) != after.HasField(field.name):
                yield f"{where} is {'gone' if before.HasField(field.name) else 'new'}"
            elif before.HasField(field.name):
                yield from _differences(old, new, where)
        elif old != new:
            yield f"{where} changed from {_short(old)} to {_short(new)}"


def _in_lists(old: list[Any], new: list[Any], where: str) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{where} has {len(new)} entries instead of {len(old)}"
        return
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        if hasattr(one, "DESCRIPTOR"):
            yield from _differences(one, other, f"{where}[{number}]")
        elif one != other:
            yield f"{where}[{number}] changed from {_short(one)} to {_short(other)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
