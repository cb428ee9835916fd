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


def test_tvm_errs_as_the_c_library_is_published_to(cells):
    exp, log = cells["tvm", "Exp"], cells["tvm", "Log"]
    assert [figure.ulp for each in (exp, log) for figure in figures() if figure.is_met(each)] == ["0.502", "0.818"]
    assert exp.number("wrong") == pytest.approx(170_635, rel=1e-4)
    assert any("170,635 is what is published" in note for note in notes(exp))


def test_another_error_or_type_meets_no_figure(cells):
    found = cells["tvm", "Exp"]
    (met,) = (figure for figure in figures() if figure.is_met(found))
    assert not dataclasses.replace(met, ulp="0.503").is_met(found)
    assert not dataclasses.replace(met, type="double").is_met(found)


def test_the_reference_meets_nothing_that_is_published(cells):
    assert not [
        figure for figure in figures() for operator in ("Exp", "Log") if figure.is_met(cells["reference", operator])
    ]
