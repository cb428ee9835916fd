"""`onnx-conformance lower MODEL -o OUT`: a model without training optimizers that computes the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import onnx


def lower(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX model.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Where the new model goes.")],
) -> None:
    """Replace Adam, Momentum and Adagrad by primitive operators, for runtimes that lack them.

    Nothing else in the model is changed. The default domain has to be of opset 13 or later.
    """
    from conformance.errors import UsageError
    from conformance.files import write_whole_bytes
    from conformance.lowering import lower as lowered
    from conformance.walking import has_external_data, has_optimizers

    content, proto = _read(model)
    if has_external_data(proto) and output.resolve().parent != model.resolve().parent:
        raise UsageError(
            f"{model} keeps tensors in other files, which it names relative to its own folder.",
            "Write the new model into the same folder.",
        )
    found = has_optimizers(proto)
    try:
        write_whole_bytes(output, lowered(proto).SerializeToString(deterministic=True) if found else content)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.", "Name another file with -o.") from None
    note = "" if found else f", a copy: {model} has no Adam, Momentum or Adagrad"
    typer.echo(f"Wrote {output}{note}.")


def _read(path: Path) -> tuple[bytes, onnx.ModelProto]:
    """A model's bytes, and what they say.

    Raises:
        ModelError: there is no such file, or it is no model.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    from conformance.errors import ModelError

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
