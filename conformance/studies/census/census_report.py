"""Reports of a census: tables for a terminal and for Markdown, footnotes, and comparison with published errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from msgspec import to_builtins

from conformance.base.plugins import suite_version
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.serialization.printable_text import escape_markdown
from conformance.run.results.recorded_environment import cpu_name, describe_environment
from conformance.studies.census import argmax_census, softmax_census
from conformance.studies.census.census_file import CensusFooter, CensusHeader, cell_record
from conformance.studies.census.census_results import TABLE_COLUMNS, TEXT_COLUMN_COUNT, pass_impact, table_row
from conformance.studies.census.correct_rounding import RELATIVE_GUARD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.studies.census.census_results import CellResult


@dataclass(frozen=True)
class PublishedError:
    """A published largest error of a library function that runtimes may use to implement an operator.

    Attributes:
        operator: ONNX op type that computes the function.
        type: element type of its arguments.
        of: name of the implementation.
        ulp: largest error over all arguments in ULP, with the published digits.
        source: where the error is published.
        wrong: published number of values that are not correctly rounded; None if not published.
        at: published argument of the largest error; None if not published.
    """

    operator: str
    type: str
    of: str
    ulp: str
    source: str
    wrong: int | None = None
    at: float | None = None

    def is_met(self, found: CellResult) -> bool:
        """Return whether a cell has the published error.

        This is so if its largest error is at the published argument; if no argument is published, if the largest error
        equals the published error.
        """
        extreme = found.whole.extremes.get("error")
        if extreme is None or found.sampled or (self.operator, self.type) != (found.cell.operator, found.cell.type):
            return False
        if self.at is not None:
            return found.value(extreme.at) == self.at
        digits = len(self.ulp.partition(".")[2])
        return f"{extreme.value:.{digits}f}" == self.ulp


@cache
def published_errors() -> tuple[PublishedError, ...]:
    """Return the content of published.toml."""
    content = read_own_toml("conformance.studies.census", "published.toml")
    return tuple(
        PublishedError(**figure | ({"at": float.fromhex(figure["at"])} if "at" in figure else {}))
        for figure in content["figure"]
    )


_NAN_CHOICES = {
    "chosen over a following number": "nan_before_chosen",
    "ignored before a number": "nan_before_ignored",
    "chosen over a preceding number": "nan_after_chosen",
    "ignored after a number": "nan_after_ignored",
    "chosen as the first of two NaN": "nan_both_first",
    "chosen as the last of two NaN": "nan_both_last",
}
"""Kinds of counters for ArgMax with NaN, by the phrase that describes them in a footnote."""


def footnotes(found: CellResult) -> list[str]:
    """Return remarks on a cell, as sentences."""
    name = _cell_name(found)
    of_values = (*_value_notes(found, name), *_error_notes(found, name), *_published_error_notes(found, name))
    return [*_failure_notes(found, name), *_order_notes(found, name), *of_values]


def _failure_notes(found: CellResult, name: str) -> Iterator[str]:
    if found.failure and not found.refused:
        yield f"{name} fails in some chunks: {found.failure}."


def _order_notes(found: CellResult, name: str) -> Iterator[str]:
    for low, high in found.counterexamples[:1]:
        yield f"{name} is larger at {low!r} than at {high!r}."
    if not found.symmetric:
        yield f"{name} orders rows [a, b] differently from [0, b - a]; the figures are for rows [0, d] only."
    if found.number("longer_rows"):
        yield _longer_rows_note(found, name)
    for ordinal in found.whole.ordinals.get("wrong", [])[:1]:
        first, second, select = argmax_census.decode_pair(found.cell.float_type, ordinal)
        yield f"{name} with select_last_index={select} is wrong for [{first!r}, {second!r}]."
    if not found.has_order:
        choices = [
            f"{what} in {found.number(kind):,} pairs" for what, kind in _NAN_CHOICES.items() if found.number(kind)
        ]
        if choices:
            yield f"{name}: NaN is {', '.join(choices)}."


def _longer_rows_note(found: CellResult, name: str) -> str:
    larger = f"in {found.number('longer_out_of_order'):,} another output is larger"
    for ordinal in found.whole.ordinals.get("longer_out_of_order", [])[:1]:
        length, where = softmax_census.decode_row(ordinal)
        larger += f" (first: {length} elements, the largest at {where})"
    lengths = f"{softmax_census.LONGER_ROW_LENGTHS[0]} to {softmax_census.LONGER_ROW_LENGTHS[-1]}"
    return (
        f"{name}: {found.number('longer_rows'):,} random rows of {lengths} elements were tested, with the largest "
        f"element at each position; {larger}, in {found.number('longer_tied'):,} another output is equal, and in "
        f"{found.number('longer_nan'):,} an output is NaN."
    )


def _value_notes(found: CellResult, name: str) -> Iterator[str]:
    for kind, what in (("nan", "NaN instead of a number"), ("infinite", "infinite instead of finite")):
        ordinals = found.whole.ordinals.get(kind)
        if ordinals:
            yield f"{name} is {what} at {found.number(kind):,} values, first at {found.value(ordinals[0])!r}."
    ordinals = found.whole.ordinals.get("other_alone")
    if ordinals:
        asked = found.number("asked_alone")
        others = found.number("other_alone")
        yield (
            f"{name} depends on the position in the tensor: {others:,} of {asked:,} values differ at the end of a "
            f"short tensor, first at {found.value(ordinals[0])!r}."
        )


def _error_notes(found: CellResult, name: str) -> Iterator[str]:
    if found.number("tied_apart"):
        tied = found.number("tied_apart")
        yield f"{name} gives {tied:,} pairs of equal neighbours whose correctly rounded values differ."
    if left := found.number("left_open"):
        decided = left - found.number("open")
        yield f"{name}: double arithmetic leaves the rounding of {left:,} values open; Arb decided {decided:,} of them."
    if found.cell.type == "double" and found.has_errors:
        yield f"{name}: the errors were measured at {found.number('values'):,} arguments, with Arb."
    elif found.cell.type == "double" and found.has_values:
        yield f"{name}: the errors were not measured; install Arb: onnx-conformance[census]."


def _published_error_notes(found: CellResult, name: str) -> Iterator[str]:
    for figure in published_errors():
        if figure.is_met(found):
            extreme = found.whole.extremes["error"]
            error = f"{extreme.value:.3f} ULP at {found.value(extreme.at)!r}"
            same = "equals the published error" if figure.at is None else "is at the published argument"
            yield f"The largest error of {name}, {error}, {same} of {figure.of}: {figure.ulp} ULP ({figure.source})."
            if figure.wrong is not None:
                count = f"{found.number('wrong'):,} values of {name} are not correctly rounded"
                yield f"{count}; the published number is {figure.wrong:,}."


ASSUMPTION = (
    "Correctly rounded values are NumPy's double Exp and Log, rounded again. NumPy's relative error is assumed to be "
    "below 2^-50; if that leaves two candidates, Arb decides."
)


def environment_facts() -> dict[str, str]:
    """Return properties of the environment on which the figures depend, such as the processor.

    The names of the machine and of its folders are not included.
    """
    return {"suite": suite_version(), **cpu_name(), **describe_environment()}


def json_lines(found: Sequence[CellResult], facts: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the lines of a census file: a header, a record for each cell, and a footer."""
    header = CensusHeader(1, dict(facts), RELATIVE_GUARD)
    for record in (header, *map(cell_record, found), CensusFooter(len(found))):
        yield json.dumps(to_builtins(record), ensure_ascii=False).encode() + b"\n"


