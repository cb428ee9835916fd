"""Judgement of backends: their outputs, accuracy, and interpretations."""

from __future__ import annotations

import inspect
import re
from decimal import Decimal

import fake_subject as fakes
import numpy as np
import pytest
from corpora import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL, write_corpus

from conformance import __version__
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case, load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.arrays import FLOAT
from conformance.exact.reference.oracle import bounds_for_accuracy
from conformance.exact.reference.tolerances import MUST_ACCURACY, WGSL
from conformance.run.judging.accuracy import AccuracyCounter, accuracy_grades, strictest_attained_grade
from conformance.run.judging.backend import judge_backend
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.mutants import pseudocode_edits
from conformance.run.mutants.mutant import FormulaArithmetic, KernelPatch, MutantBackend
from conformance.run.results.violations import Violation, ViolationKind
from conformance.subjects.calling.harness import MESSAGE_LIMIT

# An answer's quality is the strictest accuracy of operations that makes it possible; no verdict rests on it.


DOUBLE = "test_adam_shape_2x3x4_double"

X_NEW = 0


@pytest.fixture(scope="module")
def adam(small_corpus):
    """A case of floats with T = 0, and its one data set."""
    corpus = open_corpus(small_corpus)
    case = load_case_in_memory(corpus, corpus.cases[ADAM])
    return case, next(iter(case.data_sets()))


@pytest.fixture(scope="module")
def told(adam):
    return accuracy_grades(*adam)[X_NEW]


def off_by(output, bound):
    """An answer as far above what is expected as a bound has it, rounded towards that."""
    beyond = (output.expected.astype(np.float64) + bound).astype(output.expected.dtype)
    too_far = beyond - output.expected.astype(np.float64) > bound
    return np.where(too_far, np.nextafter(beyond, output.expected), beyond).astype(output.expected.dtype)


def test_float_has_three_grades_of_increasing_bounds(told):
    assert [accuracy.name for accuracy in told] == ["IEEE 754", "OpenCL, full profile", "WGSL"]
    assert (told[0].bound < told[1].bound).all()
    assert (told[1].bound < told[2].bound).all()


def test_must_bound_of_float_equals_opencl_full_profile(adam, told):
    np.testing.assert_array_equal(told[1].bound, adam[1].outputs[X_NEW].bound)


def test_strictest_attained_grade_is_returned(adam, told):
    output = adam[1].outputs[X_NEW]
    assert strictest_attained_grade(output, told, output.expected) == "IEEE 754"
    for accuracy in told[:2]:  # between the last two there is no float
        assert strictest_attained_grade(output, told, off_by(output, accuracy.bound)) == accuracy.name


def test_output_beyond_all_grades_is_described(adam, told):
    output = adam[1].outputs[X_NEW]
    far = off_by(output, 2 * told[1].bound)
    assert strictest_attained_grade(output, told, far) == "none of these, and not acceptable"
    assert strictest_attained_grade(output, told[:1], off_by(output, told[1].bound)) == "none of these, but acceptable"


def test_double_has_no_wgsl_grade(defined, tmp_path):
    write_corpus(tmp_path / "double", [defined[DOUBLE][1]])
    corpus = open_corpus(tmp_path / "double")
    case = load_case_in_memory(corpus, corpus.cases[DOUBLE])
    names = {accuracy.name for told in accuracy_grades(case, next(iter(case.data_sets()))) for accuracy in told}
    assert names == {"IEEE 754", "OpenCL, full profile"}


def test_pow_bound_includes_the_error_of_its_logarithm():
    count, base = Decimal(1000), Decimal("0.999").ln()
    errors = [accuracy["float"].power_error(count, base, FLOAT.unit_roundoff) for accuracy in (MUST_ACCURACY, WGSL)]
    assert errors[0] == count * FLOAT.unit_roundoff
    assert errors[1] > count * Decimal(2) ** -21 * Decimal("0.693")


class _Answering:
    """A backend that answers as it was told."""

    def __init__(self, *outputs):
        self.outputs = outputs

    def prepare(self, _model, _device):
        return self

    def run(self, _inputs):
        return list(self.outputs)


def judged(case, output, *others):
    """Return the result of a case whose first output is this and whose others are as expected."""
    return judge_backend(_Answering(output, *others), case, ExecutionOptions(accuracy_counter=AccuracyCounter()))


