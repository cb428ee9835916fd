"""onnx's checker, asked so that each of its versions answers alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from conformance.models.signatures import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(model: onnx.ModelProto, *, shapes: bool = False) -> None:
    """Let onnx's checker look at a model.

    Older versions (1.18 and 1.20 do, 1.23 does not) find no operator where the main domain is imported by its name,
    ai.onnx. They are shown the same model with the other spelling.

    Args:
        shapes: whether shapes are inferred, too, strictly.

    Raises:
        onnx.checker.ValidationError: it refuses the model. With `shapes` also what shape inference raises.
    """
    if any(_named_imports(model)):
        named, model = model, onnx.ModelProto()
        model.CopyFrom(named)
        for entry in _named_imports(model):
            entry.domain = ""
    onnx.checker.check_model(model, full_check=shapes)


def _named_imports(model: onnx.ModelProto) -> Iterator[onnx.OperatorSetIdProto]:
    """Where the model or a function of it imports the main domain by its name, and by that only."""
    for holder in (model, *model.functions):
        main = [entry for entry in holder.opset_import if entry.domain in MAIN_DOMAINS]
        if len(main) == 1 and main[0].domain:
            yield main[0]
