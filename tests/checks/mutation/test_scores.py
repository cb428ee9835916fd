"""Scores of mutants: cases, passes, searches, false positives, sweeps, tightness, variants and seeds of nodes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from corpora import no_progress
from fake_subject import always_right, always_wrong
from onnx import TensorProto, helper
from pass_cases import defined_pass_cases, optimizer_task

from checks.mutation import choose_seeds
from checks.mutation.choose_seeds import combinations_of, cover_dimensions, dimension_values
from checks.mutation.node_score import OperatorScore, page
from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.search_score import measure_search_score
from checks.mutation.variant_sweep import NUMBER_OF_SWEEPS, RandomSetting, outputs_of, running_bounds, sweep
from checks.mutation.variants import VARIANTS
from conformance.base.verdicts import Level
from conformance.corpus.cases.case import CaseKind, PassEffect
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.exact.declarations.drawing import draw_node
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_checks import CHECKS

# Each case of the pass names a check that a mutant of the catalogue violates in it.


OF_THE_PASS = [case for case in defined_pass_cases() if case.kind is CaseKind.PASS]
ABOUT = [case for case in OF_THE_PASS if case.rewrite.effect is not PassEffect.OPTIONAL]
PLAIN = next(case for case in OF_THE_PASS if case.id == "test_exp_argmax_axis_1_float")
"""A case with only the operator and ArgMax."""

MUTANTS = [mutant for mutants in pass_mutants().values() for mutant in mutants]
OF_DETAILS = {"interface", "preservation"}
"""Checks of details. A mutant that violates them on the plain case too is no evidence about another case."""


def violated_checks(case, mutant):
    """Return the names of the checks that a mutant violates on a case."""
    outcome = judge_rewrite(mutant.optimize, (PASS_NAME,), optimizer_task(case))
    return {check.name for check in outcome.checks if check.violation is not None}


def optimized(case, optimize):
    """Return the optimized models of a case, or None if the optimizer raises an error."""
    try:
        return [optimize(optimizer_task(case).model, fixed_point=fixed).SerializeToString() for fixed in (False, True)]
    except Exception:  # noqa: BLE001 - a mutant can raise anything
        return None


@pytest.fixture(scope="module")
def mutants_by_check():
    """The mutants that can violate each check, the most recent one first."""
    plainly = {mutant.id: violated_checks(PLAIN, mutant) for mutant in MUTANTS}
    return {
        check.name: [f for f in MUTANTS if check.name not in OF_DETAILS or check.name not in plainly[f.id]]
        for check in CHECKS
    }


def first_to_fail(case, mutants):
    """Return the first mutant that violates the case's check, and move it to the front."""
    expected = optimized(case, eliminate)
    for mutant in mutants:
        if optimized(case, mutant.optimize) != expected and case.rewrite.check in violated_checks(case, mutant):
            mutants.remove(mutant)
            mutants.insert(0, mutant)
            return mutant
    return None


def test_pass_cases_name_a_check_unless_optional():
    names = {check.name for check in CHECKS}
    assert [case.id for case in OF_THE_PASS if (case.rewrite.check in names) is not (case in ABOUT)] == []


@pytest.mark.whole
@pytest.mark.parametrize("step", [30, pytest.param(1, marks=pytest.mark.long)])
def test_pass_cases_have_mutant_that_violates_named_check(mutants_by_check, step):
    assert len(ABOUT) > 400
    tried = ABOUT[::step]
    assert [case.id for case in tried if first_to_fail(case, mutants_by_check[case.rewrite.check]) is None] == []


def test_cases_cover_all_kinds_of_checks():
    details = {"interface", "preservation", "leftovers"}
    assert {case.rewrite.check for case in ABOUT} == {"structure", "answers", *details, "hazards"}


# The mutation score of the search counts detected mutants, and gives a reason for unreachable ones.


def stop_after(examples):
    """Return a condition that stops after so many examples."""
    return lambda score: score.examples >= examples


