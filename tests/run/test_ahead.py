"""Reading ahead: the next case's files are read while a subject works, and told of as if they had not been."""

from __future__ import annotations

import select
import sys

import pytest
from corpora import ADAM, EXACT, SEVERAL
from outputs import results_of

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.isolation.failures import TimedOut
from conformance.isolation.limits import Limits
from conformance.isolation.process import SubjectProcess
from conformance.run.ahead import CorpusAhead

ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: print(line, end='')")


@pytest.fixture
def echo():
    """A process that answers each line with the same line."""
    process = SubjectProcess(ECHO, Limits())
    yield process
    process.end()


@pytest.fixture
def waiting(here):
    """A process that answers a line once there is a file."""
    wait = f"while not os.path.exists({str(here / 'go')!r}): time.sleep(0.01)"
    source = (
        f"import os, sys, time\nline = input()\n{wait}\nsys.stdout.write(line + chr(10))"  # at once: print writes twice
    )
    process = SubjectProcess((sys.executable, "-u", "-c", source), Limits())
    yield process
    process.end()


class TestTheWait:
    def test_steps_are_taken_until_there_is_an_answer(self, waiting, here):
        def steps():
            yield taken.append("first")
            (here / "go").touch()
            select.select([waiting._out], [], [])
            yield taken.append("second")
            yield taken.append("third")

        taken = []
        assert waiting.ask(b"1\n", "echo", 60, steps()) == b"1"
        assert taken == ["first", "second"]

    def test_an_answer_that_waits_for_a_step_is_not_late(self, echo):
        def step():
            select.select([echo._out], [], [])
            yield

        assert echo.ask(b"1\n", "echo", 0, step()) == b"1"

    def test_one_that_has_not_come_after_the_last_step_is(self):
        silent = SubjectProcess((sys.executable, "-c", "import time; time.sleep(600)"), Limits(timeout=0.1))
        with pytest.raises(TimedOut, match=r"did not answer `echo` within 0.1 s"):
            silent.ask(b"1\n", "echo", 0.1, iter([None] * 3))


class TestTheCorpus:
    def test_what_was_read_ahead_is_given_once(self, corpus_copy):
        corpus = CorpusAhead.of(open_corpus(corpus_copy))
        entry = corpus.cases[ADAM]
        list(corpus.ahead(entry))
        (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
        assert load_case(corpus, entry).model.graph.node
        with pytest.raises(CorpusError, match="altered or truncated"):
            load_case(corpus, entry)

    def test_what_was_not_read_yet_is_read_when_it_is_asked_for(self, opened):
        corpus = CorpusAhead.of(opened)
        steps = corpus.ahead(corpus.cases[ADAM])
        next(steps)
        assert len(list(load_case(corpus, corpus.cases[ADAM]).data_sets())) == 1

    def test_the_case_that_is_run_keeps_what_was_read_of_it(self, corpus_copy):
        corpus = CorpusAhead.of(open_corpus(corpus_copy))
        for id in (EXACT, ADAM, SEVERAL):
            list(corpus.ahead(corpus.cases[id]))
        for id in (EXACT, ADAM):
            (corpus_copy / "node" / id / "model.onnx").write_bytes(b"")
        assert load_case(corpus, corpus.cases[ADAM]).id == ADAM
        with pytest.raises(CorpusError, match="altered or truncated"):
            load_case(corpus, corpus.cases[EXACT])

    def test_one_that_cannot_be_read_is_told_of_when_it_is_asked_for(self, corpus_copy):
        corpus = CorpusAhead.of(open_corpus(corpus_copy))
        (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
        list(corpus.ahead(corpus.cases[ADAM]))
        with pytest.raises(CorpusError, match="altered or truncated"):
            load_case(corpus, corpus.cases[ADAM])


@pytest.mark.parametrize("where", ["--isolated", "--in-process"])
def test_a_run_has_the_same_verdicts(command, small_corpus, here, where):
    apart = () if where == "--isolated" else (where,)
    ended = command("run", "-b", "fake_backends:WrongOnArgMax", "--data", small_corpus, *apart, "--results", "r.jsonl")
    assert ended.status == 1
    verdicts = [result["verdict"] for result in results_of(here / "r.jsonl").values()]
    assert sorted(verdicts) == ["fail"] * 2 + ["pass"] * 5
