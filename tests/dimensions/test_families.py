"""Every choice that a declaration allows is built into a case, and what is not covered has its reason."""

from __future__ import annotations

import onnx
import pytest

from conformance.dimensions.coverage_text import coverage_lines
from conformance.dimensions.covering import coverage, covering_rows
from conformance.dimensions.factors import Declaration, Meeting
from conformance.dimensions.families import FAMILIES, declarations, row_of
from conformance.dimensions.numbers import attributes
from conformance.dimensions.pairwise import pairwise
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

EVERY = {f"{operator} {family}": (operator, family, declaration) for operator, family, declaration in declarations()}


def tags_of(rows):
    return [("adam", "placed", *(f"{factor}={value}" for factor, value in row.items())) for row in rows]


@pytest.mark.parametrize("name", EVERY)
class TestCorpus:
    def test_cases_cover_whatever_has_no_reason_against_it(self, name, defined):
        operator, family, declaration = EVERY[name]
        cases = [case for _, case in defined.values() if {operator, family} <= set(case.tags)]
        covered = coverage(declaration, [row_of(case.tags) for case in cases])
        assert covered.wanted
        assert covered.missing == []

    def test_whatever_is_impossible_has_a_reason(self, name):
        _, _, declaration = EVERY[name]
        impossible = coverage(declaration, []).impossible
        assert all(declaration.is_excluded(dict(pair)) for pair in impossible), impossible
        assert all(each.reason for each in (*declaration.excluded, *declaration.hiding, *declaration.left_out))


class TestLines:
    def test_a_corpus_without_rows_covers_nothing(self):
        lines = list(coverage_lines([]))
        assert lines[0] == "adam placed: 0 cases"
        assert "  0 of 324 triples of place x origin x use are covered" in lines
        assert "  not covered: place=main with origin=input with use=output" in lines

    def test_all_rows_leave_nothing(self):
        rows = covering_rows(FAMILIES["placed"].declaration("Adam"))
        lines = list(coverage_lines(tags_of(rows)))
        lines = lines[: lines.index("adam numbers: 0 cases")]
        assert "  324 of 324 triples of place x origin x use are covered" in lines
        assert not any("not covered" in line for line in lines)

    def test_a_sibling_on_primitive_operators_covers_nothing(self):
        [row, *_] = covering_rows(pairwise("Adam"))
        own = ["adam", "pairwise", *(f"{factor}={value}" for factor, value in row.items())]
        assert "adam pairwise: 1 cases" in list(coverage_lines([own, [*own, "expanded"]]))

    def test_what_is_left_out_has_its_reason_beside_it(self):
        lines = list(coverage_lines([]))
        assert any(line.startswith("    place=scan with tensors=0d: Scan takes rows") for line in lines)
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
    def test_they_are_in_the_row_s_order(self, order, names):
        assert list(attributes("Momentum", {**ROW, "T": "first", "order": order})) == names

    def test_beta_can_be_alpha(self):
        given = attributes("Momentum", {**ROW, "alpha": "near_one", "T": "hundreds", "order": "listed"})
        assert given["alpha"] == given["beta"] == 1 - 2.0**-9

    @pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
    def test_the_model_has_them_in_that_order(self, op_type):
        family = FAMILIES["numbers"]
        row = next(row for row in covering_rows(family.declaration(op_type)) if row["order"] == "reversed")
        (node,) = onnx.load_model_from_string(family.built(op_type, "reversed", row).model).graph.node
        assert [attribute.name for attribute in node.attribute] == list(attributes(op_type, row))


def test_a_meeting_needs_all_its_values():
    meeting = Meeting({"a": ("1", "2"), "b": ("1",)}, "because")
    assert meeting.is_in({"a": "2", "b": "1", "c": "3"})
    assert not meeting.is_in({"a": "2"})
    assert Declaration({}, excluded=(meeting,)).is_excluded({"a": "1", "b": "1"})
