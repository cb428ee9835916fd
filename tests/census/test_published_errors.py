"""Published largest errors, compared with the committed censuses of released runtimes."""

from __future__ import annotations

import dataclasses

import pytest
from repository import ROOT

from conformance.census.file import read_census
from conformance.census.report import footnotes, published_errors

REPORT = ROOT / "reports" / "census" / "exp-log-sqrt.jsonl.gz"


@pytest.fixture(scope="module")
def cells():
    _, found = read_census(REPORT)
    return {(each.cell.subject, each.cell.operator): each for each in found if each.cell.type == "float"}


@pytest.mark.parametrize(("operator", "ulp"), [("Exp", "2.52"), ("Log", "3.83")])
def test_numpy_largest_error_is_at_published_argument(cells, operator, ulp):
    found = cells["onnx-reference", operator]
    (figure,) = (figure for figure in published_errors() if figure.is_met(found))
    assert figure.ulp == ulp
    assert found.whole.extremes["error"].value == pytest.approx(float(ulp), abs=0.03)
    assert any(figure.of in note and figure.source in note for note in footnotes(found))


def test_tvm_largest_errors_equal_published_c_library(cells):
    exp, log = cells["tvm", "Exp"], cells["tvm", "Log"]
    assert [figure.ulp for each in (exp, log) for figure in published_errors() if figure.is_met(each)] == [
        "0.502",
        "0.818",
    ]
    assert exp.number("wrong") == pytest.approx(170_635, rel=1e-4)
    assert any("170,635" in note for note in footnotes(exp))


def test_published_error_of_other_value_or_type_is_not_met(cells):
    found = cells["tvm", "Exp"]
    (met,) = (figure for figure in published_errors() if figure.is_met(found))
    assert not dataclasses.replace(met, ulp="0.503").is_met(found)
    assert not dataclasses.replace(met, type="double").is_met(found)


def test_reference_meets_no_published_error(cells):
    assert not [
        figure
        for figure in published_errors()
        for operator in ("Exp", "Log")
        if figure.is_met(cells["reference", operator])
    ]
