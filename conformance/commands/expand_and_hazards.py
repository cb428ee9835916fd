"""`onnx-conformance expand` and `onnx-conformance hazards`: verbs that process the user's own model."""

from __future__ import annotations

from pathlib import Path

import typer

from conformance.base.errors import ExitStatus, UsageError
from conformance.base.files.atomic_write import (
    is_standard_output,
    real_path,
    write_bytes_atomically,
    write_json_atomically,
)
from conformance.base.serialization.printable_text import print_line
from conformance.commands.command_options import add_options


@add_options
def expand(model: Path, output: Path) -> None:
    """Replace Adam, Momentum and Adagrad by primitive operators, for runtimes that lack them.

    Nothing else in the model is changed. The model must import opset 13 or later of the default domain.
    """
    from conformance.exact.models.graphs import has_external_data
    from conformance.exact.models.model_validity import read_model, report_invalid_model
    from conformance.own.expansion import expand as lowered
    from conformance.own.expansion import has_training_optimizers

    content, proto = read_model(model)
    if has_external_data(proto) and real_path(output).parent != real_path(model).parent:
        raise UsageError("external-data", model=model)
    found = has_training_optimizers(proto)
    with report_invalid_model(model, proto):
        new = lowered(proto).SerializeToString(deterministic=True) if found else content
    try:
        write_bytes_atomically(output, new)
    except OSError as error:
        raise UsageError("cannot-write.output", output=output, reason=error.strerror) from None
    note = "" if found else f", a copy: {model} has no Adam, Momentum or Adagrad"
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
    from conformance.corpus.passes.analysis import analyse_argmaxes
    from conformance.exact.models.input_files import required_input_names
    from conformance.exact.models.model_validity import read_model, report_invalid_model
    from conformance.own.graphs.model_inputs import choose_inputs, input_text
    from conformance.own.hazard_counts import HazardsDocument, count_on_subjects, site_lines, text_lines

    if not backend and (inputs is not None or shape or input_value):
        raise UsageError("subject-missing.for-inputs")
    _, proto = read_model(model)
    with report_invalid_model(model, proto):
        findings = analyse_argmaxes(proto)
    data_sets = []
    counts = []
    if backend:
        data_sets = choose_inputs(proto, inputs, shape or (), seed, input_value or ())
        counts = count_on_subjects(model, backend, data_sets, timeout, in_process=no_isolation)
    takes_output = json is not None and is_standard_output(json)
    texts = [input_text(required_input_names(proto.graph), data_set) for data_set in data_sets]
    if json is not None:
        document = HazardsDocument(str(model), findings)
        if backend:
            document.inputs = texts
            document.seed = None if inputs else seed
            document.counts = counts
        write_json_atomically(json, document)
    for line in site_lines(findings):
        print_line(line, err=takes_output)
    for data_set, text in zip(data_sets, texts, strict=True):
        print_line(f"inputs ({data_set.name}): {text or 'none'}", err=takes_output)
    for each in counts:
        for line in text_lines(each):
            print_line(line, err=takes_output)
    if any(each.failure for each in counts):
        raise typer.Exit(ExitStatus.FAILS)
