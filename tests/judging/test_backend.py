"""One case on one backend: every outcome has a verdict, a phase and a message."""

from __future__ import annotations

import inspect

import fake_subject as fakes
import pytest
from corpora import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL

from conformance.judging.backend import judge_backend
from conformance.subjects.harness import MESSAGE_LIMIT
from conformance.verdicts import Verdict

FAIL, ERROR, UNSUPPORTED = Verdict.FAIL, Verdict.ERROR, Verdict.UNSUPPORTED

# the fake, what it is run on, its verdict, the phase and a part of the message
OUTCOMES = [
    (fakes.always_wrong, ADAM, FAIL, "compare", "X_new has 2 wrong of 2 elements, first at [0]: "),
    (fakes.returns_too_few, ADAM, FAIL, "compare", "run returned 2 outputs instead of 3"),
    (fakes.returns_too_many, ADAM, FAIL, "compare", "run returned 4 outputs instead of 3"),
    (fakes.returns_nothing, EXACT, FAIL, "compare", "run returned 0 outputs instead of 1"),
    (fakes.returns_none, ADAM, FAIL, "compare", "run returned a NoneType, not a sequence of outputs"),
    (fakes.returns_one_array, EXACT, FAIL, "compare", "run returned a ndarray, not a sequence of outputs"),
    (fakes.returns_a_dict, ADAM, FAIL, "compare", "run returned a dict, not a sequence of outputs"),
    (fakes.returns_nones, ADAM, FAIL, "compare", "X_new is a NoneType, not an array"),
    (fakes.returns_lists, ADAM, FAIL, "compare", "X_new is a list, not an array"),
    (fakes.returns_scalars, ADAM, FAIL, "compare", "X_new is a float, not an array"),
    (fakes.wrong_type, ADAM, FAIL, "compare", "X_new has type double instead of float"),
    (fakes.wrong_type, EXACT, FAIL, "compare", "index has type float instead of int64"),
    (fakes.wrong_shape, ADAM, FAIL, "compare", "X_new has shape [1, 2] instead of [2]"),
    (fakes.returns_objects, ADAM, FAIL, "compare", "X_new has type "),
    (fakes.returns_records, ADAM, FAIL, "compare", "X_new has type "),
    (fakes.returns_swapped_bytes, ADAM, FAIL, "compare", "X_new has type "),
    (fakes.raises_on_prepare, ADAM, ERROR, "load", "ValueError: cannot read this model"),
    (fakes.raises_on_run, ADAM, ERROR, "run", "ValueError: cannot run this model"),
    (fakes.raises_on_second_run, REPEATED, ERROR, "run", "ValueError: has run before"),
    (fakes.exits_on_prepare, ADAM, ERROR, "load", "SystemExit: 0"),
    (fakes.exits_on_run, ADAM, ERROR, "run", "SystemExit: 0"),
    (fakes.panics_on_run, ADAM, ERROR, "run", "Panic: index out of range"),
    (fakes.raises_unprintable, ADAM, ERROR, "run", "UnprintableError: (its message cannot be read)"),
    (fakes.says_not_supposed_to, ADAM, UNSUPPORTED, "load", "BackendIsNotSupposedToImplementIt: no such operator"),
    (fakes.says_not_implemented, ADAM, UNSUPPORTED, "load", "NotImplementedError: no such operator"),
    (fakes.says_unsupported, ADAM, UNSUPPORTED, "load", "Unsupported: no such operator"),
    (fakes.says_unsupported_on_run, ADAM, UNSUPPORTED, "run", "Unsupported: no such type"),
    (fakes.prepares_none, ADAM, ERROR, "run", "NoneType"),
    (fakes.changes_its_inputs, ADAM, FAIL, "compare", "input 5 is not what it was before the run"),
    (fakes.updates_in_place, ADAM, FAIL, "compare", "input 2 is not what it was before the run"),
    (fakes.keeps_state_between_runs, REPEATED, FAIL, "compare", "X_new of data set 1 has "),
]


def _name(value: object) -> str | None:
    return value.__name__ if inspect.isclass(value) else None


@pytest.mark.parametrize(("fake", "case", "verdict", "phase", "message"), OUTCOMES, ids=_name)
def test_backend_failure_has_verdict_phase_and_message(case_of, fake, case, verdict, phase, message):
    outcome = judge_backend(fake, case_of(case))
    assert (outcome.verdict, outcome.phase) == (verdict, phase)
    assert message in outcome.message


@pytest.mark.parametrize(
    "fake",
    [
        fakes.always_right,
        fakes.returns_a_tuple,
        fakes.returns_other_layouts,
        fakes.reuses_its_buffers,
        fakes.changes_its_model,
        fakes.prints_much,
    ],
    ids=_name,
)
@pytest.mark.parametrize("case", SMALL)
def test_correct_backend_passes(case_of, fake, case):
    outcome = judge_backend(fake, case_of(case))
    assert (outcome.verdict, outcome.phase, outcome.message) == (Verdict.PASS, None, "")


@pytest.mark.parametrize("case", SMALL)
def test_wrong_backend_fails_each_case(case_of, case):
    assert judge_backend(fakes.always_wrong, case_of(case)).verdict is Verdict.FAIL


@pytest.mark.parametrize("fake", fakes.harmless_backends(), ids=_name)
def test_judging_never_raises(case_of, fake):
    assert judge_backend(fake, case_of(REPEATED)).verdict in set(Verdict)


def test_keyboard_interrupt_is_raised(case_of):
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            judge_backend(fakes.interrupted, case_of(ADAM))


def test_long_message_is_truncated(case_of):
    assert len(judge_backend(fakes.raises_at_length, case_of(ADAM)).message) <= MESSAGE_LIMIT


def test_message_is_valid_utf_8(case_of):
    assert judge_backend(fakes.raises_strange_text, case_of(ADAM)).message.encode()


def test_outcome_has_evidence_per_data_set_and_output(case_of):
    outcome = judge_backend(fakes.always_right, case_of(REPEATED))
    assert [(output.data_set, output.name) for output in outcome.outputs] == [
        (number, name) for number in range(3) for name in ("X_new", "H_new")
    ]


def test_error_keeps_the_evidence_of_earlier_data_sets(case_of):
    outcome = judge_backend(fakes.raises_on_second_run, case_of(REPEATED))
    assert {output.data_set for output in outcome.outputs} == {0}


def test_message_counts_further_wrong_outputs(case_of):
    assert judge_backend(fakes.always_wrong, case_of(SEVERAL)).message.endswith("(and 3 more outputs)")


def test_passing_output_has_its_error(case_of):
    outputs = judge_backend(fakes.always_right, case_of(ADAM)).outputs
    assert all(None not in (output.max_ulp, output.error_over_bound) for output in outputs)


@pytest.mark.parametrize("case", [EXACT, INDEX, SHOULD, SILENT])
def test_wrong_output_has_its_first_bad_element(case_of, case):
    assert judge_backend(fakes.always_wrong, case_of(case)).outputs[0].first_bad.index is not None


def test_data_sets_run_on_one_prepared_model(case_of, monkeypatch):
    prepared = []
    monkeypatch.setattr(
        fakes.always_right, "prepare", lambda model, device: prepared.append(1) or fakes.always_right(model)
    )
    judge_backend(fakes.always_right, case_of(REPEATED))
    assert prepared == [1]


def test_outcome_has_the_subject_s_seconds(case_of):
    assert judge_backend(fakes.always_right, case_of(ADAM)).seconds > 0
