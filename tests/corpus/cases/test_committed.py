"""The committed corpus: complete, bundled, equal to its definition, and valid by its schemas."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_refusals import checker_refusal
from msgspec import to_builtins
from repository import DATA

from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.corpus.cases.corpus import MANIFEST, RELEASED, bundled_corpus_path, open_corpus
from conformance.exact.clauses import Conclusion, clauses


@pytest.fixture(scope="module")
def committed():
    return open_corpus(DATA)


@pytest.fixture(scope="module")
def documents(committed):
    """Return every committed case.json by the case's id."""
    return {id: to_builtins(read_case_json(committed, case)) for id, case in committed.cases.items()}


class TestCommittedCorpus:
    @pytest.mark.whole
    @pytest.mark.long
    def test_corpus_is_complete(self, committed):
        assert committed.verify() == sum(map(Path.is_file, DATA.rglob("*"))) - len({MANIFEST, RELEASED})

    def test_committed_corpus_is_bundled(self):
        assert (bundled_corpus_path() / MANIFEST).read_bytes() == (DATA / MANIFEST).read_bytes()

    def test_case_json_files_satisfy_the_schema(self, documents):
        assert not {
            id: schema_violation("case", document)
            for id, document in documents.items()
            if schema_violation("case", document)
        }

    def test_manifest_has_the_level_of_each_case(self, committed, documents):
        assert {id: case.level for id, case in committed.cases.items()} == {
            id: document["level"] for id, document in documents.items()
        }

    def test_must_cases_rest_on_a_clause_that_its_passages_support(self, documents):
        supported = {Conclusion.STATED, Conclusion.FOLLOWS}
        assert not [
            id
            for id, document in documents.items()
            if document["level"] == "must" and clauses()[document["clauses"][0]].conclusion not in supported
        ]

    def test_cases_name_known_clauses_of_their_operator_first(self, documents):
        for id, document in documents.items():
            assert set(document["clauses"]) <= set(clauses()), id
            subject = document["clauses"][0].partition(".")[0]
            assert subject in {"adam", "adagrad", "momentum", "argmax", "monotone"}, id
            if subject in {"adam", "adagrad", "momentum"}:
                assert subject in document["tags"], id

    def test_clauses_of_must_cases_have_a_locator(self, documents):
        accusing = {c for document in documents.values() if document["level"] == "must" for c in document["clauses"]}
        assert not {clause for clause in accusing if not clauses()[clause].passages}

    def test_clauses_all_have_a_case(self, documents):
        tested = {clause for document in documents.values() for clause in document["clauses"]}
        assert not set(clauses()) - tested

    def test_clauses_all_have_a_must_or_should_case(self, documents):
        tested = {c for document in documents.values() if document["level"] != "silent" for c in document["clauses"]}
        assert not set(clauses()) - tested

    def test_titles_are_sentences(self, documents):
        vague = re.compile(r"\b(should|must|tests? that|checks? that|verif(y|ies))\b", re.IGNORECASE)
        assert not [document["title"] for document in documents.values() if vague.search(document["title"])]

    def test_clauses_have_a_source_and_a_sentence(self):
        assert all(clause.source and clause.text.endswith(".") for clause in clauses().values())

    def test_valid_models_pass_onnx_checker(self, committed):
        valid = [case for case in committed.cases.values() if not case.is_invalid]
        models = {case.id: onnx.load_model_from_string(committed.read(case, "model.onnx")) for case in valid}
        assert {id: why for id, model in models.items() if (why := checker_refusal(model))} == {}

    def test_models_pin_ir_version_and_opsets(self, documents):
        models = [document["model"] for document in documents.values() if "invalid_models" not in document["tags"]]
        assert {model["ir_version"] for model in models} == {3, 4, 5, 6, 7, 8, 9, 10, 11}
        assert all(model["opset_imports"] for model in models)

    def test_data_sets_have_equal_shapes_except_for_size_cases(self, documents):
        several = {
            id
            for id, document in documents.items()
            if len({repr([tensor["shape"] for tensor in each["inputs"]]) for each in document["data_sets"]}) > 1
        }
        assert several - {"test_argmax_nested_loops"} == {
            id for id, document in documents.items() if {"sizes", "program=shapes"} & {*document["tags"]}
        }
        assert several

    @pytest.mark.long
    def test_must_cases_have_finite_bounds(self, committed, documents):
        for id, case in committed.cases.items():
            if documents[id]["level"] == Level.MUST:
                for data_set in load_case(committed, case).data_sets():
                    assert not any(np.isinf(out.bound).any() for out in data_set.outputs if out.bound is not None), id

    def test_cases_titled_no_nan_accept_no_nan(self, committed, documents):
        for id in (id for id, document in documents.items() if "no NaN" in document["title"]):
            for data_set in load_case(committed, committed.cases[id]).data_sets():
                assert not any(np.isinf(out.bound).any() for out in data_set.outputs if out.bound is not None), id

    def test_integer_outputs_have_no_bound(self, documents):
        checks = Counter(
            (output["type"], output["check"])
            for document in documents.values()
            for data_set in document["data_sets"]
            for output in data_set["outputs"]
        )
        assert {check for type, check in checks if type == "int64"} == {"exact", "index"}
