"""A census counts exactly the faults that the subjects in `fake_subject` have."""

from __future__ import annotations

import re

import fake_subject
import numpy as np
import pytest

import conformance.studies.census.argmax_census as argmax_module
import conformance.studies.census.correct_rounding as truth_module
import conformance.studies.census.softmax_census as rows_module
from conformance.base.errors import StorageError, SuiteFault
from conformance.base.jobs.job import run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.studies.census import elementwise_census, softmax_census
from conformance.studies.census.census_job import CensusJob
from conformance.studies.census.census_report import footnotes
from conformance.studies.census.census_results import CellResult, collect_cells, pass_impact, table_row
from conformance.studies.census.chunks import NEIGHBOURHOOD_PAIRS, WINDOW_PAIRS, ArgumentPlan, Cell, count_chunk
from conformance.studies.census.counters import BinadeCounters
from conformance.studies.census.elementwise_census import domain_ordinals
from conformance.studies.census.float_ordinals import FLOAT_TYPES
from conformance.studies.census.query import open_client

HERE = ProcessWorkers(1, pytest.fail)
SIXTEEN = ("float16", "bfloat16")


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    monkeypatch.setattr(rows_module, "SYMMETRY_PAIRS", 2**12)


def found_of(name, operator="Exp", type="float16", workers=HERE):
    subject = f"fake_subject:{name}"
    census = CensusJob((Cell(subject, operator, type),), {subject: "1"}, in_process=True)
    (found,) = collect_cells(census, [chunk.result for chunk in run_job(census, workers)])
    return found


@pytest.mark.parametrize("type", SIXTEEN)
@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt"])
def test_census_correctly_rounded_subject_has_no_faults(operator, type):
    found = found_of("correctly_rounded", operator, type)
    assert [found.number(kind) for kind in ("out_of_order", "wrong", "nan", "infinite", "tied_apart", "open")] == [
        0
    ] * 6
    assert found.largest_error == 0.5
    assert not found.sampled


@pytest.mark.parametrize("type", SIXTEEN)
@pytest.mark.parametrize(("name", "count"), [("out_of_order_once", 1), ("out_of_order_seven_times", 7)])
def test_census_values_out_of_order_are_counted_and_named(name, count, type):
    found = found_of(name, "Exp", type)
    assert found.number("out_of_order") == found.number("wrong") == count
    assert [low for low, _ in found.counterexamples] == list(getattr(fake_subject, name).arguments)
    assert found.whole.extremes["drop"].value > 100
    assert pass_impact(found)["not_monotone"] > count


def test_census_error_of_one_and_a_half_ulp_is_found():
    found = found_of("off_by_one_and_a_half")
    assert found.number("wrong") == found.number("off_by_1") == 1
    assert 1 <= found.largest_error <= 1.5
    assert found.value(found.whole.extremes["error"].at) == 3.0


def test_census_position_dependence_is_reported_separately():
    found = found_of("other_alone", "Sqrt")
    assert found.number("other_alone") > 0
    assert found.number("out_of_order") == found.number("wrong") == 0
    counts = f"{found.number('other_alone'):,} of {found.number('asked_alone'):,}"
    assert any(counts in note for note in footnotes(found))
    assert found_of("correctly_rounded", "Sqrt").number("other_alone") == 0


@pytest.mark.parametrize(("name", "kind"), [("one_nan", "nan"), ("one_infinity", "infinite")])
def test_census_nan_and_infinity_are_counted(name, kind):
    found = found_of(name)
    assert found.number(kind) == found.number("wrong") == 1
    assert found.value(found.whole.ordinals[kind][0]) == 0.5
    assert "not finite" in table_row(found)


def test_census_flushed_subnormals_are_wrong_but_in_order():
    found = found_of("flushes_subnormals")
    float_type = FLOAT_TYPES["float16"]
    every = float_type.consecutive_values(-float_type.infinity, 2 * float_type.infinity + 1).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = np.exp(every).astype(np.float16).astype(np.float64)
    flushed = int(((exact > 0) & (exact < 2.0**-14)).sum())
    assert found.number("wrong") == flushed
    assert found.number("out_of_order") == 0
    assert found.number("tied_apart") > 0


def test_census_tie_not_caused_by_rounding_is_counted():
    found, right = found_of("ties_once"), found_of("correctly_rounded")
    assert found.number("tied_apart") == 1
    assert found.number("merged") >= right.number("merged")


def test_census_softmax_without_shift_symmetry_is_marked():
    assert found_of("correctly_rounded", "Softmax").symmetric
    found = found_of("not_shift_symmetric", "Softmax")
    assert not found.symmetric
    assert found.sampled


def test_census_softmax_out_of_order_is_counted_and_named():
    found = found_of("softmax_out_of_order_once", "Softmax")
    assert found.number("out_of_order") == 1
    assert found.counterexamples == [(0.0, 2.0)]
    assert found_of("correctly_rounded", "Softmax").number("out_of_order") == 0


def test_census_longer_row_out_of_order_is_counted():
    found = found_of("softmax_out_of_order_in_seventeen", "Softmax")
    assert found.number("longer_out_of_order") == softmax_census.ROWS_PER_POSITION
    assert any(re.search(r"\b17 elements\b.* 5\b", note) for note in footnotes(found))
    assert found_of("correctly_rounded", "Softmax").number("longer_out_of_order") == 0


