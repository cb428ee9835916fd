"""Cases with symbolic shapes, defaults, subgraphs and sequences, and detection of faulty wiring."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from corpora import write_corpus
from msgspec import to_builtins
from onnx import helper
from refusals import assert_raises

from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case import Case, PassEffect, Rewrite
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.model_building import array_value_info, make_value_info
from conformance.exact.models.summaries import model_summary
from conformance.exact.reference.node_validity import wiring_error
from conformance.run.judging.backend import judge_backend
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    ScenarioGraph,
    applies_to,
    argmax,
    pair,
    scenario,
)

FAMILY = "axis"
X = np.array([[1, 3, 2], [2, 1, 3]], dtype=np.float32)
SEQUENCE = "test_argmax_pass_types_and_shapes_sequence_input"


def make_case(**parts) -> Case:
    """Return a valid case of Exp and ArgMax in which `parts` replace parts of the graph."""
    graph = ScenarioGraph(**{"nodes": pair(), "feeds": (X,), **parts})
    return scenario(FAMILY, "made", "Exp before ArgMax is removed", ("fires",), APPLIES, graph)


@pytest.fixture
def written(tmp_path):
    """Function that writes a case and reads it back from the corpus."""

    def write(case: Case):
        write_corpus(tmp_path / "made", [case])
        corpus = open_corpus(tmp_path / "made")
        return load_case(corpus, corpus.cases[case.id]), to_builtins(read_case_json(corpus, corpus.cases[case.id]))

    return write


class TestRewrite:
    def test_pass_case_without_rewrite_is_rejected(self):
        with assert_raises("case.rewrite-missing", "test_argmax_pass_axis_made"):
            dataclasses.replace(make_case(), rewrite=None)

    @pytest.mark.parametrize(("effect", "values"), [(PassEffect.APPLIES, ()), (PassEffect.DOES_NOT_APPLY, ("Y",))])
    def test_removed_values_that_contradict_the_effect_are_rejected(self, effect, values):
        with assert_raises("case.rewrite-contradictory", effect):
            Rewrite(effect, values, values)

    def test_value_missing_at_the_fixed_point_is_rejected(self):
        with assert_raises("case.rewrite-contradictory", "Y", "Z"):
            Rewrite(PassEffect.APPLIES, ("Y",), ("Z",))

    def test_rewrite_is_written_to_case_json(self, written):
        _, document = written(dataclasses.replace(make_case(), rewrite=applies_to("Y", then=("Z",))))
        assert document["rewrite"] == {"effect": "applies", "once": ["Y"], "fixed_point": ["Y", "Z"]}

    def test_node_case_without_data_sets_is_rejected(self):
        with assert_raises("case.incomplete"):
            dataclasses.replace(make_case(), kind="node", data_sets=())


class TestDeclaredShapes:
    @pytest.mark.parametrize("shape", [("N", 3), ("N", "C"), (None, None), (2, None)])
    def test_symbolic_or_unknown_dimension_accepts_any_size(self, written, shape):
        loaded, _ = written(make_case(inputs=[make_value_info("X", "float", shape)]))
        assert next(loaded.data_sets()).inputs[0].shape == (2, 3)

    @pytest.mark.parametrize(
        "value",
        [
            make_value_info("X", "float", ("N", 4)),
            make_value_info("X", "float", ("N",)),
            make_value_info("X", "double", (2, 3)),
        ],
    )
    def test_wrong_size_rank_or_type_is_rejected(self, tmp_path, value):
        with assert_raises("case.inputs-mismatch"):
            write_corpus(tmp_path / "made", [make_case(inputs=[value])])

    def test_input_with_initializer_is_not_in_the_data_set(self, written):
        loaded, _ = written(
            make_case(inputs=[array_value_info("W", X), array_value_info("X", X)], initializers={"W": X})
        )
        assert len(next(loaded.data_sets()).inputs) == 1


class TestStructuralCases:
    def test_backend_run_of_structural_case_is_skipped(self, defined, written):
        loaded, document = written(defined[SEQUENCE][1])
        assert judge_backend(None, loaded).verdict is Verdict.SKIPPED
        assert (document["data_sets"], list(loaded.data_sets())) == ([], [])

    def test_missing_data_sets_are_an_error(self, small_corpus):
        corpus = open_corpus(small_corpus)
        case = next(iter(corpus.cases.values()))
        files = {name: hash for name, hash in case.files.items() if not name.startswith("test_data_set")}
        with assert_raises("corpus.malformed", case.path):
            next(load_case(corpus, dataclasses.replace(case, files=files)).data_sets())


class TestSummary:
    def of(self, case: Case):
        return model_summary(onnx.load_model_from_string(case.model))

    def test_subgraph_summary_is_one_line(self, defined):
        (node,) = self.of(defined["test_argmax_pass_subgraphs_if_exp"][1]).nodes
        assert node.attributes == {
            "then_branch": "() → Y = Exp(X); inner = ArgMax(Y) → (inner)",
            "else_branch": "() → plain = ArgMax(X) → (plain)",
        }

    def test_sequence_and_optional_types_name_the_element(self, defined):
        types = [
            self.of(defined[f"test_argmax_pass_types_and_shapes_{kind}_input"][1]).inputs[1]
            for kind in ("sequence", "optional")
        ]
        assert [(value.type, value.shape) for value in types] == [
            ("sequence(float)", [2, 3]),
            ("optional(float)", [2, 3]),
        ]

    def test_sparse_tensor_summary_is_type_and_shape(self, defined):
        nodes = self.of(defined["test_argmax_pass_types_and_shapes_sparse_constant"][1]).nodes
        assert nodes[0].attributes == {"sparse_value": "sparse float[2, 3]"}

    def test_unknown_dimension_is_a_question_mark(self):
        assert self.of(make_case(inputs=[make_value_info("X", "float", (None, "C"))])).inputs[0].shape == ["?", "C"]


class TestWiring:
    def model(self, *nodes: onnx.NodeProto) -> onnx.ModelProto:
        return onnx.load_model_from_string(make_case(nodes=nodes).model)

    def test_valid_model_has_no_wiring_error(self):
        assert wiring_error(self.model(*pair())) is None

    @pytest.mark.parametrize(
        ("nodes", "named"),
        [
            ([argmax("Z")], ("ArgMax", "Z")),
            (pair()[::-1], ("ArgMax", "Y")),
            ([*pair(), argmax("X")], ("ArgMax", "index")),
            ([argmax("X", "other")], ("index",)),
            ([helper.make_node("Exp", ["X"], ["X"]), argmax("X")], ("Exp", "X")),
        ],
    )
    def test_wiring_error_names_the_value(self, nodes, named):
        words = wiring_error(self.model(*nodes)).replace(",", " ").split()
        assert set(named) <= set(words)

    def test_missing_opset_import_is_a_wiring_error(self):
        model = self.model(*pair())
        model.ClearField("opset_import")
        assert "opset" in wiring_error(model)

    def test_sparse_initializer_defines_a_value(self, defined):
        case = defined["test_argmax_pass_types_and_shapes_sparse_initializer"][1]
        assert wiring_error(onnx.load_model_from_string(case.model)) is None
