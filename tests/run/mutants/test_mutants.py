"""The catalogue of mutants, their tables, and combined mutants."""

from __future__ import annotations

import re
from importlib import resources

import msgspec
import numpy as np
import pytest
from batches import for_each

from checks.mutation.arithmetic import by_exponential, by_loop, by_squaring, fma
from conformance.base.verdicts import Level
from conformance.exact.clauses import clauses
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS, adagrad, adam
from conformance.run.mutants import (
    FAMILIES,
    FILES,
    MutantFile,
    arithmetic,
    catalogue,
    mutants_of_table,
    named_function,
    pseudocode_edits,
    pseudocode_lines,
    table_operators,
)
from conformance.run.mutants.mutant import (
    FormulaArithmetic,
    IncompatibleMutantsError,
    PromotingArithmetic,
    compose,
    pseudocode,
    replace_pseudocode,
)
from conformance.run.mutants.training_wrappers import group_operands, interleave

# The catalogue of mutants: each entry is well formed, and the arithmetic that its tables use is right.


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
    assert fma(a, a, -dtype(1)) == dtype(2) * np.finfo(dtype).eps + np.finfo(dtype).eps ** 2
    with np.errstate(all="ignore"):
        assert np.isinf(fma(dtype(np.inf), dtype(2), dtype(1)))


@pytest.mark.parametrize("power", [by_loop, by_squaring, by_exponential])
@pytest.mark.parametrize("base", [0.875, -1.0])
@pytest.mark.parametrize("T", [1, 2, 7, 1000, 2**40])
def test_power_implementations_agree(power, base, T):
    assert power(np.float64(base), T) == pytest.approx(base**T, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("base", "power"), [(-0.5, -0.125), (0.0, 0.0)])
def test_by_exponential_of_a_nonpositive_base_is_the_power(base, power):
    assert by_exponential(np.float32(base), 3) == power


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


# Mutants compose if one implementation can have all of them.


DEVIATIONS = {one.id: one for rows in catalogue().values() for one in rows}


def outputs(case_of, *ids):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    backend = compose(tuple(DEVIATIONS[id] for id in ids))
    return backend.prepare(case.model).run(list(data_set.inputs))


@pytest.mark.parametrize("id", ["adam.root_missing", "adam.flattened", "adam.default_alpha_0"])
def test_compose_of_one_mutant_equals_its_backend(case_of, id):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    own = DEVIATIONS[id].backend.prepare(case.model).run(list(data_set.inputs))
    assert all(map(np.array_equal, outputs(case_of, id), own))


def test_compose_applies_the_edits_of_both_mutants(case_of):
    right, both = outputs(case_of), outputs(case_of, "adam.v_sum", "adam.h_absolute")
    assert not np.array_equal(right[1], both[1])
    np.testing.assert_array_equal(both[1], outputs(case_of, "adam.v_sum")[1])
    np.testing.assert_array_equal(both[2], outputs(case_of, "adam.h_absolute")[2])


def test_compose_evaluates_edits_with_the_wrapper_of_the_other(case_of):
    both = outputs(case_of, "adam.v_sum", "adam.half_outputs")
    np.testing.assert_array_equal(both[1], outputs(case_of, "adam.v_sum")[1].astype(np.float16).astype(np.float32))


def test_compose_applies_the_first_mutant_outermost(case_of):
    one, other = "adam.state_not_returned", "adam.gradient_as_half"
    np.testing.assert_array_equal(outputs(case_of, one, other)[1], outputs(case_of, one)[1])


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("adam.epsilon_ignored", "adam.root_missing", "the pseudo-code"),
        ("adam.default_alpha_0", "adam.default_alpha_95", "'alpha'"),
        ("adam.half_arithmetic", "adam.computes_in_float", "arithmetic"),
        ("adam.never_corrected", "adam.t_minus_1", "the pseudo-code"),
    ],
)
def test_compose_rejects_contradicting_mutants(one, other, why):
    with pytest.raises(IncompatibleMutantsError, match=why):
        compose((DEVIATIONS[one], DEVIATIONS[other]))


def test_replace_pseudocode_rejects_overlapping_texts():
    with pytest.raises(ValueError, match="'np"):
        replace_pseudocode(adagrad, {"np.sqrt(H_new) + epsilon": "H_new", "H_adaptive = np.sqrt(H_new)": ""})


