"""The HTML report without a browser: the document is deterministic, complete, self-contained and inert."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html import unescape
from typing import Any

import pytest
from embedded_data import embedded, packed
from report_sample import (
    CLAUSES,
    EVIL_CASE,
    EVIL_MESSAGE,
    EVIL_SUBJECT,
    EVIL_TITLE,
    SMALL_CASES,
    SUBJECTS,
    large_run,
    small_run,
)
from runs_in_memory import list_results, text_renderer, with_fields, with_records

from conformance.base.verdicts import Level, Verdict
from conformance.run.report.formats import html
from conformance.run.results.violations import Violation, ViolationKind

render = text_renderer(html.render)

PARTIAL = {
    "corpus": {"version": "1.0.0", "digest": "sha256:00", "cases": 900, "selected": 7},
    "selections": [{"keyword": "adam"}],
}


def without_data(page: str) -> str:
    return re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.DOTALL)


def test_render_equal_runs_gives_equal_bytes() -> None:
    assert render([small_run()]) == render([small_run()])


def test_render_does_not_depend_on_result_order() -> None:
    run = small_run()
    shuffled = with_records(run, list(run.cases.values())[::-1], list_results(run)[::-1])
    assert render([shuffled]) == render([run])


def test_render_does_not_contain_the_results_folder() -> None:
    elsewhere = dataclasses.replace(small_run(), path="somewhere/else.jsonl")
    assert render([elsewhere]) == render([small_run()])


def test_index_has_every_case_and_subject() -> None:
    index = embedded(render([small_run()]), "index")
    assert [case[0] for case in index["cases"]] == [name for name, *_ in SMALL_CASES]
    assert [subject[0] for subject in index["subjects"]] == list(SUBJECTS)


def test_page_embeds_details_of_all_cases() -> None:
    page = render([small_run()])
    assert [len(detail["results"]) for detail in packed(page, "details-0")] == [len(SUBJECTS)] * len(SMALL_CASES)


def test_index_has_the_number_of_each_verdict() -> None:
    rows = {case[0]: case for case in embedded(render([small_run()]), "index")["cases"]}
    for name, level, _, verdicts in SMALL_CASES:
        assert [list(Verdict)[int(code)] for code in rows[name][5]] == [verdict.lstrip("!?") for verdict in verdicts]
        assert rows[name][2] == level


def test_index_marks_known_and_unexpected_verdicts() -> None:
    marks = {case[0]: case[6] for case in embedded(render([small_run()]), "index")["cases"]}
    assert marks["test_adam_epsilon_float"] == " ku"
    assert marks["test_argmax_ties"] == " u "
    assert marks["test_argmax_nan"] == "   ", "a silent case is never unexpected"


def test_markup_in_results_is_escaped() -> None:
    page = render([small_run()])
    for hostile in (EVIL_SUBJECT, EVIL_CASE, EVIL_TITLE, EVIL_MESSAGE, "<script>alert"):
        assert hostile not in page
    assert page.count("<script") == page.count("</script>") == len(SUBJECTS) + 6
    assert EVIL_SUBJECT in unescape(without_data(page))


def test_markup_in_results_is_kept_as_text() -> None:
    page = render([small_run()])
    number = [case[0] for case in embedded(page, "index")["cases"]].index(EVIL_CASE)
    assert EVIL_MESSAGE in [result and result.get("message") for result in packed(page, "details-0")[number]["results"]]


def test_embedded_json_is_ascii_without_markup() -> None:
    for text in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', render([small_run()]), re.DOTALL):
        assert text.isascii()
        assert not set("<>&") & set(text)


def test_document_loads_nothing() -> None:
    page = render([small_run()])
    own = page.replace(json.dumps(CLAUSES), "")
    assert not re.search(r"(?:src|href|action|data)\s*=\s*[\"']?\s*(?:https?:)?//", own)
    assert "url(" not in own
    assert "@import" not in own
    assert not re.search(r"<(?:img|iframe|object|embed|base)\b", own)


def test_script_never_parses_markup() -> None:
    script = render([small_run()]).rsplit("<script>", 1)[1]
    for maker in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert maker not in script


def test_policy_allows_only_own_style_and_script() -> None:
    page = render([small_run()])
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(("header", "partial"), [({}, False), (PARTIAL, True)])
def test_banner_is_shown_for_a_partial_run_only(header: dict[str, Any], partial: bool) -> None:
    page = without_data(render([small_run(**header)]))
    assert ("7 of the 900" in page) is partial


def test_run_that_ended_early_has_a_banner() -> None:
    corpus = {"version": "1.0.0", "digest": "sha256:00", "cases": 9, "selected": 9}
    assert "7 of 9 selected" in render([small_run(corpus=corpus)])


def test_overview_begins_with_outcome_and_reasons() -> None:
    run = small_run()
    page = without_data(render([run]))
    reason = run.footer.reasons[0].split("test_argmax_ties", maxsplit=1)[1]
    assert page.index("FAILED") < page.index(reason) < page.index("Subjects</h2>")


def test_outcome_of_several_runs_is_passed_only_if_all_pass() -> None:
    good = small_run()
    good = dataclasses.replace(good, footer=with_fields(good.footer, outcome="pass", reasons=[]))
    assert "PASSED" in render([good, good])
    assert "FAILED" in render([good, small_run()])


def test_overview_counts_passes_by_level() -> None:
    page = without_data(render([small_run()]))
    tallies = [unescape(found) for found in re.findall(r'aria-label="((?:must|should|silent): [^"]*)"', page)]
    assert tallies[:6] == [
        "must: 5 of 5 passed",
        "should: 1 of 1 passed",
        "silent: 1 of 1 passed",
        "must: 3 of 5 passed, 1 fail (known), 1 error",
        "should: 0 of 1 passed, 1 timeout",
        "silent: 0 of 1 passed, 1 fail",
    ]


def test_overview_unsupported_and_skipped_are_not_passes() -> None:
    page = without_data(render([small_run()]))
    assert re.findall(r'"should: (\d of \d) passed, 1 unsupported', page) == ["0 of 1"]
    assert re.findall(r'"silent: (\d of \d) passed, 1 skipped', page) == ["0 of 1"]


def test_segments_of_a_bar_fill_it() -> None:
    for bar in re.findall(r'<svg class="stack".*?</svg>', render([large_run(3, 60)]), re.DOTALL):
        assert sum(float(width) for width in re.findall(r' width="([\d.]+)"', bar)) == pytest.approx(1000, abs=0.1)


def test_legend_has_every_verdict_and_level() -> None:
    page = unescape(without_data(render([small_run()])))
    for word in (*Verdict, *Level):
        assert word.meaning in page


def test_columns_of_one_subject_in_two_runs_differ() -> None:
    labels = [subject[0] for subject in embedded(render([small_run(), small_run()]), "index")["subjects"]]
    assert len(labels) == len(set(labels)) == 2 * len(SUBJECTS)


def test_rerun_command_is_quoted_for_a_shell() -> None:
    page = render([small_run()])
    assert embedded(page, "index")["subjects"][2][2] == f"onnx-conformance run -b '{EVIL_SUBJECT}'"
    assert packed(page, "details-0")[2]["select"] == f"'{EVIL_CASE}'"


def test_report_without_runs_is_not_passed() -> None:
    page = without_data(render([]))
    assert "PASSED" not in page


def test_details_omit_accepted_outputs_unless_silent() -> None:
    details = [json.dumps(detail) for detail in packed(render([small_run()]), "details-0")]
    assert '"actual"' not in details[0]
    assert '"actual"' in details[3], "a wrong output"
    assert '"actual"' in details[4], "a silent case"


def test_evidence_on_unknown_output_has_its_name() -> None:
    run = small_run()
    list_results(run)[0].outputs[0].name = "Y"
    list_results(run)[0].outputs[0].violation = Violation(ViolationKind.INVALID_MODEL, detail="one output too many")
    output = packed(render([run]), "details-0")[0]["results"][0]["outputs"][0]
    assert output["name"] == "Y"
