"""Failures grouped by what they have in common."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.results.causes import FEW, Causes, counted
from conformance.results.failure_kinds import undetailed

DIAGNOSIS: Any = {
    "subject": "acme",
    "operator": "Adam",
    "deviation": "adam.x",
    "text": "forgets x",
    "agrees": 2,
    "of": 3,
    "alike": ["adam.y"],
}


def case(name: str, elements: int = 1, clauses: tuple[str, ...] = ("adam.x_new", "adam.v_new")) -> Any:
    data_set = {"inputs": [{"shape": [elements]}], "outputs": []}
    return {"case": name, "kind": "node", "clauses": list(clauses), "model": {"nodes": [{}]}, "data_sets": [data_set]}


def output(name: str, complaint: str | None = None, **more: Any) -> Any:
    told = {"data_set": 0, "name": name, "check": "bound"}
    return told | more if complaint is None else told | {"complaint": complaint} | more


def failure(name: str, **more: Any) -> Any:
    told = {"subject": "acme", "case": name, "level": "must", "verdict": "fail", "phase": "compare", "expected": None}
    return told | {"message": "X_new is wrong", "outputs": [output("X_new", "is wrong"), output("V_new")]} | more


def found(*results: Any, diagnoses: Any = (), cases: Any = ()) -> list[Any]:
    known = {each["case"]: each for each in cases}
    causes = Causes()
    for result in results:
        causes.add(known.get(result["case"], case(result["case"])), result)
    return causes.found(diagnoses)


class TestWhatIsOneCause:
    def test_cases_of_one_clause_and_complaint_are_one(self):
        (cause,) = found(failure("test_a"), failure("test_b"))
        assert (cause.sentence, cause.cases) == ("adam.x_new, bound: X_new is wrong", ("test_a", "test_b"))

    def test_a_clause_of_an_output_that_is_right_is_not_the_broken_one(self):
        other = failure("test_b", outputs=[output("X_new"), output("V_new", "is wrong")])
        assert [cause.clause for cause in found(failure("test_a"), other)] == ["adam.x_new", "adam.v_new"]

    def test_the_fewest_clauses_are_named(self):
        cases = [
            case("test_a", clauses=("adam.x", "adam.y")),
            case("test_b", clauses=("adam.y", "adam.z")),
            case("test_c", clauses=("adam.z", "adam.w")),
        ]
        causes = found(*(failure(each["case"]) for each in cases), cases=cases)
        assert [(cause.clause, cause.cases) for cause in causes] == [
            ("adam.y", ("test_a", "test_b")),
            ("adam.z", ("test_c",)),
        ]

    def test_how_many_elements_are_wrong_makes_no_other_cause(self):
        bad = [output("X1_new", f"has {n} wrong of 9 elements", first_bad={}, wrong=n) for n in (1, 2)]
        (cause,) = found(failure("test_a", outputs=[bad[0]]), failure("test_b", outputs=[bad[1]]))
        assert cause.text == "X_new has wrong elements"

    def test_an_output_of_another_type_is_one_cause_over_all_clauses(self):
        wrong = [output("X_new", "has type double instead of float", actual={})]
        other = case("test_b", clauses=("adam.elementwise",))
        (cause,) = found(failure("test_a", outputs=wrong), failure("test_b", outputs=wrong), cases=[other])
        assert (cause.sentence, cause.clause) == ("bound: X_new has type double instead of float", None)

    def test_an_error_is_one_cause_over_all_clauses(self):
        raised = {"verdict": "error", "phase": "run", "message": "no kernel 7", "outputs": []}
        others = case("test_b", clauses=("momentum.x_new",))
        (cause,) = found(failure("test_a", **raised), failure("test_b", **raised), cases=[others])
        assert cause.sentence == "error: no kernel N"

    def test_that_an_error_tells_its_case_makes_no_other_cause(self):
        raised = {"verdict": "error", "phase": "load", "outputs": []}
        (cause,) = found(*(failure(name, message=f"no room for {name}", **raised) for name in ("test_a", "test_b")))
        assert (cause.sentence, cause.cases) == ("error: no room for CASE", ("test_a", "test_b"))

    def test_a_graph_optimizer_s_are_told_apart_by_check_and_not_by_how_many_complain(self):
        check = {"name": "mutation", "run": "once", "level": "must", "complaint": "the caller's model is changed"}
        weaker = {"name": "structure", "run": "once", "level": "should", "complaint": "other"}
        results = [
            failure("test_a", checks=[weaker, check], message="mutation: the caller's model is changed (and 1 more)"),
            failure("test_b", checks=[check], message="mutation: the caller's model is changed"),
        ]
        (cause,) = found(*results)
        assert cause.sentence == "mutation: the caller's model is changed"

    @pytest.mark.parametrize(
        ("one", "other", "common"),
        [
            ("the model is changed: node[0].name", "the model is changed: ir_version", "the model is changed"),
            ("Log, which makes a, is gone", "Log, which makes b/c, is gone", "Log is gone"),
            (
                "type of input x changed from float[2] to float[3]",
                "type of input x changed in detail: a",
                "type of input x changed",
            ),
            (
                "y is [1, 2] instead of [2] on data set 3",
                "y has shape [1] instead of [2] on data set 0",
                "y is another",
            ),
        ],
    )
    def test_details_of_a_check_s_complaint_make_no_other_cause(self, one, other, common):
        assert undetailed(one) == common
        assert undetailed(other).startswith(common)

    def test_an_unexpected_pass_is_one_by_what_is_expected(self):
        expected = {"verdict": "fail", "reason": "known", "place": "acme.toml:3"}
        (cause,) = found(failure("test_a", verdict="pass", message="", outputs=[], expected=expected))
        assert cause.sentence == "pass: fail is expected (acme.toml:3)"

    def test_subjects_do_not_share_causes(self):
        assert len(found(failure("test_a"), failure("test_a", subject="other"))) == 2


class TestDiagnoses:
    def test_what_a_deviation_explains_is_one_cause_and_the_first(self):
        others = [failure(f"test_{n}") for n in range(5)]
        explained = [
            failure("test_x", agrees_with=["adam.x"]),
            failure("test_y", agrees_with=["adam.y", "adam.z"], outputs=[output("V_new", "is wrong")]),
        ]
        causes = found(*others, *explained, diagnoses=[DIAGNOSIS])
        assert [cause.cases for cause in causes] == [("test_x", "test_y"), tuple(f"test_{n}" for n in range(5))]
        assert causes[0].sentence.startswith("Adam on acme agrees on 2 of 3 failing cases with: forgets x")

    def test_a_diagnosis_of_another_subject_explains_nothing(self):
        (cause,) = found(
            failure("test_a", agrees_with=["adam.x"]), diagnoses=[{**DIAGNOSIS, "subject": "another subject"}]
        )
        assert cause.diagnosis is None


class TestCounting:
    def test_the_smallest_case_comes_first_and_a_few_keep_their_evidence(self):
        cases = [case(f"test_{n}", elements=10 - n) for n in range(6)]
        (cause,) = found(*(failure(each["case"]) for each in cases), cases=cases)
        assert cause.cases == tuple(f"test_{n}" for n in reversed(range(6)))
        assert [shown.case["case"] for shown in cause.smallest] == list(cause.cases[:FEW])

    def test_causes_are_counted_first_and_cases_second(self):
        assert counted(found(failure("test_a"), failure("test_b"))) == "1 cause, 2 cases"
