"""The catalogue of mutants: each entry is well formed, and the arithmetic that its tables use is right."""

from __future__ import annotations

import re

import numpy as np
import pytest
from batches import for_each

from conformance.clauses import clauses
from conformance.mutants import FAMILIES, arithmetic, catalogue
from conformance.mutants.mutant import FormulaArithmetic, pseudocode, replace_pseudocode
from conformance.mutants.optimizer_wrappers import group_operands, interleave
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS, adam
from conformance.verdicts import Level

EVERY = [mutant for rows in catalogue().values() for mutant in rows]
LEAST = {"Adam": 40, "Momentum": 30, "Adagrad": 35, "ArgMax": 40}


def test_catalogue_has_each_family_and_unique_ids():
    assert tuple(catalogue()) == FAMILIES
    assert all(len(rows) >= LEAST[family] for family, rows in catalogue().items())
    assert len({mutant.id for mutant in EVERY}) == len(EVERY)


@for_each("mutant", EVERY, lambda mutant: mutant.id)
def test_mutant_text_is_a_verb_phrase_about_a_clause(mutant):
    assert re.fullmatch(r"[a-z_]+\.[a-z0-9_]+", mutant.id)
    assert mutant.clause in clauses()
    assert re.fullmatch(r"((never|always) )?[a-z]+s .*[^.]", mutant.text), "a verb first, no full stop"
    assert "  " not in mutant.text


def test_mutant_texts_of_an_operator_are_unique():
    told = [(mutant.operator, mutant.text) for mutant in EVERY]
    assert len(set(told)) == len(told)


@for_each("mutant", [one for one in EVERY if one.edits], lambda mutant: mutant.id)
def test_mutant_edits_occur_once_in_the_pseudo_code(mutant):
    assert callable(replace_pseudocode(TRAINING_OPTIMIZERS[mutant.operator].formula, mutant.edits))


def test_catalogue_has_few_mutants_below_must():
    below = [mutant for mutant in EVERY if mutant.level is not Level.MUST]
    assert 0 < len(below) < len(EVERY) / 20


def test_replace_pseudocode_without_edits_returns_the_formula():
    assert replace_pseudocode(adam, {}) is adam
    assert pseudocode(adam).startswith("def adam(R, T, X, G, V, H, *, alpha, beta, ")


def test_replace_pseudocode_rejects_missing_and_repeated_texts():
    with pytest.raises(ValueError, match="occurs 0 times"):
        replace_pseudocode(adam, {"H_sqrt = np.cbrt(H_new)": ""})
    with pytest.raises(ValueError, match="V_new"):
        replace_pseudocode(adam, {"V_new": ""})


def test_interleaved_reorders_tensor_by_tensor():
    assert interleave(["X1", "G1", "X2", "G2"], 2) == ["X1", "X2", "G1", "G2"]
    assert group_operands([["X1", "G1"], ["X2", "G2"]]) == ["X1", "X2", "G1", "G2"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    a = dtype(1) + np.finfo(dtype).eps
    assert arithmetic.fma(a, a, -dtype(1)) == dtype(2) * np.finfo(dtype).eps + np.finfo(dtype).eps ** 2
    with np.errstate(all="ignore"):
        assert np.isinf(arithmetic.fma(dtype(np.inf), dtype(2), dtype(1)))


@pytest.mark.parametrize("power", [arithmetic.by_loop, arithmetic.by_squaring, arithmetic.by_exponential])
@pytest.mark.parametrize("T", [1, 2, 7, 1000, 2**40])
def test_power_implementations_agree(power, T):
    assert power(np.float64(0.875), T) == pytest.approx(0.875**T, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("base", "power"), [(-0.5, -0.125), (0.0, 0.0)])
def test_by_exponential_of_a_nonpositive_base_is_the_power(base, power):
    assert arithmetic.by_exponential(np.float32(base), 3) == power


def test_coarse_keeps_twelve_bits():
    assert arithmetic.coarse(np.float64(1 + 2.0**-11)) == 1 + 2.0**-11
    assert arithmetic.coarse(np.float64(1 + 2.0**-13)) == 1
    assert arithmetic.coarse(np.float32(0.1)).dtype == np.float32


def test_flushed_keeps_signs_and_normal_numbers():
    tiny = np.finfo(np.float32).tiny
    flushed = arithmetic.flushed(np.array([tiny / 2, -tiny / 2, tiny, np.inf], np.float32))
    np.testing.assert_array_equal(flushed, [0, -0.0, tiny, np.inf])
    np.testing.assert_array_equal(np.signbit(flushed), [False, True, False, False])


def test_rounding_array_rounds_after_each_operation():
    x = arithmetic.Rounding.of(np.array([1.0, 2.0], np.float32), arithmetic.half)
    y = 1 + x * np.float32(2.0**-12)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(y), [1, 1])
    assert FormulaArithmetic(rounding=arithmetic.half) == FormulaArithmetic(rounding=arithmetic.half)
