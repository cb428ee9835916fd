"""`onnx-conformance hazards MODEL`: which ArgMax nodes of a model the pass would rewrite, and what that can change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.passes.survey import ArgMaxSite


def hazards(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Tell where the pass eliminate_nop_monotone_argmax would rewrite a model, and which hazards apply there.

    A hazard is a class of inputs on which the answer changes although the pass does what it promises. The exit status
    is 0 whatever is found.
    """
    from conformance.models.reading import blaming_invalid, read_model
    from conformance.passes.survey import survey

    _, proto = read_model(model)
    with blaming_invalid(model, proto):
        findings = survey(proto)
    if as_json:
        typer.echo(json.dumps({"model": str(model), "argmax": [_document(one) for one in findings]}, indent=1))
        return
    for line in _lines(findings):
        typer.echo(line)


def _document(finding: ArgMaxSite) -> dict[str, Any]:
    removals = [
        {"op_type": one.op_type, "value": one.value, "type": one.type, "hazards": [h.id for h in one.hazards]}
        for one in finding.removals
    ]
    return {"output": finding.path, "removed": removals, "stays": finding.stays}


def _lines(findings: Sequence[ArgMaxSite]) -> Iterator[str]:
    from conformance.boundary.text import one_line

    for finding in findings:
        if not finding.removals:
            yield one_line(f"ArgMax {finding.path} stays as it is: {finding.stays}.")
            continue
        yield one_line(f"ArgMax {finding.path} is rewritten.")
        for removal in finding.removals:
            value = one_line(removal.value)
            yield f"    {removal.op_type} goes, and with it {value} ({removal.type}). The answer may change:"
            for hazard in removal.hazards:
                yield f"        {hazard.id}: {hazard.text}"
                yield f"            In practice: {hazard.practice}"
    rewritten = sum(bool(finding.removals) for finding in findings)
    yield f"{len(findings)} ArgMax, {rewritten} rewritten."
