"""A census finds what was planted, all of it, and nothing else."""

from __future__ import annotations

import census_subjects
import numpy as np
import pytest

import conformance.census.argmax as argmax_module
import conformance.census.rows as rows_module
import conformance.census.truth as truth_module
from conformance.campaigns.campaign import campaign
from conformance.campaigns.processes import ProcessWorkers
from conformance.census import doubles, longer_rows
from conformance.census.asking import asking
from conformance.census.cell import Cell
from conformance.census.elementwise import domain
from conformance.census.findings import CellFindings, effect, findings, line
from conformance.census.job import Census
from conformance.census.notes import notes
from conformance.census.pieces import counted
from conformance.census.plan import CLOSE, WINDOW, Plan
from conformance.census.scale import SCALES

HERE = ProcessWorkers(1, pytest.fail)
SIXTEEN = ("float16", "bfloat16")


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    monkeypatch.setattr(rows_module, "TRIED", 2**12)


def found_of(name, operator="Exp", type="float16", workers=HERE):
    subject = f"census_subjects:{name}"
    census = Census((Cell(subject, operator, type),), {subject: "1"}, in_process=True)
    (found,) = findings(census, [piece.result for piece in campaign(census, workers)])
    return found


@pytest.mark.parametrize("type", SIXTEEN)
@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt"])
def test_nothing_is_wrong_with_correctly_rounded_values(operator, type):
    found = found_of("CorrectlyRounded", operator, type)
    assert [found.number(kind) for kind in ("out_of_order", "wrong", "nan", "infinite", "tied_apart", "open")] == [
        0
    ] * 6
    assert found.largest_error == 0.5
    assert not found.sampled


@pytest.mark.parametrize("type", SIXTEEN)
@pytest.mark.parametrize(("name", "places"), [("OutOfOrderOnce", 1), ("OutOfOrderSevenTimes", 7)])
def test_every_place_out_of_order_is_counted_and_named(name, places, type):
    found = found_of(name, "Exp", type)
    assert found.number("out_of_order") == found.number("wrong") == places
    assert [low for low, _ in found.witnesses] == list(getattr(census_subjects, name).places)
    assert found.whole["extremes"]["drop"]["value"] > 100
    assert effect(found)["not_monotone"] > places


def test_an_error_of_one_and_a_half_ulp_is_found_with_its_argument():
    found = found_of("OffByOneAndAHalf")
    assert found.number("wrong") == found.number("off_by_1") == 1
    assert 1 <= found.largest_error <= 1.5
    assert found.value(found.whole["extremes"]["error"]["at"]) == 3.0


def test_values_that_depend_on_their_place_in_a_tensor_are_told_and_are_no_disorder():
    found = found_of("OtherAlone", "Sqrt")
    assert found.number("other_alone") > 0
    assert found.number("out_of_order") == found.number("wrong") == 0
    assert any("depends on where a value stands" in note for note in notes(found))
    assert found_of("CorrectlyRounded", "Sqrt").number("other_alone") == 0


@pytest.mark.parametrize(("name", "kind"), [("OneNan", "nan"), ("OneInfinity", "infinite")])
def test_what_is_no_finite_number_where_one_is_due_is_found(name, kind):
    found = found_of(name)
    assert found.number(kind) == found.number("wrong") == 1
    assert found.value(found.whole["places"][kind][0]) == 0.5
    assert "not finite" in line(found)


def test_flushed_subnormals_are_wrong_values_and_ties_and_no_disorder():
    found = found_of("FlushesSubnormals")
    scale = SCALES["float16"]
    every = scale.values(-scale.infinity, 2 * scale.infinity + 1).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = np.exp(every).astype(np.float16).astype(np.float64)
    flushed = int(((exact > 0) & (exact < 2.0**-14)).sum())
    assert found.number("wrong") == flushed
    assert found.number("out_of_order") == 0
    assert found.number("tied_apart") > 0


def test_a_tie_that_rounding_does_not_make_is_found():
    found, right = found_of("TiesOnce"), found_of("CorrectlyRounded")
    assert found.number("tied_apart") == 1
    assert found.number("merged") >= right.number("merged")


def test_a_softmax_without_shift_symmetry_is_marked():
    assert found_of("CorrectlyRounded", "Softmax").symmetric
    found = found_of("NotShiftSymmetric", "Softmax")
    assert not found.symmetric
    assert found.sampled


def test_a_softmax_out_of_order_is_counted_and_named():
    found = found_of("SoftmaxOutOfOrderOnce", "Softmax")
    assert found.number("out_of_order") == 1
    assert found.witnesses == [(0.0, 2.0)]
    assert found_of("CorrectlyRounded", "Softmax").number("out_of_order") == 0


def test_a_longer_row_that_loses_its_largest_element_is_counted_and_named():
    found = found_of("SoftmaxOutOfOrderInSeventeen", "Softmax")
    assert found.number("longer_out_of_order") == longer_rows.EACH
    assert any("of 17 elements with the largest at 5" in note for note in notes(found))
    assert found_of("CorrectlyRounded", "Softmax").number("longer_out_of_order") == 0


