"""Published errors of functions, and what censuses of released runtimes counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from conformance.census.notes import notes
from conformance.census.published import figures
from conformance.census.reading import read_census

REPORT = Path(__file__).parents[2] / "reports" / "census" / "exp-log-sqrt.jsonl.gz"


@pytest.fixture(scope="module")
def cells():
    _, found = read_census(REPORT)
    return {(each.cell.subject, each.cell.operator): each for each in found if each.cell.type == "float"}


@pytest.mark.parametrize(("operator", "ulp"), [("Exp", "2.52"), ("Log", "3.83")])
def test_numpy_errs_most_where_its_authors_say(cells, operator, ulp):
    found = cells["onnx-reference", operator]
    (figure,) = (figure for figure in figures() if figure.is_met(found))
    assert figure.ulp == ulp
    assert found.whole["extremes"]["error"]["value"] == pytest.approx(float(ulp), abs=0.03)
    assert any(f"is at the argument that is published of NumPy's {operator.lower()}" in note for note in notes(found))


def test_a_figure_with_a_count_is_met_by_that_count_alone(cells):
    found = next(each for each in cells.values() if each.largest_error and each.largest_error > 1)
    error = found.whole["extremes"]["error"]
    met = dataclasses.replace(
        figures()[0],
        operator=found.cell.operator,
        ulp=f"{error['value']:.3f}",
        wrong=found.number("wrong"),
    )
    assert met.is_met(found)
    assert not dataclasses.replace(met, wrong=found.number("wrong") + 1).is_met(found)
    assert not dataclasses.replace(met, ulp=f"{error['value'] + 0.001:.3f}").is_met(found)
    assert not dataclasses.replace(met, type="double").is_met(found)


def test_the_reference_meets_nothing_that_is_published(cells):
    assert not [
        figure for figure in figures() for operator in ("Exp", "Log") if figure.is_met(cells["reference", operator])
    ]
