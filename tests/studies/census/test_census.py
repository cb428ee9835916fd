"""The census: chunks, files, errors in double precision, correct rounding, and published errors."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
from decimal import Context, Decimal

import numpy as np
import pytest
from repository import ROOT

from conformance.base.errors import CensusFileError
from conformance.base.jobs.job import ChunkResult
from conformance.base.serialization.decoding import MalformedError
from conformance.studies.census import elementwise_census
from conformance.studies.census.census_file import cell_record, read_census
from conformance.studies.census.census_job import CellChunkResult, CensusJob
from conformance.studies.census.census_report import footnotes, json_lines, published_errors
from conformance.studies.census.census_results import CellResult
from conformance.studies.census.chunks import (
    CHUNK_VALUES,
    NEIGHBOURHOOD_PAIRS,
    WINDOW_PAIRS,
    ArgumentPlan,
    Cell,
    critical_ordinals,
    known_counterexamples,
)
from conformance.studies.census.counters import BinadeCounters, Extreme
from conformance.studies.census.float_ordinals import FLOAT_TYPES

# Arguments of the chunks of a census.


@pytest.mark.parametrize(("first", "last"), [(-10, 10), (0, CHUNK_VALUES), (-5, 3 * CHUNK_VALUES + 7)])
def test_plan_chunks_are_contiguous(first, last):
    plan = ArgumentPlan(first, last)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert runs[0][0] == first
    assert sum(pairs for _, pairs in runs) == last - first
    assert all(start + pairs == following for (start, pairs), (following, _) in itertools.pairwise(runs))


def test_plan_sample_spans_domain_without_repeated_pairs():
    plan = ArgumentPlan(-(2**40), 2**41, sample=2 * CHUNK_VALUES)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert len(runs) == 2 * CHUNK_VALUES // WINDOW_PAIRS
    assert runs[0][0] == -(2**40)
    assert sum(runs[-1]) == 2**41
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))


def test_plan_sample_contains_neighbourhoods_once():
    critical = (-(2**30), 0, 5, 2**40)
    plan = ArgumentPlan(-(2**30), 2**40, sample=4 * WINDOW_PAIRS, critical=critical)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))
    for ordinal in critical:
        low, high = max(ordinal - NEIGHBOURHOOD_PAIRS, plan.first), min(ordinal + NEIGHBOURHOOD_PAIRS, plan.last)
        assert any(start <= low and high <= start + pairs for start, pairs in runs)


@pytest.mark.parametrize(("operator", "argument"), [("Exp", 709.782712893384), ("Log", 1.0), ("Sqrt", 4.0)])
def test_critical_ordinals_contain_special_arguments(operator, argument):
    float_type = FLOAT_TYPES["double"]
    critical = critical_ordinals(operator, float_type)
    at, *counterexamples = map(int, float_type.ordinals(np.asarray([argument, *known_counterexamples(operator)])))
    assert min(abs(ordinal - at) for ordinal in critical) < NEIGHBOURHOOD_PAIRS
    assert set(counterexamples) <= set(critical)
    assert {sign * binade * 2**52 for sign in (-1, 1) for binade in range(2048)} <= set(critical)


def test_known_counterexamples_are_floats():
    assert all(np.float32(x) == x for operator in ("Exp", "Log") for x in known_counterexamples(operator))
    assert known_counterexamples("Softmax") == known_counterexamples("Exp") != ()


@pytest.mark.parametrize(
    ("cell", "number", "ordinal"), [(1, 0, 0), (7, 0, 0), (0, 10**9, 0), (0, 0, 2**15 - 1), (0, 0, -(2**40))]
)
def test_check_result_of_another_cell_or_type_is_refused(cell, number, ordinal):
    def chunk(cell, number, at):
        row = BinadeCounters(0, {"row": 1}, {"error": Extreme(1.0, at)}, {})
        return ChunkResult(number, CellChunkResult(cell, rows=[row]))

    cells = (Cell("reference", "Exp", "float16", False), Cell("reference", "Log", "float16", False))
    census = CensusJob(cells, {"reference": "1"})
    census.check_result(chunk(0, 0, 2**15 - 2))
    with pytest.raises(MalformedError):
        census.check_result(chunk(cell, number, ordinal))


# Errors of values in double, measured with Arb.


DOUBLE = FLOAT_TYPES["double"]
WIDE = Context(prec=60)
FUNCTIONS = {"Exp": WIDE.exp, "Log": WIDE.ln, "Sqrt": WIDE.sqrt}


def count_errors(operator, X, Y):
    (row,) = elementwise_census.count_double_errors(operator, DOUBLE, DOUBLE.ordinals(X), X, Y)
    return row


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_count_double_errors_correctly_rounded_has_no_error(operator):
    X = np.random.default_rng(1).uniform(1, 2, 200)
    Y = np.asarray([float(FUNCTIONS[operator](Decimal(x))) for x in X.tolist()])
    row = count_errors(operator, X, Y)
    assert row.counts == {"values": 200}
    assert not row.extremes


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
@pytest.mark.parametrize("steps", [-3, 1, 2])
def test_count_double_errors_measures_distance_to_exact_value(operator, steps):
    exact = FUNCTIONS[operator](Decimal(3))
    right = np.asarray([float(exact)])
    wrong = DOUBLE.values_at(DOUBLE.ordinals(right) + steps)
    row = count_errors(operator, np.asarray([3.0]), wrong)
    ulp = Decimal(float(np.spacing(right[0])))
    assert row.counts["wrong"] == 1
    assert row.extremes["error"].value == pytest.approx(float(abs(Decimal(float(wrong[0])) - exact) / ulp))


def test_count_double_errors_counts_nan_and_infinity():
    row = count_errors("Exp", np.asarray([2.0, 3.0]), np.asarray([np.nan, np.inf]))
    assert [row.counts[kind] for kind in ("values", "wrong", "nan", "infinite")] == [2, 2, 1, 1]
    two, three = (int(ordinal) for ordinal in DOUBLE.ordinals(np.asarray([2.0, 3.0])))
    assert row.ordinals == {"nan": [two], "infinite": [three]}


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_error_ordinals_cover_varying_domain(operator, monkeypatch):
    monkeypatch.setattr(elementwise_census, "MEASURED_ARGUMENTS", 2**13)
    where = np.concatenate(
        [elementwise_census.error_ordinals(operator, DOUBLE, chunk) for chunk in range(elementwise_census.ERROR_CHUNKS)]
    )
    assert len(np.unique(where)) == elementwise_census.MEASURED_ARGUMENTS
    X = DOUBLE.values_at(where)
    with np.errstate(all="ignore"):
        Y = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}[operator](X)
    assert np.isfinite(Y).all()
    assert np.mean((Y == 0) | (Y == 1)) < 0.001


# Reading of census files.


ROW = BinadeCounters(5, {"values": 8, "pairs": 8}, {}, {"nan": [3]})
FOUND = (
    CellResult(Cell("a", "Exp", "float16"), "1", {5: ROW}),
    CellResult(Cell("a", "Exp", "float", sampled=True), "1", {5: ROW}, "no answer", refused=True),
    CellResult(Cell("a", "Softmax", "float"), "1", {5: ROW}, symmetric=False),
)


WRONG_PAIR = (2**16 + 0x3C00) * 2**16 + 0xFFFF


@pytest.mark.parametrize("path", sorted((ROOT / "reports" / "census").glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_read_census_accepts_each_census_of_the_reports(path):
    assert read_census(path)[1]


@pytest.mark.parametrize(("ordinal", "is_right"), [(0, True), (WRONG_PAIR, True), (2**33, False), (-1, False)])
def test_read_census_checks_pairs_of_argmax(tmp_path, ordinal, is_right):
    row = BinadeCounters(0, {"pairs": 8, "wrong": 1}, {}, {"wrong": [ordinal]})
    cell = CellResult(Cell("a", "ArgMax", "float16"), "1", {0: row})
    (tmp_path / "census").write_bytes(b"".join(json_lines([cell], {})))
    if is_right:
        assert read_census(tmp_path / "census")[1][0].rows == {0: row}
    else:
        with pytest.raises(CensusFileError):
            read_census(tmp_path / "census")


@pytest.mark.parametrize("packed", [False, True])
def test_read_census_returns_written_cells(tmp_path, packed):
    path = tmp_path / ("census.jsonl" + ".gz" * packed)
    content = b"".join(json_lines(FOUND, {"cpu": "A"}))
    path.write_bytes(gzip.compress(content) if packed else content)
    environment, found = read_census(path)
    assert environment == {"cpu": "A"}
    assert list(map(cell_record, found)) == list(map(cell_record, FOUND))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "census.truncated"),
        (b"nonsense", "census.malformed"),
        (b'{"record": "header"}', "census.malformed"),
        (b"".join([*json_lines(FOUND, {})][:-1]), "census.truncated"),
        (b"".join([*json_lines(FOUND, {})][1:]), "census.truncated"),
    ],
)
def test_read_census_malformed_file_is_refused(tmp_path, content, code):
    (tmp_path / "census").write_bytes(content)
    with pytest.raises(CensusFileError) as raised:
        read_census(tmp_path / "census")
    assert raised.value.code == code


# Published largest errors, compared with the committed censuses of released runtimes.


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
