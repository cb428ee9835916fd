"""The HTML report without a browser: the document is deterministic, whole, self-contained and inert."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html import unescape
from typing import Any

import pytest
from report_sample import CLAUSES, EVIL_CASE, EVIL_MESSAGE, EVIL_SUBJECT, EVIL_TITLE, SMALL, SUBJECTS, large, small
from runs_in_memory import results_of, whole, with_records

from conformance.report.formats import html
from conformance.verdicts import Level, Verdict

render = whole(html.render)

PARTIAL = {"corpus": {"version": "1.0.0", "digest": "sha256:00", "cases": 900, "selected": 7}}


def embedded(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def without_data(page: str) -> str:
    return re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.DOTALL)


def test_the_same_runs_give_the_same_bytes() -> None:
    assert render([small()]) == render([small()])


def test_the_order_in_which_results_came_does_not_show() -> None:
    run = small()
    shuffled = with_records(run, list(run.cases.values())[::-1], results_of(run)[::-1])
    assert render([shuffled]) == render([run])


def test_where_the_results_file_lies_is_not_in_the_report() -> None:
    elsewhere = dataclasses.replace(small(), path="somewhere/else.jsonl")
    assert render([elsewhere]) == render([small()])


def test_every_case_and_every_subject_is_in_the_report() -> None:
    index = embedded(render([small()]), "index")
    assert [case[0] for case in index["cases"]] == [name for name, *_ in SMALL]
    assert [subject[0] for subject in index["subjects"]] == list(SUBJECTS)


def test_every_case_has_its_detail() -> None:
    page = render([small()])
    for number in range(len(SMALL)):
        assert len(embedded(page, f"detail-{number}")["results"]) == len(SUBJECTS)


def test_the_index_tells_each_verdict_by_its_place_among_the_verdicts() -> None:
    rows = {case[0]: case for case in embedded(render([small()]), "index")["cases"]}
    for name, level, _, told in SMALL:
        assert [list(Verdict)[int(code)] for code in rows[name][5]] == [verdict.lstrip("!?") for verdict in told]
        assert rows[name][2] == level


def test_known_and_unexpected_verdicts_are_told_apart() -> None:
    marks = {case[0]: case[6] for case in embedded(render([small()]), "index")["cases"]}
    assert marks["test_adam_epsilon_float"] == " ku"
    assert marks["test_argmax_ties"] == " u "
    assert marks["test_argmax_nan"] == "   ", "what the specification leaves open is never unexpected"


def test_markup_in_a_results_file_arrives_escaped() -> None:
    page = render([small()])
    for hostile in (EVIL_SUBJECT, EVIL_CASE, EVIL_TITLE, EVIL_MESSAGE, "<script>alert"):
        assert hostile not in page
    assert page.count("<script") == page.count("</script>") == len(SMALL) + len(SUBJECTS) + 6
    assert EVIL_SUBJECT in unescape(without_data(page))


def test_markup_in_a_results_file_is_not_lost() -> None:
    page = render([small()])
    number = [case[0] for case in embedded(page, "index")["cases"]].index(EVIL_CASE)
    assert EVIL_MESSAGE in [evidence["message"] for evidence in embedded(page, f"detail-{number}")["evidence"]]


def test_the_embedded_json_is_ascii_without_any_character_of_markup() -> None:
    for text in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', render([small()]), re.DOTALL):
        assert text.isascii()
        assert not set("<>&") & set(text)


def test_nothing_is_fetched_from_anywhere() -> None:
    page = render([small()])
    own = page.replace(json.dumps(CLAUSES), "")
    assert not re.search(r"(?:src|href|action|data)\s*=\s*[\"']?\s*(?:https?:)?//", own)
    assert "url(" not in own
    assert "@import" not in own
    assert not re.search(r"<(?:img|iframe|object|embed|base)\b", own)


def test_no_script_makes_markup_of_text() -> None:
    script = render([small()]).rsplit("<script>", 1)[1]
    for maker in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert maker not in script


def test_the_policy_admits_only_the_style_and_the_script_of_the_document() -> None:
    page = render([small()])
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
def test_only_a_partial_run_has_a_banner(header: dict[str, Any], partial: bool) -> None:
    page = without_data(render([small(**header)]))
    assert ("Partial run: 7 of the corpus" in page) is partial


def test_a_run_that_ended_early_says_so() -> None:
    corpus = {"version": "1.0.0", "digest": "sha256:00", "cases": 9, "selected": 9}
    assert "7 of 9 selected cases have a result" in render([small(corpus=corpus)])


def test_the_gate_and_its_reasons_stand_first() -> None:
    page = without_data(render([small()]))
    assert (
        page.index("The gate does not hold.") < page.index("which its expectations name") < page.index("Subjects</h2>")
    )


def test_the_gate_of_several_runs_holds_only_if_each_does() -> None:
    good = small()
    good = dataclasses.replace(good, footer={**good.footer, "gate": "pass", "reasons": []})
    assert "The gate holds." in render([good, good])
    assert "The gate does not hold." in render([good, small()])


def test_each_level_has_its_own_count_and_denominator() -> None:
    page = without_data(render([small()]))
    tallies = [unescape(found) for found in re.findall(r'aria-label="((?:must|should|silent): [^"]*)"', page)]
    assert tallies[:6] == [
        "must: 5 of 5 passed",
        "should: 1 of 1 passed",
        "silent: 1 of 1 passed",
        "must: 3 of 5 passed, 1 fail (known), 1 error",
        "should: 0 of 1 passed, 1 timeout",
        "silent: 0 of 1 passed, 1 fail",
    ]


def test_unsupported_and_skipped_are_never_counted_as_passed() -> None:
    page = without_data(render([small()]))
    assert "should: 0 of 1 passed, 1 unsupported" in page
    assert "silent: 0 of 1 passed, 1 skipped" in page


def test_the_segments_of_a_bar_fill_it() -> None:
    for bar in re.findall(r'<svg class="stack".*?</svg>', render([large(3, 60)]), re.DOTALL):
        assert sum(float(width) for width in re.findall(r' width="([\d.]+)"', bar)) == pytest.approx(1000, abs=0.1)


def test_the_legend_has_every_verdict_and_every_level() -> None:
    page = unescape(without_data(render([small()])))
    for word in (*Verdict, *Level):
        assert word.meaning in page


def test_subjects_of_one_name_in_two_runs_keep_columns_of_their_own() -> None:
    labels = [subject[0] for subject in embedded(render([small(), small()]), "index")["subjects"]]
    assert len(labels) == len(set(labels)) == 2 * len(SUBJECTS)


def test_the_command_that_runs_a_case_again_is_quoted_for_a_shell() -> None:
    page = render([small()])
    assert embedded(page, "index")["subjects"][2][2] == f"onnx-conformance run -b '{EVIL_SUBJECT}'"
    assert embedded(page, "detail-2")["select"] == f"'{EVIL_CASE}'"


def test_a_report_of_no_run_says_so() -> None:
    page = without_data(render([]))
    assert "No run was given." in page
    assert "The gate holds." not in page


def test_what_subjects_have_in_common_is_said_once() -> None:
    detail = embedded(render([large(20, 1)]), "detail-0")
    assert len(detail["evidence"]) < len(detail["results"]) == 20


def test_the_values_of_an_accepted_output_are_left_out_unless_the_answer_is_open() -> None:
    page = render([small()])
    assert '"actual"' not in json.dumps(embedded(page, "detail-0"))
    assert '"actual"' in json.dumps(embedded(page, "detail-3")), "a wrong output"
    assert '"actual"' in json.dumps(embedded(page, "detail-4")), "an open answer"


def test_evidence_on_an_output_that_no_case_expects_keeps_its_name() -> None:
    run = small()
    results_of(run)[0]["outputs"][0]["name"] = "Y"
    results_of(run)[0]["outputs"][0]["complaint"] = "one output too many"
    told = embedded(render([run]), "detail-0")["evidence"][0]["outputs"][0]
    assert told[1] is None
    assert told[-1]["name"] == "Y"
