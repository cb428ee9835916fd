"""Faults that clear one field of a model in one place, and nothing else: made from the table of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import afterwards
from conformance.passes.fields import FIELDS, LEVELS, Place, placed, snake

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.deviations.rewrites.fault import FaultyRewrite
    from conformance.passes.fields import Field

IN_WORDS = {
    Place.MODEL: "",
    Place.MAIN: " in the main graph",
    Place.SUBGRAPH: " in subgraphs",
    Place.FUNCTION: " in the bodies of functions",
}


def clearing(field: Field, place: Place) -> Callable[[onnx.ModelProto], None]:
    """Clears a field of every message in a place."""

    def spoil(model: onnx.ModelProto) -> None:
        for at, message in list(placed(model)):
            if at is place and type(message).__name__ == field.message:
                message.ClearField(field.name)

    return spoil


def _fault(field: Field, place: Place, check: str) -> FaultyRewrite:
    id = f"clears_{snake(field.message)}_{field.name}{'' if place is Place.MODEL else f'_{place}'}"
    text = f"clears {field.name} of every {field.message}{IN_WORDS[place]}"
    return afterwards(id, text, clearing(field, place), LEVELS[check])


CLEARED = tuple(_fault(field, place, check) for field in FIELDS for place, check in field.checks.items())
