"""Graph optimizers for tests of isolation, named for what they do."""

from __future__ import annotations

import os
import time
from typing import Any

import onnx


def leaves_it(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy."""
    return onnx.ModelProto.FromString(model.SerializeToString())


def says_how(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Return a copy with a note whether a fixed point was requested."""
    copy = leaves_it(model)
    copy.doc_string = f"fixed_point={fixed_point}"
    return copy


says_how.passes = ("a_pass", "another")  # type: ignore[attr-defined]


def takes_options(model: onnx.ModelProto, level: str = "none") -> onnx.ModelProto:
    """Return a copy with a note of its option."""
    copy = leaves_it(model)
    copy.doc_string = level
    return copy


def changes_its_input(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = leaves_it(model)
    model.graph.ClearField("node")
    return copy


def returns_none(model: onnx.ModelProto) -> Any:
    return None


def raises(model: onnx.ModelProto) -> Any:
    raise ValueError("cannot rewrite this")


def says_unsupported(model: onnx.ModelProto) -> Any:
    raise NotImplementedError("no such opset")


def aborts(model: onnx.ModelProto) -> Any:
    os.abort()


def hangs(model: onnx.ModelProto) -> Any:
    time.sleep(1000)
