"""What a run reads of the next case while a subject works: told of as if it had not been, the questions first."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, SEVERAL

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.run.ahead import CorpusAhead


def read_ahead(corpus, case):
    """Take all steps ahead of a case."""
    return [*corpus.questions_ahead(case), *corpus.answers_ahead(case)]


def test_what_was_read_ahead_is_given_once(corpus_copy):
    corpus = CorpusAhead.of(open_corpus(corpus_copy))
    entry = corpus.cases[ADAM]
    read_ahead(corpus, entry)
    (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
    assert load_case(corpus, entry).model.graph.node
    with pytest.raises(CorpusError, match="altered or truncated"):
        load_case(corpus, entry)


def test_what_was_not_read_yet_is_read_when_it_is_asked_for(opened):
    corpus = CorpusAhead.of(opened)
    steps = corpus.questions_ahead(corpus.cases[ADAM])
    next(steps)
    assert len(list(load_case(corpus, corpus.cases[ADAM]).data_sets())) == 1


def test_what_it_takes_to_ask_is_read_first(corpus_copy):
    corpus = CorpusAhead.of(open_corpus(corpus_copy))
    list(corpus.questions_ahead(corpus.cases[ADAM]))
    for file in (corpus_copy / "node" / ADAM).rglob("*.*"):
        file.write_bytes(b"")
    case = load_case(corpus, corpus.cases[ADAM]).with_early_inputs()
    assert len(case.early) == len(case.model.graph.input)
    with pytest.raises(CorpusError, match="altered or truncated"):
        list(case.data_sets())


def test_no_more_than_the_model_is_read_where_it_may_be_refused(corpus_copy):
    corpus = CorpusAhead.of(open_corpus(corpus_copy))
    list(corpus.questions_ahead(corpus.cases[ADAM], with_inputs=False))
    for file in (corpus_copy / "node" / ADAM).rglob("*.*"):
        file.write_bytes(b"")
    case = load_case(corpus, corpus.cases[ADAM])
    with pytest.raises(CorpusError, match="altered or truncated"):
        case.with_early_inputs()


def test_the_case_that_is_run_keeps_what_was_read_of_it(corpus_copy):
    corpus = CorpusAhead.of(open_corpus(corpus_copy))
    for id in (EXACT, ADAM, SEVERAL):
        read_ahead(corpus, corpus.cases[id])
    for id in (EXACT, ADAM):
        (corpus_copy / "node" / id / "model.onnx").write_bytes(b"")
    assert load_case(corpus, corpus.cases[ADAM]).id == ADAM
    with pytest.raises(CorpusError, match="altered or truncated"):
        load_case(corpus, corpus.cases[EXACT])


def test_one_that_cannot_be_read_is_told_of_when_it_is_asked_for(corpus_copy):
    corpus = CorpusAhead.of(open_corpus(corpus_copy))
    (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
    read_ahead(corpus, corpus.cases[ADAM])
    with pytest.raises(CorpusError, match="altered or truncated"):
        load_case(corpus, corpus.cases[ADAM])
