"""The diagnosis names what is wrong with a subject, or one that no case tells apart from it, and never another."""

from __future__ import annotations

from itertools import islice

import pytest
from diagnosing import Pairs, family_of_deviation, named, pair_is_named, unexplained_failures
from mistakes import MISTAKES
from outputs import records

from conformance.deviations import Alteration, AlteredBackend, catalogue
from conformance.deviations.composition import composed
from conformance.diagnosis.findings import Findings
from conformance.schemas import complaint
from conformance.verdicts import Level

EVERY = [one for rows in catalogue().values() for one in rows]
DEVIATIONS = {one.id: one for one in EVERY}


NAMED_BY_NOTHING = {
    "momentum.first_iteration_again",
    "momentum.left_in_scan",
    "argmax.lowest_of_256_lanes",
    "argmax.lowest_of_1024_lanes",
    "softmax.not_shifted",
}
"""Deviations that show in so few cases of Loops, Scans, long rows or overflows that to name one would be a guess."""


@pytest.mark.whole
@pytest.mark.parametrize("deviation", [DEVIATIONS[id] for id in sorted(NAMED_BY_NOTHING)], ids=lambda one: one.id)
def test_what_shows_in_too_few_cases_is_not_named(bench, deviation):
    assert bench.diagnosis(deviation.backend, family_of_deviation(deviation)).explanations == ()


@pytest.mark.parametrize(
    "deviation", [one for one in EVERY[7::90] if one.id not in NAMED_BY_NOTHING], ids=lambda one: one.id
)
@pytest.mark.whole
def test_a_planted_deviation_is_named_for_all_that_fails_or_one_that_no_case_tells_apart(bench, deviation):
    found = bench.diagnosis(deviation.backend, family_of_deviation(deviation))
    (explanation,) = found.explanations
    assert deviation.id in named(found)[0]
    assert len(explanation.cases) == found.failing
    assert found.unexplained == ()


@pytest.mark.whole
def test_both_of_two_deviations_in_one_backend_are_named_and_no_other(bench):
    pairs = list(islice(Pairs(bench, seed=3), 3))
    assert {(one.id, other.id): pair_is_named(bench, (one, other)) for one, other in pairs} == {
        (one.id, other.id): (2, []) for one, other in pairs
    }


@pytest.mark.whole
def test_deviations_of_two_operators_are_both_named(bench):
    faults = {"exp.negated", "log.negated"}
    found = bench.diagnosis(composed(tuple(DEVIATIONS[id] for id in sorted(faults))), "ArgMax")
    assert {one.deviation.id for one in found.explanations} == faults
    assert all(len(one.cases) < found.failing for one in found.explanations)


@pytest.mark.whole
def test_a_case_in_which_two_deviations_act_counts_for_both(bench):
    found = bench.diagnosis(composed((DEVIATIONS["adam.epsilon_inside_root"], DEVIATIONS["adam.post_ignored"])), "Adam")
    one, other = found.explanations
    assert one.together == other.together == one.cases & other.cases != frozenset()
    assert one.cases | other.cases == {id for record in found.diagnosis_records for id in record["cases"]}


@pytest.mark.whole
def test_a_deviation_beside_an_unknown_fault_is_named_for_its_part_and_the_rest_is_described(bench):
    def raising(kernel):
        def run(node, inputs):
            if inputs[2].ndim == 2:
                raise MemoryError("no room")
            return kernel(node, inputs)

        return run

    known = DEVIATIONS["adam.post_ignored"].backend.alterations["Adam"]
    backend = AlteredBackend({"Adam": Alteration(twists=(raising,), arithmetic=known.arithmetic)})
    found = bench.diagnosis(backend, "Adam")
    assert [one.deviation.id for one in found.explanations] == ["adam.post_ignored"]
    (group,) = found.unexplained
    assert group.manner == "run: MemoryError: no room"
    assert len(group.cases) + len(found.explanations[0].cases) == found.failing


@pytest.mark.whole
@pytest.mark.parametrize("family", ["Adam", "ArgMax"])
def test_of_a_fault_that_the_catalogue_does_not_have_no_deviation_is_named(bench, family):
    found = bench.diagnosis(unexplained_failures()[family], family)
    assert found.explanations == ()
    assert sum(len(group.cases) for group in found.unexplained) == found.failing


@pytest.mark.parametrize(
    ("text", "operator", "shared"),
    [
        ("does nothing where there are several tensors", "Adam", "have tensors of a node ≥ 2"),
        ("doubles what it gives where T is negative", "Momentum", "have T ≤ -1"),
        ("adds 1 for a negative axis", "ArgMax", "have a negative axis of ArgMax and have keepdims = 0"),
    ],
)
@pytest.mark.whole
def test_what_the_unexplained_cases_share_is_said(bench, text, operator, shared):
    (mistake,) = (one for one in MISTAKES if (one.text, one.operator) == (text, operator))
    found = bench.diagnosis(mistake.backend, operator)
    assert found.explanations == ()
    (group,) = found.unexplained
    assert [one.text for one in group.shared] == [shared]


def test_there_are_forty_mistakes_and_the_catalogue_has_none_of_them():
    assert len(MISTAKES) == 40
    assert {one.text for one in MISTAKES}.isdisjoint(one.text for one in EVERY)


def test_of_a_graph_optimizer_the_check_is_what_was_said():
    checks = [{"name": "mutation", "complaint": "the caller's model is changed: node Y is gone"}]
    findings = Findings()
    findings.add({"subject": "a", "case": "x", "verdict": "fail", "phase": "compare", "checks": checks}, Level.MUST)
    assert findings.by_subject["a"]["x"].said == "mutation: the caller's model is changed"


def test_what_never_started_and_what_is_not_to_be_explained_are_not_looked_at():
    never, unwanted = Findings(), Findings(wanted=False)
    never.add({"subject": "a", "case": "test_adam", "verdict": "crash", "phase": "start"}, Level.MUST)
    unwanted.add({"subject": "a", "case": "test_adam", "verdict": "crash", "phase": "run"}, Level.MUST)
    assert not never.explicable
    assert not unwanted.explicable


def test_a_run_says_why_in_its_results_and_on_the_terminal(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    ended = process("onnx-conformance", "run", "-b", "planted_subject", "--data", small_corpus, "--results", file)
    assert "agrees on 1 of 1 failing cases with: updates the first tensor only" in ended.out, ended
    lines = records(file)
    footer = lines[-1]
    assert all(complaint("results", line) is None for line in lines)
    (diagnosis,) = footer["diagnoses"]
    assert diagnosis["operator"] == "Momentum"
    assert diagnosis["deviation"] == "momentum.first_tensor_only"
    (failed,) = (line for line in lines if line["record"] == "result" and line["verdict"] == "fail")
    assert diagnosis["cases"] == [failed["case"]]
    assert footer["unexplained"] == []
    assert failed["observed"]["outputs"]


def test_a_run_without_failures_has_no_diagnosis_and_loads_no_deviation(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    process("onnx-conformance", "run", "-b", "reference", "--data", small_corpus, "--results", file)
    assert records(file)[-1]["diagnoses"] == []
    program = "import sys; from conformance.run import session; sys.exit('conformance.deviations' in sys.modules)"
    assert process("python", "-c", program).status == 0
