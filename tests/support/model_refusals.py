"""Why a model is refused, as a value; None where it is not."""

from __future__ import annotations

import onnx

from conformance.reference.validity import InvalidModel, check
from conformance.verdicts import Unsupported


def checker_refusal(model: onnx.ModelProto) -> str | None:
    """What onnx's checker says against a model."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error)
    return None


def reference_refusal(model: onnx.ModelProto) -> str | None:
    """What the suite's own look at a model says against it."""
    try:
        check(model)
    except (InvalidModel, Unsupported) as error:
        return f"{type(error).__name__}: {error}"
    return None
