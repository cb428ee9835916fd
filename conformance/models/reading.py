"""Reads the models that users name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError, ModelError
from conformance.files.regular import read_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import onnx

LARGEST_MODEL = 2**31
"""Bytes of a model that is read: protobuf takes no more."""


def read_model(path: Path) -> tuple[bytes, onnx.ModelProto]:
    """A model's bytes, and what they say.

    Raises:
        ModelError: there is no such file, or it is no model.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        content = read_input(path, LARGEST_MODEL)
        model = onnx.ModelProto.FromString(content)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", "Name an ONNX model.") from None
    except DecodeError:
        raise ModelError(f"{path} is not an ONNX model.", "Name a file that onnx.save wrote.") from None
    if not model.ir_version or not model.HasField("graph"):
        raise ModelError(f"{path} is not an ONNX model: it has no graph.", "Name a file that onnx.save wrote.")
    return content, model


@contextmanager
def blaming_invalid(path: Path, model: onnx.ModelProto) -> Iterator[None]:
    """Within it, what breaks down on a model that ONNX's own checker refuses is that model's fault, and no other's.

    A model is not refused for what nothing here looks at: the checker knows no newer opsets, and wants a shape of every
    output.

    Raises:
        ModelError: the model is not valid, in the checker's words.
    """
    try:
        yield
    except (ConformanceError, OSError):
        raise
    except Exception:
        complaint = _complaint(model)
        if complaint is None:
            raise
        raise ModelError(f"{path} is not a valid ONNX model: {complaint}.", "Mend the model.") from None


def _complaint(model: onnx.ModelProto) -> str | None:
    """What the checker has against a model, in a line."""
    from conformance.models.checking import check

    try:
        check(model)
    except Exception as error:  # noqa: BLE001 - it raises errors of several kinds, of which some are bare exceptions
        return next(iter(str(error).splitlines()), type(error).__name__).rstrip(". ")
    return None
