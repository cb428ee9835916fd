"""An answer's quality is the strictest accuracy of operations that makes it possible; no verdict rests on it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from corpora import ADAM, write_corpus

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import case_in_memory
from conformance.judging.backend import judge_backend
from conformance.judging.quality import Qualities, attained, qualities
from conformance.models.formats import FLOAT
from conformance.reference.numbers.accuracy import MUST, WGSL
from conformance.reference.oracle import bounds_under
from conformance.verdicts import Verdict

DOUBLE = "test_adam_shape_2x3x4_double"

X_NEW = 0


@pytest.fixture(scope="module")
def adam(small_corpus):
    """A case of floats with T = 0, and its one data set."""
    corpus = open_corpus(small_corpus)
    case = case_in_memory(corpus, corpus.cases[ADAM])
    return case, next(iter(case.data_sets()))


@pytest.fixture(scope="module")
def told(adam):
    return qualities(*adam)[X_NEW]


def off_by(output, bound):
    """An answer as far above what is expected as a bound has it, rounded towards that."""
    beyond = (output.expected.astype(np.float64) + bound).astype(output.expected.dtype)
    too_far = beyond - output.expected.astype(np.float64) > bound
    return np.where(too_far, np.nextafter(beyond, output.expected), beyond).astype(output.expected.dtype)


def test_a_float_has_three_each_wider_than_the_one_before(told):
    assert [quality.name for quality in told] == ["IEEE 754", "OpenCL, full profile", "WGSL"]
    assert (told[0].bound < told[1].bound).all()
    assert (told[1].bound < told[2].bound).all()


def test_what_must_admits_of_a_float_is_opencl_s_full_profile(adam, told):
    assert (told[1].bound == adam[1].outputs[X_NEW].bound).all()


def test_an_answer_attains_the_strictest_that_has_room_for_it(adam, told):
    output = adam[1].outputs[X_NEW]
    assert attained(output, told, output.expected) == "IEEE 754"
    for quality in told[:2]:  # between the last two there is no float
        assert attained(output, told, off_by(output, quality.bound)) == quality.name


def test_what_none_has_room_for_is_acceptable_or_not(adam, told):
    output = adam[1].outputs[X_NEW]
    far = off_by(output, 2 * told[1].bound)
    assert attained(output, told, far) == "none of these, and not acceptable"
    assert attained(output, told[:1], off_by(output, told[1].bound)) == "none of these, but acceptable"


def test_a_double_is_told_nothing_of_wgsl(defined, tmp_path):
    write_corpus(tmp_path / "double", [defined[DOUBLE][1]])
    corpus = open_corpus(tmp_path / "double")
    case = case_in_memory(corpus, corpus.cases[DOUBLE])
    names = {quality.name for told in qualities(case, next(iter(case.data_sets()))) for quality in told}
    assert names == {"IEEE 754", "OpenCL, full profile"}


def test_a_power_is_given_what_its_logarithm_loses():
    count, base = Decimal(1000), Decimal("0.999").ln()
    errors = [accuracy["float"].power_error(count, base, FLOAT.unit_roundoff) for accuracy in (MUST, WGSL)]
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
    return judge_backend(_Answering(output, *others), case, qualities=Qualities())


def within(outcome):
    return {name: (counts["within"], counts["elements"]) for name, counts in outcome.quality.items()}


def test_elements_are_counted_by_quality_and_what_has_one_has_all_that_ask_for_less(adam, told):
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


def test_what_does_not_fit_has_no_quality(adam):
    case, data_set = adam
    first, *others = (output.expected for output in data_set.outputs)
    outcome = judged(case, first.astype(np.float64), *others)
    size = sum(output.expected.size for output in data_set.outputs)
    assert within(outcome)["WGSL"] == (size - first.size, size)
    assert outcome.verdict is Verdict.FAIL


def test_bounds_are_computed_for_what_differs_only_and_once(adam, told, monkeypatch):
    case, data_set = adam
    asked = []

    def counting(*given):
        asked.append(given)
        return bounds_under(*given)

    monkeypatch.setattr("conformance.judging.quality.bounds_under", counting)
    qualities = Qualities()
    first, *others = (output.expected for output in data_set.outputs)
    judge_backend(_Answering(first, *others), case, qualities=qualities)
    assert asked == []
    for _ in range(2):
        inexact = off_by(data_set.outputs[X_NEW], told[0].bound)
        judge_backend(_Answering(inexact, *others), case, qualities=qualities)
    assert len(asked) == 1


def test_nothing_is_told_where_it_is_not_asked_for(adam):
    case, data_set = adam
    assert judge_backend(_Answering(*(output.expected for output in data_set.outputs)), case).quality == {}


def test_explain_tells_what_a_backend_attains(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "reference")
    assert ended.status == 0
    assert "quality of X_new, data set 0: IEEE 754" in ended.out
    assert ended.out.count("reference attains IEEE 754") == 3


def test_explain_says_that_a_backend_has_no_answer(command, small_corpus):
    ended = command("explain", ADAM, "--data", small_corpus, "-b", "raising_backends:RaisesOnRun")
    assert ended.status == 2
    assert "cannot run this model" in ended.err
