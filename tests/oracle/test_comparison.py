"""The comparison finds wrong values in a corpus, and reports both values."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from repository import DATA

from oracle.comparison import compare_case
from oracle.corpus import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADAM = "node/test_adam_t_2p40_float"
EIGHT = "node/test_adam_pairwise_014_t_0_eight_float_r_double"
ARGMAX = "pass/test_exp_argmax_tie_last"


def spoilt(place: str, folder: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Case:
    """Return a copy of a case with one tensor of its first data set replaced."""
    shutil.copytree(DATA / place, folder, dirs_exist_ok=True)
    file = folder / "test_data_set_0" / name
    tensor = numpy_helper.to_array(TensorProto.FromString(file.read_bytes())).copy()
    file.write_bytes(numpy_helper.from_array(change(tensor)).SerializeToString())
    return Case(place, "must", folder)


def unchanged(tensor: np.ndarray) -> np.ndarray:
    return tensor


def next_after_first(tensor: np.ndarray) -> np.ndarray:
    tensor.flat[0] = np.nextafter(tensor.flat[0], np.float32(np.inf))
    return tensor


def first_inverted(tensor: np.ndarray) -> np.ndarray:
    tensor.flat[0] = not tensor.flat[0]
    return tensor


def first_negated(tensor: np.ndarray) -> np.ndarray:
    tensor.flat[0] = -tensor.flat[0]
    return tensor


@pytest.mark.parametrize("place", [ADAM, ARGMAX])
def test_unchanged_case_has_no_difference(place, tmp_path):
    comparison = compare_case(spoilt(place, tmp_path, "output_0.pb", unchanged))
    assert comparison.differences == []
    assert comparison.counts["elements"] > 0


@pytest.mark.parametrize(
    ("place", "name", "change", "what"),
    [
        (ADAM, "output_0.pb", next_after_first, "value"),
        (ADAM, "output_1.pb", first_negated, "value"),
        (ADAM, "output_0.pb", lambda tensor: tensor.reshape(2, 2), "type and shape"),
        (ADAM, "output_0.pb", lambda tensor: tensor.astype(np.float64), "type and shape"),
        (ADAM, "bound_0.pb", np.zeros_like, "bound and rounding"),
        (ADAM, "bound_0.pb", np.negative, "bound and rounding"),
        (ADAM, "bound_0.pb", lambda tensor: tensor * np.nan, "bound and rounding"),
        (EIGHT, "bound_0.pb", lambda tensor: tensor / 4, "bound and stepwise rounding"),
        (ARGMAX, "output_0.pb", np.zeros_like, "value"),
        (ARGMAX, "output_0.pb", lambda tensor: tensor - [2, 0], "which acceptable index"),
        (ARGMAX, "accept_0.pb", first_inverted, "accept set"),
        (ARGMAX, "accept_0.pb", np.zeros_like, "accept set"),
    ],
)
def test_wrong_corpus_value_is_a_difference(place, name, change, what, tmp_path):
    assert what in {difference.what for difference in compare_case(spoilt(place, tmp_path, name, change)).differences}


@pytest.mark.parametrize(("place", "name"), [(EIGHT, "bound_0.pb"), (ARGMAX, "accept_0.pb")])
def test_exact_value_depending_on_rounding_is_a_difference(place, name, tmp_path):
    case = spoilt(place, tmp_path, "output_0.pb", unchanged)
    (tmp_path / "test_data_set_0" / name).unlink()
    assert {difference.what for difference in compare_case(case).differences} == {"exact value and other roundings"}


def test_zero_of_other_sign_is_a_difference(tmp_path):
    case = spoilt("node/test_adagrad_zeros_of_both_signs_float", tmp_path, "output_0.pb", first_negated)
    difference = compare_case(case).differences[0]
    assert (difference.what, str(difference.corpus), str(difference.second)) == ("value", "-0.0", "0.0")


def test_difference_names_location_and_both_values(tmp_path):
    (difference,) = compare_case(spoilt(ARGMAX, tmp_path, "output_0.pb", lambda tensor: tensor - [1, 0])).differences
    told = f"{ARGMAX} test_data_set_0 output 0 element [0]: value: the corpus has 2, the second oracle 3"
    assert str(difference) == told


def test_unknown_operator_is_a_difference(tmp_path):
    case = spoilt(ARGMAX, tmp_path, "output_0.pb", unchanged)
    model = case.model()
    model.graph.node[0].op_type = "Erf"
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    (difference,) = compare_case(case).differences
    assert "no operator ai.onnx.Erf" in str(difference)