def within(outcome):
    return {name: (counts.within, counts.elements) for name, counts in outcome.accuracy.items()}


def test_elements_count_for_all_weaker_grades(adam, told):
    case, data_set = adam
    first, *others = (output.expected for output in data_set.outputs)
    less_exact = first.copy()
    less_exact.flat[0] = off_by(data_set.outputs[X_NEW], told[1].bound).flat[0]
    outcome = judged(case, less_exact, *others)
    size = sum(output.expected.size for output in data_set.outputs)
    assert within(outcome) == {"IEEE 754": (size - 1, size), "OpenCL, full profile": (size, size), "WGSL": (size, size)}
    assert outcome.verdict is Verdict.PASS


def test_output_of_another_shape_attains_no_grade(adam):
    case, data_set = adam
    first, *others = (output.expected for output in data_set.outputs)
    outcome = judged(case, first.astype(np.float64), *others)
    size = sum(output.expected.size for output in data_set.outputs)
    assert within(outcome)["WGSL"] == (size - first.size, size)
    assert outcome.verdict is Verdict.FAIL


def test_bounds_are_computed_once_and_on_demand(adam, told, monkeypatch):
    case, data_set = adam
    asked = []

    def counting(*given):
        asked.append(given)
        return bounds_for_accuracy(*given)

    monkeypatch.setattr("conformance.run.judging.accuracy.bounds_for_accuracy", counting)
    counter = AccuracyCounter()
    first, *others = (output.expected for output in data_set.outputs)
    judge_backend(_Answering(first, *others), case, ExecutionOptions(accuracy_counter=counter))
    assert asked == []
    for _ in range(2):
        inexact = off_by(data_set.outputs[X_NEW], told[0].bound)
        judge_backend(_Answering(inexact, *others), case, ExecutionOptions(accuracy_counter=counter))
    assert len(asked) == 1


def test_accuracy_is_empty_without_a_counter(adam):
    case, data_set = adam
    assert judge_backend(_Answering(*(output.expected for output in data_set.outputs)), case).accuracy == {}


def test_explain_shows_the_attained_grade(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "reference")
    assert ended.status == 0
    assert re.search(r"\bX_new, .* 0, .*IEEE 754", ended.out)
    assert ended.out.count(f"reference {__version__} attains IEEE 754") == 3


def test_explain_reports_a_failing_backend(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "fake_subject:raises_on_run")
    assert (ended.status, ended.code) == (2, "usage.backend-failed")


# One case on one backend: every outcome has a verdict, a phase and a message.


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
    (fakes.says_unsupported, ADAM, UNSUPPORTED, "load", "no such operator"),
    (fakes.says_unsupported_on_run, ADAM, UNSUPPORTED, "run", "no such type"),
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


# A double optimizer whose outputs are all within their bounds is accused where they fit no one reading.


ROOT_IN_FLOAT = {"H_sqrt": "single(np.sqrt(H_new)) + epsilon"}
SCALARS_IN_FLOAT = {"R_adjusted": "R * single(np.sqrt(1 - beta**T) / (1 - alpha**T))"}

SHOWN = "test_adam_r_and_t_initializers_double"


@pytest.fixture
def outcome(whole_corpus):
    """Return the result of a case on a kernel of Adam whose pseudo-code is edited."""

    def judge(id, edits):
        backend = MutantBackend({"Adam": KernelPatch(arithmetic=FormulaArithmetic(pseudocode_edits("Adam", edits)))})
        return judge_backend(backend, load_case(whole_corpus, whole_corpus.cases[id]))

    return judge


def test_mixed_interpretations_fail(outcome):
    told = outcome(SHOWN, ROOT_IN_FLOAT)
    assert (told.verdict, told.phase) == (Verdict.FAIL, "compare")
    assert told.message == f"X_new {Violation(ViolationKind.INTERPRETATION)}"
    assert all(output.error_over_bound <= 1 for output in told.outputs)


@pytest.mark.parametrize("edits", [{}, SCALARS_IN_FLOAT])
def test_single_interpretation_passes(outcome, edits):
    assert outcome(SHOWN, edits).verdict is Verdict.PASS


def test_outputs_beyond_bounds_name_the_first_wrong_element(outcome):
    told = outcome(SHOWN, {"X_new": "X + R_adjusted * V_new / H_sqrt"})
    assert ViolationKind.INTERPRETATION.sentence not in told.message
    assert "first at" in told.message
