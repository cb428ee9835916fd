"""Models that are more than nodes in a row: symbolic shapes, defaults, subgraphs, sequences, and faulty wiring."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from corpora import write_corpus
from onnx import helper

from conformance.corpus.case import Case, Firing, Rewrite
from conformance.corpus.corpus import open_corpus
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.errors import CaseError, CorpusError
from conformance.generation.models import declared, declared_as
from conformance.judging.backend import judge_backend
from conformance.models.preview import model_summary
from conformance.reference.validity import miswired
from conformance.verdicts import Verdict
from generators.eliminate_nop_monotone_argmax.scenario import FIRES, ScenarioGraph, argmax, fires, pair, scenario

FAMILY = "axis"
X = np.array([[1, 3, 2], [2, 1, 3]], dtype=np.float32)
SEQUENCE = "test_argmax_pass_types_and_shapes_sequence_input"


def made(**parts) -> Case:
    """A case of Exp and ArgMax that nothing is wrong with but the parts."""
    graph = ScenarioGraph(**{"nodes": pair(), "feeds": (X,), **parts})
    return scenario(FAMILY, "made", "Exp before ArgMax is taken away", ("fires",), FIRES, graph)


@pytest.fixture
def written(tmp_path):
    """Writes a case, and gives it back as the corpus has it."""

    def write(case: Case):
        write_corpus(tmp_path / "made", [case])
        corpus = open_corpus(tmp_path / "made")
        return load_case(corpus, corpus.cases[case.id]), case_json(corpus, corpus.cases[case.id])

    return write


class TestRewrite:
    def test_a_case_of_the_pass_without_one_is_refused(self):
        with pytest.raises(CaseError, match="does not say what the pass does"):
            dataclasses.replace(made(), rewrite=None)

    @pytest.mark.parametrize(("answer", "values"), [(Firing.FIRES, ()), (Firing.STAYS, ("Y",))])
    def test_it_names_values_if_and_only_if_the_pass_fires(self, answer, values):
        with pytest.raises(CaseError, match="names the wrong values"):
            Rewrite(answer, values, values)

    def test_what_one_run_takes_away_several_do_too(self):
        with pytest.raises(CaseError, match="leaves in several"):
            Rewrite(Firing.FIRES, ("Y",), ("Z",))

    def test_it_is_written_with_the_case(self, written):
        _, document = written(dataclasses.replace(made(), rewrite=fires("Y", then=("Z",))))
        assert document["rewrite"] == {"answer": "fires", "once": ["Y"], "fixed_point": ["Y", "Z"]}

    def test_only_a_case_of_the_pass_has_no_data_set(self):
        with pytest.raises(CaseError, match="lacks a title, a clause or a data set"):
            dataclasses.replace(made(), kind="node", data_sets=())


class TestDeclaredShapes:
    @pytest.mark.parametrize("shape", [("N", 3), ("N", "C"), (None, None), (2, None)])
    def test_a_symbolic_or_open_dimension_is_of_any_size(self, written, shape):
        loaded, _ = written(made(inputs=[declared_as("X", "float", shape)]))
        assert next(loaded.data_sets()).inputs[0].shape == (2, 3)

    @pytest.mark.parametrize(
        "value",
        [declared_as("X", "float", ("N", 4)), declared_as("X", "float", ("N",)), declared_as("X", "double", (2, 3))],
    )
    def test_another_size_rank_or_type_is_refused(self, tmp_path, value):
        with pytest.raises(CaseError, match="inputs that its model does not declare"):
            write_corpus(tmp_path / "made", [made(inputs=[value])])

    def test_an_input_with_an_initializer_is_not_fed(self, written):
        loaded, _ = written(made(inputs=[declared("W", X), declared("X", X)], initializers={"W": X}))
        assert len(next(loaded.data_sets()).inputs) == 1


class TestStructuralCases:
    def test_a_backend_is_not_asked(self, defined, written):
        loaded, document = written(defined[SEQUENCE][1])
        assert judge_backend(None, loaded).verdict is Verdict.SKIPPED
        assert (document["data_sets"], list(loaded.data_sets())) == ([], [])

    def test_any_other_case_without_data_sets_is_no_whole_one(self, small_corpus):
        corpus = open_corpus(small_corpus)
        case = next(iter(corpus.cases.values()))
        files = {name: hash for name, hash in case.files.items() if not name.startswith("test_data_set")}
        with pytest.raises(CorpusError, match="has no data set"):
            next(load_case(corpus, dataclasses.replace(case, files=files)).data_sets())


class TestSummary:
    def of(self, case: Case):
        return model_summary(onnx.load_model_from_string(case.model))

    def test_a_subgraph_is_one_line(self, defined):
        (node,) = self.of(defined["test_argmax_pass_subgraphs_if_exp"][1])["nodes"]
        assert node["attributes"] == {
            "then_branch": "() → Y = Exp(X); inner = ArgMax(Y) → (inner)",
            "else_branch": "() → plain = ArgMax(X) → (plain)",
        }

    def test_sequences_and_optionals_name_what_they_hold(self, defined):
        types = [
            self.of(defined[f"test_argmax_pass_types_and_shapes_{kind}_input"][1])["inputs"][1]
            for kind in ("sequence", "optional")
        ]
        assert [(value["type"], value["shape"]) for value in types] == [
            ("sequence(float)", [2, 3]),
            ("optional(float)", [2, 3]),
        ]

    def test_a_sparse_tensor_is_its_type_and_shape(self, defined):
        nodes = self.of(defined["test_argmax_pass_types_and_shapes_sparse_constant"][1])["nodes"]
        assert nodes[0]["attributes"] == {"sparse_value": "sparse float[2, 3]"}

    def test_an_open_dimension_is_a_question_mark(self):
        assert self.of(made(inputs=[declared_as("X", "float", (None, "C"))]))["inputs"][0]["shape"] == ["?", "C"]


class TestWiring:
    def model(self, *nodes: onnx.NodeProto) -> onnx.ModelProto:
        return onnx.load_model_from_string(made(nodes=nodes).model)

    def test_a_model_without_fault_has_none(self):
        assert miswired(self.model(*pair())) is None

    @pytest.mark.parametrize(
        ("nodes", "fault"),
        [
            ([argmax("Z")], "nothing before ArgMax gives its input Z"),
            (pair()[::-1], "nothing before ArgMax gives its input Y"),
            ([*pair(), argmax("X")], "ArgMax gives index, which is given already"),
            ([argmax("X", "other")], "nothing gives the output index"),
            ([helper.make_node("Exp", ["X"], ["X"]), argmax("X")], "Exp gives X, which is given already"),
        ],
    )
    def test_a_fault_is_named(self, nodes, fault):
        assert miswired(self.model(*nodes)) == fault

    def test_a_model_imports_an_opset(self):
        model = self.model(*pair())
        model.ClearField("opset_import")
        assert miswired(model) == "the model imports no opset"

    def test_what_has_a_sparse_initializer_is_given(self, defined):
        case = defined["test_argmax_pass_types_and_shapes_sparse_initializer"][1]
        assert miswired(onnx.load_model_from_string(case.model)) is None
