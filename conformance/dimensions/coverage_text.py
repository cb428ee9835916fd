"""What a corpus covers of the declarations, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.dimensions.covering import coverage
from conformance.dimensions.families import declarations, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.dimensions.factors import Declaration, Row

PAIR, TRIPLE = 2, 3

LOWERED = "expanded"
"""The tag of a case's sibling on primitive operators, which has its tags and no node of the optimizer."""


def coverage_lines(tagged: Iterable[Sequence[str]]) -> Iterator[str]:
    """Per optimizer and family the factors, how many combinations are covered, and what is not, and why.

    Args:
        tagged: the tags of each case.
    """
    tags = [set(each) for each in tagged]
    for operator, family, declaration in declarations():
        rows = [row_of(each) for each in tags if {operator, family} <= each and LOWERED not in each]
        yield f"{operator} {family}: {len(rows)} cases"
        yield from (f"  {line}" for line in _lines(declaration, rows))


def _lines(declaration: Declaration, rows: Sequence[Row]) -> Iterator[str]:
    for factor, values in declaration.factors.items():
        yield f"{factor}: {', '.join(values)}"
    covered = coverage(declaration, rows)
    sizes = {"pairs": PAIR, "triples": TRIPLE} if declaration.structural else {"pairs": PAIR}
    for name, size in sizes.items():
        sized = covered.of_size(size)
        of = f" of {' x '.join(declaration.structural or ())}" if size == TRIPLE else ""
        yield f"{len(sized.wanted) - len(sized.missing)} of {len(sized.wanted)} {name}{of} are covered"
    yield from (f"not covered: {_combined(dict(missing))}" for missing in covered.missing)
    yield f"{len(covered.impossible)} combinations are left out:"
    yield from (f"  {_met(meeting.values)}: {meeting.reason}" for meeting in declaration.excluded)
    yield from (f"  others beside {_met(meeting.values)}: {meeting.reason}" for meeting in declaration.hiding)
    yield from (f"  {left_out.what}: {left_out.reason}" for left_out in declaration.left_out)


def _combined(combination: Mapping[str, str]) -> str:
    return " with ".join(f"{factor}={value}" for factor, value in combination.items())


def _met(values: Mapping[str, Sequence[str]]) -> str:
    return _combined({factor: "|".join(allowed) for factor, allowed in values.items()})
