"""`onnx-conformance audit`: judge every node of a user's own model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.options import (
    Backends,
    InputFiles,
    InputSeed,
    InputShapes,
    ModelFile,
    NoIsolation,
    Timeout,
    add_options,
    echo,
    output_option,
    report_option,
)

MAX_VALUES_BYTES = 2**33
"""Maximum size of all exposed values of one run."""


@add_options
def audit(
    model: ModelFile,
    backend: Backends = None,
    inputs: InputFiles = None,
    shape: InputShapes = None,
    seed: InputSeed = 0,
    save_inputs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the inputs to DIR/test_data_set_N/input_M.pb.")
    ] = None,
    all_elements: Annotated[
        bool, typer.Option("--all-elements", help="Judge every element of large tensors, and not a sample.")
    ] = False,
    output: Annotated[
        Path | None, output_option("DIR", "Write each wrong node as a case of a corpus; `run --data DIR` runs them.")
    ] = None,
    json: Annotated[Path | None, report_option("json", "Write the audit as JSON.")] = None,
    html: Annotated[Path | None, report_option("html", "Write the audit as an HTML page.")] = None,
    timeout: Timeout = 60.0,
    no_isolation: NoIsolation = False,
) -> None:
    """Judge every node of your own model on the values that the runtime itself computed.

    The intermediate values of the model are exposed on the subject. Each node is then judged alone: its outputs must be
    values that a correct implementation of the operator can return for its inputs. Without --inputs the inputs are
    pseudo-random.

    Exit status: 0 if no node is wrong, 1 if a node is wrong, the subject fails or its outputs differ from run to run, 2
    if the command line or a file is wrong.
    """
    import json as json_module

    from conformance.audit.cases import write_cases
    from conformance.audit.inputs import choose_inputs, input_text, save_inputs_to
    from conformance.audit.page import render_page
    from conformance.audit.report import as_json, text_lines
    from conformance.audit.session import AuditedModel, audit_subject
    from conformance.errors import ExitStatus, UsageError
    from conformance.files.atomic_write import is_standard_output, write_text_atomically
    from conformance.isolation.limits import Limits
    from conformance.isolation.start_subjects import StartingSubjects
    from conformance.models.inputs import required_input_names
    from conformance.subjects.naming import SubjectKind, SubjectName

    if not backend:
        raise UsageError("subject-missing", "No subject is named.", "Name a backend with -b.")
    _check_targets(json, html, output)
    audited = AuditedModel.read(model)
    graph = audited.original.graph
    names, data_sets = required_input_names(graph), choose_inputs(graph, inputs, shape or (), seed)
    if save_inputs is not None:
        save_inputs_to(save_inputs, data_sets, names)
    takes_output = any(target is not None and is_standard_output(target) for target in (json, html))
    for data_set in data_sets:
        echo(f"inputs ({data_set.name}): {input_text(names, data_set) or 'none'}", err=takes_output)
    named = [SubjectName.parse(text, SubjectKind.BACKEND) for text in backend]
    starting = StartingSubjects(
        named, Limits(timeout, file=MAX_VALUES_BYTES, base_output=MAX_VALUES_BYTES), {}, in_process=no_isolation
    )
    audits = []
    try:
        for subject in starting.subjects():
            for data_set in data_sets:
                result = audit_subject(
                    audited,
                    subject,
                    data_set,
                    _show_progress,
                    all_elements=all_elements,
                    makes_cases=output is not None,
                )
                audits.append(result)
                _show_progress("")
                for line in text_lines(result):
                    echo(line, err=takes_output)
    finally:
        starting.end()
    texts = [input_text(names, data_set) for data_set in data_sets]
    if json is not None:
        document = as_json(audited, audits, texts, None if inputs else seed)
        write_text_atomically(json, json_module.dumps(document, indent=1) + "\n")
    if html is not None:
        write_text_atomically(html, render_page(audited, audits, texts))
    written = [target for target in (json, html) if target is not None and not is_standard_output(target)]
    if output is not None and write_cases(output, (case for each in audits for case in each.cases)):
        written.append(output)
    for target in written:
        echo(f"Wrote {target}.", err=takes_output)
    if any(each.has_faults for each in audits):
        echo("FAILED", err=takes_output)
        raise typer.Exit(ExitStatus.FAILS)
    echo("PASSED", err=takes_output)


def _check_targets(json: Path | None, html: Path | None, output: Path | None) -> None:
    """Check that the reports and the folder of cases can be written."""
    from conformance.diagnosis.reproduction.folder import check_empty
    from conformance.files.atomic_write import check_target, is_standard_output

    for target in (json, html):
        if target is not None and not is_standard_output(target):
            check_target(target)
    if output is not None:
        check_empty(output)


def _show_progress(text: str) -> None:
    """Show what is being done in the last line of a terminal; an empty text removes the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