# The TOML files of mutants: the package's files are complete, and each key of the format has its effect.


def read_mutants(operator="Adam", file=None, **keys):
    """Return the mutants of a file with one `[[mutant]]` that has these keys."""
    table = {"id": "x", "text": "does x", "clause": "v_new", **keys}
    converted = msgspec.convert({**(file or {}), "mutant": [table]}, MutantFile)
    return list(mutants_of_table(converted, converted.mutant[0], operator))


def test_files_lists_every_toml_file_of_the_package():
    folder = resources.files("conformance.run.mutants")
    assert sorted(FILES) == sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if ".toml" in path.name)


@pytest.mark.parametrize("operator", TRAINING_OPTIMIZERS)
def test_pseudocode_lines_occur_once_in_the_pseudo_code(operator):
    source = pseudocode(TRAINING_OPTIMIZERS[operator].formula)
    assert {text: source.count(text) for text in pseudocode_lines()[operator].values()} == dict.fromkeys(
        pseudocode_lines()[operator].values(), 1
    )


def test_pseudocode_edits_replace_names_and_keep_texts():
    assert pseudocode_edits("Adagrad", {"r": "R", "np.sqrt": "np.cbrt"}) == {
        "R / (1 + T * decay_factor)": "R",
        "np.sqrt": "np.cbrt",
    }


@pytest.mark.parametrize(
    ("operator", "clause", "expected"),
    [
        ("Adam", "v_new", "adam.v_new"),
        ("LogSoftmax", "monotone.{operator}", "monotone.log_softmax"),
        ("Momentum", "x_new", "momentum.x_new_standard"),
        ("Adam", "x_new", "adam.x_new"),
        ("Adam", "", ""),
    ],
)
def test_mutant_clause_gets_the_operator(operator, clause, expected):
    (mutant,) = read_mutants(operator, {"clauses": {"Momentum": {"x_new": "x_new_standard"}}}, clause=clause)
    assert mutant.clause == expected


@pytest.mark.parametrize(
    ("operator", "id", "expected"),
    [("Adam", "x", "adam.x"), ("LogSoftmax", "x", "log_softmax.x"), ("Adam", "mine.x", "mine.x")],
)
def test_mutant_id_without_a_dot_gets_the_operator(operator, id, expected):
    assert [one.id for one in read_mutants(operator, id=id)] == [expected]


def test_mutant_each_makes_a_mutant_for_each_value():
    wrappers = [{"name": "first_elements", "count": "{size}"}]
    mutants = read_mutants(
        id="{word}_at_most", text="updates {size}", each={"size": [1, 2], "word": ["one", "two"]}, wrappers=wrappers
    )
    assert [(one.id, one.text) for one in mutants] == [
        ("adam.one_at_most", "updates 1"),
        ("adam.two_at_most", "updates 2"),
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"promotes": True}, PromotingArithmetic()),
        ({"computing": "float32"}, FormulaArithmetic(computing="float32")),
        ({"rounding": "half"}, FormulaArithmetic(rounding=named_function("half"))),
    ],
)
def test_mutant_arithmetic_is_built(table, expected):
    (mutant,) = read_mutants(arithmetic=table)
    assert (type(mutant.arithmetic), mutant.arithmetic) == (type(expected), expected)


@pytest.mark.parametrize(
    ("keys", "datum"),
    [
        ({"wrappers": [{"name": "q"}]}, "'q'"),
        ({"wrappers": [{"name": "each_output", "function": "q"}]}, "'q'"),
        ({"wrappers": [{"name": "scalar", "scalar": "X", "function": "abs"}]}, "'X'"),
        ({"each": {"a": [1, 2], "b": [1]}}, "shorter"),
    ],
)
def test_mutant_with_an_invalid_key_raises(keys, datum):
    with pytest.raises(ValueError, match=datum):
        read_mutants(**keys)


def test_table_operators_without_operator_raises():
    file = msgspec.convert({"mutant": [{"id": "x", "text": "does x"}]}, MutantFile)
    with pytest.raises(ValueError, match="operator"):
        table_operators(file, file.mutant[0])


@pytest.mark.parametrize(("text", "result"), [("abs", 2), ("clamped", -2), ("lambda x: np.negative(clamped(x))", 2)])
def test_named_function_finds_names_and_lambdas(text, result):
    assert named_function(text)(np.float32(-2)) == result
