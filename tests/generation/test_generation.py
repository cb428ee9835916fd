"""Writing a corpus: the committed one is what the generators give, and whatever goes wrong leaves the old one whole."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from support import ADAM, DATA, EXACT, INDEX, SEVERAL, SMALL, quiet, tree, write_corpus

from conformance.corpus.case import Case, CaseKind
from conformance.corpus.corpus import MANIFEST, Corpus, CorpusCase, open_corpus
from conformance.errors import CaseError, CorpusError, UnknownName, UsageError
from conformance.generation import defined as definitions
from conformance.generation import generation
from conformance.generation.defined import defined_cases
from conformance.generation.generation import differences, generate
from conformance.generation.models import declared, declared_as, model
from conformance.generation.versioning import VersionChange, change, least_version, parsed
from conformance.verdicts import Level

X = np.array([1.0, 3.0, 2.0], dtype=np.float32)


@pytest.fixture
def few(defined):
    """Three of the suite's cases."""
    return [defined[id][1] for id in (ADAM, EXACT, INDEX)]


@pytest.fixture
def old(tmp_path, few):
    """A corpus of two of them, and nothing else in its parent directory."""
    directory = tmp_path / "parent" / "corpus"
    write_corpus(directory, few[:2])
    return directory


def argmax_case(**changes) -> Case:
    """A case of ArgMax that nothing is wrong with but the changes."""
    node = helper.make_node("ArgMax", ["X"], ["index"], axis=0, keepdims=0)
    sound = Case(
        id="test_small",
        title="ArgMax gives the index of the largest element",
        level=Level.MUST,
        clauses=("argmax.index",),
        tags=("argmax",),
        model=model("test_small", [node], [declared("X", X)], [declared_as("index", "int64", [])], {"": 13}),
        data_sets=((X,),),
    )
    return dataclasses.replace(sound, **changes)


def only_the_old(directory: Path, before: dict[str, bytes]) -> bool:
    """Whether a directory's parent holds the corpus as it was, and nothing else."""
    return tree(directory) == before and [path.name for path in directory.parent.iterdir()] == [directory.name]


class TestCommitted:
    def test_regeneration_changes_no_byte(self, defined):
        assert differences(DATA, list(defined.values()), quiet) == []


class TestDifferences:
    def given(self, defined, ids=SMALL):
        return [("small", defined[id][1]) for id in ids]

    def test_a_corpus_just_written_has_none(self, corpus_copy, defined):
        assert differences(corpus_copy, self.given(defined), quiet) == []

    def test_a_changed_file_is_named(self, corpus_copy, defined):
        path = f"node/{ADAM}/test_data_set_0/output_0.pb"
        (corpus_copy / path).write_bytes(b"")
        assert differences(corpus_copy, self.given(defined), quiet) == [f"{path} differs"]

    def test_a_missing_file_is_named(self, corpus_copy, defined):
        path = f"node/{ADAM}/case.json"
        (corpus_copy / path).unlink()
        assert differences(corpus_copy, self.given(defined), quiet) == [f"{path} is missing"]

    def test_an_extra_file_is_named(self, corpus_copy, defined):
        (corpus_copy / "notes.txt").write_bytes(b"")
        assert differences(corpus_copy, self.given(defined), quiet) == ["notes.txt is extra"]

    def test_a_case_that_no_generator_gives_is_extra_and_changes_the_manifest(self, corpus_copy, defined):
        found = differences(corpus_copy, self.given(defined, SMALL[1:]), quiet)
        assert f"{MANIFEST} differs" in found
        assert f"node/{ADAM}/model.onnx is extra" in found

    def test_a_new_case_is_missing(self, corpus_copy, defined):
        assert "node/test_adagrad/model.onnx is missing" in differences(
            corpus_copy, self.given(defined, [*SMALL, "test_adagrad"]), quiet
        )

    def test_looking_for_them_writes_nothing(self, corpus_copy, defined):
        before = tree(corpus_copy.parent)
        differences(corpus_copy, self.given(defined, [*SMALL[2:], "test_adagrad"]), quiet)
        assert tree(corpus_copy.parent) == before

    def test_what_is_no_corpus_is_refused(self, tmp_path, defined):
        with pytest.raises(CorpusError, match="is not a corpus"):
            differences(tmp_path, self.given(defined), quiet)


