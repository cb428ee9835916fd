"""Cases that are refused, each for what is wrong with it."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from argmax_cases import X, argmax_case
from corpora import write_corpus
from onnx import helper

from conformance.errors import CaseError, UnknownName
from conformance.generation import defined as definitions
from conformance.generation.defined import defined_cases
from conformance.generation.models import declared, declared_as, model
from conformance.verdicts import Level


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
        assert "onnx refuses" in self.refused(tmp_path, model=self.argmax_model(keepdims=0, bogus=1))

    def test_bytes_that_are_no_model(self, tmp_path):
        assert "onnx refuses" in self.refused(tmp_path, model=b"no protobuf at all")

    def test_a_model_that_onnx_refuses(self, tmp_path):
        assert "onnx refuses" in self.refused(tmp_path, model=self.argmax_model(keepdims=0, opset=0))

    def test_more_inputs_than_the_graph_has(self, tmp_path):
        assert "inputs that its model does not declare" in self.refused(tmp_path, data_sets=((X, X),))

    def test_inputs_of_another_type_than_the_graph_declares(self, tmp_path):
        problem = self.refused(tmp_path, data_sets=((X.astype(np.float64),),))
        assert "inputs that its model does not declare" in problem

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
        assert refused.value.mend == "Did you mean adam?"
