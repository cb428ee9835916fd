"""One case on one backend: every outcome has a verdict, a phase and a message."""

from __future__ import annotations

import inspect

import fake_backends as fakes
import pytest
import raising_backends as raising
from corpora import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL

from conformance.judging.backend import judge_backend
from conformance.subjects.harness import MESSAGE_LIMIT
from conformance.verdicts import Verdict

FAIL, ERROR, UNSUPPORTED = Verdict.FAIL, Verdict.ERROR, Verdict.UNSUPPORTED

# the fake, what it is run on, its verdict, the phase and a part of the message
OUTCOMES = [
    (fakes.AlwaysWrong, ADAM, FAIL, "compare", "X_new has 2 wrong of 2 elements, first at [0]: "),
    (fakes.ReturnsTooFew, ADAM, FAIL, "compare", "run returned 2 outputs instead of 3"),
    (fakes.ReturnsTooMany, ADAM, FAIL, "compare", "run returned 4 outputs instead of 3"),
    (fakes.ReturnsNothing, EXACT, FAIL, "compare", "run returned 0 outputs instead of 1"),
    (fakes.ReturnsNone, ADAM, FAIL, "compare", "run returned a NoneType, not a sequence of outputs"),
    (fakes.ReturnsOneArray, EXACT, FAIL, "compare", "run returned a ndarray, not a sequence of outputs"),
    (fakes.ReturnsADict, ADAM, FAIL, "compare", "run returned a dict, not a sequence of outputs"),
    (fakes.ReturnsNones, ADAM, FAIL, "compare", "X_new is a NoneType, not an array"),
    (fakes.ReturnsLists, ADAM, FAIL, "compare", "X_new is a list, not an array"),
    (fakes.ReturnsScalars, ADAM, FAIL, "compare", "X_new is a float, not an array"),
    (fakes.WrongType, ADAM, FAIL, "compare", "X_new has type double instead of float"),
    (fakes.WrongType, EXACT, FAIL, "compare", "index has type float instead of int64"),
    (fakes.WrongShape, ADAM, FAIL, "compare", "X_new has shape [1, 2] instead of [2]"),
    (fakes.ReturnsObjects, ADAM, FAIL, "compare", "X_new has type "),
    (fakes.ReturnsRecords, ADAM, FAIL, "compare", "X_new has type "),
    (fakes.ReturnsSwappedBytes, ADAM, FAIL, "compare", "X_new has type "),
    (raising.RaisesOnPrepare, ADAM, ERROR, "load", "ValueError: cannot read this model"),
    (raising.RaisesOnRun, ADAM, ERROR, "run", "ValueError: cannot run this model"),
    (raising.RaisesOnSecondRun, REPEATED, ERROR, "run", "ValueError: has run before"),
    (raising.ExitsOnPrepare, ADAM, ERROR, "load", "SystemExit: 0"),
    (raising.ExitsOnRun, ADAM, ERROR, "run", "SystemExit: 0"),
    (raising.PanicsOnRun, ADAM, ERROR, "run", "Panic: index out of range"),
    (raising.RaisesUnprintable, ADAM, ERROR, "run", "UnprintableError: (its message cannot be read)"),
    (raising.SaysNotSupposedTo, ADAM, UNSUPPORTED, "load", "BackendIsNotSupposedToImplementIt: no such operator"),
    (raising.SaysNotImplemented, ADAM, UNSUPPORTED, "load", "NotImplementedError: no such operator"),
    (raising.SaysUnsupported, ADAM, UNSUPPORTED, "load", "Unsupported: no such operator"),
    (raising.SaysUnsupportedOnRun, ADAM, UNSUPPORTED, "run", "Unsupported: no such type"),
    (fakes.PreparesNone, ADAM, ERROR, "run", "NoneType"),
    (fakes.ChangesItsInputs, ADAM, FAIL, "compare", "input 5 is not what it was before the run"),
    (fakes.UpdatesInPlace, ADAM, FAIL, "compare", "input 2 is not what it was before the run"),
    (fakes.KeepsStateBetweenRuns, REPEATED, FAIL, "compare", "X_new of data set 1 has "),
]


ENDS_THE_PROCESS = {fakes.Interrupted, fakes.KillsItsProcess}


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
        fakes.AlwaysRight,
        fakes.ReturnsATuple,
        fakes.ReturnsOtherLayouts,
        fakes.ReusesItsBuffers,
        fakes.ChangesItsModel,
        fakes.PrintsMuch,
    ],
    ids=_name,
)
@pytest.mark.parametrize("case", SMALL)
def test_correct_backend_passes(case_of, fake, case):
    outcome = judge_backend(fake, case_of(case))
    assert (outcome.verdict, outcome.phase, outcome.message) == (Verdict.PASS, None, "")


@pytest.mark.parametrize("case", SMALL)
def test_wrong_backend_fails_each_case(case_of, case):
    assert judge_backend(fakes.AlwaysWrong, case_of(case)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "fake",
    [fake for fake in raising.every_fake() if fake not in ENDS_THE_PROCESS],
    ids=_name,
)
def test_judging_never_raises(case_of, fake):
    assert judge_backend(fake, case_of(REPEATED)).verdict in set(Verdict)


def test_keyboard_interrupt_is_raised(case_of):
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            judge_backend(fakes.Interrupted, case_of(ADAM))


def test_long_message_is_truncated(case_of):
    assert len(judge_backend(raising.RaisesAtLength, case_of(ADAM)).message) <= MESSAGE_LIMIT


def test_message_is_valid_utf_8(case_of):
    assert judge_backend(raising.RaisesStrangeText, case_of(ADAM)).message.encode()


def test_outcome_has_evidence_per_data_set_and_output(case_of):
    outcome = judge_backend(fakes.AlwaysRight, case_of(REPEATED))
    assert [(output.data_set, output.name) for output in outcome.outputs] == [
        (number, name) for number in range(3) for name in ("X_new", "H_new")
    ]


def test_error_keeps_the_evidence_of_earlier_data_sets(case_of):
    outcome = judge_backend(raising.RaisesOnSecondRun, case_of(REPEATED))
    assert {output.data_set for output in outcome.outputs} == {0}


def test_message_counts_further_wrong_outputs(case_of):
    assert judge_backend(fakes.AlwaysWrong, case_of(SEVERAL)).message.endswith("(and 3 more outputs)")


def test_passing_output_has_its_error(case_of):
    outputs = judge_backend(fakes.AlwaysRight, case_of(ADAM)).outputs
    assert all(None not in (output.max_ulp, output.error_over_bound) for output in outputs)


@pytest.mark.parametrize("case", [EXACT, INDEX, SHOULD, SILENT])
def test_wrong_output_has_its_first_bad_element(case_of, case):
    assert judge_backend(fakes.AlwaysWrong, case_of(case)).outputs[0].first_bad.index is not None


def test_data_sets_run_on_one_prepared_model(case_of, monkeypatch):
    prepared = []
    monkeypatch.setattr(
        fakes.AlwaysRight, "prepare", lambda model, device: prepared.append(1) or fakes.AlwaysRight(model)
    )
    judge_backend(fakes.AlwaysRight, case_of(REPEATED))
    assert prepared == [1]


def test_outcome_has_the_subject_s_seconds(case_of):
    assert judge_backend(fakes.AlwaysRight, case_of(ADAM)).seconds > 0