def markdown(found: Sequence[CellResult], facts: Mapping[str, str]) -> str:
    """Return the tables and footnotes as Markdown."""
    parts = [
        "# Census of monotone operators",
        f"The figures depend on the processor's instruction sets. Environment: {_format_facts(facts)}.",
        *_other_environments(found),
        _markdown_table(TABLE_COLUMNS, [table_row(each) for each in found]),
        ASSUMPTION,
        *[f"- {escape_markdown(note)}" for each in found for note in footnotes(each)],
        "## What the pass changes",
        IMPACT_EXPLANATION,
        _markdown_table(
            PASS_IMPACT_COLUMNS, [pass_impact_row(each) for each in found if each.has_order and each.number("pairs")]
        ),
    ]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def _format_facts(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _other_environments(found: Sequence[CellResult]) -> list[str]:
    """Return a sentence for each environment other than that of the table, with the cells counted there."""
    environments = {_format_facts(each.elsewhere): each.elsewhere for each in found if each.elsewhere}
    cells = {text: [each for each in found if each.elsewhere == facts] for text, facts in environments.items()}
    return [
        f"Environment {escape_markdown(text)}: {escape_markdown(', '.join(map(_cell_name, counted)))}."
        for text, counted in cells.items()
    ]


def _cell_name(found: CellResult) -> str:
    return f"{found.cell.operator} of {found.cell.type} on {found.cell.subject}"


IMPACT_EXPLANATION = (
    "Number of pairs of values for which ArgMax returns another index after the pass has removed the operator before "
    "it. For a 16-bit type, all pairs are counted; for other types, the tested neighbours. If the operator returns a "
    "NaN, the index depends on the runtime."
)
"""Explanation of the table of the pass."""

PASS_IMPACT_COLUMNS = (
    "subject",
    "operator",
    "type",
    "pairs",
    "rounding_tie",
    "overflow",
    "underflow",
    "NaN",
    "not_monotone",
)


def pass_impact_row(found: CellResult) -> tuple[str, ...]:
    """Return the table row for a census cell; its columns are `PASS_IMPACT_COLUMNS`."""
    changed: Mapping[str, int] = pass_impact(found)
    names = (f"{found.cell.subject} {found.version}", found.cell.operator, found.cell.type)
    classes = ("rounding_tie", "overflow", "underflow", "nan", "not_monotone")
    of_nan = changed.get("negative", 0) + changed.get("softmax_infinity", 0)
    tried = f"{changed['pairs']:,}{' sampled' if found.sampled else ''}"
    return (*names, tried, *(f"{of_nan if kind == 'nan' else changed.get(kind, 0):,}" for kind in classes))


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---" if i < TEXT_COLUMN_COUNT else "---:" for i in range(len(columns))]
    lines = (list(map(escape_markdown, columns)), rule, *(map(escape_markdown, row) for row in rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
