"""Factors of cases: contexts, rows of ArgMax, and covering arrays."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from batches import for_each
from covered_combinations import admissible_rows, covered_pairs, covered_triples
from onnx import helper, numpy_helper
from repository import ROOT

from conformance.corpus.factors.connections import (
    ALIAS_SOURCES,
    CONSUMERS,
    SOURCES,
    TENSOR_ENCODINGS,
    Fragment,
    typed_tensor,
)
from conformance.corpus.factors.covering_array import (
    Declaration,
    LevelCombination,
    covered_interactions,
    covering_array,
)
from conformance.corpus.factors.scopes import ITERATIONS, SCOPES
from conformance.corpus.factors.wrapping import IMPORT_LEVELS, Context, build_in_context
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of, type_number
from conformance.exact.models.input_files import fed_input_names, required_input_names
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import evaluate
from conformance.run.mutants import op_types
from generators import adagrad
from generators.declarations.argmax_dimensions import (
    ARGMAX_TYPES,
    GOLOMB_RULER,
    TIE_LEVELS,
    argmax_placed_declaration,
    build_argmax_placed,
)
from generators.declarations.family import FamilyDeclaration, coverage
from generators.declarations.training_dimensions import placed_declaration

# The family `placed` of ArgMax: tensor encodings, validity of models, and coverage of ties.


@pytest.fixture(scope="module")
def rows():
    return argmax_placed_declaration().rows


@pytest.mark.parametrize("type", ARGMAX_TYPES)
def test_typed_tensor_equals_raw_tensor(type):
    array = np.array([[1, 0, 3], [2, 5, 4]]).astype(dtype_of(type_number(type)))
    stored = typed_tensor(array, "X")
    assert not stored.raw_data
    np.testing.assert_array_equal(array_of(stored), array_of(tensor_of(array, "X")), strict=True)


def test_golomb_ruler_has_distinct_distances():
    distances = [later - earlier for place, earlier in enumerate(GOLOMB_RULER) for later in GOLOMB_RULER[place + 1 :]]
    assert len(set(distances)) == len(distances)


@pytest.mark.long
def test_placed_rows_build_valid_models(rows):
    for row in rows:
        model = onnx.load_model_from_string(build_argmax_placed("row", row).model)
        onnx.checker.check_model(model, full_check=True)
        assert "ArgMax" in op_types(model)


@pytest.mark.parametrize("values", TIE_LEVELS)
def test_ties_occur_in_branches_and_functions(rows, values):
    scopes = {row["scope"] for row in rows if row["values"] == values}
    assert {"main", "if_then", "if_else", "function"} <= scopes


# In every context, a model is valid and computes the same as the nodes alone.


X = np.array([[1.5, -2.0, 4.0], [0.5, 8.0, -1.0]], dtype=np.float32)
Y = np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 7.0]], dtype=np.float32)
S = np.array(0.25, dtype=np.float32)


def fragment():
    """Return Z = LeakyRelu(X * Y + S). Every operand and the attribute affect the result."""
    nodes, again = (
        (
            helper.make_node("Mul", ["X", "Y"], ["XY"]),
            helper.make_node("Add", ["XY", "S"], ["sum"]),
            helper.make_node("LeakyRelu", ["sum"], ["Z"], alpha=alpha),
        )
        for alpha in (0.5, 0.25)
    )
    return Fragment(nodes, {"X": X, "Y": Y, "S": S}, {"Z": np.zeros_like(X)}, {"": 13}, {"Z": "X"}, again)


def leaky(total, alpha=0.5):
    return np.where(total < 0, alpha * total, total)


EXPECTED = leaky(X * Y + S)


def outputs(context):
    """Return the outputs of the fragment in a context, by name."""
    built = build_in_context("contexts", fragment(), context)
    model = onnx.load_model_from_string(built.model)
    onnx.checker.check_model(model, full_check=True)
    count = len(built.data_sets[0])
    assert len(fed_input_names(model.graph, count)) == count
    names = [value.name for value in model.graph.output]
    return dict(zip(names, evaluate(model, built.data_sets[0]), strict=True))


def test_later_run_keeps_constants_of_the_first_run():
    context = Context("if_then", {"X": "rearranged", "Y": "initializer", "S": "part"})
    built = build_in_context("contexts", fragment(), context, [{"X": Y, "Y": X, "S": 2 * S}])
    model = onnx.load_model_from_string(built.model)
    given = [evaluate(model, data_set)[0] for data_set in built.data_sets]
    np.testing.assert_array_equal(given, [EXPECTED, leaky(Y * Y + 2 * S)])


@pytest.mark.parametrize("scope", SCOPES)
def test_scope_keeps_the_result(scope):
    """Check every scope. In `loop`, the result is used as operand of a second iteration."""
    given = outputs(Context(scope))
    assert ITERATIONS == 2
    expected = leaky(EXPECTED * Y + S) if scope == "loop" else EXPECTED
    first, *others = given.values()
    np.testing.assert_array_equal(first, np.stack([expected] * 2) if scope == "if_in_loop" else expected)
    assert len(others) == (scope in {"function_twice", "if_both"})


@pytest.mark.parametrize("scope", ["function_twice", "if_both"])
def test_second_result_has_own_attributes(scope):
    np.testing.assert_array_equal(outputs(Context(scope))["Z_again"], leaky(X * Y + S, 0.25))


@pytest.mark.parametrize("source", ALIAS_SOURCES)
def test_alias_source_shows_the_other_name_unchanged(source):
    given = outputs(Context(sources={"X": source}))
    np.testing.assert_array_equal(given["Z"], EXPECTED)
    np.testing.assert_array_equal(given["X_other_negative"], -X)


def test_overridden_initializers_are_fed_all_inputs():
    context = Context(sources={"X": "overridden", "Y": "overridable"})
    built = build_in_context("contexts", fragment(), context, [{"X": -X, "Y": Y, "S": S}])
    model = onnx.load_model_from_string(built.model)
    given = [evaluate(model, data_set)[0] for data_set in built.data_sets]
    np.testing.assert_array_equal(given, [EXPECTED, leaky(-X * Y + S)])


@pytest.mark.parametrize("stored", TENSOR_ENCODINGS)
@for_each("source", SOURCES)
@for_each("scope", SCOPES)
def test_source_keeps_the_result_in_every_scope(scope, source, stored):
    operands = "XY" if source == "sparse_constant" else "XYS"  # ONNX's sparse format has no scalars
    given = outputs(Context(scope, dict.fromkeys(operands, source), stored=stored))
    plain = outputs(Context(scope))
    np.testing.assert_array_equal(next(iter(given.values())), next(iter(plain.values())))


@pytest.mark.parametrize("consumer", [level for level in CONSUMERS if level != "unused"])
@for_each("scope", SCOPES)
def test_consumer_receives_the_result_in_every_scope(scope, consumer):
    given = outputs(Context(scope, consumers={"Z": consumer}))
    plain = next(iter(outputs(Context(scope)).values()))
    others = {name: array for name, array in given.items() if "_again" not in name}
    assert len(others) == (1 if consumer == "output" else 2)
    for name, array in others.items():
        times = -2 if "_later" in name else -1 if "_negative" in name else 1
        np.testing.assert_array_equal(array.reshape(-1), times * plain.reshape(-1))


def test_unused_result_is_not_an_output():
    assert outputs(Context(consumers={"Z": "unused"}, shared=("X",))).keys() == {"X_negative"}


def test_sliced_operand_is_padded():
    built = build_in_context("contexts", fragment(), Context(sources={"X": "part", "S": "part"}))
    model = onnx.load_model_from_string(built.model)
    fed = dict(zip(required_input_names(model.graph), built.data_sets[0], strict=True))
    assert fed["X_whole"].shape == (4, 5)
    np.testing.assert_array_equal(fed["S_whole"], [77, 77, 0.25, 77])


@pytest.mark.parametrize("level", IMPORT_LEVELS)
def test_import_level_keeps_model_valid(level):
    np.testing.assert_array_equal(outputs(Context(imports=level))["Z"], EXPECTED)


def test_training_info_binds_results_to_initializers():
    built = build_in_context("contexts", fragment(), Context(trains=True))
    (info,) = onnx.load_model_from_string(built.model).training_info
    (binding,) = info.update_binding
    assert binding.key in {tensor.name for tensor in info.algorithm.initializer}
    assert binding.value in {value.name for value in info.algorithm.output}


@pytest.mark.parametrize("encode", TENSOR_ENCODINGS.values())
def test_sparse_constant_of_a_scalar_is_dense(encode):
    (node,) = SOURCES["sparse_constant"]("S", np.array(2.5, np.float32), encode).before.nodes
    assert [attribute.name for attribute in node.attribute] == ["value"]
    assert numpy_helper.to_array(node.attribute[0].t) == np.float32(2.5)


# Covering arrays cover every coverable pair and triple without redundant rows.


SMALL = Declaration(
    {"a": ("1", "2", "3"), "b": ("1", "2"), "c": ("1", "2", "3"), "d": ("1", "2")},
    forbidden=(
        LevelCombination({"a": ("1",), "b": ("2",)}, "forbidden"),
        LevelCombination({"b": ("1",), "c": ("3",), "d": ("2",)}, "forbidden"),
    ),
    masking=(LevelCombination({"d": ("2",)}, "masks"), LevelCombination({"a": ("2",), "c": ("2", "3")}, "masks")),
)

WITH_TRIPLES = Declaration(
    {"place": ("1", "2"), "from_x": ("1", "2", "3"), "from_y": ("1", "2", "3"), "to": ("1", "2"), "size": ("1", "2")},
    forbidden=(LevelCombination({"place": ("2",), "from_x": ("3",), "from_y": ("3",)}, "forbidden"),),
    three_way={"place": ("place",), "from": ("from_x", "from_y"), "to": ("to",)},
)


GROWN = FamilyDeclaration(
    {**SMALL.factors, "a": (*SMALL.factors["a"], "4"), "e": ("1", "2", "3")},
    forbidden=SMALL.forbidden,
    masking=SMALL.masking,
    added={"a": ("4",), "e": ("2", "3")},
)
"""`SMALL` with a level and a factor that were added later."""


class TestAddedLevels:
    def test_original_declaration_lacks_the_added_levels(self):
        assert GROWN.original.factors == SMALL.factors

    def test_rows_of_the_original_declaration_come_first(self):
        original = covering_array(SMALL)
        assert GROWN.rows[: len(original)] == [{**row, "e": "1"} for row in original]

    def test_covering_array_covers_all_coverable_pairs(self):
        assert not coverage(GROWN, GROWN.rows).missing

    def test_every_later_row_has_an_added_level(self):
        later = GROWN.rows[len(covering_array(SMALL)) :]
        assert all(row["a"] == "4" or row["e"] in {"2", "3"} for row in later)


class TestRows:
    def test_covering_array_covers_all_coverable_pairs(self):
        rows = covering_array(SMALL)
        assert covered_pairs(SMALL, rows) == covered_pairs(SMALL, admissible_rows(SMALL))
        assert {frozenset(pair) for pair in coverage(SMALL, rows).coverable} == covered_pairs(SMALL, rows)

    def test_rows_have_no_forbidden_combination(self):
        assert all(row in admissible_rows(SMALL) for row in covering_array(SMALL))

    def test_number_of_rows_is_near_the_minimum(self):
        declaration = Declaration(dict.fromkeys("abcd", ("1", "2", "3")))
        assert 9 <= len(covering_array(declaration)) <= 12, "the minimum is 9 of 81 rows"

    def test_covering_array_has_no_redundant_row(self):
        rows = covering_array(SMALL)
        for row in rows:
            assert covered_pairs(SMALL, [other for other in rows if other is not row]) < covered_pairs(SMALL, rows)

    def test_masking_level_covers_only_its_own_pairs(self):
        pairs = covered_interactions(SMALL, {"a": "1", "b": "1", "c": "1", "d": "2"})
        assert [one[0] + other[0] for (one, other) in pairs] == ["ad", "bd", "cd"]
        assert covered_interactions(SMALL, {"a": "2", "b": "1", "c": "2", "d": "1"}) == [(("a", "2"), ("c", "2"))]
        assert covered_interactions(SMALL, {"a": "2", "b": "1", "c": "2", "d": "2"}) == []

    def test_covering_array_covers_all_coverable_triples(self):
        rows = covering_array(WITH_TRIPLES)
        assert covered_triples(WITH_TRIPLES, rows) == covered_triples(WITH_TRIPLES, admissible_rows(WITH_TRIPLES))
        assert covered_pairs(WITH_TRIPLES, rows) == covered_pairs(WITH_TRIPLES, admissible_rows(WITH_TRIPLES))
        assert len(rows) < len(admissible_rows(WITH_TRIPLES)) / 3

    def test_hash_seed_has_no_effect(self):
        program = "from generators.adagrad import MATRIX; print(MATRIX.rows)"
        printed = {
            subprocess.run(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "42")
        }
        assert printed == {f"{adagrad.MATRIX.rows}\n"}


class TestCoverage:
    def test_removed_row_leaves_missing_interactions(self):
        rows = covering_array(WITH_TRIPLES)
        assert coverage(WITH_TRIPLES, rows).missing == []
        assert coverage(WITH_TRIPLES, rows[1:]).missing

    def test_forbidden_pair_is_impossible_and_not_missing(self):
        declaration = Declaration(
            {"a": ("1", "2"), "b": ("1", "2")}, (LevelCombination({"a": ("1",), "b": ("2",)}, "forbidden"),)
        )
        assert coverage(declaration, covering_array(declaration)).impossible == [(("a", "1"), ("b", "2"))]

    def test_coverage_can_be_restricted_to_a_size(self):
        covered = coverage(WITH_TRIPLES, [])
        assert len(covered.restrict_to_size(3).missing) == 2 * 3 * 2
        assert len(covered.restrict_to_size(2).missing) + 12 == len(covered.missing)


@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
def test_placed_family_is_covered_completely(op_type):
    declaration = placed_declaration(op_type)
    covered = coverage(declaration, declaration.rows)
    assert covered.missing == []
    assert covered.restrict_to_size(3).impossible == []
