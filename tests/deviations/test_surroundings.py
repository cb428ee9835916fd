"""What goes wrong in one surrounding alone goes right elsewhere, and wrong there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.backends.reference import ReferenceBackend
from conformance.deviations import catalogue
from conformance.dimensions.families import FAMILIES
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

PLACED = FAMILIES["placed"]
PLAIN = {factor: values[0] for factor, values in PLACED.declaration("Adam").factors.items()}
DEVIATIONS = {deviation.id: deviation for deviation in catalogue()["Adam"]}


def is_noticed(deviation, **row):
    """Whether a deviation gives other outputs than the reference for an Adam in a surrounding."""
    built = PLACED.built("Adam", "surroundings", {**PLAIN, **row})
    model = onnx.load_model_from_string(built.model)
    right, wrong = (
        backend.prepare(model).run(list(built.data_sets[0]))
        for backend in (ReferenceBackend, DEVIATIONS[deviation].backend)
    )
    return not all(np.array_equal(*pair) for pair in zip(right, wrong, strict=True))


@pytest.mark.parametrize(
    ("deviation", "places"),
    [
        ("adam.left_in_if", {"if_then", "if_else", "if_in_loop"}),
        ("adam.left_in_scan", {"scan"}),
        ("adam.first_iteration_again", {"loop"}),
        ("adam.first_row_again", {"scan"}),
        ("adam.defaults_in_function", {"function", "function_twice", "function_in_function"}),
    ],
)
def test_a_place_alone_is_wrong(deviation, places):
    every = PLACED.declaration("Adam").factors["place"]
    assert {place for place in every if is_noticed(deviation, place=place)} == places


@pytest.mark.parametrize(
    ("deviation", "tensors"),
    [("adam.state_of_same_shape", {"two_alike", "one_twice", "g_as_state"}), ("adam.same_x_once", {"one_twice"})],
)
def test_tensors_that_are_alike_are_wrong(deviation, tensors):
    every = PLACED.declaration("Adam").factors["tensors"]
    assert {word for word in every if is_noticed(deviation, tensors=word)} == tensors


@pytest.mark.parametrize("operator", TRAINING_OPTIMIZERS)
def test_attributes_in_another_order_than_the_page_s_are_wrong_by_their_places(operator):
    """Each row has attributes that differ, so that an exchange of them shows."""
    numbers = FAMILIES["numbers"]
    factors = numbers.declaration(operator).factors
    row = {factor: values[0] for factor, values in factors.items()}
    by_place = next(each for each in catalogue()[operator] if each.by_place)
    noticed = set()
    for order in factors["order"]:
        built = numbers.built(operator, "order", {**row, "order": order})
        answers = [
            backend.prepare(onnx.load_model_from_string(built.model)).run(list(built.data_sets[1]))
            for backend in (ReferenceBackend, by_place.backend)
        ]
        if not all(map(np.array_equal, *answers)):
            noticed.add(order)
    assert noticed == {"reversed", "rotated"}


def test_an_attribute_that_a_kernel_takes_from_a_function_s_default_is_found_in_every_graph():
    assert is_noticed("adam.epsilon_not_read", place="if_in_loop")
    assert is_noticed("adam.epsilon_not_read", place="function_in_function")
