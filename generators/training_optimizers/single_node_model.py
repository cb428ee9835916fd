"""Models of a single node, from which invalid models are built by replacement of a part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info, pseudo_random_array
from generators.declarations.training_dimensions import OPERAND_RANGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from generators.training_optimizers.operator import Operator


@dataclass(frozen=True)
class SingleNodeModel:
    """A model with one node, every part of which can be replaced.

    Attributes:
        op_type: type of the node.
        domain: operator domain of the node.
        attributes: attributes of the node.
        inputs: values of the inputs by name, in the order of the node; they are also the graph inputs.
        outputs: declared type and shape of the outputs by name, in the order of the node; they are also graph outputs.
        opsets: opset version by domain.
    """

    op_type: str
    domain: str
    attributes: Mapping[str, Any]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, tuple[str, Sequence[int]]]
    opsets: Mapping[str, int]

    def with_attributes(self, **attributes: Any) -> SingleNodeModel:
        """Return a copy with added or replaced attributes."""
        return replace(self, attributes={**self.attributes, **attributes})

    def without_attribute(self, name: str) -> SingleNodeModel:
        """Return a copy without an attribute."""
        return replace(self, attributes={key: value for key, value in self.attributes.items() if key != name})

    def with_inputs(self, **inputs: Array) -> SingleNodeModel:
        """Return a copy with added or replaced inputs."""
        return replace(self, inputs={**self.inputs, **inputs})

    def without_inputs(self, *names: str) -> SingleNodeModel:
        """Return a copy without some inputs."""
        return replace(self, inputs={key: value for key, value in self.inputs.items() if key not in names})

    def reorder_inputs(self, names: Sequence[str]) -> SingleNodeModel:
        """Return a copy with reordered inputs."""
        return replace(self, inputs={name: self.inputs[name] for name in names})

    def with_output(self, name: str) -> SingleNodeModel:
        """Return a copy with an additional output of the same type and shape as the first output."""
        return replace(self, outputs={**self.outputs, name: next(iter(self.outputs.values()))})

    def without_output(self, name: str) -> SingleNodeModel:
        """Return a copy without an output."""
        return replace(self, outputs={key: value for key, value in self.outputs.items() if key != name})

    def serialise(self, name: str) -> bytes:
        """Build and serialise the model. `name` is the name of the graph."""
        node = helper.make_node(
            self.op_type, list(self.inputs), list(self.outputs), domain=self.domain, **self.attributes
        )
        inputs = [array_value_info(key, array) for key, array in self.inputs.items()]
        outputs = [make_value_info(key, *value) for key, value in self.outputs.items()]
        return build_model(name, [node], inputs, outputs, self.opsets)


def valid_optimizer_model(
    operator: Operator, dtype: Any = np.float32, shapes: Sequence[Sequence[int]] = ((4,),)
) -> SingleNodeModel:
    """Return a valid model of an optimizer with its usual attributes.

    Args:
        operator: the optimizer.
        dtype: element type of the tensors. R is always float32 and T int64.
        shapes: one shape for each tensor.
    """
    signature = operator.signature
    tensors = {
        name: _tensor(operator, name, shapes[place % len(shapes)], dtype)
        for place, name in enumerate(tensor_names(signature.operands, len(shapes)))
    }
    results = tensor_names(signature.results, len(shapes))
    type = type_name(np.dtype(dtype))
    return SingleNodeModel(
        operator.name,
        signature.domain,
        operator.usual,
        {"R": np.array(operator.rate, dtype=np.float32), "T": np.array(2, dtype=np.int64), **tensors},
        {name: (type, shapes[place % len(shapes)]) for place, name in enumerate(results)},
        operator.imports,
    )


def valid_argmax_model() -> SingleNodeModel:
    """Return a valid model of ArgMax along the second axis of a matrix."""
    X = pseudo_random_array("invalid/argmax/X", (2, 3), np.float32)
    return SingleNodeModel("ArgMax", "", {"axis": 1, "keepdims": 0}, {"X": X}, {"index": ("int64", (2,))}, {"": 13})


def _tensor(operator: Operator, name: str, shape: Sequence[int], dtype: Any) -> Array:
    """Return an operand with values in its usual range; for an integer type, the values are rounded."""
    values = pseudo_random_array(f"invalid/{operator.prefix}/{name}", shape, np.float32, *OPERAND_RANGES[name[0]])
    return np.asarray(np.rint(values) if np.dtype(dtype).kind == "i" else values).astype(dtype)
