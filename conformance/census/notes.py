"""What is to be said of a cell besides its line in the table, each in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.census import argmax, longer_rows
from conformance.census.published import figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.census.findings import CellFindings

_NAN = {
    "chosen over a number behind it": "nan_before_chosen",
    "passed over for a number behind it": "nan_before_ignored",
    "chosen over a number before it": "nan_after_chosen",
    "passed over for a number before it": "nan_after_ignored",
    "chosen as the first of two": "nan_both_first",
    "chosen as the last of two": "nan_both_last",
}


def notes(found: CellFindings) -> list[str]:
    """The sentences."""
    name = f"{found.cell.operator} of {found.cell.type} on {found.cell.subject}"
    of_values = (*_values(found, name), *_errors(found, name), *_published(found, name))
    return [*_failure(found, name), *_order(found, name), *of_values]


def _failure(found: CellFindings, name: str) -> Iterator[str]:
    if found.failure and not found.refused:
        yield f"{name} gives no answer in some pieces: {found.failure}."


def _order(found: CellFindings, name: str) -> Iterator[str]:
    for low, high in found.witnesses[:1]:
        yield f"{name} is larger at {low!r} than at {high!r}."
    if not found.symmetric:
        yield f"{name} orders rows [a, b] otherwise than [0, b - a]: what is counted is of rows [0, d] alone."
    if found.number("longer_rows"):
        yield _longer(found, name)
    for place in found.whole["places"].get("wrong", [])[:1]:
        first, second, select = argmax.pair_at(found.cell.scale, place)
        yield f"{name} with select_last_index={select} is wrong for [{first!r}, {second!r}]."
    if not found.has_order:
        told = [f"{what} in {found.number(kind):,} pairs" for what, kind in _NAN.items() if found.number(kind)]
        if told:
            yield f"With {name} NaN is {', '.join(told)}."


def _longer(found: CellFindings, name: str) -> str:
    said = f"{found.number('longer_out_of_order'):,} come out with a larger one"
    for place in found.whole["places"].get("longer_out_of_order", [])[:1]:
        length, where = longer_rows.row_at(place)
        said += f", the first of {length} elements with the largest at {where}"
    return (
        f"Of {found.number('longer_rows'):,} drawn rows of {longer_rows.LENGTHS[0]} to {longer_rows.LENGTHS[-1]} "
        f"elements with the largest in each place, by {name} {said}, {found.number('longer_tied'):,} tie with it, "
        f"and {found.number('longer_nan'):,} have NaN."
    )


def _values(found: CellFindings, name: str) -> Iterator[str]:
    for kind, what in (("nan", "NaN where a number is due"), ("infinite", "infinite where a finite number is due")):
        places = found.whole["places"].get(kind)
        if places:
            yield f"{name} is {what} at {found.number(kind):,} values, first at {found.value(places[0])!r}."
    places = found.whole["places"].get("other_alone")
    if places:
        asked, others = found.number("asked_alone"), found.number("other_alone")
        yield (
            f"{name} depends on where a value stands: {others:,} of {asked:,} values are others at the end of a short "
            f"tensor, the first {found.value(places[0])!r}."
        )


def _errors(found: CellFindings, name: str) -> Iterator[str]:
    if found.number("tied_apart"):
        yield f"{name} ties {found.number('tied_apart'):,} pairs of neighbours whose correctly rounded values differ."
    if left := found.number("left_open"):
        decided = left - found.number("open")
        yield f"Of the values of {name}, double arithmetic leaves {left:,} open, and Arb decided {decided:,}."
    if found.cell.type == "double" and found.has_errors:
        yield f"The errors of {name} are those of {found.number('values'):,} arguments, by Arb."
    elif found.cell.type == "double" and found.has_values:
        yield f"The errors of {name} were not measured: install Arb, onnx-conformance[census]."


def _published(found: CellFindings, name: str) -> Iterator[str]:
    for figure in figures():
        if figure.is_met(found):
            extreme = found.whole["extremes"]["error"]
            said = f"The largest error of {name}, {extreme['value']:.3f} ULP at {found.value(extreme['at'])!r}"
            how = "is what is published of" if figure.at is None else "is at the argument that is published of"
            yield f"{said}, {how} {figure.of}: {figure.ulp} ULP ({figure.source})."
            if figure.wrong is not None:
                counted = f"{found.number('wrong'):,} values of {name} are not correctly rounded"
                yield f"{counted}; {figure.wrong:,} is what is published."
