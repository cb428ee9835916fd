"""Cases cover all declarations, and every uncovered combination has a reason."""

from __future__ import annotations

import onnx
import pytest

from conformance.factors.covering_array import Declaration, LevelCombination, coverage, covering_array
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.families import (
    TRAINING_FAMILIES,
    coverage_lines,
    iter_declarations,
    pairwise_declaration,
    row_from_tags,
)
from generators.declarations.numbers import row_attributes

DECLARATIONS = {
    f"{operator} {family}": (operator, family, declaration) for operator, family, declaration in iter_declarations()
}


def tags_of(rows):
    return [("adam", "placed", *(f"{factor}={value}" for factor, value in row.items())) for row in rows]


@pytest.mark.parametrize("name", DECLARATIONS)
class TestCorpus:
    @pytest.mark.whole
    def test_cases_cover_all_coverable_interactions(self, name, defined):
        operator, family, declaration = DECLARATIONS[name]
        cases = [case for _, case in defined.values() if {operator, family} <= set(case.tags)]
        covered = coverage(declaration, [row_from_tags(case.tags) for case in cases])
        assert covered.coverable
        assert covered.missing == []

    def test_impossible_interaction_is_forbidden_with_a_reason(self, name):
        _, _, declaration = DECLARATIONS[name]
        impossible = coverage(declaration, []).impossible
        assert all(declaration.is_forbidden(dict(pair)) for pair in impossible), impossible
        assert all(each.reason for each in (*declaration.forbidden, *declaration.masking, *declaration.omissions))


class TestCoverageLines:
    def test_empty_corpus_covers_nothing(self):
        lines = list(coverage_lines([]))
        assert lines[0] == "adam placed: 0 cases"
        assert any(line.startswith("  0 of 396 ") for line in lines)
        assert any("scope=main with source=input with consumer=output" in line for line in lines)

    def test_coverage_report_of_all_rows_is_complete(self):
        rows = covering_array(TRAINING_FAMILIES["placed"].declaration("Adam"))
        lines = list(coverage_lines(tags_of(rows)))
        lines = lines[: lines.index("adam numbers: 0 cases")]
        assert any(line.startswith("  396 of 396 ") for line in lines)
        assert not any("not covered" in line for line in lines)

    def test_expanded_case_is_not_counted(self):
        [row, *_] = covering_array(pairwise_declaration("Adam"))
        own = ["adam", "pairwise", *(f"{factor}={value}" for factor, value in row.items())]
        assert any(line.startswith("adam pairwise: 1 ") for line in coverage_lines([own, [*own, "expanded"]]))

    def test_report_states_reasons(self):
        lines = list(coverage_lines([]))
        assert any(line.startswith("    scope=scan with tensors=0d: ") for line in lines)
        assert any(line.startswith("    a sparse initializer: ") for line in lines)


ROW = {"alpha": "usual", "beta": "as_alpha", "mode": "nesterov", "norm_coefficient": "usual"}


class TestAttributes:
    @pytest.mark.parametrize(
        ("order", "names"),
        [
            ("listed", ["alpha", "beta", "mode", "norm_coefficient"]),
            ("reversed", ["norm_coefficient", "mode", "beta", "alpha"]),
            ("rotated", ["beta", "mode", "norm_coefficient", "alpha"]),
        ],
    )
    def test_attributes_have_the_order_of_the_row(self, order, names):
        assert list(row_attributes("Momentum", {**ROW, "T": "first", "order": order})) == names

    def test_beta_can_equal_alpha(self):
        given = row_attributes("Momentum", {**ROW, "alpha": "near_one", "T": "hundreds", "order": "listed"})
        assert given["alpha"] == given["beta"] == 1 - 2.0**-9

    @pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
    def test_model_keeps_the_attribute_order(self, op_type):
        family = TRAINING_FAMILIES["numbers"]
        row = next(row for row in covering_array(family.declaration(op_type)) if row["order"] == "reversed")
        (node,) = onnx.load_model_from_string(family.build(op_type, "reversed", row).model).graph.node
        assert [attribute.name for attribute in node.attribute] == list(row_attributes(op_type, row))


def test_level_combination_needs_all_levels():
    combination = LevelCombination({"a": ("1", "2"), "b": ("1",)}, "because")
    assert combination.is_in({"a": "2", "b": "1", "c": "3"})
    assert not combination.is_in({"a": "2"})
    assert Declaration({}, forbidden=(combination,)).is_forbidden({"a": "1", "b": "1"})