class TestWriting:
    def test_a_new_corpus_begins_at_its_first_version(self, old):
        assert open_corpus(old).version == "1.0.0"

    def test_what_was_written_is_counted(self, tmp_path, few):
        written = write_corpus(tmp_path / "new", few)
        files = tree(tmp_path / "new")
        assert (written.cases, written.files) == (3, len(files))
        assert written.bytes == sum(map(len, files.values()))

    def test_parent_directories_are_made(self, tmp_path, few):
        write_corpus(tmp_path / "some" / "where" / "else", few)
        assert open_corpus(tmp_path / "some" / "where" / "else").verify()

    def test_an_empty_directory_is_filled(self, tmp_path, few):
        (tmp_path / "empty").mkdir()
        write_corpus(tmp_path / "empty", few)
        assert open_corpus(tmp_path / "empty").verify()

    def test_the_current_directory_is_filled(self, here, few):
        write_corpus(Path(), few)
        assert open_corpus(here).verify()

    def test_the_old_corpus_is_replaced(self, old, few):
        write_corpus(old, few[1:], "1.1.0")
        assert set(open_corpus(old).cases) == {EXACT, INDEX}
        assert [path.name for path in old.parent.iterdir()] == [old.name]

    def test_a_corpus_behind_a_link_is_replaced_where_it_lies(self, old, few, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(old)
        write_corpus(link, few, "1.1.0")
        assert link.is_symlink()
        assert len(open_corpus(old).cases) == 3

    def test_the_order_of_the_cases_does_not_show(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        write_corpus(tmp_path / "b", few[::-1])
        assert tree(tmp_path / "a") == tree(tmp_path / "b")

    def test_every_case_is_told_to_whoever_watches(self, tmp_path, few):
        seen = []
        generate(tmp_path / "new", [("small", case) for case in few], None, seen.append)
        assert seen == [ADAM, EXACT, INDEX]

    @pytest.mark.parametrize("what", ["file", "directory", "other manifest"])
    def test_something_else_is_not_written_over(self, tmp_path, few, what):
        target = tmp_path / "target"
        if what == "file":
            target.write_bytes(b"mine")
        else:
            target.mkdir()
            (target / ("mine.txt" if what == "directory" else MANIFEST)).write_bytes(b"mine")
        before = tree(tmp_path)
        with pytest.raises(CorpusError) as refused:
            write_corpus(target, few)
        assert str(target) in refused.value.problem
        assert tree(tmp_path) == before

    def test_a_file_beside_the_corpus_is_not_lost(self, old, few):
        (old / "mine.txt").write_bytes(b"mine")
        before = tree(old)
        with pytest.raises(CorpusError, match=r"mine\.txt, which is not of its corpus"):
            write_corpus(old, few)
        assert tree(old) == before


class TestInterruption:
    """At every stage: the old corpus is byte for byte what it was, and no scratch directory stays."""

    def test_a_case_that_cannot_be_filled_half_way(self, old, few):
        before = tree(old)
        broken = argmax_case(clauses=("argmax.nothing",))
        with pytest.raises(CaseError):
            write_corpus(old, [*few, broken], "2.0.0")
        assert only_the_old(old, before)

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_control_c_after_any_case(self, old, few, number):
        before, done = tree(old), []

        def interrupt(id: str) -> None:
            done.append(id)
            if len(done) == number:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            generate(old, [("small", case) for case in few], "2.0.0", interrupt)
        assert only_the_old(old, before)

    @pytest.mark.parametrize("interruption", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("function", ["manifest_bytes", "_measure", "_version"])
    def test_between_the_last_case_and_the_replacement(self, old, few, monkeypatch, function, interruption):
        before = tree(old)
        monkeypatch.setattr(generation, function, lambda *_: (_ for _ in ()).throw(interruption))
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert only_the_old(old, before)

    @pytest.mark.parametrize("interruption", [OSError("busy"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("number", [1, 2])
    def test_when_either_directory_is_renamed(self, old, few, monkeypatch, number, interruption):
        before, rename, renamed = tree(old), Path.rename, []

        def fails_once(path: Path, target: Path) -> Path:
            renamed.append(path)
            if len(renamed) == number:
                raise interruption
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fails_once)
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert only_the_old(old, before)

    def test_where_nothing_was_before(self, tmp_path, few):
        with pytest.raises(CaseError):
            write_corpus(tmp_path / "new", [*few, argmax_case(clauses=("argmax.nothing",))])
        assert list(tmp_path.iterdir()) == []


class TestRefusedCases:
    def refused(self, tmp_path, **changes) -> str:
        case = argmax_case(**changes)
        with pytest.raises(CaseError) as refused:
            write_corpus(tmp_path / "new", [case])
        assert list(tmp_path.iterdir()) == []
        assert case.id in refused.value.problem
        return refused.value.problem

    def argmax_model(self, *, op_type="ArgMax", inputs=(X,), opset=13, type="int64", **attributes) -> bytes:
        names = [f"X{number}" for number in range(len(inputs))]
        node = helper.make_node(op_type, names, ["index"], **attributes)
        values = [declared(name, array) for name, array in zip(names, inputs, strict=True)]
        return model("test_small", [node], values, [declared_as("index", type, [])], {"": opset})

    def test_nothing_is_wrong_with_the_others_base(self, tmp_path):
        assert write_corpus(tmp_path / "new", [argmax_case()]).cases == 1

    def test_an_unknown_clause(self, tmp_path):
        assert "names the clause argmax.nothing" in self.refused(tmp_path, clauses=("argmax.nothing",))

    def test_an_operator_that_the_oracle_lacks(self, tmp_path):
        assert "cannot run case" in self.refused(tmp_path, model=self.argmax_model(op_type="Tan"))

    def test_an_attribute_that_the_operator_lacks(self, tmp_path):
        self.refused(tmp_path, model=self.argmax_model(keepdims=0, bogus=1))

    def test_bytes_that_are_no_model(self, tmp_path):
        self.refused(tmp_path, model=b"no protobuf at all")

    def test_a_model_that_onnx_refuses(self, tmp_path):
        self.refused(tmp_path, model=self.argmax_model(keepdims=0, opset=0))

    def test_more_inputs_than_the_graph_has(self, tmp_path):
        self.refused(tmp_path, data_sets=((X, X),))

    def test_inputs_of_another_type_than_the_graph_declares(self, tmp_path):
        self.refused(tmp_path, data_sets=((X.astype(np.float64),),))

    def test_a_title_of_nothing(self):
        with pytest.raises(CaseError, match="lacks a title, a clause or a data set"):
            argmax_case(title="")

    @pytest.mark.parametrize("field", ["clauses", "data_sets"])
    def test_no_clause_or_data_set(self, field):
        with pytest.raises(CaseError, match="lacks a title, a clause or a data set"):
            argmax_case(**{field: ()})

    @pytest.mark.parametrize(
        "id", ["adam", "test_Adam", "test_", "test_a/b", "test_../x", "test_a\n", "test_" + "a" * 121]
    )
    def test_an_id_that_is_no_directory_s_name(self, id):
        with pytest.raises(CaseError, match="cannot be a case's id"):
            argmax_case(id=id)

    def test_an_unknown_kind(self):
        with pytest.raises(CaseError, match="is of kind 'nodes'"):
            argmax_case(kind="nodes")

    def test_a_clause_named_twice(self, tmp_path):
        assert "invalid case.json" in self.refused(tmp_path, clauses=("argmax.index", "argmax.index"))

    def test_a_must_case_on_which_admissible_evaluations_disagree(self, tmp_path, defined):
        doubtful = dataclasses.replace(defined["test_adagrad_squared_gradient_overflows_float"][1], level=Level.MUST)
        with pytest.raises(CaseError, match="is must, but admissible evaluations disagree"):
            write_corpus(tmp_path / "new", [doubtful])

    def test_two_cases_of_one_id(self, monkeypatch):
        class TwiceTheSame:
            def load(self):
                return lambda: [argmax_case(), argmax_case()]

        monkeypatch.setattr(definitions, "registered", lambda _: {"twice": TwiceTheSame()})
        with pytest.raises(CaseError, match="Two cases are called test_small"):
            defined_cases(["twice"])

    def test_a_generator_that_cannot_be_imported(self, monkeypatch):
        broken = EntryPoint("broken", "a_package_that_is_not_there:cases", "onnx_conformance.generators")
        monkeypatch.setattr(definitions, "registered", lambda _: {"broken": broken})
        with pytest.raises(CaseError, match=r"broken .* fails: ModuleNotFoundError"):
            defined_cases(["broken"])

    def test_no_case_at_all(self, monkeypatch):
        class Nothing:
            def load(self):
                return list

        monkeypatch.setattr(definitions, "registered", lambda _: {"nothing": Nothing()})
        with pytest.raises(CaseError, match="define no case"):
            defined_cases(["nothing"])

    def test_an_unknown_generator(self):
        with pytest.raises(UnknownName) as refused:
            defined_cases(["adam", "adan"])
        assert refused.value.problem == "There is no generator adan."
        assert "adagrad, adam, argmax" in refused.value.mend


class TestVersion:
    @pytest.fixture
    def retitled(self, few):
        return [dataclasses.replace(few[0], title="Adam computes an example"), few[1]]

    @pytest.fixture
    def judged_otherwise(self, few):
        R, T, *rest = few[0].data_sets[0]
        return [dataclasses.replace(few[0], data_sets=((R + 1, T, *rest),)), few[1]]

    def test_nothing_changes_at_the_same_version(self, old, few):
        before = tree(old)
        write_corpus(old, few[:2])
        assert tree(old) == before

    def test_another_title_is_a_patch(self, old, retitled):
        assert self.least(old, retitled) == "1.0.1"

    def test_a_new_case_is_minor(self, old, few):
        assert self.least(old, few) == "1.1.0"

    def test_a_case_less_is_minor(self, old, few):
        assert self.least(old, few[:1]) == "1.1.0"

    def test_another_input_is_major(self, old, judged_otherwise):
        assert self.least(old, judged_otherwise) == "2.0.0"

    def test_another_model_is_major(self, old, few, defined):
        assert self.least(old, [few[0], dataclasses.replace(few[1], model=self.negated(few[1]))]) == "2.0.0"

    @staticmethod
    def negated(case: Case) -> bytes:
        return case.model.replace(b"keepdims\x18\x00", b"keepdims\x18\x01") + b"\x2a\x00"

    def test_a_level_that_rises_is_major(self, tmp_path, defined):
        corpus, case = tmp_path / "corpus", defined[EXACT][1]
        write_corpus(corpus, [dataclasses.replace(case, level=Level.SILENT)])
        assert self.least(corpus, [case]) == "2.0.0"

    def test_the_weightiest_change_counts(self, old, judged_otherwise, few):
        assert self.least(old, [*judged_otherwise, few[2]]) == "2.0.0"

    def test_a_version_may_be_higher_than_the_least(self, old, few):
        assert write_corpus(old, few, "3.2.1").version == "3.2.1"

    @pytest.mark.parametrize("version", ["0.9.0", "0.99.99"])
    def test_a_version_never_goes_back(self, old, few, version):
        with pytest.raises(UsageError, match="cannot be version"):
            write_corpus(old, few[:2], version)

    def test_a_refusal_names_the_first_case_that_is_the_reason(self, old, few):
        with pytest.raises(UsageError) as refused:
            write_corpus(old, few, "1.0.1")
        assert (
            refused.value.problem
            == f"This corpus cannot be version 1.0.1: pass/{INDEX} is new, a minor change to 1.0.0."
        )

    @pytest.mark.parametrize(
        "version",
        ["", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "-1.0.0", "+2.0.0", "2_0.0.0", " 2.0.0", "2.0.0\n", "२.0.0"],
    )
    def test_what_is_no_version_is_refused(self, old, few, version):
        before = tree(old)
        with pytest.raises(UsageError, match="is not a version"):
            write_corpus(old, few[:2], version)
        assert only_the_old(old, before)

    @staticmethod
    def least(directory: Path, cases: list[Case]) -> str:
        """The least version that a corpus of these cases may have, as the refusal of the old one says."""
        before = tree(directory)
        with pytest.raises(UsageError) as refused:
            write_corpus(directory, cases)
        assert only_the_old(directory, before)
        version = refused.value.mend.removeprefix("Add --corpus-version ").removesuffix(".")
        assert write_corpus(directory, cases, version).version == version
        return version

    @pytest.mark.parametrize(
        ("old", "change", "least"),
        [
            ("1.2.3", VersionChange.NONE, "1.2.3"),
            ("1.2.3", VersionChange.PATCH, "1.2.4"),
            ("1.2.3", VersionChange.MINOR, "1.3.0"),
            ("1.2.3", VersionChange.MAJOR, "2.0.0"),
            ("0.2.3", VersionChange.PATCH, "0.2.4"),
            ("0.2.3", VersionChange.MINOR, "0.3.0"),
            ("0.2.3", VersionChange.MAJOR, "0.3.0"),
        ],
    )
    def test_the_least_version_after_a_change(self, old, change, least):
        assert least_version(old, change) == least

    def test_versions_are_compared_by_number(self):
        assert parsed("1.10.0") > parsed("1.9.9")

    def test_a_change_names_its_reason(self):
        files = {"model.onnx": "a", "case.json": "b"}
        old = Corpus(Path(), "1.0.0", "", {"x": CorpusCase("x", CaseKind.NODE, Level.MUST, files)})
        assert change(old, {"node/x": {**files, "model.onnx": "c"}}, {"node/x": "must"}) == (
            VersionChange.MAJOR,
            "node/x judges otherwise than before",
        )


class TestDeterminism:
    def test_the_hash_seed_does_not_show(self, process, here):
        for seed in ("0", "4242"):
            ended = process("onnx-conformance", "generate", "-g", "argmax", "-o", here / seed, PYTHONHASHSEED=seed)
            assert ended.status == 0, ended.err
        assert tree(here / "0") == tree(here / "4242")

    def test_the_rounding_of_the_caller_s_decimals_does_not_show(self, tmp_path, few):
        import decimal

        write_corpus(tmp_path / "a", few)
        with decimal.localcontext() as context:
            context.prec, context.rounding = 5, decimal.ROUND_UP
            write_corpus(tmp_path / "b", few)
        assert tree(tmp_path / "a") == tree(tmp_path / "b")

    def test_the_caller_s_random_state_does_not_show(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        np.random.seed(1)  # noqa: NPY002 - the global state is the point
        write_corpus(tmp_path / "b", [case for _, case in defined_cases(()) if case.id in {ADAM, EXACT, INDEX}])
        assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_a_corpus_of_several_outputs_has_a_file_for_each(tmp_path, defined):
    write_corpus(tmp_path / "new", [defined[SEVERAL][1]])
    outputs = [path for path in tree(tmp_path / "new") if "/output_" in path]
    assert len(outputs) == 4
