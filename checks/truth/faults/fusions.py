"""Faults of nodes that a runtime fuses wrongly. They appear only while the value between the nodes is not an output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fault import Fault

if TYPE_CHECKING:
    from checks.truth.evaluate import Call


F4 = np.float32


def other(second: Call, index: int) -> Any:
    """Return the operand of the second node that the first node does not compute."""
    return second.inputs[1 - index]


def fused(name: str, mistake: str, pair: Any, result: Any) -> Any:
    """Describe a wrong fusion of two operators."""
    return Fault(name, pair[1], mistake, lambda c: c(), pair=pair, pair_result=result)


def folded_batch_norm(first: Call, second: Call, _: int) -> Any:
    """Return a convolution with a folded normalization that has no epsilon."""
    return second.one(first.one().astype(second.inputs[0].dtype), *second.inputs[1:], epsilon=0.0)


def unscaled(first: Call, second: Call, _: int) -> Any:
    """Return the second node without the scale of the first node."""
    return second.one(first.inputs[0].astype(second.inputs[0].dtype), *second.inputs[1:])


FAULTS = [
    fused("fusion-matmul-bias-lost", "The bias is lost.", ("MatMul", "Add"), lambda first, *_: first.one()),
    fused(
        "fusion-matmul-bias-twice",
        "The bias is added twice.",
        ("MatMul", "Add"),
        lambda first, second, i: first.one() + 2 * other(second, i),
    ),
    fused(
        "fusion-relu-before-bias",
        "Relu is applied before the bias.",
        ("Add", "Relu"),
        lambda first, *_: np.maximum(first.inputs[0], 0) + first.inputs[1],
    ),
    fused(
        "fusion-conv-batchnormalization-epsilon",
        "epsilon is lost when the scale is folded.",
        ("Conv", "BatchNormalization"),
        folded_batch_norm,
    ),
    fused(
        "fusion-mul-add-swapped",
        "The factor and the summand are swapped.",
        ("Mul", "Add"),
        lambda first, second, i: first.inputs[0] * other(second, i) + first.inputs[1],
    ),
    fused("fusion-scaled-softmax", "The scale is lost.", ("Mul", "Softmax"), unscaled),
    fused("fusion-divided-softmax", "The divisor is lost.", ("Div", "Softmax"), unscaled),
    fused("fusion-skip-lost", "The skip connection is lost.", ("Add", "LayerNormalization"), unscaled),
    fused(
        "fusion-silu-constant",
        "x * sigmoid(1.702 x) is computed.",
        ("Sigmoid", "Mul"),
        lambda first, second, i: other(second, i) / (1 + np.exp(-1.702 * first.inputs[0])),
    ),
    fused(
        "fusion-transpose-lost",
        "The transposition is lost.",
        ("Transpose", "MatMul"),
        lambda first, second, i: second.one(
            *(
                first.inputs[0].astype(v.dtype) if j == i and first.inputs[0].shape == v.shape else v
                for j, v in enumerate(second.inputs)
            )
        ),
    ),
    fused("fusion-masked-softmax", "The mask is lost.", ("Add", "Softmax"), unscaled),
]
