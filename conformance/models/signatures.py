"""What names of domains and defaults of attributes mean, for the operators of the main domain; as their schemas say.

The schemas of the installed `onnx` are not asked, so that no expected value depends on its version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MAIN_DOMAINS = {"", "ai.onnx"}
"""The two spellings of the main domain."""

TRAINING = "ai.onnx.preview.training"
"""The domain of the training optimizers."""

ARGMAX_DEFAULTS: Mapping[str, Any] = {"axis": 0, "keepdims": 1, "select_last_index": 0}


def softmax_default_axis(opset: int) -> int:
    """The axis of Softmax and LogSoftmax where none is given: the last since opset 13, the second below it."""
    return -1 if opset >= 13 else 1
