"""Reads the models that users name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    import onnx


def read_model(path: Path) -> tuple[bytes, onnx.ModelProto]:
    """A model's bytes, and what they say.

    Raises:
        ModelError: there is no such file, or it is no model.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        content = path.read_bytes()
        model = onnx.ModelProto.FromString(content)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", "Name an ONNX model.") from None
    except DecodeError:
        raise ModelError(f"{path} is not an ONNX model.", "Name a file that onnx.save wrote.") from None
    if not model.ir_version or not model.HasField("graph"):
        raise ModelError(f"{path} is not an ONNX model: it has no graph.", "Name a file that onnx.save wrote.")
    return content, model
