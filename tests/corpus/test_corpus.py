"""The frozen corpus: refused unless whole, and what the committed one holds."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter

import numpy as np
import onnx
import pytest
from support import ADAM, DATA, EXACT, SMALL, rehash, tree

from conformance.clauses import clauses
from conformance.corpus.corpus import MANIFEST, bundled, find_case, open_corpus
from conformance.corpus.document import case_json
from conformance.corpus.loading import LoadedCase, load_case
from conformance.errors import CorpusError, UnknownName
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.schemas import complaint
from conformance.verdicts import Level

MODEL = f"node/{ADAM}/model.onnx"
INPUT = f"node/{ADAM}/test_data_set_0/input_0.pb"


def refusal(directory, *, read: bool = False) -> CorpusError:
    """What opening the corpus, or reading all of it, is refused with."""
    with pytest.raises(CorpusError) as refused:
        corpus = open_corpus(directory)
        if read:
            corpus.verify()
    assert refused.value.mend.endswith(".")
    return refused.value


def edit_manifest(directory, edit) -> None:
    """Change the manifest's document in place; the digest stays as it was."""
    path = directory / MANIFEST
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def loaded_from(directory) -> LoadedCase:
    """The case ADAM of a corpus."""
    corpus = open_corpus(directory)
    return load_case(corpus, corpus.cases[ADAM])


def replace_file(directory, path: str, content: bytes) -> None:
    """Give a file another content, and the manifest its hash: a whole corpus, but of something else."""
    (directory / path).write_bytes(content)
    cases = json.loads((directory / MANIFEST).read_text())["cases"]
    case, file = "/".join(path.split("/")[:2]), path.split("/", 2)[2]
    cases[case][file] = hashlib.sha256(content).hexdigest()
    rehash(directory, cases)


