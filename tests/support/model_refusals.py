"""Reasons why a model is rejected, as text; None for an accepted model."""

from __future__ import annotations

import onnx

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.node_validity import InvalidModelError, check_model


def checker_refusal(model: onnx.ModelProto) -> str | None:
    """Return the message of the ONNX checker, or None."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error)
    return None


def reference_refusal(model: onnx.ModelProto) -> str | None:
    """Return the message of the reference's validity check, or None."""
    try:
        check_model(model)
    except (InvalidModelError, Unsupported) as error:
        return f"{type(error).__name__}: {error}"
    return None
