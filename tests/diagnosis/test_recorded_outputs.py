"""Observations of a backend's behaviour are equivalent if they differ by rounding only, and survive recording."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from runs_in_memory import with_fields

from conformance.corpus.loading import load_case_in_memory
from conformance.diagnosis import recorded_outputs
from conformance.diagnosis.recorded_outputs import Observation, are_equivalent, is_failure, observe
from conformance.mutants import MutantBackend


@pytest.fixture
def case(opened):
    return load_case_in_memory(opened, opened.cases["test_adam"])


@pytest.fixture
def right(case):
    return observe(MutantBackend({}), case)


def test_correct_observation_is_equivalent_to_itself_and_passes(case, right):
    assert are_equivalent(right, right, case)
    assert not is_failure(right, case)


def test_changed_inputs_and_errors_are_failures_and_differ(case, right):
    spoiled = Observation(right.outputs, ((2,),))
    assert is_failure(spoiled, case)
    assert not are_equivalent(right, spoiled, case)
    raised = Observation((), (), "load")
    assert is_failure(raised, case)
    assert not are_equivalent(raised, Observation((), (), "run"), case)


@pytest.mark.parametrize(
    "change",
    [
        lambda outputs: [array.astype(np.float64) for array in outputs],
        lambda outputs: [array[..., np.newaxis] for array in outputs],
        lambda outputs: outputs[:2],
        lambda outputs: [*outputs[:2], outputs[2] * np.float32(1.00001)],
        lambda outputs: [*outputs[:2], None],
    ],
    ids=["type", "shape", "number", "value", "no tensor"],
)
def test_observations_with_other_outputs_are_not_equivalent(case, right, change):
    (outputs,) = right.outputs
    assert not are_equivalent(right, Observation((tuple(change(outputs)),), ((),)), case)


@pytest.mark.parametrize(("bound", "agreeing"), [(None, False), (np.zeros(1), True)], ids=["exact", "bound"])
def test_signs_of_zeros_matter_only_without_a_bound(case, bound, agreeing):
    held = _with_one_output(case, np.zeros(1, np.float32), bound)
    positive, negative = (Observation(((np.array([zero], np.float32),),), ((),)) for zero in (0.0, -0.0))
    assert are_equivalent(positive, negative, held) is agreeing


def _with_one_output(case, expected, bound):
    (data_set, *_) = case.held
    output = dataclasses.replace(data_set.outputs[0], expected=expected, bound=bound, choices=None)
    return dataclasses.replace(case, held=(dataclasses.replace(data_set, outputs=(output,)),))


def test_observation_survives_recording(case, right):
    ended = Observation((*right.outputs, (None,)), ((), (1, 2)), "run: it broke")
    again = recorded_outputs.observation_from_record(recorded_outputs.observation_to_record(ended))
    assert are_equivalent(
        right, recorded_outputs.observation_from_record(recorded_outputs.observation_to_record(right)), case
    )
    assert (again.changed_inputs, again.error, again.outputs[-1]) == (ended.changed_inputs, ended.error, (None,))


def test_observation_too_large_is_not_recorded():
    assert (
        recorded_outputs.observation_to_record(
            Observation(((np.zeros(recorded_outputs.MAX_RECORDED_BYTES + 1, np.int8),),), ((),))
        )
        is None
    )


def test_observation_without_all_data_sets_is_a_failure(case):
    assert is_failure(Observation((), ()), case)


@pytest.mark.parametrize("spoilt", [{"dtype": "nonsense"}, {"dtype": "string"}, {"data": "%"}, {"shape": [9, 9]}])
def test_malformed_record_has_no_observation(right, spoilt):
    record = recorded_outputs.observation_to_record(right)
    record.outputs[0][0] = with_fields(record.outputs[0][0], **spoilt)
    assert recorded_outputs.observation_from_record(record) is None
