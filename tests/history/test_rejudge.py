"""Judging of stored results with other corpora: bounds, expected outputs and inputs that changed."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, INDEX
from fake_subject import always_right
from history_stores import OneStepOff, add_release, change_tensor, write_three_cases

from conformance.history.rejudge import judge_again
from conformance.history.store import HistoryStore

BOUND = "test_data_set_0/bound_0.pb"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_three_cases(tmp_path_factory.mktemp("corpora") / "three")


@pytest.fixture
def store(tmp_path):
    return HistoryStore(tmp_path / "store")


def verdicts(judged):
    return {case: result.verdict for case, result in judged.results.items()}


def test_stored_outputs_fail_with_smaller_bound_and_pass_again_with_old_bound(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", OneStepOff)
    assert verdicts(judge_again(store, stored, corpus)) == dict.fromkeys([ADAM, EXACT, INDEX], "pass")
    narrow = change_tensor(corpus, ADAM, BOUND, 0.0, tmp_path / "narrow")
    judged = judge_again(store, stored, narrow)
    assert verdicts(judged) == {ADAM: "fail", EXACT: "pass", INDEX: "pass"}
    assert (judged.judged, judged.missing) == (1, [])
    assert judged.results[ADAM].outputs[0].wrong > 0
    assert judged.results[ADAM].unexpected


def test_expected_flag_stands_only_for_expected_outputs_of_its_corpus(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", always_right)
    off = add_release(store, corpus, "1.1", OneStepOff)
    other = change_tensor(corpus, EXACT, "test_data_set_0/output_0.pb", 2, tmp_path / "other")
    assert judge_again(store, stored, other).missing == [EXACT]
    wide = change_tensor(corpus, ADAM, "test_data_set_0/output_0.pb", 2.0, tmp_path / "wide")
    judged = judge_again(store, off, wide)
    assert verdicts(judged)[ADAM] == "fail"
    assert judged.missing == []


def test_case_with_other_inputs_must_run(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", OneStepOff)
    other = change_tensor(corpus, ADAM, "test_data_set_0/input_2.pb", 2.0, tmp_path / "other")
    judged = judge_again(store, stored, other)
    assert judged.missing == [ADAM]
    assert verdicts(judged) == {EXACT: "pass", INDEX: "pass"}
