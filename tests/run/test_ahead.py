"""Reading ahead: the next case is read while a subject works, once, and told of as if it had not been."""

from __future__ import annotations

import select
import sys

import pytest
from corpora import ADAM, SEVERAL
from outputs import results_of

from conformance.corpus.corpus import open_corpus
from conformance.errors import CorpusError
from conformance.isolation.limits import Limits
from conformance.isolation.process import SubjectProcess
from conformance.run.ahead import ReadingAhead

ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: print(line, end='')")


@pytest.fixture
def echo():
    """A process that answers each line with the same line."""
    process = SubjectProcess(ECHO, Limits())
    yield process
    process.end()


class TestTheWait:
    def test_what_is_to_be_done_meanwhile_is_done_before_the_answer_is_read(self, echo):
        done = []
        assert echo.ask(b"1\n", "echo", 60, lambda: done.append("meanwhile")) == b"1"
        assert done == ["meanwhile"]

    def test_an_answer_that_waits_for_it_is_not_late(self, echo):
        def until_there_is_an_answer():
            select.select([echo._out], [], [])

        assert echo.ask(b"1\n", "echo", 0, until_there_is_an_answer) == b"1"


class TestTheCase:
    def test_one_that_was_read_is_given_once(self, opened):
        cases, entry = ReadingAhead(opened), opened.cases[ADAM]
        cases.read(entry)
        first, second = cases.case(entry), cases.case(entry)
        assert first.model == second.model
        assert first.model is not second.model

    def test_it_is_what_it_was_when_it_was_read(self, corpus_copy):
        corpus = open_corpus(corpus_copy)
        cases, entry = ReadingAhead(corpus), corpus.cases[ADAM]
        cases.read(entry)
        (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
        assert cases.case(entry).model.graph.node

    def test_another_than_expected_is_read_now(self, opened):
        cases = ReadingAhead(opened)
        cases.read(opened.cases[ADAM])
        assert cases.case(opened.cases[SEVERAL]).id == SEVERAL

    def test_one_that_cannot_be_read_is_told_of_when_it_is_asked_for(self, corpus_copy):
        corpus = open_corpus(corpus_copy)
        (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
        cases = ReadingAhead(corpus)
        cases.read(corpus.cases[ADAM])
        with pytest.raises(CorpusError, match="altered or truncated"):
            cases.case(corpus.cases[ADAM])


@pytest.mark.parametrize("where", ["--isolated", "--in-process"])
def test_a_run_has_the_same_verdicts(command, small_corpus, here, where):
    apart = () if where == "--isolated" else (where,)
    ended = command("run", "-b", "fake_backends:WrongOnArgMax", "--data", small_corpus, *apart, "--results", "r.jsonl")
    assert ended.status == 1
    verdicts = [result["verdict"] for result in results_of(here / "r.jsonl").values()]
    assert sorted(verdicts) == ["fail"] * 2 + ["pass"] * 5
