"""`onnx-conformance repro`: write a folder with a script that reproduces a failing case without this suite."""

from __future__ import annotations

import shlex
from pathlib import Path

from conformance.base.files.atomic_write import check_empty, write_folder
from conformance.base.serialization.printable_text import print_line
from conformance.commands.command_options import add_options
from conformance.subjects.isolation.protocol import Limits


@add_options
def repro(
    case: str,
    output: Path,
    backend: str | None = None,
    optimizer: str | None = None,
    implements: list[str] | None = None,
    from_results: Path | None = None,
    data: Path | None = None,
    python: Path | None = None,
    timeout: float = 60,
) -> None:
    """Write a folder that reproduces a failing case: model, data, a script that needs only the runtime, an issue text.

    Without -b and -o, the subject is the first subject in the results file of -r that fails the case. It must have a
    registered name, because a file must not choose a program. The issue text names the mistake that the diagnosis in
    this file found for the case.

    Exit status: 0 if the folder is written, 2 if the case passes, a name is wrong, or the folder is not empty.
    """
    from conformance.run.corpus_run.failure_reproduction import reproduce_failure

    check_empty(output)
    found = reproduce_failure(
        case,
        backend=backend,
        optimizer=optimizer,
        implements=implements or (),
        from_results=from_results,
        data=data,
        python=python,
        limits=Limits(timeout),
    )
    write_folder(output, found.files)
    print_line(f"Wrote {output}. The verdict of {case} on {found.subject} is {found.verdict}.")
    print_line(f"Run {shlex.quote(str(output / 'reproduce.py'))}.")
