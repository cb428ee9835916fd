"""Cases that stand together in the HTML report: causes, diagnoses, what no diagnosis explains, and links to them."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from report_sample import SUBJECTS, small
from runs_in_memory import results_of, whole, with_records

from conformance.report.formats import html
from conformance.report.html.columns import columns
from conformance.report.html.groups import Group, GroupKind, groups, linked

render = whole(html.render)

FAILING = "test_adam_epsilon_float"
DEVIATION = {
    "subject": SUBJECTS[2],
    "operator": "Adam",
    "deviation": "adam.epsilon_in_root",
    "text": "adds epsilon <b>inside</b> the root",
    "agrees": 1,
    "of": 2,
    "alike": [],
    "cases": [FAILING],
}
LEFT = {
    "subject": "onnxruntime",
    "operator": "Momentum",
    "manner": "error",
    "cases": ["test_momentum_nesterov"],
    "of": 1,
    "passing": 0,
    "shared": [],
}


def diagnosed(*diagnoses: Any, unexplained: tuple[Any, ...] = ()) -> Any:
    run = small()
    footer: Any = {**run.footer, "diagnoses": list(diagnoses), "unexplained": list(unexplained)}
    return dataclasses.replace(run, footer=footer)


def groups_of(*runs: Any) -> list[Group]:
    return groups(runs, columns(runs))


def told(*runs: Any) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(group.kind, SUBJECTS[group.column % 3], group.text, group.cases) for group in groups_of(*runs)]


def test_causes_are_those_of_what_the_gate_holds_against_a_subject() -> None:
    found = {(subject, case) for _, subject, _, cases in told(small()) for case in cases}
    assert found == {(one["subject"], one["case"]) for one in results_of(small()) if one["surprise"]}


def test_the_order_in_which_results_came_does_not_number_the_groups() -> None:
    run = small()
    assert groups_of(with_records(run, run.cases.values(), results_of(run)[::-1])) == groups_of(run)


def test_a_diagnosis_that_explains_a_surprise_is_said_once() -> None:
    texts = [text for _, _, text, _ in told(diagnosed(DEVIATION)) if "inside" in text]
    assert len(texts) == 1


def test_a_diagnosis_of_known_failures_stands_for_itself() -> None:
    known = {**DEVIATION, "subject": "onnxruntime"}
    found = [(kind, subject, cases) for kind, subject, text, cases in told(diagnosed(known)) if "inside" in text]
    assert found == [(GroupKind.DIAGNOSIS, "onnxruntime", (FAILING,))]


def test_what_is_left_unexplained_is_a_group_with_its_cases() -> None:
    _, subject, text, cases = next(
        row for row in told(diagnosed(unexplained=(LEFT,))) if row[0] == GroupKind.UNEXPLAINED
    )
    assert (subject, cases) == ("onnxruntime", ("test_momentum_nesterov",))
    assert "1 of 1 failing cases unexplained" in text


def test_groups_of_two_runs_are_of_their_own_columns() -> None:
    assert [group.column for group in groups_of(small(), small())] == [
        group.column + 3 * run for run in range(2) for group in groups_of(small())
    ]


def test_a_deviation_of_the_diagnoses_is_carried_with_its_sentence() -> None:
    page = render([diagnosed(DEVIATION)])
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["deviations"] == {DEVIATION["deviation"]: DEVIATION["text"]}
    assert DEVIATION["text"] not in page, "it is escaped"


def test_the_name_of_a_case_in_a_sentence_leads_to_it() -> None:
    parts = linked("2 cases fail (first test_adam), and test_adamant is none", {"test_adam"})
    assert [(part.text, part.link) for part in parts if part.link] == [("test_adam", "#case=test_adam")]
    assert "".join(part.text for part in parts) == "2 cases fail (first test_adam), and test_adamant is none"
