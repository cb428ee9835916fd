"""The committed corpus: whole, bundled, told as it is defined, and of what its schema says."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import onnx
import pytest
from model_refusals import checker_refusal
from outputs import tree
from repository import DATA

from conformance.clauses import clauses
from conformance.corpus.corpus import MANIFEST, RELEASED, bundled, open_corpus
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.schemas import complaint
from conformance.verdicts import Level


@pytest.fixture(scope="module")
def committed():
    return open_corpus(DATA)


@pytest.fixture(scope="module")
def documents(committed):
    """Every committed case.json by the case's id."""
    return {id: case_json(committed, case) for id, case in committed.cases.items()}


class TestCommittedCorpus:
    @pytest.mark.whole
    def test_it_is_whole(self, committed):
        assert committed.verify() == len(tree(DATA)) - len({MANIFEST, RELEASED})

    def test_it_is_the_bundled_one(self):
        assert (bundled() / MANIFEST).read_bytes() == (DATA / MANIFEST).read_bytes()

    def test_every_case_json_satisfies_its_schema(self, documents):
        assert not {
            id: complaint("case", document) for id, document in documents.items() if complaint("case", document)
        }

    def test_its_cases_are_those_of_the_generators(self, documents, defined):
        assert set(documents) == set(defined)

    def test_every_case_is_told_as_its_generator_defines_it(self, committed, documents, defined):
        for id, (generator, case) in defined.items():
            told = documents[id]
            assert (told["generator"], told["level"], told["title"]) == (generator, case.level, case.title), id
            assert (told["clauses"], told["tags"]) == (list(case.clauses), list(case.tags)), id
            assert committed.cases[id].path == case.path

    def test_its_manifest_has_every_case_s_level(self, committed, documents):
        assert {id: case.level for id, case in committed.cases.items()} == {
            id: document["level"] for id, document in documents.items()
        }

    def test_every_case_names_known_clauses_the_chief_one_of_its_own_subject(self, documents):
        for id, document in documents.items():
            assert set(document["clauses"]) <= set(clauses()), id
            subject = document["clauses"][0].partition(".")[0]
            assert subject in {"adam", "adagrad", "momentum", "argmax", "monotone"}, id
            if subject in {"adam", "adagrad", "momentum"}:
                assert subject in document["tags"], id

    def test_every_clause_of_a_must_case_points_at_its_passage(self, documents):
        accusing = {c for document in documents.values() if document["level"] == "must" for c in document["clauses"]}
        assert not {clause for clause in accusing if not clauses()[clause].passages}

    def test_every_clause_has_a_case(self, documents):
        tested = {clause for document in documents.values() for clause in document["clauses"]}
        assert not set(clauses()) - tested

    def test_every_clause_has_a_must_or_should_case(self, documents):
        tested = {c for document in documents.values() if document["level"] != "silent" for c in document["clauses"]}
        assert not set(clauses()) - tested

    def test_titles_state_facts(self, documents):
        vague = re.compile(r"\b(should|must|tests? that|checks? that|verif(y|ies))\b", re.IGNORECASE)
        assert not [document["title"] for document in documents.values() if vague.search(document["title"])]

    def test_clauses_have_a_source_and_a_sentence(self):
        assert all(clause.source and clause.text.endswith(".") for clause in clauses().values())

    def test_every_model_but_the_invalid_is_one_that_onnx_accepts(self, committed):
        valid = [case for case in committed.cases.values() if not case.is_invalid]
        models = {case.id: onnx.load_model_from_string(committed.read(case, "model.onnx")) for case in valid}
        assert {id: why for id, model in models.items() if (why := checker_refusal(model))} == {}

    def test_every_model_pins_its_ir_version_and_opsets(self, documents):
        models = [document["model"] for document in documents.values() if "invalid_models" not in document["tags"]]
        assert {model["ir_version"] for model in models} == {3, 4, 5, 6, 7, 8, 9, 10, 11}
        assert all(model["opset_imports"] for model in models)

    def test_data_sets_of_a_case_have_one_shape_unless_it_is_about_sizes(self, documents):
        several = {
            id
            for id, document in documents.items()
            if len({repr([tensor["shape"] for tensor in each["inputs"]]) for each in document["data_sets"]}) > 1
        }
        assert several == {id for id, document in documents.items() if "sizes" in document["tags"]}
        assert several

    @pytest.mark.whole
    def test_no_must_case_has_an_infinite_bound(self, committed, documents):
        for id, case in committed.cases.items():
            if documents[id]["level"] == Level.MUST:
                for data_set in load_case(committed, case).data_sets():
                    assert not any(np.isinf(out.bound).any() for out in data_set.outputs if out.bound is not None), id

    def test_a_title_that_rules_nan_out_has_no_element_that_accepts_it(self, committed, documents):
        for id in (id for id, document in documents.items() if "no NaN" in document["title"]):
            for data_set in load_case(committed, committed.cases[id]).data_sets():
                assert not any(np.isinf(out.bound).any() for out in data_set.outputs if out.bound is not None), id

    def test_integer_outputs_are_exact_or_indices(self, documents):
        checks = Counter(
            (output["type"], output["check"])
            for document in documents.values()
            for data_set in document["data_sets"]
            for output in data_set["outputs"]
        )
        assert {check for type, check in checks if type == "int64"} == {"exact", "index"}
