"""Models of one node that may be anything, for cases of models that must be rejected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.dimensions.building import RANGES, numbered
from conformance.generation.models import declared, declared_as, model
from conformance.generation.values import scattered
from conformance.models.arrays import type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.models.arrays import Array
    from generators.training_optimizers.operator import Operator


@dataclass(frozen=True)
class Draft:
    """A model of one node, every part of which can be replaced by one that does not fit.

    Attributes:
        inputs: the graph's and the node's, by name and in order.
        outputs: likewise, with the type and shape that the graph declares.
        opsets: version by domain.
    """

    op_type: str
    domain: str
    attributes: Mapping[str, Any]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, tuple[str, Sequence[int]]]
    opsets: Mapping[str, int]

    def with_attributes(self, **attributes: Any) -> Draft:
        """The same with further or other attributes."""
        return replace(self, attributes={**self.attributes, **attributes})

    def without_attribute(self, name: str) -> Draft:
        """The same without an attribute."""
        return replace(self, attributes={key: value for key, value in self.attributes.items() if key != name})

    def with_inputs(self, **inputs: Array) -> Draft:
        """The same with further or other inputs."""
        return replace(self, inputs={**self.inputs, **inputs})

    def without_inputs(self, *names: str) -> Draft:
        """The same without some inputs."""
        return replace(self, inputs={key: value for key, value in self.inputs.items() if key not in names})

    def in_order(self, names: Sequence[str]) -> Draft:
        """The same with its inputs in another order."""
        return replace(self, inputs={name: self.inputs[name] for name in names})

    def with_output(self, name: str) -> Draft:
        """The same with one more output, declared like the first."""
        return replace(self, outputs={**self.outputs, name: next(iter(self.outputs.values()))})

    def without_output(self, name: str) -> Draft:
        """The same without an output."""
        return replace(self, outputs={key: value for key, value in self.outputs.items() if key != name})

    def serialised(self, name: str) -> bytes:
        """The model, its graph called by this name."""
        node = helper.make_node(
            self.op_type, list(self.inputs), list(self.outputs), domain=self.domain, **self.attributes
        )
        inputs = [declared(key, array) for key, array in self.inputs.items()]
        outputs = [declared_as(key, *value) for key, value in self.outputs.items()]
        return model(name, [node], inputs, outputs, self.opsets)


def optimizer_draft(operator: Operator, dtype: Any = np.float32, shapes: Sequence[Sequence[int]] = ((4,),)) -> Draft:
    """A valid model of an optimizer with its usual attributes.

    Args:
        dtype: the type of the tensors; R is float whatever it is, T int64.
        shapes: one per tensor.
    """
    signature = operator.signature
    tensors = {
        name: _tensor(operator, name, shapes[place % len(shapes)], dtype)
        for place, name in enumerate(numbered(signature.operands, len(shapes)))
    }
    results = numbered(signature.results, len(shapes))
    type = type_name(np.dtype(dtype))
    return Draft(
        operator.name,
        signature.domain,
        operator.usual,
        {"R": np.array(operator.rate, dtype=np.float32), "T": np.array(2, dtype=np.int64), **tensors},
        {name: (type, shapes[place % len(shapes)]) for place, name in enumerate(results)},
        operator.imports,
    )


def argmax_draft() -> Draft:
    """A valid model of ArgMax over the second axis of a matrix."""
    X = scattered("invalid/argmax/X", (2, 3), np.float32)
    return Draft("ArgMax", "", {"axis": 1, "keepdims": 0}, {"X": X}, {"index": ("int64", (2,))}, {"": 13})


def _tensor(operator: Operator, name: str, shape: Sequence[int], dtype: Any) -> Array:
    """Values that are integers where the type is, and within the usual range."""
    values = scattered(f"invalid/{operator.prefix}/{name}", shape, np.float32, *RANGES[name[0]])
    return np.asarray(np.rint(values) if np.dtype(dtype).kind == "i" else values).astype(dtype)
