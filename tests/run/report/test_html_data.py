"""The data of the pages of the HTML report: failure texts, subject pages, error distributions, hazards and archives."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from corpora import ADAM, SHOULD
from embedded_data import embedded
from report_sample import CLAUSES, SMALL_CASES, SUBJECTS, large_run, small_run
from report_sample_optimizers import (
    APPLIES_CASE,
    DOES_NOT_APPLY_CASE,
    EVIL_HAZARD,
    OPTIMIZER,
    TIES,
    case_archive,
    optimizer_run,
)
from repository import ROOT
from runs_in_memory import list_results, text_renderer, with_fields, with_records

from conformance.run.corpus_run.recorder import archive_case
from conformance.run.report.formats import html
from conformance.run.report.formats import html as html_data
from conformance.run.report.formats.html import (
    CASE_PLACEHOLDER,
    OPTIONS_PLACEHOLDER,
    RERUN_SCRIPTS,
    SUBJECT_PLACEHOLDER,
)
from conformance.run.report.html.subjects import BAR_COUNT, ErrorDistributions
from conformance.run.results.failure_groups import INVALID_MODEL_SIGNATURE, failure_kind
from conformance.run.results.violations import strip_tensor_number

render = text_renderer(html.render)

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus

MEGABYTES = 10


def failing_result(message: str, **more: Any) -> Any:
    result = copy.deepcopy(next(result for result in list_results(small_run()) if result.verdict == "fail"))
    return with_fields(result, message=message, **more)


def text_of(result: Any, kind: str = "node") -> str:
    found = failure_kind(with_fields(small_run().cases["test_adam"], kind=kind), result)
    assert found is not None
    return found.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X has 2 wrong of 7 elements", "X has 13 wrong of 64 elements"),
        (
            "X has type float instead of double",
            "X of data set 2 has type float instead of double (and 26 more outputs)",
        ),
        ("X has 1 wrong of 2 elements, first at [0]: 1 instead of 0", "X has 1 wrong of 2 elements, first at [1]: nan"),
        ("X1_new has type float instead of double", "X22_new has type float instead of double"),
        ("Error: shapes (3,), (3,)\n  in node 0", "Error: shapes (12,), (12,)\n  in node 5"),
        ("fault at 0x7f00", "fault at 0x12aB"),
    ],
)
def test_failure_text_ignores_numbers_and_places(one: str, other: str) -> None:
    assert text_of(failing_result(one)) == text_of(failing_result(other))


def test_failure_text_differs_for_different_words() -> None:
    texts = ("X has type float instead of double", "X has type double instead of float", "no float16 kernel")
    texts += ("no float32 kernel", "X has 2 wrong of 7 elements", "V has 2 wrong of 7 elements")
    assert len({text_of(failing_result(text, outputs=[])) for text in texts}) == len(texts)


def test_failure_text_without_message_is_the_first_violation() -> None:
    shapes = {"kind": "output_shape", "expected": "[2, 1]", "actual": "[3]"}
    output = {"data_set": 0, "name": "X_new", "check": "exact", "violation": shapes}
    check = {
        "name": "interface",
        "run": "once",
        "level": "must",
        "violation": {"kind": "value_gone", "field": "input", "place": "X"},
    }
    assert text_of(failing_result("", outputs=[output])) == "X_new has another shape"
    assert text_of(failing_result("", outputs=[], checks=[check])) == "interface: input X is gone"
    assert text_of(failing_result("", outputs=[])) == ""


def test_failure_text_of_invalid_model_is_constant() -> None:
    assert (
        text_of(failing_result("computed 2 outputs although R as an int is invalid"), "invalid")
        == INVALID_MODEL_SIGNATURE
    )


def test_failure_kind_of_pass_is_none() -> None:
    run = small_run()
    assert (
        failure_kind(run.cases["test_adam"], next(result for result in list_results(run) if result.verdict == "pass"))
        is None
    )


@pytest.mark.parametrize(("name", "free"), [("X1_new", "X_new"), ("H_B2_new", "H_B_new"), ("X2", "X2"), ("Y", "Y")])
def test_strip_tensor_number_of_output_names(name: str, free: str) -> None:
    assert strip_tensor_number(name) == free


@pytest.mark.parametrize(
    ("error", "bar"),
    [
        (0.0, 0),
        (1e-9, 1),
        (0.0999, 1),
        (0.1, 2),
        (0.999, 10),
        (1.0, 10),
        (1.01, 11),
        (float("inf"), 11),
        (float("nan"), 11),
    ],
)
def test_error_distribution_counts_tenths_of_the_bound(error: float, bar: int) -> None:
    run = small_run()
    output = {"data_set": 0, "name": "X_new", "check": "bound", "error_over_bound": error}
    result: Any = with_fields(list_results(run)[0], outputs=[output])
    found = ErrorDistributions()
    found.add(run.cases["test_adam"], result)
    assert found.rows == [("X_new", "float", [int(at == bar) for at in range(BAR_COUNT)])]


def output_of(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "tests" / "support", check=True).stdout


def subject_page(subject: str, run: Any = None) -> Any:
    page = render([run or small_run()])
    number = [row[0] for row in embedded(page, "index")["subjects"]].index(subject)
    return embedded(page, f"subject-{number}")


def names(numbers: list[int]) -> list[str]:
    return [sorted(name for name, *_ in SMALL_CASES)[number] for number in numbers]


def test_subject_page_lists_results_without_a_cause() -> None:
    rows = subject_page("onnxruntime")["signatures"]
    assert [(row[0], names(row[3])) for row in rows] == [("fail", ["test_adam_epsilon_float", "test_argmax_nan"])]
    assert [row[0] for row in subject_page(SUBJECTS[2])["signatures"]] == ["skipped", "unsupported"]


def test_subject_page_lists_met_and_unmet_expectations() -> None:
    (met, unmet), *more = [row[4:] for row in subject_page("onnxruntime")["expectations"]]
    assert (names(met), names(unmet)) == (["test_adam_epsilon_float"], ["test_argmax_ties"])
    assert not more


def test_subject_page_has_issue_and_location_of_expectation() -> None:
    (row,) = subject_page(OPTIMIZER, optimizer_run())["expectations"]
    assert row[0] == "crash"
    assert row[2:4] == ["https://example.org/issues/1", f"expectations/{OPTIMIZER}.toml, entry 1"]


def test_subject_page_margins_are_sorted_accepted_outputs() -> None:
    run = small_run()
    for number, result in enumerate(one for one in list_results(run) if one.subject == "onnxruntime"):
        for output in result.outputs:
            if output.violation is None and output.error_over_bound is not None:
                output.error_over_bound = 0.1 * (number + 1)
    errors = [row[3] for row in subject_page("onnxruntime", run)["margins"]]
    assert errors == sorted(errors, reverse=True)
    assert errors
    assert max(errors) <= 1


def test_subject_page_lists_slowest_cases_first() -> None:
    run = small_run()
    for number, result in enumerate(list_results(run)):
        result.seconds = number / 1000
    seconds = [row[1] for row in subject_page("reference", run)["slowest"]]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) == 6


def test_index_has_clauses_without_cases() -> None:
    clauses = {**CLAUSES, "adam.lonely": {"text": "No case is about this.", "source": "nowhere"}}
    assert ["adam.lonely", "No case is about this.", "nowhere"] in embedded(
        render([small_run(clauses=clauses)]), "index"
    )["clauses"]


def test_index_has_kind_and_input_types_of_cases() -> None:
    index = embedded(render([optimizer_run()]), "index")
    row = next(row for row in index["cases"] if row[0] == APPLIES_CASE)
    assert row[7] == "pass"
    assert [index["types"][number] for number in row[8]] == ["float", "int64"]


def test_hazards_have_subject_case_and_outputs() -> None:
    page = render([optimizer_run()])
    rows = embedded(page, "hazards")
    cases = [row[0] for row in embedded(page, "index")["cases"]]
    assert [(row[0], row[1], cases[row[2]]) for row in rows] == [
        (TIES, 1, APPLIES_CASE),
        (EVIL_HAZARD, 1, APPLIES_CASE),
        (TIES, 2, APPLIES_CASE),
    ]
    assert rows[0][3:] == [1, "once", ["0", "1"], ["1", "1"]]


def test_archive_is_embedded_unchanged() -> None:
    page = render([optimizer_run()])
    number = [row[0] for row in embedded(page, "index")["cases"]].index(DOES_NOT_APPLY_CASE)
    assert f'<script type="text/plain" id="archive-{number}">{case_archive()}</script>' in page


def test_archives_above_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_data, "MAX_ARCHIVED_CHARACTERS", len(case_archive()) - 1)
    assert 'id="archive-' not in render([optimizer_run()])


def test_interrupted_run_has_a_banner() -> None:
    assert "interrupted" in render([optimizer_run(interrupted=True)])
    assert "interrupted" not in render([optimizer_run(interrupted=False)])


def test_columns_of_one_subject_have_run_and_file() -> None:
    runs = [dataclasses.replace(small_run(), path=path) for path in ("a/old.jsonl", "b/<new>.jsonl")]
    labels = [row[0] for row in embedded(render(runs), "index")["subjects"]]
    assert labels[:2] == ["reference (run 1: old.jsonl)", "onnxruntime (run 1: old.jsonl)"]
    assert labels[3] == "reference (run 2: <new>.jsonl)"


def test_column_of_single_run_is_the_subject_id() -> None:
    labels = [row[0] for row in embedded(render([small_run(), optimizer_run()]), "index")["subjects"]]
    assert "onnxruntime" in labels
    assert OPTIMIZER in labels
    assert "reference (run 2: results.jsonl)" in labels


def test_runs_of_different_corpora_have_a_banner_with_altered_cases() -> None:
    other = small_run(corpus={"version": "2.0.0", "digest": "sha256:01", "cases": 7, "selected": 7})
    altered: Any = with_fields(other.cases["test_adam"], title="Another")
    page = render(
        [small_run(), with_records(other, {**other.cases, "test_adam": altered}.values(), list_results(other))]
    )
    assert "different corpora" in page
    assert "1 case differs" in page
    assert "different corpora" not in render([small_run(), small_run()])


@pytest.mark.long
def test_report_of_twenty_thousand_results_is_below_ten_megabytes() -> None:
    assert len(render([large_run(20, 1000)]).encode()) < MEGABYTES * 2**20


@pytest.mark.parametrize("kind", ["backend", "optimizer"])
def test_rerun_script_has_at_most_five_lines(kind: str) -> None:
    assert len([line for line in RERUN_SCRIPTS[kind].splitlines() if line]) <= 5


@pytest.mark.parametrize(
    ("kind", "subject", "case", "shown"),
    [
        ("backend", "reference", ADAM, "pass None"),
        ("backend", "fake_subject:always_wrong", ADAM, "fail compare"),
        ("optimizer", "identity", "test_softmax_argmax_axis_0_float", "pass None"),
    ],
)
def test_rerun_script_runs_a_case_of_the_installed_corpus(kind: str, subject: str, case: str, shown: str) -> None:
    script = (
        RERUN_SCRIPTS[kind]
        .replace(CASE_PLACEHOLDER, json.dumps(case))
        .replace(SUBJECT_PLACEHOLDER, json.dumps(subject))
        .replace(OPTIONS_PLACEHOLDER, "{}")
    )
    assert shown in output_of(script)


def test_rerun_script_runs_a_case_of_an_unpacked_archive(opened: Corpus, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive_case(opened, opened.cases[SHOULD]))) as bundle:
        bundle.extractall(tmp_path)
    script = (
        RERUN_SCRIPTS["backend"]
        .replace(CASE_PLACEHOLDER, json.dumps(SHOULD))
        .replace(SUBJECT_PLACEHOLDER, '"fake_subject:always_wrong"')
        .replace(OPTIONS_PLACEHOLDER, "{}")
    )
    assert "fail compare" in output_of(script, str(tmp_path / SHOULD))
