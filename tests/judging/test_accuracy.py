"""An answer's quality is the strictest accuracy of operations that makes it possible; no verdict rests on it."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from corpora import ADAM, write_corpus

from conformance import __version__
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case_in_memory
from conformance.judging.accuracy import AccuracyCounter, accuracy_grades, strictest_attained_grade
from conformance.judging.backend import judge_backend
from conformance.models.arrays import FLOAT
from conformance.reference.numbers.precision import MUST_ACCURACY, WGSL
from conformance.reference.oracle import bounds_for_accuracy
from conformance.verdicts import Verdict

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
    assert (told[1].bound == adam[1].outputs[X_NEW].bound).all()


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
    """What becomes of a case whose first output is this and whose others are as expected."""
    return judge_backend(_Answering(output, *others), case, accuracy_counter=AccuracyCounter())


def within(outcome):
    return {name: (counts.within, counts.elements) for name, counts in outcome.accuracy.items()}


def test_elements_count_for_all_weaker_grades(adam, told):
    case, data_set = adam
    first, *others = (output.expected for output in data_set.outputs)
    less_exact = first.copy()
    less_exact.flat[0] = off_by(data_set.outputs[X_NEW], told[1].bound).flat[0]
    outcome = judged(case, less_exact, *others)
    size = sum(output.expected.size for output in data_set.outputs)
    assert within(outcome) == {
        "IEEE 754": (size - 1, size),
        "OpenCL, full profile": (size, size),
        "WGSL": (size, size),
    }
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

    monkeypatch.setattr("conformance.judging.accuracy.bounds_for_accuracy", counting)
    counter = AccuracyCounter()
    first, *others = (output.expected for output in data_set.outputs)
    judge_backend(_Answering(first, *others), case, accuracy_counter=counter)
    assert asked == []
    for _ in range(2):
        inexact = off_by(data_set.outputs[X_NEW], told[0].bound)
        judge_backend(_Answering(inexact, *others), case, accuracy_counter=counter)
    assert len(asked) == 1


def test_accuracy_is_empty_without_a_counter(adam):
    case, data_set = adam
    assert judge_backend(_Answering(*(output.expected for output in data_set.outputs)), case).accuracy == {}


def test_explain_shows_the_attained_grade(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "reference")
    assert ended.status == 0
    assert re.search(r"\bX_new, .* 0: IEEE 754", ended.out)
    assert ended.out.count(f"reference {__version__} attains IEEE 754") == 3


def test_explain_reports_a_failing_backend(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "fake_subject:raises_on_run")
    assert (ended.status, ended.code) == (2, "usage.backend-failed")
