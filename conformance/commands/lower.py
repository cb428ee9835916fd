"""`onnx-conformance lower MODEL -o OUT`: a model without training optimizers that computes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.terminal import say


def lower(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX model.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Where the new model goes.")],
) -> None:
    """Replace Adam, Momentum and Adagrad by primitive operators, for runtimes that lack them.

    Nothing else in the model is changed. The default domain has to be of opset 13 or later.
    """
    from conformance.errors import UsageError
    from conformance.files.regular import write_whole_bytes
    from conformance.lowering.lowering import lower as lowered
    from conformance.lowering.optimizers import has_training_optimizers
    from conformance.models.graphs import has_external_data
    from conformance.models.reading import blaming_invalid, read_model

    content, proto = read_model(model)
    if has_external_data(proto) and output.resolve().parent != model.resolve().parent:
        raise UsageError(
            f"{model} keeps tensors in other files, which it names relative to its own folder.",
            "Write the new model into the same folder.",
        )
    found = has_training_optimizers(proto)
    with blaming_invalid(model, proto):
        new = lowered(proto).SerializeToString(deterministic=True) if found else content
    try:
        write_whole_bytes(output, new)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.", "Name another file with -o.") from None
    note = "" if found else f", a copy: {model} has no Adam, Momentum or Adagrad"
    say(f"Wrote {output}{note}.")
