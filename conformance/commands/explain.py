"""`onnx-conformance explain`: print a case, and a subject's results on it."""

from __future__ import annotations

from pathlib import Path

from conformance.base.serialization.printable_text import print_line
from conformance.commands.command_options import add_options


@add_options
def explain(
    case: str,
    from_results: Path | None = None,
    data: Path | None = None,
    profile: str | None = None,
    backend: str | None = None,
) -> None:
    """Print a case: purpose, clauses, model, inputs and expected outputs.

    With -r, the results of the case are printed too. With -b, the case is run on a backend, and the accuracy of its
    outputs is printed.
    """
    from conformance.run.diagnosis.case_explanation import explain_case

    for line in explain_case(case, from_results=from_results, data=data, profile=profile, backend=backend):
        print_line(line)
