"""Groups of failing cases in the HTML report: causes, diagnoses, unexplained cases, and links to cases."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from report_sample import SUBJECTS, small_run
from runs_in_memory import list_results, text_renderer, with_fields, with_records

from conformance.report.formats import html
from conformance.report.html.groups import Group, GroupKind, groups, link_cases
from conformance.report.html.subjects import columns

render = text_renderer(html.render)

FAILING = "test_adam_epsilon_float"
MUTANT = {
    "subject": SUBJECTS[2],
    "operator": "Adam",
    "mutant": "adam.epsilon_in_root",
    "text": "adds epsilon <b>inside</b> the root",
    "explained": 1,
    "failing": 2,
    "indistinguishable": [],
    "cases": [FAILING],
    "jointly_explained": [],
}
LEFT = {
    "subject": "onnxruntime",
    "operator": "Momentum",
    "failure_mode": "error",
    "cases": ["test_momentum_nesterov"],
    "failing": 1,
    "passing": 0,
    "shared": [],
}


def diagnosed_run(*diagnoses: Any, unexplained: tuple[Any, ...] = ()) -> Any:
    run = small_run()
    footer = with_fields(run.footer, diagnoses=diagnoses, unexplained=unexplained)
    return dataclasses.replace(run, footer=footer)


def groups_of(*runs: Any) -> list[Group]:
    return groups(runs, columns(runs))


def group_rows(*runs: Any) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(group.kind, SUBJECTS[group.column % 3], group.text, group.cases) for group in groups_of(*runs)]


def test_causes_have_the_unexpected_results() -> None:
    found = {(subject, case) for _, subject, _, cases in group_rows(small_run()) for case in cases}
    assert found == {(one.subject, one.case) for one in list_results(small_run()) if one.unexpected}


def test_group_numbers_do_not_depend_on_result_order() -> None:
    run = small_run()
    assert groups_of(with_records(run, run.cases.values(), list_results(run)[::-1])) == groups_of(run)


def test_diagnosis_of_unexpected_results_is_listed_once() -> None:
    texts = [text for _, _, text, _ in group_rows(diagnosed_run(MUTANT)) if "inside" in text]
    assert len(texts) == 1


def test_diagnosis_of_known_failures_is_a_group() -> None:
    known = {**MUTANT, "subject": "onnxruntime"}
    found = [
        (kind, subject, cases) for kind, subject, text, cases in group_rows(diagnosed_run(known)) if "inside" in text
    ]
    assert found == [(GroupKind.DIAGNOSIS, "onnxruntime", (FAILING,))]


def test_unexplained_cases_are_a_group() -> None:
    _, subject, text, cases = next(
        row for row in group_rows(diagnosed_run(unexplained=(LEFT,))) if row[0] == GroupKind.UNEXPLAINED
    )
    assert (subject, cases) == ("onnxruntime", ("test_momentum_nesterov",))
    assert (LEFT["failure_mode"] in text, LEFT["operator"] in text) == (True, True)


def test_groups_of_two_runs_have_their_own_columns() -> None:
    assert [group.column for group in groups_of(small_run(), small_run())] == [
        group.column + 3 * run for run in range(2) for group in groups_of(small_run())
    ]


def test_index_has_the_text_of_diagnosed_mutants() -> None:
    page = render([diagnosed_run(MUTANT)])
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["mutants"] == {MUTANT["mutant"]: MUTANT["text"]}
    assert MUTANT["text"] not in page, "it is escaped"


def test_link_cases_links_case_ids_only() -> None:
    parts = link_cases("2 cases fail (first test_adam), and test_adamant is none", {"test_adam"})
    assert [(part.text, part.link) for part in parts if part.link] == [("test_adam", "#case=test_adam")]
    assert "".join(part.text for part in parts) == "2 cases fail (first test_adam), and test_adamant is none"
