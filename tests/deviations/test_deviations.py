"""The catalogue of deviations: every entry can be read, can be run, and says what it breaks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conformance.clauses import clauses
from conformance.deviations import FAMILIES, arithmetic, catalogue
from conformance.deviations.deviation import Arithmetic
from conformance.deviations.pseudocode import pseudocode, rewritten
from conformance.deviations.twists import grouped, interleaved
from conformance.reference.operators.adam import adam
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.verdicts import Level

EVERY = [deviation for rows in catalogue().values() for deviation in rows]
LEAST = {"Adam": 40, "Momentum": 30, "Adagrad": 35, "ArgMax": 40}


def test_the_catalogue_has_a_table_for_every_family_and_no_id_twice():
    assert tuple(catalogue()) == FAMILIES
    assert all(len(rows) >= LEAST[family] for family, rows in catalogue().items())
    assert len({deviation.id for deviation in EVERY}) == len(EVERY)


@pytest.mark.parametrize("deviation", EVERY, ids=lambda deviation: deviation.id)
def test_a_deviation_is_a_sentence_about_a_clause(deviation):
    assert re.fullmatch(r"[a-z_]+\.[a-z0-9_]+", deviation.id)
    assert deviation.clause in clauses()
    assert re.fullmatch(r"((never|always) )?[a-z]+s .*[^.]", deviation.text), "a verb first, no full stop"
    assert "  " not in deviation.text


def test_no_two_deviations_of_an_operator_are_told_in_the_same_words():
    told = [(deviation.operator, deviation.text) for deviation in EVERY]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("deviation", [one for one in EVERY if one.edits], ids=lambda deviation: deviation.id)
def test_what_is_replaced_stands_in_the_pseudo_code_once(deviation):
    assert callable(rewritten(TRAINING_OPTIMIZERS[deviation.operator].formula, deviation.edits))


def test_most_deviations_are_of_level_must_and_the_others_break_what_ieee_754_or_quality_asks():
    below = [deviation for deviation in EVERY if deviation.level is not Level.MUST]
    assert 0 < len(below) < len(EVERY) / 20


def test_pseudo_code_without_edits_is_the_formula_itself():
    assert rewritten(adam, {}) is adam
    assert pseudocode(adam).startswith("def adam(R, T, X, G, V, H, *, alpha, beta, ")


def test_a_text_that_is_not_there_cannot_be_replaced():
    with pytest.raises(ValueError, match="stands 0 times"):
        rewritten(adam, {"H_sqrt = np.cbrt(H_new)": ""})
    with pytest.raises(ValueError, match="times in the pseudo-code of adam"):
        rewritten(adam, {"V_new": ""})


def test_interleaving_takes_each_tensor_s_operands_for_neighbours():
    assert interleaved(["X1", "G1", "X2", "G2"], 2) == ["X1", "X2", "G1", "G2"]
    assert grouped([["X1", "G1"], ["X2", "G2"]]) == ["X1", "X2", "G1", "G2"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fused_multiplication_rounds_once(dtype):
    a = dtype(1) + np.finfo(dtype).eps
    assert arithmetic.fma(a, a, -dtype(1)) == dtype(2) * np.finfo(dtype).eps + np.finfo(dtype).eps ** 2
    with np.errstate(all="ignore"):
        assert np.isinf(arithmetic.fma(dtype(np.inf), dtype(2), dtype(1)))


@pytest.mark.parametrize("power", [arithmetic.by_loop, arithmetic.by_squaring, arithmetic.by_exponential])
@pytest.mark.parametrize("T", [1, 2, 7, 1000, 2**40])
def test_the_three_powers_agree(power, T):
    assert power(np.float64(0.875), T) == pytest.approx(0.875**T, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("base", "power"), [(-0.5, -0.125), (0.0, 0.0)])
def test_a_power_by_exponential_of_what_has_no_logarithm_is_a_power_too(base, power):
    assert arithmetic.by_exponential(np.float32(base), 3) == power


def test_a_coarse_number_has_twelve_bits():
    assert arithmetic.coarse(np.float64(1 + 2.0**-11)) == 1 + 2.0**-11
    assert arithmetic.coarse(np.float64(1 + 2.0**-13)) == 1
    assert arithmetic.coarse(np.float32(0.1)).dtype == np.float32


def test_flushing_keeps_signs_and_normal_numbers():
    tiny = np.finfo(np.float32).tiny
    flushed = arithmetic.flushed(np.array([tiny / 2, -tiny / 2, tiny, np.inf], np.float32))
    np.testing.assert_array_equal(flushed, [0, -0.0, tiny, np.inf])
    np.testing.assert_array_equal(np.signbit(flushed), [False, True, False, False])


def test_an_array_that_rounds_rounds_after_every_operation():
    x = arithmetic.Rounding.of(np.array([1.0, 2.0], np.float32), arithmetic.half)
    y = 1 + x * np.float32(2.0**-12)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(y), [1, 1])
    assert Arithmetic(rounding=arithmetic.half) == Arithmetic(rounding=arithmetic.half)
