"""Generators and cases with errors are rejected with the code of the error."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from argmax_cases import X, argmax_case
from corpora import write_corpus
from onnx import helper
from refusals import assert_raises

from conformance.generation import generators as definitions
from conformance.generation.generators import define_cases
from conformance.generation.models import array_value_info, build_model, make_value_info
from conformance.verdicts import Level


class TestRejectedCases:
    def assert_refused(self, tmp_path, code: str, *data: str, **changes) -> None:
        case = argmax_case(**changes)
        with assert_raises(code, case.id, *data):
            write_corpus(tmp_path / "new", [case])
        assert list(tmp_path.iterdir()) == []

    def argmax_model(self, *, op_type="ArgMax", inputs=(X,), opset=13, type="int64", **attributes) -> bytes:
        names = [f"X{number}" for number in range(len(inputs))]
        node = helper.make_node(op_type, names, ["index"], **attributes)
        values = [array_value_info(name, array) for name, array in zip(names, inputs, strict=True)]
        return build_model("test_small", [node], values, [make_value_info("index", type, [])], {"": opset})

    def test_unchanged_case_is_accepted(self, tmp_path):
        assert write_corpus(tmp_path / "new", [argmax_case()]).cases == 1

    def test_unknown_clause_is_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.clause-unknown", "argmax.nothing", clauses=("argmax.nothing",))

    def test_operator_unknown_to_the_oracle_is_rejected(self, tmp_path):
        model = self.argmax_model(op_type="Tan")
        self.assert_refused(tmp_path, "case.not-computable", "Tan", model=model, full_check_exception="a test")

    def test_output_shape_that_argmax_cannot_have_is_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.model-invalid", model=self.argmax_model(keepdims=1))

    @pytest.mark.parametrize("changes", [{"keepdims": 1}, {"keepdims": 0, "type": "int32"}])
    def test_wrong_output_declaration_is_rejected_without_full_check(self, tmp_path, changes):
        model = self.argmax_model(**changes)
        self.assert_refused(tmp_path, "case.output-declaration", "index", model=model, full_check_exception="a test")

    def test_unknown_attribute_is_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.model-invalid", model=self.argmax_model(keepdims=0, bogus=1))

    def test_bytes_without_a_model_are_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.model-invalid", model=b"no protobuf at all")

    def test_model_invalid_for_onnx_is_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.model-invalid", model=self.argmax_model(keepdims=0, opset=0))

    def test_too_many_inputs_are_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.inputs-mismatch", data_sets=((X, X),))

    def test_inputs_of_wrong_type_are_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.inputs-mismatch", data_sets=((X.astype(np.float64),),))

    def test_empty_title_is_rejected(self):
        with assert_raises("case.incomplete", "test_small"):
            argmax_case(title="")

    @pytest.mark.parametrize("field", ["clauses", "data_sets"])
    def test_missing_clause_or_data_set_is_rejected(self, field):
        with assert_raises("case.incomplete", "test_small"):
            argmax_case(**{field: ()})

    @pytest.mark.parametrize(
        "id", ["adam", "Test_adam", "test_", "test_a/b", "test_../x", "test_a\n", "test_" + "a" * 121]
    )
    def test_malformed_id_is_rejected(self, id):
        with assert_raises("case.id-malformed", repr(id)):
            argmax_case(id=id)

    def test_unknown_kind_is_rejected(self):
        with assert_raises("case.kind-unknown", "'nodes'"):
            argmax_case(kind="nodes")

    def test_duplicate_clause_is_rejected(self, tmp_path):
        self.assert_refused(tmp_path, "case.case-json-invalid", clauses=("argmax.index", "argmax.index"))

    def test_ambiguous_must_case_is_rejected(self, tmp_path, defined):
        ambiguous = dataclasses.replace(defined["test_adagrad_squared_gradient_overflows_float"][1], level=Level.MUST)
        with assert_raises("case.must-ambiguous", ambiguous.id):
            write_corpus(tmp_path / "new", [ambiguous])

    def test_duplicate_id_is_rejected(self, monkeypatch):
        class TwiceTheSame:
            def load(self):
                return lambda: [argmax_case(), argmax_case()]

        monkeypatch.setattr(definitions, "registered_entry_points", lambda _: {"twice": TwiceTheSame()})
        with assert_raises("case.id-duplicate", "test_small"):
            define_cases(["twice"])

    def test_generator_with_failing_import_is_rejected(self, monkeypatch):
        broken = EntryPoint("broken", "a_package_that_is_not_there:cases", "onnx_conformance.generators")
        monkeypatch.setattr(definitions, "registered_entry_points", lambda _: {"broken": broken})
        with assert_raises("case.generator-failed", "broken", "ModuleNotFoundError"):
            define_cases(["broken"])

    def test_generator_without_cases_is_rejected(self, monkeypatch):
        class Nothing:
            def load(self):
                return list

        monkeypatch.setattr(definitions, "registered_entry_points", lambda _: {"nothing": Nothing()})
        with assert_raises("case.none-defined"):
            define_cases(["nothing"])

    def test_unknown_generator_is_rejected(self):
        with assert_raises("name.generator-not-found", "adan") as caught:
            define_cases(["adam", "adan"])
        assert "adam" in caught.value.hint
