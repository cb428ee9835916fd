"""The TOML files of mutants: the package's files are complete, and each key of the format has its effect."""

from __future__ import annotations

from importlib import resources

import msgspec
import numpy as np
import pytest

from conformance.mutants.mutant import FormulaArithmetic, PromotingArithmetic, pseudocode
from conformance.mutants.tables import (
    FILES,
    MutantFile,
    mutants_of_table,
    named_function,
    pseudocode_edits,
    pseudocode_lines,
    table_operators,
)
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS


def read_mutants(operator="Adam", file=None, **keys):
    """Return the mutants of a file with one `[[mutant]]` that has these keys."""
    table = {"id": "x", "text": "does x", "clause": "v_new", **keys}
    converted = msgspec.convert({**(file or {}), "mutant": [table]}, MutantFile)
    return list(mutants_of_table(converted, converted.mutant[0], operator))


def test_files_lists_every_toml_file_of_the_package():
    folder = resources.files("conformance.mutants")
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
