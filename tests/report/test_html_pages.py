"""What the pages of the HTML report are made of: signatures, profiles, distributions, hazards, archives, columns."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import re
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from corpora import ADAM, SHOULD
from report_sample import CLAUSES, SMALL, SUBJECTS, large, small
from report_sample_optimizers import EVIL_HAZARD, FIRES, OPTIMIZER, STAYS, TIES, packed, rewriting
from repository import ROOT
from runs_in_memory import results_of, whole, with_records

from conformance.report.formats import html
from conformance.report.html import data as html_data
from conformance.report.html.errors import BARS, Distributions
from conformance.report.html.script import CASE, OF_KIND, OPTIONS, SUBJECT
from conformance.results.failure_kinds import OF_INVALID, failure_kind, serial_free
from conformance.run.archives import archive

render = whole(html.render)

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.corpus.corpus import Corpus

MEGABYTES = 10


def embedded(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def told(message: str, **more: Any) -> Any:
    result = copy.deepcopy(next(result for result in results_of(small()) if result["verdict"] == "fail"))
    return {**result, "message": message, **more}


def text_of(result: Any, kind: str = "node") -> str:
    found = failure_kind({**small().cases["test_adam"], "kind": kind}, result)
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
def test_what_differs_in_numbers_and_places_only_has_one_signature(one: str, other: str) -> None:
    assert text_of(told(one)) == text_of(told(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X has type float instead of double", "X has type double instead of float"),
        ("no float16 kernel", "no float32 kernel"),
        ("X has 2 wrong of 7 elements", "V has 2 wrong of 7 elements"),
    ],
)
def test_what_differs_in_words_has_two_signatures(one: str, other: str) -> None:
    assert text_of(told(one)) != text_of(told(other))


def test_without_a_message_the_first_complaint_is_the_signature() -> None:
    output = {"data_set": 0, "name": "X_new", "check": "exact", "complaint": "has shape [3] instead of [2, 1]"}
    check = {"name": "interface", "run": "once", "complaint": "an input is gone"}
    assert text_of(told("", outputs=[output])) == "X_new has another shape"
    assert text_of(told("", outputs=[], checks=[check])) == "interface: an input is gone"
    assert text_of(told("", outputs=[])) == ""


def test_all_computations_of_an_invalid_model_have_one_signature() -> None:
    assert text_of(told("computed 2 outputs although R as an int is invalid"), "invalid") == OF_INVALID


def test_a_pass_has_no_signature() -> None:
    run = small()
    assert (
        failure_kind(run.cases["test_adam"], next(result for result in results_of(run) if result["verdict"] == "pass"))
        is None
    )


@pytest.mark.parametrize(("name", "free"), [("X1_new", "X_new"), ("H_B2_new", "H_B_new"), ("X2", "X2"), ("Y", "Y")])
def test_outputs_of_several_tensors_go_by_one_name(name: str, free: str) -> None:
    assert serial_free(name) == free


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
def test_an_error_falls_into_the_bar_of_its_tenth(error: float, bar: int) -> None:
    run = small()
    output = {"data_set": 0, "name": "X_new", "check": "bound", "error_over_bound": error}
    result: Any = {**results_of(run)[0], "outputs": [output]}
    found = Distributions()
    found.add(run.cases["test_adam"], result)
    assert found.rows == [["X_new", "float", [int(at == bar) for at in range(BARS)]]]


def output_of(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "tests" / "support", check=True).stdout


def profile(subject: str, run: Any = None) -> Any:
    page = render([run or small()])
    number = [row[0] for row in embedded(page, "index")["subjects"]].index(subject)
    return embedded(page, f"subject-{number}")


def names(numbers: list[int]) -> list[str]:
    return [sorted(name for name, *_ in SMALL)[number] for number in numbers]


def test_a_profile_has_the_failures_by_signature_defects_first() -> None:
    rows = profile(SUBJECTS[2])["signatures"]
    assert [row[0] for row in rows] == ["crash", "error", "fail", "skipped", "unsupported"]
    assert [names(row[3]) for row in rows if row[0] == "fail"] == [["test_adam_epsilon_float"]]


def test_a_profile_counts_what_is_unexpected_in_a_signature() -> None:
    unexpected = {row[0]: row[4] for row in profile("onnxruntime")["signatures"] if len(row[3]) == 1}
    assert unexpected["timeout"] == 1
    assert unexpected["error"] == 1


def test_a_profile_tells_which_expectations_were_met() -> None:
    (met, unmet), *more = [row[4:] for row in profile("onnxruntime")["expectations"]]
    assert (names(met), names(unmet)) == (["test_adam_epsilon_float"], ["test_argmax_ties"])
    assert not more


def test_a_profile_has_the_reason_the_issue_and_the_place_of_an_expectation() -> None:
    (row,) = profile(OPTIMIZER, rewriting())["expectations"]
    assert row[0] == "crash"
    assert row[2:4] == ["https://example.org/issues/1", f"expectations/{OPTIMIZER}.toml, entry 1"]


def test_the_margins_of_a_profile_are_of_accepted_outputs_and_the_largest_come_first() -> None:
    run = small()
    for number, result in enumerate(one for one in results_of(run) if one["subject"] == "onnxruntime"):
        for output in result["outputs"]:
            if "complaint" not in output and "error_over_bound" in output:
                output["error_over_bound"] = 0.1 * (number + 1)
    errors = [row[3] for row in profile("onnxruntime", run)["margins"]]
    assert errors == sorted(errors, reverse=True)
    assert errors
    assert max(errors) <= 1


def test_a_profile_has_the_slowest_cases_first() -> None:
    run = small()
    for number, result in enumerate(results_of(run)):
        result["seconds"] = number / 1000
    seconds = [row[1] for row in profile("reference", run)["slowest"]]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) == 6


def test_clauses_without_a_case_are_in_the_index() -> None:
    clauses = {**CLAUSES, "adam.lonely": {"text": "No case is about this.", "source": "nowhere"}}
    assert ["adam.lonely", "No case is about this.", "nowhere"] in embedded(render([small(clauses=clauses)]), "index")[
        "clauses"
    ]


def test_each_case_names_its_kind_and_the_types_of_its_inputs() -> None:
    index = embedded(render([rewriting()]), "index")
    row = next(row for row in index["cases"] if row[0] == FIRES)
    assert row[7] == "pass"
    assert [index["types"][number] for number in row[8]] == ["float", "int64"]


def test_each_hazard_is_told_with_subject_case_and_answers() -> None:
    page = render([rewriting()])
    rows = embedded(page, "hazards")
    cases = [row[0] for row in embedded(page, "index")["cases"]]
    assert [(row[0], row[1], cases[row[2]]) for row in rows] == [
        (TIES, 1, FIRES),
        (EVIL_HAZARD, 1, FIRES),
        (TIES, 2, FIRES),
    ]
    assert rows[0][3:] == [1, "once", ["0", "1"], ["1", "1"]]


def test_an_archive_is_carried_as_it_is() -> None:
    page = render([rewriting()])
    number = [row[0] for row in embedded(page, "index")["cases"]].index(STAYS)
    assert f'<script type="text/plain" id="archive-{number}">{packed()}</script>' in page


def test_archives_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_data, "MOST_ARCHIVED", len(packed()) - 1)
    assert 'id="archive-' not in render([rewriting()])


def test_an_interrupted_run_has_a_banner() -> None:
    assert "The run was interrupted" in render([rewriting(interrupted=True)])
    assert "The run was interrupted" not in render([rewriting(interrupted=False)])


def test_runs_of_one_subject_are_named_by_number_and_file() -> None:
    runs = [dataclasses.replace(small(), path=path) for path in ("a/old.jsonl", "b/<new>.jsonl")]
    labels = [row[0] for row in embedded(render(runs), "index")["subjects"]]
    assert labels[:2] == ["reference (run 1: old.jsonl)", "onnxruntime (run 1: old.jsonl)"]
    assert labels[3] == "reference (run 2: <new>.jsonl)"


def test_a_subject_of_one_run_only_keeps_its_name() -> None:
    labels = [row[0] for row in embedded(render([small(), rewriting()]), "index")["subjects"]]
    assert "onnxruntime" in labels
    assert OPTIMIZER in labels
    assert "reference (run 2: results.jsonl)" in labels


def test_runs_of_different_corpora_have_a_banner_that_names_the_altered_cases() -> None:
    other = small(corpus={"version": "2.0.0", "digest": "sha256:01", "cases": 7, "selected": 7})
    altered: Any = {**other.cases["test_adam"], "title": "Another"}
    page = render([small(), with_records(other, {**other.cases, "test_adam": altered}.values(), results_of(other))])
    assert "The runs are of different corpora." in page
    assert "1 case is not the same in all of the corpora" in page
    assert "different corpora" not in render([small(), small()])


def test_a_report_of_twenty_thousand_results_is_no_larger_than_one_can_send() -> None:
    assert len(render([large(20, 1000)]).encode()) < MEGABYTES * 2**20


def test_what_cases_have_in_common_is_carried_once() -> None:
    few, many = (len(embedded(render([large(1, cases)]), "pool")) for cases in (200, 400))
    assert many == few


@pytest.mark.parametrize("kind", ["backend", "optimizer"])
def test_a_script_is_a_few_lines(kind: str) -> None:
    assert len([line for line in OF_KIND[kind].splitlines() if line]) <= 5


@pytest.mark.parametrize(
    ("kind", "subject", "case", "shown"),
    [
        ("backend", "reference", ADAM, "pass None"),
        ("backend", "fake_backends:AlwaysWrong", ADAM, "fail compare"),
        ("optimizer", "identity", "test_softmax_argmax_axis_0_float", "pass None"),
    ],
)
def test_a_script_runs_the_case_of_the_installed_suite_and_shows_what_comes(
    kind: str, subject: str, case: str, shown: str
) -> None:
    script = OF_KIND[kind].replace(CASE, json.dumps(case)).replace(SUBJECT, json.dumps(subject)).replace(OPTIONS, "{}")
    assert shown in output_of(script)


def test_a_script_runs_the_case_of_an_unpacked_archive(opened: Corpus, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive(opened, opened.cases[SHOULD]))) as bundle:
        bundle.extractall(tmp_path)
    script = (
        OF_KIND["backend"]
        .replace(CASE, json.dumps(SHOULD))
        .replace(SUBJECT, '"fake_backends:AlwaysWrong"')
        .replace(OPTIONS, "{}")
    )
    assert "fail compare" in output_of(script, str(tmp_path / SHOULD))
