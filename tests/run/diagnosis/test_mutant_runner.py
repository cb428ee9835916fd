"""Mutant combinations are compared with a subject, and a run stops at the first difference."""

from __future__ import annotations

from itertools import permutations

import pytest

from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.run.diagnosis.explanations import is_cause
from conformance.run.diagnosis.failure_evidence import (
    MutantRunner,
    Observation,
    are_equivalent,
    can_compose,
    is_failure,
    observation_to_record,
    observe,
)
from conformance.run.mutants import catalogue
from conformance.run.mutants.mutant import compose

CASE = "test_adam_data_sets_t_changes_double"
NAMES = ("adam.norm_ignored", "adam.norm_subtracted", "adam.gradient_ascent", "adam.v_weights_swapped")
SOME = [one for one in catalogue()["Adam"] if one.id in NAMES]
PAIRS = [pair for pair in permutations(SOME, 2) if can_compose(pair)]


@pytest.fixture(scope="module")
def case(whole_corpus):
    return load_case_in_memory(whole_corpus, whole_corpus.cases[CASE])


@pytest.mark.parametrize("had", PAIRS, ids=lambda pair: "+".join(one.id for one in pair))
def test_runner_explains_like_a_comparison_of_complete_observations(case, had):
    subject = observe(compose(had), case)
    runner = MutantRunner({CASE: case}, {CASE: subject})
    whole = {pair: observe(compose(pair), case) for pair in PAIRS}
    expected = {pair: is_failure(made, case) and are_equivalent(made, subject, case) for pair, made in whole.items()}
    assert {pair: runner.explains(pair, CASE) for pair in PAIRS} == expected
    assert expected[had]


@pytest.mark.parametrize(
    ("mutant", "others", "is_found"),
    [(0, [1], True), (1, [0], True), (0, [], False), (0, [2], False), (2, [0, 1], False), (2, [1, 0], False)],
)
def test_cause_of_a_part_is_a_mutant_that_the_others_do_not_replace(case, mutant, others, is_found):
    """The first run has the outputs of the first mutant, all further runs those of the second mutant."""
    one, other = (observe(mutant.backend, case) for mutant in SOME[:2])
    subject = observation_to_record(Observation((*one.outputs[:1], *other.outputs[1:]), one.changed_inputs))
    assert is_cause(SOME[mutant], [SOME[place] for place in others], case, subject) is is_found


def test_observe_stops_at_the_first_differing_data_set(case):
    runs = []
    subject = observe(compose((SOME[0],)), case)
    assert observe(count_runs(compose((SOME[-1],)), runs), case, subject) is None
    assert len(runs) == 1 < len(case.held)


def count_runs(backend, runs):
    """Return the backend with each run appended to `runs`."""

    class CountingBackend:
        def prepare(self, model, device):
            prepared = backend.prepare(model, device)

            class CountingModel:
                def run(self, inputs):
                    runs.append(inputs)
                    return prepared.run(inputs)

            return CountingModel()

    return CountingBackend()
