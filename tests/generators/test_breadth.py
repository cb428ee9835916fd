"""The cases of the training optimizers cover every relevant kind of input."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS


def inputs_of(defined, op_type):
    """Yield the valid cases with a single optimizer node and without initializers: case, node and data sets."""
    for case in (case for _, case in defined.values() if not case.is_invalid):
        model = onnx.load_model_from_string(case.model)
        if [node.op_type for node in model.graph.node] == [op_type] and not model.graph.initializer:
            yield case, model.graph.node[0], case.data_sets


@pytest.mark.whole
@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
class TestBreadth:
    """Minimum variety of inputs for each training optimizer."""

    def test_update_counts_are_covered(self, defined, op_type):
        counts = {int(data[1].flat[0]) for _, _, sets in inputs_of(defined, op_type) for data in sets}
        assert counts >= {0, 1, 2, 10, 1000, 2**24 + 1, 2**32 + 1}
        assert min(counts) < 0

    def test_type_combinations_are_covered(self, defined, op_type):
        types = {(d[0].dtype.name, d[2].dtype.name) for _, _, sets in inputs_of(defined, op_type) for d in sets}
        assert types >= {(rate, tensor) for rate in ("float32", "float64") for tensor in ("float32", "float64")}

    def test_ranks_and_sizes_are_covered(self, defined, op_type):
        shapes = {array.shape for _, _, sets in inputs_of(defined, op_type) for data in sets for array in data[2:]}
        assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4}
        assert {int(np.prod(shape)) for shape in shapes} >= {0, 1, 7, 3001}

    def test_tensor_counts_are_covered(self, defined, op_type):
        groups = len(TRAINING_OPTIMIZERS[op_type].operands)
        counts = {(len(data) - 2) // groups for _, _, sets in inputs_of(defined, op_type) for data in sets}
        assert counts >= {1, 2, 3, 8}

    def test_different_shapes_in_one_node_are_covered(self, defined, op_type):
        assert any(len({a.shape for a in data[2:]}) >= 3 for _, _, sets in inputs_of(defined, op_type) for data in sets)

    def test_attribute_sets_are_covered(self, defined, op_type):
        signature = TRAINING_OPTIMIZERS[op_type]
        given = {frozenset(a.name for a in node.attribute) for _, node, _ in inputs_of(defined, op_type)}
        required = frozenset(signature.required)
        assert required | set(signature.defaults) in given
        assert required in given
        assert given >= {required | {name} for name in signature.defaults}

    def test_special_values_are_covered(self, defined, op_type):
        elements = np.concatenate(
            [a.astype(np.float64).ravel() for _, _, s in inputs_of(defined, op_type) for d in s for a in d[2:]]
        )
        assert np.isnan(elements).any()
        assert {np.inf, -np.inf} <= set(elements[np.isinf(elements)])
        assert {True, False} == set(np.signbit(elements[elements == 0]).tolist())
        magnitudes = np.abs(elements[np.isfinite(elements) & (elements != 0)])
        assert magnitudes.min() < np.finfo(np.float64).smallest_normal
        assert magnitudes.max() > 1e80

    def test_update_counts_vary_within_a_model(self, defined, op_type):
        assert any(len({int(d[1].flat[0]) for d in sets}) >= 3 for _, _, sets in inputs_of(defined, op_type))
