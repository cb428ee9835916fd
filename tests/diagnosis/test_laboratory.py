"""What deviations do together is told early where one data set tells it, and is what whole observations tell."""

from __future__ import annotations

from itertools import permutations

import pytest

from conformance.corpus.loading import case_in_memory
from conformance.deviations import catalogue
from conformance.deviations.composition import composed
from conformance.diagnosis.laboratory import Laboratory, do_compose
from conformance.diagnosis.observation import agree, fails, observe

CASE = "test_adam_data_sets_t_changes_double"
NAMES = ("adam.norm_ignored", "adam.norm_subtracted", "adam.gradient_ascent", "adam.v_weights_swapped")
SOME = [one for one in catalogue()["Adam"] if one.id in NAMES]
PAIRS = [pair for pair in permutations(SOME, 2) if do_compose(pair)]


@pytest.fixture(scope="module")
def case(whole_corpus):
    return case_in_memory(whole_corpus, whole_corpus.cases[CASE])


@pytest.mark.parametrize("had", PAIRS, ids=lambda pair: "+".join(one.id for one in pair))
def test_two_explain_a_subject_where_whole_observations_agree(case, had):
    subject = observe(composed(had), case)
    laboratory = Laboratory({CASE: case}, {CASE: subject})
    whole = {pair: observe(composed(pair), case) for pair in PAIRS}
    expected = {pair: fails(made, case) and agree(made, subject, case) for pair, made in whole.items()}
    assert {pair: laboratory.explains(pair, CASE) for pair in PAIRS} == expected
    assert expected[had]


def test_a_backend_that_differs_in_the_first_data_set_is_run_no_further(case):
    runs = []
    subject = observe(composed((SOME[0],)), case)
    assert observe(counting(composed((SOME[-1],)), runs), case, subject) is None
    assert len(runs) == 1 < len(case.held)


def counting(backend, runs):
    """The backend, with each run noted."""

    class Counted:
        def prepare(self, model, device):
            prepared = backend.prepare(model, device)

            class Run:
                def run(self, inputs):
                    runs.append(inputs)
                    return prepared.run(inputs)

            return Run()

    return Counted()