def test_census_wrong_index_is_counted_per_select_last_index():
    cell = Cell("", "ArgMax", "float16")
    two = int(np.float16(2.0).view(np.uint16)) // argmax_module.FIRSTS_PER_CHUNK
    assert [wrong_in("argmax_prefers_one", cell, chunk) for chunk in (two, two + argmax_module.CHUNK_COUNT // 2)] == [
        1,
        1,
    ]
    assert wrong_in("correctly_rounded", cell, two) == 0
    (row,) = rows_in("argmax_prefers_one", cell, two)
    assert argmax_module.decode_pair(cell.float_type, row.ordinals["wrong"][0]) == (2.0, 1.0, 0)


def test_census_argmax_sample_has_all_kinds_of_values():
    cell = Cell("", "ArgMax", "float16", sampled=True)
    assert [wrong_in("argmax_prefers_one", cell, chunk) for chunk in range(cell.chunk_count)] == [1, 0, 1, 0]
    firsts = [part for chunk in range(cell.chunk_count) for part in argmax_module.iter_blocks(chunk, sampled=True)]
    values = np.concatenate([block.firsts for block in firsts if block.select]).view(np.float16)
    assert {0.0, 1.0, -1.0, np.inf, -np.inf} < set(values.tolist())
    assert len(values) == len(np.unique(values.view(np.uint16))) == 128
    row = BinadeCounters(0, {"pairs": 3}, {}, {})
    assert table_row(CellResult(cell, "1", {0: row}))[3] == "3 sampled"


def test_census_argmax_of_nan_is_counted():
    cell = Cell("", "ArgMax", "float16")
    (row,) = rows_in("correctly_rounded", cell, 0)
    nans = 2 * (2**10 - 1)
    assert row.counts["nan_after_ignored"] == argmax_module.FIRSTS_PER_CHUNK * nans
    assert row.counts["pairs"] == argmax_module.FIRSTS_PER_CHUNK * (2**16 - nans)


def rows_in(name, cell, chunk):
    with open_client(f"fake_subject:{name}", 60, in_process=True) as client:
        return count_chunk(client, cell, chunk)


def wrong_in(name, cell, chunk):
    (row,) = rows_in(name, cell, chunk)
    return row.counts.get("wrong", 0)


def test_census_some_binades_of_float_are_counted(monkeypatch):
    float_type = FLOAT_TYPES["float"]
    first, last = (int(float_type.ordinals(np.float32([x]))[0]) for x in (4.75, 5.25))
    monkeypatch.setattr(Cell, "plan", property(lambda _: ArgumentPlan(first, last)))
    found = found_of("out_of_order_once", "Exp", "float")
    assert found.number("pairs") == last - first
    assert found.number("out_of_order") == found.number("wrong") == 1
    assert found.counterexamples[0][0] == 5.0


@pytest.mark.parametrize(("is_there", "share"), [(True, 1), (False, 0)])
def test_census_undecided_roundings_are_reported(monkeypatch, is_there, share):
    monkeypatch.setattr(Cell, "plan", property(lambda _: ArgumentPlan(0x3F000000, 0x3F000200)))
    monkeypatch.setitem(truth_module.FUNCTIONS, "Exp", truth_module.MonotoneFunction(np.exp, "exp", 2.0**-27, None))
    if not is_there:
        monkeypatch.setattr(truth_module, "_decide_by_arb", lambda *_: None)
    found = found_of("correctly_rounded", "Exp", "float")
    left = found.number("left_open")
    (note,) = (note for note in footnotes(found) if "Arb decided" in note)
    assert left > 0
    assert (f" {left} values" in note, f"decided {left * share} of" in note) == (True, True)


@pytest.mark.parametrize("operator", ["Exp", "Softmax"])
def test_census_subject_with_fixed_sizes_gets_fixed_models(operator):
    found, right = (found_of(name, operator) for name in ("takes_one_size", "correctly_rounded"))
    assert not found.failure
    assert found.whole == right.whole


def test_census_unsupported_operator_is_marked():
    found = found_of("supports_nothing")
    assert found.refused
    assert not found.rows


def test_census_output_of_wrong_type_is_failure():
    found = found_of("gives_doubles")
    assert not found.refused
    assert found.failure == "returns float64 of shape [64000] instead of float16 of shape [64000]"


@pytest.mark.parametrize("raised", [StorageError("full", "", ""), SuiteFault()])
def test_census_error_that_is_not_of_subject_ends_census(monkeypatch, raised):
    def prepare(*_):
        raise raised

    monkeypatch.setattr(fake_subject.correctly_rounded, "prepare", prepare)
    with pytest.raises(type(raised)):
        found_of("correctly_rounded")


def test_census_double_sample_finds_fault_in_neighbourhood(monkeypatch):
    float_type = FLOAT_TYPES["double"]
    first, last = domain_ordinals("Exp", float_type)
    planted = int(float_type.ordinals(np.array([5.0]))[0])
    monkeypatch.setattr(Cell, "plan", ArgumentPlan(first, last, sample=4 * WINDOW_PAIRS, critical=(planted,)))
    monkeypatch.setattr(elementwise_census, "MEASURED_ARGUMENTS", 2**10)
    found = found_of("out_of_order_once", "Exp", "double")
    assert found.sampled
    assert (found.number("pairs"), found.number("out_of_order")) == (4 * WINDOW_PAIRS + 2 * NEIGHBOURHOOD_PAIRS, 1)
    assert found.number("values") == 2**10
    assert any("1,024 arguments" in note for note in footnotes(found))