def mutant(id, backend, level=Level.MUST):
    return SimpleNamespace(id=id, operator="ArgMax", level=level, backend=backend)


WRONG = mutant("argmax.wrong", always_wrong)
RIGHT = mutant("argmax.right", always_right)
ADMITTED = mutant("argmax.admitted", always_right, Level.SHOULD)
LARGE = mutant("argmax.1048576_elements_at_most", always_right)


@pytest.fixture(scope="module")
def measured():
    """The score of a detected, a missed, a permitted and an unreachable mutant."""
    return measure_search_score([WRONG, RIGHT, ADMITTED, LARGE], 0, stop_after(12), lambda _: None)


def test_search_score_counts_a_detected_mutant(measured):
    assert list(measured.detected) == ["argmax.wrong"]


def test_search_score_with_a_missed_mutant_does_not_pass(measured):
    assert measured.missed == ["argmax.right"]
    assert not measured.passes


def test_search_score_lists_unreachable_mutants(measured):
    assert list(measured.unreachable) == ["argmax.1048576_elements_at_most"]
    assert "    argmax.1048576_elements_at_most" in measured.lines()


def test_search_score_ends_when_all_are_detected():
    assert measure_search_score([WRONG], 0, stop_after(1000), lambda _: None).examples < 10


# Correct variants stay within the bounds on random inputs.


ELEMENTS = 10_000


@pytest.fixture(scope="module")
def swept():
    return sweep(ELEMENTS, no_progress)


def setting(operator, dtype, **attributes):
    tensors = [np.linspace(0.5, 2, 7, dtype=dtype) for _ in TRAINING_OPTIMIZERS[operator].operands]
    given = {**TRAINING_OPTIMIZERS[operator].defaults, **attributes}
    given = {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in given.items()}
    return RandomSetting(operator, np.array(0.3, dtype), np.array(5), tensors, given)


SETTINGS = {
    "Adam": {"norm_coefficient": 0.1, "norm_coefficient_post": 0.2},
    "Momentum": {"alpha": 0.9, "beta": 0.7, "mode": "nesterov", "norm_coefficient": 0.1},
    "Adagrad": {"decay_factor": 0.3, "norm_coefficient": 0.1},
}


def test_operators_all_have_correct_variants():
    assert len(VARIANTS) >= 12
    assert len({variant.id for variant in VARIANTS}) == len(VARIANTS)
    for operator in (*TRAINING_OPTIMIZERS, "Log", "Softmax"):
        assert any(operator in variant.patches for variant in VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
def test_variant_has_the_types_and_values_of_the_plain_one(variant):
    for operator in TRAINING_OPTIMIZERS.keys() & variant.patches.keys():
        for dtype in (np.float32, np.float64):
            case = setting(operator, dtype, **SETTINGS[operator])
            plain, other = outputs_of(VARIANTS[0], case), outputs_of(variant, case)
            for a, b in zip(plain, other, strict=True):
                assert a.dtype == b.dtype == dtype
                np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("operator", TRAINING_OPTIMIZERS)
def test_running_bounds_have_the_values_of_the_formula(operator):
    case = setting(operator, np.float64, **SETTINGS[operator])
    bounds = running_bounds(TRAINING_OPTIMIZERS[operator].formula, case.R, case.T, case.tensors, case.attributes)
    for (value, bound), plain in zip(bounds, outputs_of(VARIANTS[0], case), strict=True):
        np.testing.assert_allclose(value.astype(np.float64), plain, rtol=1e-14)
        assert (bound > 0).all()


def test_sweep_finds_all_variants_within_the_bounds(swept):
    assert len(swept) == NUMBER_OF_SWEEPS == 6
    assert all(one.passes for one in swept), swept
    assert all(one.screened <= 1 for one in swept), swept
    assert all(one.elements >= ELEMENTS for one in swept)
    assert all(one.checked > one.unsettled for one in swept)


def test_sweep_finds_the_bounds_tight(swept):
    for one in swept:
        roundoff = 2.0**-24 if one.type == "float" else 2.0**-53
        assert one.largest > 0.25, f"{one.operator} in {one.type}: nothing comes near the bound"
        assert one.width < 20 * roundoff, f"{one.operator} in {one.type}: the bound is wide"


# A patched kernel applies to nodes of its operator in ONNX's own domain only.


REMOVED = next(variant for variant in VARIANTS if variant.id == "monotone_removed")
X = np.array([0, 1e-8], np.float32)
NEG = helper.make_function(
    "acme", "Exp", ["A"], ["B"], [helper.make_node("Neg", ["A"], ["B"])], [helper.make_opsetid("", 13)]
)


def indices(nodes, outputs=("I",), functions=()):
    """Return the outputs of the variant that removes Exp before ArgMax."""
    graph = helper.make_graph(
        [*nodes, helper.make_node("ArgMax", ["E"], ["I"], keepdims=0)],
        "graph",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("acme", 1)]
    model = helper.make_model(graph, functions=functions, opset_imports=imports)
    return [output.tolist() for output in REMOVED.backend.prepare(model).run([X])]


def test_operator_read_only_by_argmax_is_removed():
    assert indices([helper.make_node("Exp", ["X"], ["E"])]) == [1]


@pytest.mark.parametrize("taker", ["Neg", "Exp"])
def test_operator_read_by_another_node_is_kept(taker):
    nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node(taker, ["E"], ["other"])]
    assert indices(nodes) == [0]


