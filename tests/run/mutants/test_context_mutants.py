"""Mutants that depend on a node's context fail in that context and nowhere else."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import catalogue
from conformance.subjects.adapters.reference import ReferenceBackend
from generators.declarations.families import TRAINING_FAMILIES

PLACED = TRAINING_FAMILIES["placed"]
PLAIN = {factor: values[0] for factor, values in PLACED.declaration("Adam").factors.items()}
DEVIATIONS = {mutant.id: mutant for mutant in catalogue()["Adam"]}


def is_detected(mutant, **row):
    """Return whether an Adam mutant and the reference have different outputs in a context."""
    built = PLACED.build("Adam", "surroundings", {**PLAIN, **row})
    model = onnx.load_model_from_string(built.model)
    right, wrong = (
        backend.prepare(model).run(list(built.data_sets[0]))
        for backend in (ReferenceBackend, DEVIATIONS[mutant].backend)
    )
    return not all(np.array_equal(*pair) for pair in zip(right, wrong, strict=True))


@pytest.mark.parametrize(
    ("mutant", "factor", "levels"),
    [
        ("adam.left_in_if", "scope", {"if_then", "if_else", "if_in_loop", "if_both"}),
        ("adam.left_in_scan", "scope", {"scan"}),
        ("adam.first_iteration_again", "scope", {"loop"}),
        ("adam.first_row_again", "scope", {"scan"}),
        ("adam.updated_again_in_loop", "scope", {"loop_invariant"}),
        ("adam.defaults_in_function", "scope", {"function", "function_twice", "function_in_function"}),
        ("adam.state_of_same_shape", "tensors", {"two_alike", "one_twice", "g_as_state"}),
        ("adam.same_x_once", "tensors", {"one_twice"}),
    ],
)
def test_context_mutant_fails_only_in_its_contexts(mutant, factor, levels):
    every = PLACED.declaration("Adam").factors[factor]
    assert {level for level in every if is_detected(mutant, **{factor: level})} == levels


@pytest.mark.parametrize("operator", TRAINING_OPTIMIZERS)
def test_by_position_mutant_fails_for_reordered_attributes(operator):
    """All attributes of a row differ, so that exchanging them changes the outputs."""
    numbers = TRAINING_FAMILIES["numbers"]
    factors = numbers.declaration(operator).factors
    row = {factor: values[0] for factor, values in factors.items()}
    by_position = next(each for each in catalogue()[operator] if each.by_position)
    detected = set()
    for order in factors["order"]:
        built = numbers.build(operator, "order", {**row, "order": order})
        answers = [
            backend.prepare(onnx.load_model_from_string(built.model)).run(list(built.data_sets[1]))
            for backend in (ReferenceBackend, by_position.backend)
        ]
        if not all(map(np.array_equal, *answers)):
            detected.add(order)
    assert detected == {"reversed", "rotated"}


def test_unread_attribute_mutant_fails_in_nested_graphs():
    assert is_detected("adam.epsilon_not_read", scope="if_in_loop")
    assert is_detected("adam.epsilon_not_read", scope="function_in_function")


FAMILIES_OF_MUTANTS = {
    "reuses_x": ("aliases", {"operand": "X", "alias": "identity", "side": "alias"}, {"operand": "R"}),
    "same_value_once": ("shared", {}, None),
    "sparse_as_zeros": ("constants", {"constant": "G", "source": "sparse_constant"}, {"source": "constant"}),
    "sparse_without_indices": ("constants", {"constant": "G", "source": "sparse_coordinates"}, {"source": "constant"}),
    "fed_defaults_ignored": ("fed_defaults", {"fed": "G"}, None),
    "minus_one_omitted": ("numbers", {"norm_coefficient": "minus_one"}, {"norm_coefficient": "usual"}),
    "tiny_r_as_zero": ("numbers", {"R": "tiny"}, {"R": "usual"}),
}
"""By mutant: the family that detects it, levels with which a row detects it, and levels with which it does not."""


@pytest.mark.parametrize("mutant", FAMILIES_OF_MUTANTS)
@pytest.mark.parametrize("operator", ["Adam", "Momentum", "Adagrad"])
def test_operand_mutant_fails_only_with_its_level(mutant, operator):
    name, failing, passing = FAMILIES_OF_MUTANTS[mutant]
    family = TRAINING_FAMILIES[name]
    backend = next(each for each in catalogue()[operator] if each.id.endswith(f".{mutant}")).backend
    first = {factor: values[0] for factor, values in family.declaration(operator).factors.items()}

    def is_wrong(row):
        built = family.build(operator, "operands", {**first, **row})
        model = onnx.load_model_from_string(built.model)
        right, wrong = (
            [each.prepare(model).run([array.copy() for array in inputs]) for inputs in built.data_sets]
            for each in (ReferenceBackend, backend)
        )
        return not all(
            np.array_equal(*pair) for runs in zip(right, wrong, strict=True) for pair in zip(*runs, strict=True)
        )

    assert is_wrong(failing)
    assert passing is None or not is_wrong({**failing, **passing})
