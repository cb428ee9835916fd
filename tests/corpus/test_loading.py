"""Cases of another making: the corpus has them, and they are none."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from corpora import ADAM, INDEX, rehash
from spoilt_corpora import INPUT, MODEL, loaded_from, replace_file

from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.models.arrays import tensor_of


class TestForeignCase:
    """Cases whose files are as hashed, but are not what their names say."""

    @pytest.mark.parametrize("content", [b"", b"\xff\xff\xff", b"no protobuf at all"], ids=["empty", "binary", "text"])
    @pytest.mark.parametrize("what", ["input", "output", "bound"])
    def test_a_tensor_of_another_kind_is_no_verdict(self, corpus_copy, what, content):
        replace_file(corpus_copy, INPUT.replace("input", what), content)
        with pytest.raises(CorpusError, match=f"node/{ADAM}"):
            list(loaded_from(corpus_copy).data_sets())

    def test_a_model_of_another_kind_is_no_verdict(self, corpus_copy):
        replace_file(corpus_copy, MODEL, b"no protobuf at all")
        with pytest.raises(CorpusError, match=f"node/{ADAM}"):
            loaded_from(corpus_copy)

    def test_an_output_that_is_missing_from_the_manifest_too_is_noticed(self, corpus_copy):
        gone = "test_data_set_0/output_1.pb"
        (corpus_copy / "node" / ADAM / gone).unlink()
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        del cases[f"node/{ADAM}"][gone]
        rehash(corpus_copy, cases)
        with pytest.raises(CorpusError, match=f"node/{ADAM}"):
            list(loaded_from(corpus_copy).data_sets())

    def test_a_case_without_data_sets_is_refused(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        cases[f"node/{ADAM}"] = {
            file: hash for file, hash in cases[f"node/{ADAM}"].items() if not file.startswith("test_data_set")
        }
        rehash(corpus_copy, cases)
        with pytest.raises(CorpusError):
            list(loaded_from(corpus_copy).data_sets())

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"], ids=repr)
    def test_a_case_json_of_another_form_is_refused(self, corpus_copy, content):
        replace_file(corpus_copy, f"node/{ADAM}/case.json", content)
        with pytest.raises(CorpusError, match=f"node/{ADAM}/case.json"):
            case_json(corpus := open_corpus(corpus_copy), corpus.cases[ADAM])

    @pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
    def test_a_bound_of_another_shape_than_its_output_is_refused_and_not_broadcast(self, corpus_copy, shape):
        bound = tensor_of(np.full(shape, 1e9), "X_new").SerializeToString()
        replace_file(corpus_copy, f"node/{ADAM}/test_data_set_0/bound_0.pb", bound)
        with pytest.raises(CorpusError, match=r"the bound of X_new has shape"):
            list(loaded_from(corpus_copy).data_sets())

    @pytest.mark.parametrize("choices", [np.ones((4,), bool), np.ones((1, 1, 9), bool), np.ones((2, 4))], ids=str)
    def test_acceptable_indices_that_do_not_fit_their_output_are_refused(self, corpus_copy, choices):
        (path,) = (corpus_copy / "pass" / INDEX).glob("test_data_set_0/accept_0.pb")
        replace_file(corpus_copy, path.relative_to(corpus_copy).as_posix(), tensor_of(choices).SerializeToString())
        corpus = open_corpus(corpus_copy)
        with pytest.raises(CorpusError, match="the acceptable indices of index do not fit"):
            list(load_case(corpus, corpus.cases[INDEX]).data_sets())