def test_operator_whose_result_is_an_output_is_kept():
    assert indices([helper.make_node("Exp", ["X"], ["E"])], ["E", "I"]) == [[1, 1], 0]


def test_function_of_another_domain_is_kept():
    assert indices([helper.make_node("Exp", ["X"], ["E"], domain="acme")], functions=[NEG]) == [0]


@pytest.fixture
def few_tries(monkeypatch):
    monkeypatch.setattr(choose_seeds, "COVER_TRIES", 100)


def dimension_values_of(operator, seeds):
    """Return the values of dimensions of the nodes of seeds."""
    return {value for seed in seeds for value in dimension_values(draw_node(operator, seed))}


def test_cover_dimensions_has_each_type_size_and_value_of_an_attribute(few_tries):
    found = dimension_values_of("LRN", cover_dimensions("LRN", []))
    assert found >= {("attribute size", size) for size in "12345"}
    assert found >= {("type T", name) for name in ("float", "double", "float16", "bfloat16")}
    assert found >= {("attribute alpha", "0.5"), ("attribute bias", "absent"), ("rank", "1"), ("rank", "2")}


def test_cover_dimensions_returns_fewer_seeds_after_others(few_tries):
    first = cover_dimensions("LRN", [])
    assert len(cover_dimensions("LRN", first)) < len(first)


def test_dimension_values_say_whether_all_elements_are_equal():
    nodes = [draw_node("Conv", f"seed/{number}", {"declaration": 0}) for number in range(40)]
    found = {value for node in nodes for value in dimension_values(node)}
    assert ("all of size k", "1") in found


def test_combinations_have_pairs_of_different_dimensions():
    values = [("type T", "float"), ("rank", "1"), ("rank", "2")]
    pairs = {each for each in combinations_of(values) if isinstance(each[0], tuple)}
    assert pairs == {(values[0], values[1]), (values[0], values[2])}


def test_node_score_counts_pairs_apart():
    every = {"Abs-ignores-a", "Abs-ignores-a-with-b", "Abs-ignores-b"}
    score = OperatorScore(every, exercised=every, must={"Abs-ignores-a"}, should={"Abs-ignores-a"})
    assert score.part(is_pair=False).row() == {"mutants": 2, "exercised": 2, "must": 1, "should": 1}
    assert score.part(is_pair=True).row() == {"mutants": 1, "exercised": 1, "must": 0, "should": 0}
    (row,) = [line.split(" | ") for line in page({"Abs": score}).splitlines() if line.startswith("| Abs ")]
    assert row[1:5] == ["2", "2", "1", "1"]
