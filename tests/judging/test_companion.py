"""Models prepared beside each other: what they share shows, and what they do not share is no accusation."""

from __future__ import annotations

import json
from dataclasses import replace

import fake_subject as fakes
import pytest
from corpora import rehash, write_corpus
from isolation_support import isolated_subject

from conformance.corpus.case_json import COMPANION_FILE, verify_companions
from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.isolation.start_subjects import client_of
from conformance.judging.backend import judge_backend
from conformance.verdicts import Verdict
from generators.argmax.preparation import cases

TWICE, FIRST, LAST = "test_argmax_prepared_twice", "test_argmax_in_turns_first", "test_argmax_in_turns_last"


@pytest.fixture
def corpus(tmp_path):
    write_corpus(tmp_path / "corpus", cases())
    return open_corpus(tmp_path / "corpus")


@pytest.fixture
def outcome(corpus):
    """What becomes of a case on a backend, in this process or apart from it."""
    started = []

    def outcome(fake, id, *, isolated):
        target = fake
        if isolated:
            started.append(isolated_subject(f"{fake.__module__}:{fake.__name__}"))
            target = started[-1].target
        return judge_backend(target, load_case(corpus, corpus.cases[id]))

    yield outcome
    for subject in started:
        client_of(subject).stop()


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("id", [TWICE, FIRST, LAST])
def test_correct_backend_passes_with_a_companion(outcome, id, isolated):
    assert outcome(fakes.always_right, id, isolated=isolated).verdict is Verdict.PASS


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("id", [FIRST, LAST])
def test_backend_that_runs_the_newest_model_fails(outcome, id, isolated):
    assert outcome(fakes.keeps_the_newest_model, id, isolated=isolated).verdict is Verdict.FAIL


@pytest.mark.parametrize("isolated", [False, True])
def test_input_shared_between_two_models_fails(outcome, isolated):
    assert outcome(fakes.keeps_the_last_input, TWICE, isolated=isolated).verdict is Verdict.FAIL


@pytest.mark.parametrize("isolated", [False, True])
def test_overwritten_output_fails_at_should(outcome, isolated):
    result = outcome(fakes.reuses_its_buffers, TWICE, isolated=isolated)
    assert (result.verdict, result.phase) == (Verdict.FAIL, "compare")
    assert result.message == (
        "kept_outputs: index of data set 0 has been overwritten by a later run (and 1 more output)"
    )
    assert [(check.name, check.level) for check in result.checks] == [("kept_outputs", "should")]


def test_wrong_answer_precedes_an_overwritten_output(outcome):
    class ReusesItsBuffersWrongly(fakes.reuses_its_buffers):
        def answer(self, inputs, outputs):
            return super().answer(inputs, [output + 1 for output in outputs])

    result = outcome(ReusesItsBuffersWrongly, TWICE, isolated=False)
    assert (result.verdict, result.checks) == (Verdict.FAIL, ())


@pytest.mark.parametrize("content", [b"{}", b"[", b'{"case": "test_no_such"}', b'{"case": 1}'])
def test_malformed_companion_is_rejected(corpus, content):
    (corpus.path / f"node/{TWICE}/{COMPANION_FILE}").write_bytes(content)
    cases = json.loads((corpus.path / MANIFEST).read_text())["cases"]
    rehash(corpus.path, cases)
    spoilt = open_corpus(corpus.path)
    with pytest.raises(CorpusError):
        verify_companions(spoilt)
    with pytest.raises(CorpusError):
        judge_backend(fakes.always_right, load_case(spoilt, spoilt.cases[TWICE]))


def test_harness_with_one_model_gets_no_companion(corpus):
    subject = isolated_subject(f"{fakes.__name__}:keeps_the_newest_model")
    client = client_of(subject)
    client.known_info = replace(client.info(), models=1)
    assert judge_backend(subject.target, load_case(corpus, corpus.cases[FIRST])).verdict is Verdict.PASS
    client.stop()