class TestSpoiltCorpus:
    def test_a_missing_file_is_named(self, corpus_copy):
        (corpus_copy / INPUT).unlink()
        refused = refusal(corpus_copy)
        assert f"{INPUT} is missing" in refused.problem
        assert str(corpus_copy) in refused.problem
        assert "generate" in refused.mend

    def test_further_missing_files_are_counted(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        assert "test_data_set_0/bound_0.pb is missing, and " in refusal(corpus_copy).problem

    def test_a_missing_case_is_noticed(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert f"node/{ADAM}/case.json is missing" in refusal(corpus_copy).problem

    @pytest.mark.parametrize("extra", ["notes.txt", f"node/{ADAM}/notes.txt", "node/test_more/model.onnx", ".hidden"])
    def test_an_extra_file_is_named(self, corpus_copy, extra):
        (corpus_copy / extra).parent.mkdir(exist_ok=True)
        (corpus_copy / extra).write_bytes(b"")
        assert f"{extra} is not in {MANIFEST}" in refusal(corpus_copy).problem

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_a_truncated_file_is_named(self, corpus_copy, path):
        file = corpus_copy / path
        file.write_bytes(file.read_bytes()[:-1])
        assert f"{path} is altered or truncated" in refusal(corpus_copy, read=True).problem

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_one_altered_byte_is_noticed(self, corpus_copy, path):
        file = corpus_copy / path
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        assert f"{path} is altered or truncated" in refusal(corpus_copy, read=True).problem

    def test_an_emptied_file_is_noticed(self, corpus_copy):
        (corpus_copy / INPUT).write_bytes(b"")
        assert f"{INPUT} is altered or truncated" in refusal(corpus_copy, read=True).problem

    def test_two_files_that_changed_places_are_noticed(self, corpus_copy):
        first, second = corpus_copy / INPUT, corpus_copy / INPUT.replace("input_0", "input_1")
        first.rename(corpus_copy / "aside")
        second.rename(first)
        (corpus_copy / "aside").rename(second)
        assert "is altered" in refusal(corpus_copy, read=True).problem

    def test_an_altered_file_is_noticed_when_its_case_is_loaded(self, corpus_copy):
        (corpus_copy / MODEL).write_bytes(b"\x08\x08")
        with pytest.raises(CorpusError, match="is altered"):
            loaded_from(corpus_copy)

    def test_a_file_that_vanishes_after_opening_is_noticed(self, corpus_copy):
        corpus = open_corpus(corpus_copy)
        (corpus_copy / INPUT).unlink()
        with pytest.raises(CorpusError, match=r"input_0\.pb cannot be read"):
            corpus.verify()

    def test_a_file_too_large_to_be_one_of_ours_is_refused_unread(self, corpus_copy):
        with (corpus_copy / INPUT).open("r+b") as stream:
            stream.truncate(2**28 + 1)
        assert f"{INPUT} is larger than" in refusal(corpus_copy, read=True).problem

    def test_a_link_to_a_directory_is_extra(self, corpus_copy, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (corpus_copy / "node" / "test_link").symlink_to(tmp_path / "elsewhere")
        assert "node/test_link is not in" in refusal(corpus_copy).problem

    def test_a_case_behind_a_link_is_missing(self, corpus_copy, tmp_path):
        case = corpus_copy / "node" / ADAM
        case.rename(tmp_path / "elsewhere")
        case.symlink_to(tmp_path / "elsewhere")
        assert f"node/{ADAM}/case.json is missing" in refusal(corpus_copy).problem

    def test_a_broken_link_is_extra(self, corpus_copy):
        (corpus_copy / "dangling").symlink_to("nowhere")
        assert "dangling is not in" in refusal(corpus_copy).problem


class TestManifest:
    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000],
        ids=["empty", "cut", "binary", "nested", "digits"],
    )
    def test_one_that_is_not_json_is_refused(self, corpus_copy, content):
        (corpus_copy / MANIFEST).write_bytes(content)
        assert f"{MANIFEST} " in refusal(corpus_copy).problem

    @pytest.mark.parametrize("document", [[], {}, None, 1, {"cases": {}}], ids=repr)
    def test_one_of_another_form_is_refused(self, corpus_copy, document):
        (corpus_copy / MANIFEST).write_text(json.dumps(document))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    @pytest.mark.parametrize(
        "path", ["../test_x", "/etc", "node/../../x", "node/test_X", "other/test_x", "node/test_x/y"]
    )
    def test_a_case_outside_of_the_corpus_is_refused(self, corpus_copy, path):
        edit_manifest(corpus_copy, lambda document: document["cases"].update({path: document["cases"][f"node/{ADAM}"]}))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    @pytest.mark.parametrize(
        "file", ["../../x", "test_data_set_0/../x.pb", "notes.txt", "test_data_set_0/input_0.pb\n"]
    )
    def test_a_file_that_is_none_of_a_case_is_refused(self, corpus_copy, file):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({file: "0" * 64}))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    def test_a_dropped_case_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: [document[of].pop(f"node/{ADAM}") for of in ("cases", "levels")])
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_version_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document.update(version="9.9.9"))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_hash_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({"case.json": "0" * 64}))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_level_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["levels"].update({f"node/{ADAM}": "silent"}))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_a_missing_level_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["levels"].pop(f"node/{ADAM}"))
        assert f"{MANIFEST} is " in refusal(corpus_copy).problem

    def test_two_cases_of_one_name_are_refused(self, corpus_copy, opened):
        files = {case.path: case.files for case in opened.cases.values()}
        rehash(corpus_copy, {**files, f"pass/{ADAM}": opened.cases[ADAM].files}, {f"pass/{ADAM}": "must"})
        assert f"pass/{ADAM} are two cases of one name" in refusal(corpus_copy).problem

    def test_another_format_is_refused(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document.update(format=2))
        assert f"{MANIFEST} is malformed: format" in refusal(corpus_copy).problem

    def test_the_order_of_its_lines_does_not_count(self, corpus_copy, opened):
        edit_manifest(
            corpus_copy, lambda document: document.update(cases=dict(reversed(list(document["cases"].items()))))
        )
        assert open_corpus(corpus_copy).digest == opened.digest


class TestWhatIsNoCorpus:
    @pytest.mark.parametrize("name", ["empty", "missing", "file"])
    def test_it_is_refused_by_name(self, tmp_path, name):
        (tmp_path / "empty").mkdir()
        (tmp_path / "file").write_bytes(b"")
        refused = refusal(tmp_path / name)
        assert refused.problem == f"{tmp_path / name} is not a corpus: it has no {MANIFEST}."

    def test_a_manifest_that_is_a_directory_makes_none(self, tmp_path):
        (tmp_path / MANIFEST).mkdir()
        assert "is not a corpus" in refusal(tmp_path).problem


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


class TestWholeCorpus:
    def test_verifying_counts_its_files(self, small_corpus, opened):
        assert opened.verify() == len(tree(small_corpus)) - 1

    def test_a_case_is_found_by_its_id(self, opened):
        assert [find_case(opened, id).path for id in (ADAM, EXACT)] == [f"node/{ADAM}", f"node/{EXACT}"]

    def test_an_unknown_case_is_told_the_nearest(self, opened):
        with pytest.raises(UnknownName) as refused:
            find_case(opened, "test_adan")
        assert refused.value.mend == "Did you mean test_adam?"

    def test_a_case_like_no_other_is_told_where_to_look(self, opened):
        with pytest.raises(UnknownName) as refused:
            find_case(opened, "zzz")
        assert "onnx-conformance list" in refused.value.mend

    def test_every_load_has_arrays_of_its_own(self, case_of):
        for data_set in case_of(ADAM).data_sets():
            data_set.inputs[2][...] = 7
        assert not any((data_set.inputs[2] == 7).any() for data_set in case_of(ADAM).data_sets())

    def test_paths_have_an_entry_for_each_case(self, opened):
        assert sorted(opened.cases) == sorted(SMALL)


