"""Two observations agree where they show the same implementation but for rounding."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from conformance.corpus.loading import case_in_memory
from conformance.deviations import AlteredBackend
from conformance.diagnosis import transcript
from conformance.diagnosis.observation import Observation, agree, fails, observe


@pytest.fixture
def case(opened):
    return case_in_memory(opened, opened.cases["test_adam"])


@pytest.fixture
def right(case):
    return observe(AlteredBackend({}), case)


def test_an_observation_agrees_with_itself_and_a_right_one_does_not_fail(case, right):
    assert agree(right, right, case)
    assert not fails(right, case)


def test_observations_differ_where_an_input_was_spoiled_or_an_error_came(case, right):
    spoiled = Observation(right.outputs, ((2,),))
    assert fails(spoiled, case)
    assert not agree(right, spoiled, case)
    raised = Observation((), (), "load")
    assert fails(raised, case)
    assert not agree(raised, Observation((), (), "run"), case)


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
def test_observations_differ_by_type_shape_number_and_value_of_outputs(case, right, change):
    (outputs,) = right.outputs
    assert not agree(right, Observation((tuple(change(outputs)),), ((),)), case)


@pytest.mark.parametrize(("bound", "agreeing"), [(None, False), (np.zeros(1), True)], ids=["exact", "bound"])
def test_zeros_of_both_signs_are_told_apart_where_every_bit_is_judged(case, bound, agreeing):
    held = _with_one_output(case, np.zeros(1, np.float32), bound)
    positive, negative = (Observation(((np.array([zero], np.float32),),), ((),)) for zero in (0.0, -0.0))
    assert agree(positive, negative, held) is agreeing


def _with_one_output(case, expected, bound):
    (data_set, *_) = case.held
    output = dataclasses.replace(data_set.outputs[0], expected=expected, bound=bound, choices=None)
    return dataclasses.replace(case, held=(dataclasses.replace(data_set, outputs=(output,)),))


def test_what_was_observed_is_read_as_it_was_written(case, right):
    ended = Observation((*right.outputs, (None,)), ((), (1, 2)), "run: it broke")
    again = transcript.read(transcript.written(ended))
    assert agree(right, transcript.read(transcript.written(right)), case)
    assert (again.spoiled, again.ended, again.outputs[-1]) == (ended.spoiled, ended.ended, (None,))


def test_what_is_too_large_is_not_written():
    assert transcript.written(Observation(((np.zeros(transcript.LARGEST + 1, np.int8),),), ((),))) is None


def test_an_observation_without_all_of_its_data_sets_fails(case):
    assert fails(Observation((), ()), case)


@pytest.mark.parametrize("spoilt", [{"dtype": "nonsense"}, {"dtype": "string"}, {"data": "%"}, {"shape": [9, 9]}])
def test_what_cannot_be_read_is_no_observation(right, spoilt):
    record = transcript.written(right)
    record["outputs"][0][0].update(spoilt)
    assert transcript.read(record) is None
