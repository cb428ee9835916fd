"""Loading of cases whose files have the right hashes but the wrong content."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from corpora import ADAM, INDEX, rehash
from corrupted_corpora import INPUT, MODEL, load_adam, replace_file
from refusals import assert_raises

from conformance.corpus.case_json import read_case_json
from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.corpus.loading import load_case
from conformance.models.arrays import tensor_of


class TestMalformedCase:
    """Files whose hashes are right, but whose content is malformed."""

    @pytest.mark.parametrize("content", [b"", b"\xff\xff\xff", b"no protobuf at all"], ids=["empty", "binary", "text"])
    @pytest.mark.parametrize("what", ["input", "output", "bound"])
    def test_malformed_tensor_is_a_corpus_error(self, corpus_copy, what, content):
        replace_file(corpus_copy, INPUT.replace("input", what), content)
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    def test_malformed_model_is_a_corpus_error(self, corpus_copy):
        replace_file(corpus_copy, MODEL, b"no protobuf at all")
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            load_adam(corpus_copy)

    def test_output_missing_in_files_and_manifest_is_detected(self, corpus_copy):
        gone = "test_data_set_0/output_1.pb"
        (corpus_copy / "node" / ADAM / gone).unlink()
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        del cases[f"node/{ADAM}"][gone]
        rehash(corpus_copy, cases)
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    def test_case_without_data_sets_is_rejected(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        cases[f"node/{ADAM}"] = {
            file: hash for file, hash in cases[f"node/{ADAM}"].items() if not file.startswith("test_data_set")
        }
        rehash(corpus_copy, cases)
        with assert_raises("corpus.malformed", ADAM):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"], ids=repr)
    def test_malformed_case_json_is_rejected(self, corpus_copy, content):
        replace_file(corpus_copy, f"node/{ADAM}/case.json", content)
        with assert_raises("corpus.malformed", f"node/{ADAM}/case.json"):
            read_case_json(corpus := open_corpus(corpus_copy), corpus.cases[ADAM])

    @pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
    def test_bound_of_another_shape_is_not_broadcast(self, corpus_copy, shape):
        bound = tensor_of(np.full(shape, 1e9), "X_new").SerializeToString()
        replace_file(corpus_copy, f"node/{ADAM}/test_data_set_0/bound_0.pb", bound)
        with assert_raises("corpus.malformed", "bound", "X_new", shape):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("choices", [np.ones((4,), bool), np.ones((1, 1, 9), bool), np.ones((2, 4))], ids=str)
    def test_choices_of_another_shape_are_rejected(self, corpus_copy, choices):
        (path,) = (corpus_copy / "pass" / INDEX).glob("test_data_set_0/accept_0.pb")
        replace_file(corpus_copy, path.relative_to(corpus_copy).as_posix(), tensor_of(choices).SerializeToString())
        corpus = open_corpus(corpus_copy)
        with assert_raises("corpus.malformed", INDEX):
            list(load_case(corpus, corpus.cases[INDEX]).data_sets())
