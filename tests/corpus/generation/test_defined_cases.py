"""Cases that generators define: bounds, unusual models and refusals."""

from __future__ import annotations

import dataclasses
import re
from fnmatch import fnmatch
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest
from argmax_cases import X, argmax_case
from corpora import write_corpus
from onnx import helper
from refusals import assert_raises

from checks.measurements.double_bounds import double_cases
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.generation import generators as definitions
from conformance.corpus.generation.generators import define_cases
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info
from conformance.exact.reference.oracle import Answer, answers
from conformance.run.judging.compare import ulp_of
from generators.exact_scalars import MAX_ULP

# Bounds of `must` cases are at most 64 ULP per training step, relative to the largest operand of the element.


MAX_ULP_PER_STEP = 64

WIDER = {
    "test_adagrad_numbers_052_first_float": "epsilon is -1, so the root of H_new loses its leading bits",
    "test_momentum_numbers_048_first_float": "the sum V_new loses leading bits, and R * V_new outweighs X",
    "test_adam_*double*": "R_adjusted may be computed in float, so the hull of all interpretations is wide",
    "test_adagrad_*double*": "r may be computed in float, so the hull of all interpretations is wide",
    "test_adam_pairwise_004_*": "1 - beta**T is a small part of beta**T, and inherits its error of 16 ULP",
    "test_adam_float32_attributes_must_float": "1 - beta**T is a small part of beta**T, as in pairwise_004",
    "test_adam_function_own_name_defaults_float": "1 - beta**T is a small part of beta**T, as in pairwise_004",
    "test_adam_counts_*_float": "a loop may compute the power of an attribute of -1, whose error grows with T",
    "test_adam_tiny_float*": "the errors of a power, two roots and two quotients add up in the update",
    "test_adam_numbers_*_float": "1 - alpha**T and 1 - beta**T are small parts of powers whose T is large",
    "test_adam_extreme_*_r_huge_*": "the errors of roots and quotients add up in an update that dominates X",
    "test_adam_close_attributes_*_float": "the errors of a power, two roots and two quotients add up in the update",
    "test_adam_own_attributes_*_float": "the errors of a power, two roots and two quotients add up in the update",
    "test_adam_calls_*_types_float": "1 - beta**T is a small part of beta**T, as in pairwise_004",
    "test_*_placed_*": "operands are initializers, or parts of inputs of other shapes, so they do not measure a result",
    "test_*_programs_*": "operands are made in the graph or in iterations, so they do not measure a result",
    "test_*_sizes_*": "operands are tiled from a period of another shape, so they do not measure a result",
    "test_adam_training_network_float*": "G is computed in the graph, from operands of other shapes",
    "test_adagrad_training_network_float*": "G is computed in the graph, from operands of other shapes",
}
"""Reasons for wider bounds, by pattern of case ids."""


def training_steps(id):
    """Return the number of training training_steps in a case's graph."""
    match = re.search(r"training_(?:fed_10_times_)?(\d+)", id)
    return int(match[1]) if match else 1


def widths(data_set):
    """Yield the largest bound of each output, in ULP of the largest operand or result at the same position."""
    for output in data_set.outputs:
        if output.bound is not None and output.bound.size and output.expected.dtype.kind == "f":
            operands = [array for array in data_set.inputs if array.shape == output.expected.shape]
            numbers = [abs(array) for array in (*operands, output.expected) if array.dtype == output.expected.dtype]
            largest = np.fmax.reduce([np.where(np.isfinite(array), array, 0) for array in numbers])
            yield float((output.bound / ulp_of(largest.astype(output.expected.dtype))).max())


@pytest.fixture(scope="module")
def wide(whole_corpus):
    """Bounds in ULP of the `must` cases that exceed the limit, by case id."""
    found = {}
    for entry in whole_corpus.cases.values():
        if entry.level is Level.MUST and not entry.is_invalid and not entry.is_structural:
            held = load_case_in_memory(whole_corpus, entry).held
            widest = max((width for data_set in held for width in widths(data_set)), default=0.0)
            if widest > MAX_ULP_PER_STEP * training_steps(entry.id):
                found[entry.id] = widest
    return found


@pytest.fixture(scope="module")
def in_double(whole_corpus):
    """The bounds of the `must` cases in double."""
    return list(double_cases(whole_corpus))


@pytest.mark.long
def test_at_most_a_ninth_of_double_cases_is_wide(in_double):
    assert len(in_double) > 500
    assert sum(case.width > MAX_ULP for case in in_double) <= len(in_double) / 9


@pytest.mark.long
def test_update_in_float_passes_no_double_case(in_double):
    needing = [case for case in in_double if case.needs_double]
    assert len(needing) > 500
    assert [case.id for case in needing if not case.excludes_float] == []


@pytest.mark.long
def test_wide_bound_has_a_reason(wide):
    assert {id: width for id, width in wide.items() if not any(fnmatch(id, pattern) for pattern in WIDER)} == {}


@pytest.mark.long
@pytest.mark.parametrize("pattern", WIDER)
def test_reason_matches_a_wide_case(wide, pattern):
    assert any(fnmatch(id, pattern) for id in wide)
    assert len(WIDER) <= 20


# Generators and cases with errors are rejected with the code of the error.


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

    @pytest.mark.parametrize(("field", "empty"), [("title", ""), ("clauses", ()), ("data_sets", ())])
    def test_empty_title_or_missing_clause_or_data_set_is_rejected(self, field, empty):
        with assert_raises("case.incomplete", "test_small"):
            argmax_case(**{field: empty})

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

    def test_given_answers_that_admit_every_value_are_rejected(self, tmp_path, defined):
        case = defined["test_adagrad"][1]
        expected = answers(case.model, case.data_sets[0], case.level)
        opened = [Answer(each.expected, np.full(each.expected.shape, np.inf)) for each in expected]
        in_part = dataclasses.replace(case, answers=((expected[0], *opened[1:]),))
        assert write_corpus(tmp_path / "one", [in_part]).cases == 1
        with assert_raises("case.output-unbounded", case.id):
            write_corpus(tmp_path / "all", [dataclasses.replace(case, answers=(tuple(opened),))])

    def test_duplicate_id_is_rejected(self, tmp_path):
        with assert_raises("case.id-duplicate", "test_small"):
            write_corpus(tmp_path / "new", [argmax_case(), argmax_case()])
        assert not (tmp_path / "new").exists()

    def test_generator_with_failing_import_is_rejected(self, monkeypatch):
        broken = EntryPoint("broken", "a_package_that_is_not_there:cases", "onnx_conformance.generators")
        monkeypatch.setattr(definitions, "registered_entry_points", lambda _: {"broken": broken})
        with assert_raises("case.generator-failed", "broken", "ModuleNotFoundError"):
            define_cases(["broken"])

    def test_generator_without_cases_is_rejected(self, monkeypatch):
        nothing = SimpleNamespace(load=lambda: list)
        monkeypatch.setattr(definitions, "registered_entry_points", lambda _: {"nothing": nothing})
        with assert_raises("case.none-defined"):
            define_cases(["nothing"])

    def test_unknown_generator_is_rejected(self):
        with assert_raises("name.generator-not-found", "adan") as caught:
            define_cases(["adam", "adan"])
        assert "adam" in caught.value.hint
