"""`onnx-conformance expand` and `onnx-conformance hazards`: verbs that process the user's own model."""

from __future__ import annotations

from pathlib import Path

import typer

from conformance.base.errors import ExitStatus
from conformance.base.files.atomic_write import is_standard_output, write_json_atomically
from conformance.base.serialization.printable_text import print_line
from conformance.commands.command_options import add_options


@add_options
def expand(model: Path, output: Path) -> None:
    """Replace Adam, Momentum and Adagrad by primitive operators, for runtimes that lack them.

    Nothing else in the model is changed. The model must import opset 13 or later of the default domain.
    """
    from conformance.own.expansion import expand_file

    note = "" if expand_file(model, output) else f", a copy: {model} has no Adam, Momentum or Adagrad"
    print_line(f"Wrote {output}{note}.")


@add_options
def hazards(
    model: Path,
    backend: list[str] | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
    input_value: list[str] | None = None,
    seed: int = 0,
    json: Path | None = None,
    timeout: float = 60.0,
    no_isolation: bool = False,
) -> None:
    """Print the nodes of a model that the pass eliminate_nop_monotone_argmax would remove, and the hazards there.

    A hazard is a class of inputs for which the output changes although the pass is implemented correctly. With -b, the
    subject runs the model and the rewritten model on your inputs, and the indices that change are counted by hazard.

    Exit status: 0 even if hazards are found, 1 if the subject does not run the model, 2 if the command line or a file
    is wrong.
    """
    from conformance.own.hazard_counts import find_hazards

    found = find_hazards(
        model,
        backend or (),
        inputs=inputs,
        shapes=shape or (),
        values=input_value or (),
        seed=seed,
        timeout=timeout,
        in_process=no_isolation,
    )
    write_json_atomically(json, None if json is None else found.document)
    for line in found.lines():
        print_line(line, err=json is not None and is_standard_output(json))
    if found.fails:
        raise typer.Exit(ExitStatus.FAILS)