@pytest.fixture(scope="module")
def committed():
    return open_corpus(DATA)


@pytest.fixture(scope="module")
def documents(committed):
    """Every committed case.json by the case's id."""
    return {id: case_json(committed, case) for id, case in committed.cases.items()}


class TestCommittedCorpus:
    def test_it_is_whole(self, committed):
        assert committed.verify() == len(tree(DATA)) - 1

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
        for case in (case for case in committed.cases.values() if not case.is_invalid):
            onnx.checker.check_model(onnx.load_model_from_string(committed.read(case, "model.onnx")))

    def test_every_model_pins_its_ir_version_and_opsets(self, documents):
        models = [document["model"] for document in documents.values() if "invalid_models" not in document["tags"]]
        assert {model["ir_version"] for model in models} == {4, 6, 7, 8, 9, 10, 11}
        assert all(model["opset_imports"] for model in models)

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


def inputs_of(defined, op_type):
    """Every valid case of one optimizer, with its only node and its data sets; chains and constants are left out."""
    for case in (case for _, case in defined.values() if not case.is_invalid):
        model = onnx.load_model_from_string(case.model)
        if [node.op_type for node in model.graph.node] == [op_type] and not model.graph.initializer:
            yield case, model.graph.node[0], case.data_sets


@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
class TestBreadth:
    """What each of the three training optimizers is tried with at least."""

    def test_update_counts(self, defined, op_type):
        counts = {int(data[1].flat[0]) for _, _, sets in inputs_of(defined, op_type) for data in sets}
        assert counts >= {0, 1, 2, 10, 1000, 2**24 + 1, 2**32 + 1}
        assert min(counts) < 0

    def test_types_of_the_rate_and_the_tensors(self, defined, op_type):
        types = {(d[0].dtype.name, d[2].dtype.name) for _, _, sets in inputs_of(defined, op_type) for d in sets}
        assert types >= {(rate, tensor) for rate in ("float32", "float64") for tensor in ("float32", "float64")}

    def test_ranks_and_sizes(self, defined, op_type):
        shapes = {array.shape for _, _, sets in inputs_of(defined, op_type) for data in sets for array in data[2:]}
        assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4}
        assert {int(np.prod(shape)) for shape in shapes} >= {0, 1, 7, 3001}

    def test_numbers_of_tensors(self, defined, op_type):
        groups = len(TRAINING_OPTIMIZERS[op_type].operands)
        counts = {(len(data) - 2) // groups for _, _, sets in inputs_of(defined, op_type) for data in sets}
        assert counts >= {1, 2, 3, 8}

    def test_tensors_of_different_shapes_in_one_node(self, defined, op_type):
        assert any(len({a.shape for a in data[2:]}) >= 3 for _, _, sets in inputs_of(defined, op_type) for data in sets)

    def test_attributes_alone_together_and_defaulted(self, defined, op_type):
        signature = TRAINING_OPTIMIZERS[op_type]
        given = {frozenset(a.name for a in node.attribute) for _, node, _ in inputs_of(defined, op_type)}
        required = frozenset(signature.required)
        assert required | set(signature.defaults) in given
        assert required in given
        assert given >= {required | {name} for name in signature.defaults}

    def test_special_values(self, defined, op_type):
        elements = np.concatenate(
            [a.astype(np.float64).ravel() for _, _, s in inputs_of(defined, op_type) for d in s for a in d[2:]]
        )
        assert np.isnan(elements).any()
        assert {np.inf, -np.inf} <= set(elements[np.isinf(elements)])
        assert {True, False} == set(np.signbit(elements[elements == 0]).tolist())
        magnitudes = np.abs(elements[np.isfinite(elements) & (elements != 0)])
        assert magnitudes.min() < np.finfo(np.float64).smallest_normal
        assert magnitudes.max() > 1e80

    def test_several_data_sets_with_other_update_counts_on_one_model(self, defined, op_type):
        assert any(len({int(d[1].flat[0]) for d in sets}) >= 3 for _, _, sets in inputs_of(defined, op_type))
