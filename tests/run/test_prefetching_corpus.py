"""Prefetching of the files of the next case."""

from __future__ import annotations

from corpora import ADAM, EXACT, SEVERAL
from refusals import assert_raises

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.run.prefetch import PrefetchingCorpus


def prefetch(corpus, case):
    """Prefetch all files of a case."""
    return [*corpus.prefetch_inputs(case), *corpus.prefetch_expected(case)]


def test_prefetched_file_is_returned_once(corpus_copy):
    corpus = PrefetchingCorpus.of(open_corpus(corpus_copy))
    entry = corpus.cases[ADAM]
    prefetch(corpus, entry)
    (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
    assert load_case(corpus, entry).model.graph.node
    with assert_raises("corpus.file-altered", ADAM):
        load_case(corpus, entry)


def test_files_not_prefetched_are_read_on_demand(opened):
    corpus = PrefetchingCorpus.of(opened)
    steps = corpus.prefetch_inputs(corpus.cases[ADAM])
    next(steps)
    assert len(list(load_case(corpus, corpus.cases[ADAM]).data_sets())) == 1


def test_inputs_are_prefetched_first(corpus_copy):
    corpus = PrefetchingCorpus.of(open_corpus(corpus_copy))
    list(corpus.prefetch_inputs(corpus.cases[ADAM]))
    for file in (corpus_copy / "node" / ADAM).rglob("*.*"):
        file.write_bytes(b"")
    case = load_case(corpus, corpus.cases[ADAM]).with_prefetched_inputs()
    assert len(case.prefetched_inputs) == len(case.model.graph.input)
    with assert_raises("corpus.file-altered", ADAM):
        list(case.data_sets())


def test_prefetch_with_only_model_skips_inputs(corpus_copy):
    corpus = PrefetchingCorpus.of(open_corpus(corpus_copy))
    list(corpus.prefetch_inputs(corpus.cases[ADAM], only_model=True))
    for file in (corpus_copy / "node" / ADAM).rglob("*.*"):
        file.write_bytes(b"")
    case = load_case(corpus, corpus.cases[ADAM])
    with assert_raises("corpus.file-altered", ADAM):
        case.with_prefetched_inputs()


def test_current_case_keeps_its_prefetched_files(corpus_copy):
    corpus = PrefetchingCorpus.of(open_corpus(corpus_copy))
    for id in (EXACT, ADAM, SEVERAL):
        prefetch(corpus, corpus.cases[id])
    for id in (EXACT, ADAM):
        (corpus_copy / "node" / id / "model.onnx").write_bytes(b"")
    assert load_case(corpus, corpus.cases[ADAM]).id == ADAM
    with assert_raises("corpus.file-altered", EXACT):
        load_case(corpus, corpus.cases[EXACT])


def test_altered_file_raises_when_it_is_used(corpus_copy):
    corpus = PrefetchingCorpus.of(open_corpus(corpus_copy))
    (corpus_copy / "node" / ADAM / "model.onnx").write_bytes(b"")
    prefetch(corpus, corpus.cases[ADAM])
    with assert_raises("corpus.file-altered", ADAM):
        load_case(corpus, corpus.cases[ADAM])
