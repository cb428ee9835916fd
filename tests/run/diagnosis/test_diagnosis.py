"""The diagnosis names a subject's fault, or a mutant that no case distinguishes from it, and no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, permutations
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from command_outputs import read_records
from diagnosis_accuracy import (
    CONDITIONS,
    Bench,
    Conditional,
    ConditionalBackend,
    MutantPairs,
    count_named,
    family_of_mutant,
    mutant_groups,
    observed_finding,
    unexplainable_backends,
)
from kernel_mistakes import MISTAKES
from onnx import ModelProto
from runs_in_memory import make_result

from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Level
from conformance.run.diagnosis.collected_results import ResultCollector
from conformance.run.diagnosis.diagnosis_run import SEARCH_TAG
from conformance.run.diagnosis.explanations import (
    explain_under_conditions,
    explaining_combinations,
    is_cause,
    select_explanations,
)
from conformance.run.diagnosis.failure_evidence import Evidence, FailureComparison, Observation
from conformance.run.diagnosis.properties import Properties
from conformance.run.mutants import KernelPatch, MutantBackend, catalogue
from conformance.run.mutants.mutant import compose

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from conformance.run.diagnosis.failure_evidence import MutantCombination

EVERY = [one for rows in catalogue().values() for one in rows]
MUTANTS = {one.id: one for one in EVERY}


UNEXPLAINED = {
    "momentum.first_iteration_again",
    "momentum.left_in_scan",
    "argmax.lowest_of_256_lanes",
    "argmax.lowest_of_1024_lanes",
    "momentum.4096_elements_at_most",
    "adam.places_of_16_bits",
}
"""Mutants that so few cases detect (Loops, Scans, long rows, overflows) that an explanation would be a guess."""


@pytest.mark.whole
@pytest.mark.parametrize("mutant", [MUTANTS[id] for id in sorted(UNEXPLAINED)], ids=lambda one: one.id)
def test_mutant_with_too_few_detecting_cases_is_not_named(bench, mutant):
    assert bench.diagnosis(mutant.backend, family_of_mutant(mutant)).explanations == ()


NAMED = (
    *("adam.alpha_not_read", "momentum.step_of_gradient", "adagrad.decay_of_h"),
    *("adagrad.clamped_outputs", "argmax.last_in_one_of_8_lanes"),
)
"""Mutants of several kinds that cases of the sample detect."""

LIKE_OTHERS = {"momentum.step_of_gradient", "adagrad.decay_of_h"}
"""Mutants of a formula; one of a formula is enough for each change."""


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(MUTANTS[id], marks=[pytest.mark.long] * (id in LIKE_OTHERS)) for id in NAMED],
    ids=lambda one: one.id,
)
@pytest.mark.whole
def test_mutant_is_named_for_all_its_failing_cases(bench, mutant):
    found = bench.diagnosis(mutant.backend, family_of_mutant(mutant))
    (explanation,) = found.explanations
    assert mutant.id in mutant_groups(found)[0]
    assert len(explanation.cases) == found.failing
    assert found.unexplained == ()


@pytest.mark.whole
@pytest.mark.long
def test_diagnosis_of_two_mutants_names_both(bench):
    pairs = list(islice(MutantPairs(bench, seed=3), 2))
    assert {(one.id, other.id): count_named(bench, (one, other)) for one, other in pairs} == {
        (one.id, other.id): (2, []) for one, other in pairs
    }


@pytest.mark.whole
@pytest.mark.long
def test_three_mutants_that_act_in_most_cases_are_named(bench):
    ids = ["adam.epsilon_inside_root", "adam.norm_halved", "adam.post_halved"]
    found = bench.diagnosis(compose(tuple(map(MUTANTS.__getitem__, ids))), "Adam")
    assert sorted(one.mutant.id for one in found.explanations) == ids
    assert found.unexplained == ()


@pytest.mark.whole
def test_mutants_of_two_operators_are_both_named(bench):
    faults = {"exp.negated", "log.negated"}
    found = bench.diagnosis(compose(tuple(MUTANTS[id] for id in sorted(faults))), "ArgMax")
    assert {one.mutant.id for one in found.explanations} == faults
    assert all(len(one.cases) < found.failing for one in found.explanations)


@pytest.mark.whole
def test_case_with_two_active_mutants_counts_for_both(bench):
    found = bench.diagnosis(compose((MUTANTS["adam.epsilon_inside_root"], MUTANTS["adam.post_ignored"])), "Adam")
    one, other = found.explanations
    assert one.jointly_explained == other.jointly_explained == one.cases & other.cases != frozenset()
    assert one.cases | other.cases == {id for record in found.diagnosis_records for id in record.cases}


def test_mutant_is_no_cause_of_failures_that_others_explain(bench):
    one, other = MUTANTS["adam.epsilon_inside_root"], MUTANTS["adam.post_ignored"]
    causes = [
        {
            is_cause(one, [other], case, finding.recorded_outputs)
            for case in bench.cases["Adam"].values()
            if (finding := observed_finding(backend, case)).recorded_outputs
        }
        for backend in (one.backend, other.backend, compose((one, other)), MUTANTS["adam.v_sum"].backend)
    ]
    assert causes == [{True}, {False}, {True, False}, {False}]


def test_pair_of_which_no_case_shows_one_alone_is_named(bench):
    found = bench.diagnosis(compose((MUTANTS["adam.v_sum"], MUTANTS["adam.h_linear"])), "Adam")
    assert {one.mutant.id for one in found.explanations} == {"adam.v_sum", "adam.h_linear"}
    assert [record.partners for record in found.diagnosis_records] == [
        [MUTANTS[one].description for one in ids] for ids in (["adam.h_linear"], ["adam.v_sum"])
    ]


@pytest.mark.whole
@pytest.mark.long
def test_mutant_with_an_unknown_fault_explains_its_part(bench):
    def raising(kernel):
        def run(node, inputs):
            if inputs[2].ndim == 2:
                raise MemoryError("no room")
            return kernel(node, inputs)

        return run

    known = MUTANTS["adam.post_ignored"].backend.patches["Adam"]
    backend = MutantBackend({"Adam": KernelPatch(wrappers=(raising,), arithmetic=known.arithmetic)})
    found = bench.diagnosis(backend, "Adam")
    assert [one.mutant.id for one in found.explanations] == ["adam.post_ignored"]
    (group,) = found.unexplained
    assert group.failure_mode == "run: MemoryError: no room"
    assert len(group.cases) + len(found.explanations[0].cases) == found.failing


@pytest.mark.whole
@pytest.mark.parametrize("family", ["Adam", pytest.param("ArgMax", marks=pytest.mark.long)])
def test_unknown_fault_has_no_explanation(bench, family):
    found = bench.diagnosis(unexplainable_backends()[family], family)
    assert found.explanations == ()
    assert sum(len(group.cases) for group in found.unexplained) == found.failing


@pytest.mark.parametrize(
    ("text", "operator", "each", "shared"),
    [("doubles what it gives where T is negative", "Momentum", 4, "have T ≤ -1")],
)
@pytest.mark.whole
def test_unexplained_group_has_its_common_properties(whole_corpus, judged_cases, text, operator, each, shared):
    (mistake,) = (one for one in MISTAKES if (one.text, one.operator) == (text, operator))
    found = Bench.of(whole_corpus, judged_cases, each).diagnosis(mistake.backend, operator)
    assert found.explanations == ()
    (group,) = found.unexplained
    assert [one.text for one in group.shared] == [shared]


@pytest.mark.whole
@pytest.mark.long
def test_mistake_that_two_mutants_make_together_is_named_by_both(bench):
    text, operator = "does nothing where there are several tensors", "Adam"
    (mistake,) = (one for one in MISTAKES if (one.text, one.operator) == (text, operator))
    found = bench.diagnosis(mistake.backend, mistake.operator)
    assert {one.mutant.id for one in found.explanations} == {"adam.first_tensor_only", "adam.last_tensor_only"}
    assert found.unexplained == ()


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        pytest.param("adds 1 for a negative axis", "have a negative axis of ArgMax", marks=pytest.mark.long),
        ("adds 1 for vectors", "have dimensions of a tensor = 1"),
    ],
)
@pytest.mark.whole
def test_mutant_under_a_condition_is_named_with_its_condition(whole_corpus, judged_cases, text, condition):
    (mistake,) = (one for one in MISTAKES if one.text == text)
    found = Bench.of(whole_corpus, judged_cases, 16).diagnosis(mistake.backend, mistake.operator)
    (explanation,), (record,) = found.explanations, found.diagnosis_records
    assert explanation.mutant.id == "argmax.from_1"
    assert record.condition.removesuffix(" at least once") == condition  # "at least once" depends on the sample


def test_catalogue_has_none_of_the_kernel_mistakes():
    assert len(MISTAKES) == 40
    assert {one.text for one in MISTAKES}.isdisjoint(one.text for one in EVERY)


def test_collector_keeps_the_violated_check_of_an_optimizer():
    checks = [{"name": "mutation", "level": "must", "violation": {"kind": "caller_model", "detail": "node Y is gone"}}]
    findings = ResultCollector()
    findings.add(make_result(subject="a", case="x", verdict="fail", phase="compare", checks=checks), Level.MUST)
    assert findings.by_subject["a"]["x"].message == "mutation: the caller's model is changed"


def test_collector_ignores_start_failures_and_disabled_diagnosis():
    not_started, disabled = ResultCollector(), ResultCollector(is_enabled=False)
    not_started.add(make_result(verdict="crash", phase="start"), Level.MUST)
    disabled.add(make_result(verdict="crash", phase="run"), Level.MUST)
    assert not not_started.has_explainable_failure
    assert not disabled.has_explainable_failure


def test_run_reports_the_diagnosis_in_results_and_terminal(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    ended = process(
        "onnx-conformance", "run", "-b", "fake_subject:only_first_tensor", "--data", small_corpus, "--results", file
    )
    assert MUTANTS["momentum.first_tensor_only"].text in ended.out, ended
    lines = read_records(file)
    footer = lines[-1]
    assert all(schema_violation("results", line) is None for line in lines)
    (diagnosis,) = footer["diagnoses"]
    assert diagnosis["operator"] == "Momentum"
    assert diagnosis["mutant"] == "momentum.first_tensor_only"
    (failed,) = (line for line in lines if line["record"] == "result" and line["verdict"] == "fail")
    assert diagnosis["cases"] == [failed["case"]]
    assert footer["unexplained"] == []
    assert failed["recorded_outputs"]["outputs"]


def test_run_without_failures_does_not_load_mutants(process, tmp_path, small_corpus):
    file = tmp_path / "results.jsonl"
    process("onnx-conformance", "run", "-b", "reference", "--data", small_corpus, "--results", file)
    assert read_records(file)[-1]["diagnoses"] == []
    program = "import sys, conformance.run.corpus_run.run_session; sys.exit('conformance.run.mutants' in sys.modules)"
    assert process("python", "-c", program).status == 0


@pytest.mark.whole
@pytest.mark.long
def test_two_mutants_under_conditions_share_cases_by_runs(whole_corpus, judged_cases):
    rules = CONDITIONS["optimizer"]
    ids = {"adagrad.norm_doubled": "T above 0", "adagrad.one_buffer": "several tensors"}
    mutants = {one.id: one for one in catalogue()["Adagrad"]}
    pair = [Conditional(mutants[id], name, rules[name]) for id, name in ids.items()]
    found = Bench.of(whole_corpus, judged_cases).diagnosis(ConditionalBackend(pair), "Adagrad")
    assert {one.mutant.id for one in found.explanations} == set(ids)
    assert all(one.condition for one in found.explanations)
    assert any(one.jointly_explained for one in found.explanations)


@pytest.fixture(scope="module")
def small_bench(whole_corpus, judged_cases):
    """Every sixteenth case of each family."""
    return Bench.of(whole_corpus, judged_cases, 16)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_case_of_a_search_is_explained_only_by_its_mutants(small_bench, is_named):
    bench = small_bench
    wrong = next(mutant for mutant in EVERY if mutant.id == "adam.epsilon_inside_root")
    more = (SEARCH_TAG, wrong.id) if is_named else (SEARCH_TAG,)
    topics = {id: replace(topic, tags=(*topic.tags, *more)) for id, topic in bench.topics.items()}
    found = replace(bench, topics=topics).diagnosis(wrong.backend, "Adam")
    assert any(wrong.id in group for group in mutant_groups(found)) is is_named
    if not is_named:  # without the tag, the same cases name the mutant
        assert any(wrong.id in group for group in mutant_groups(bench.diagnosis(wrong.backend, "Adam")))


# Mutants with results from a table: the least support, and the conditions.


@dataclass(frozen=True)
class TableRunner:
    """A runner with the cases that mutants explain, and those that they fail in another way; they pass all others."""

    explained: Mapping[MutantCombination, Collection[str]]
    differing: Mapping[MutantCombination, Collection[str]]

    def compare(self, mutants, id):
        fails = FailureComparison.FAILS_DIFFERENTLY if self.fails(mutants, id) else FailureComparison.PASSES
        return FailureComparison.REPRODUCES if self.explains(mutants, id) else fails

    def explains(self, mutants, id):
        return id in self.explained.get(mutants, ())

    def explains_parts(self, mutants, id):
        return any(self.explains((one,), id) for one in mutants)

    def fails(self, mutants, id):
        return id in self.differing.get(mutants, ()) or self.explains(mutants, id)


def evidence_of(failing, explained, differing, *passed, with_alpha=()):
    """Return evidence about the mutants of `explained`.

    Args:
        failing: the failing cases. Those that no mutant fails in another way end in an error.
        explained: by mutants, the cases that they explain.
        differing: by mutants, the failing or passed cases that they fail in another way than the subject.
        passed: the passed cases of the level, and those of a weaker one.
        with_alpha: the cases with a property.
    """
    against, empty = set(chain(*differing.values())), SimpleNamespace(model=ModelProto(), held=())
    evidence = Evidence(
        list(dict.fromkeys(chain(*explained))),
        dict.fromkeys(chain(failing, *passed), empty),
        {case: Observation((), (), None if case in against else "run: MemoryError") for case in failing},
        *(passed or [()]),
        properties=lambda case: Properties(("set alpha",) * (case in with_alpha), {}),
    )
    vars(evidence)["runner"] = TableRunner(explained, differing)
    return evidence


def ids(kind, count):
    return [f"{kind}{number}" for number in range(count)]


ONE, OTHER, THIRD, FOURTH = (MUTANTS[f"adam.{id}"] for id in ("v_sum", "h_linear", "norm_ignored", "gradient_ascent"))
FAILING, PASSED = ids("failing", 12), ids("passed", 20)


@pytest.mark.parametrize(
    ("explained", "contradicting", "is_named"),
    [(2, 0, False), (3, 0, True), (8, 1, False), (9, 1, True), (17, 2, False), (18, 2, True)],
)
def test_mutant_explains_3_cases_and_9_for_each_that_it_fails_differently(explained, contradicting, is_named):
    own, against = ids("own", explained), ids("against", contradicting)
    evidence = evidence_of([*own, *against, "left"], {(ONE,): own}, {(ONE,): against})
    assert [one.cases for one in select_explanations(evidence)] == [frozenset(own)] * is_named


@pytest.mark.parametrize(
    ("explained", "contradicting", "passed", "lower", "conditions"),
    [
        (4, 0, 20, 0, []),
        (5, 0, 20, 0, ["set alpha"]),
        (5, 0, 0, 20, ["set alpha"]),
        (5, 1, 20, 0, ["set alpha"]),
        (5, 2, 20, 0, []),
        (6, 2, 20, 0, ["set alpha"]),
        (9, 1, 0, 0, [""]),
        (8, 1, 0, 0, []),
    ],
)
def test_mutant_has_a_condition_with_enough_support(explained, contradicting, passed, lower, conditions):
    own, against, *passing = map(ids, ("own", "against", "must", "should"), (explained, contradicting, passed, lower))
    differing = {(ONE,): [*against, *chain(*passing)]}
    evidence = evidence_of([*own, *against], {(ONE,): own}, differing, *passing, with_alpha=own)
    assert [one.condition for one in explain_under_conditions(evidence, [])] == conditions


def test_mutant_under_a_condition_explains_any_5_of_12_cases():
    for own in combinations(FAILING, 5):
        evidence = evidence_of(FAILING, {(ONE,): own}, {(ONE,): PASSED}, PASSED, with_alpha=own)
        assert [one.cases for one in explain_under_conditions(evidence, [])] == [frozenset(own)]


def test_mutant_under_a_condition_is_found_behind_three_mutants_without_one():
    places = {ONE: range(4, 12), OTHER: (3, *range(5, 11)), THIRD: (2, *range(5, 10)), FOURTH: range(5)}
    explained = {(one,): [FAILING[place] for place in own] for one, own in places.items()}
    differing = dict.fromkeys(explained, PASSED)
    evidence = evidence_of(FAILING, explained, differing, PASSED, with_alpha=FAILING[:5])
    found = explain_under_conditions(evidence, [])
    assert [(one.mutant, one.condition) for one in found] == [(FOURTH, "set alpha")]


@pytest.mark.parametrize("order", [*permutations((ONE, OTHER)), (ONE, OTHER, THIRD), (THIRD,)])
def test_combination_of_any_order_explains_a_case(order):
    evidence = evidence_of("ab", {order: "a", (ONE, THIRD): "b"}, {})
    assert explaining_combinations(evidence, (ONE, OTHER, THIRD)) == {"a": order, "b": (ONE, THIRD)}