def test_a_wrong_index_is_counted_once_for_each_select_last_index():
    cell = Cell("", "ArgMax", "float16")
    two = int(np.float16(2.0).view(np.uint16)) // argmax_module.EACH
    assert [wrong_in("ArgMaxPrefersOne", cell, piece) for piece in (two, two + argmax_module.PIECES // 2)] == [1, 1]
    assert wrong_in("CorrectlyRounded", cell, two) == 0
    (row,) = rows_in("ArgMaxPrefersOne", cell, two)
    assert argmax_module.pair_at(cell.scale, row["places"]["wrong"][0]) == (2.0, 1.0, 0)


def test_a_sample_of_argmax_is_of_all_kinds_of_values_and_says_that_it_is_one():
    cell = Cell("", "ArgMax", "float16", sampled=True)
    assert [wrong_in("ArgMaxPrefersOne", cell, piece) for piece in range(cell.pieces)] == [1, 0, 1, 0]
    firsts = [part for piece in range(cell.pieces) for part in argmax_module.blocks(piece, sampled=True)]
    values = np.concatenate([block.firsts for block in firsts if block.select]).view(np.float16)
    assert {0.0, 1.0, -1.0, np.inf, -np.inf} < set(values.tolist())
    assert len(values) == len(np.unique(values.view(np.uint16))) == 128
    row = {"binade": 0, "counts": {"pairs": 3}, "extremes": {}, "places": {}}
    assert line(CellFindings(cell, "1", {0: row}))[3] == "3 sampled"


def test_argmax_of_nan_is_recorded():
    cell = Cell("", "ArgMax", "float16")
    (row,) = rows_in("CorrectlyRounded", cell, 0)
    nans = 2 * (2**10 - 1)
    assert row["counts"]["nan_after_ignored"] == argmax_module.EACH * nans
    assert row["counts"]["pairs"] == argmax_module.EACH * (2**16 - nans)


def rows_in(name, cell, piece):
    with asking(f"census_subjects:{name}", 60, in_process=True) as asked:
        return counted(asked, cell, piece)


def wrong_in(name, cell, piece):
    (row,) = rows_in(name, cell, piece)
    return row["counts"].get("wrong", 0)


def test_a_few_binades_of_float_are_counted_as_planted(monkeypatch):
    scale = SCALES["float"]
    first, last = (int(scale.places(np.float32([x]))[0]) for x in (4.75, 5.25))
    monkeypatch.setattr(Cell, "plan", property(lambda _: Plan(first, last)))
    found = found_of("OutOfOrderOnce", "Exp", "float")
    assert found.number("pairs") == last - first
    assert found.number("out_of_order") == found.number("wrong") == 1
    assert found.witnesses[0][0] == 5.0


@pytest.mark.parametrize(("is_there", "share"), [(True, 1), (False, 0)])
def test_what_doubles_leave_open_is_told_with_what_arb_decided(monkeypatch, is_there, share):
    monkeypatch.setattr(Cell, "plan", property(lambda _: Plan(0x3F000000, 0x3F000200)))
    monkeypatch.setitem(truth_module.FUNCTIONS, "Exp", truth_module.Function(np.exp, "exp", 2.0**-27, None))
    if not is_there:
        monkeypatch.setattr(truth_module, "_decided", lambda *_: None)
    found = found_of("CorrectlyRounded", "Exp", "float")
    left = found.number("left_open")
    (told,) = (note for note in notes(found) if "double arithmetic" in note)
    assert left > 0
    assert told.endswith(f"leaves {left} open, and Arb decided {left * share}.")


@pytest.mark.parametrize("operator", ["Exp", "Softmax"])
def test_a_subject_that_takes_one_size_for_each_model_is_given_models_of_each_size(operator):
    found, right = (found_of(name, operator) for name in ("TakesOneSize", "CorrectlyRounded"))
    assert not found.failure
    assert found.whole == right.whole


def test_what_a_subject_does_not_support_is_told():
    found = found_of("SupportsNothing")
    assert found.refused
    assert not found.rows


def test_an_answer_of_another_type_is_none():
    found = found_of("GivesDoubles")
    assert not found.refused
    assert found.failure == "gives float64 of shape [64000] for float16 of shape [64000]"


def test_of_doubles_a_sample_is_taken_whose_neighbourhoods_show_what_is_planted_there(monkeypatch):
    scale = SCALES["double"]
    first, last = domain("Exp", scale)
    planted = int(scale.places(np.array([5.0]))[0])
    monkeypatch.setattr(Cell, "plan", Plan(first, last, sample=4 * WINDOW, close=(planted,)))
    monkeypatch.setattr(doubles, "MEASURED", 2**10)
    found = found_of("OutOfOrderOnce", "Exp", "double")
    assert found.sampled
    assert (found.number("pairs"), found.number("out_of_order")) == (4 * WINDOW + 2 * CLOSE, 1)
    assert found.number("values") == 2**10
    assert any("errors of Exp of double" in note for note in notes(found))
