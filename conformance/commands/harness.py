"""`onnx-conformance harness check`: a harness against the protocol, message by message."""

from __future__ import annotations

from typing import Annotated

import typer

from conformance.commands.options import Verb, Verbs

app = typer.Typer(cls=Verbs, help="Work on a harness, the program by which a runtime in any language is run.")


@app.callback()
def harness() -> None:
    """Work on a harness, the program by which a runtime in any language is run."""


@app.command("check", cls=Verb)
def check(
    subject: Annotated[
        str | None, typer.Argument(metavar="[exec:COMMAND]", show_default=False, help="The harness's command.")
    ] = None,
    backend: Annotated[
        str | None, typer.Option("-b", "--backend", metavar="NAME", help="A backend by name, in our own harness.")
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option("-o", "--optimizer", metavar="NAME", help="A graph optimizer, likewise.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long the harness may take for each answer.")
    ] = 60,
) -> None:
    """Tell whether a harness keeps to the protocol of docs/harness.md, fact by fact.

    Exit status: 0 where each fact that can be looked at holds, 1 where one does not, 2 where the command line is wrong.
    """
    from collections import Counter

    from conformance.environments.interpreters import interpreter_of
    from conformance.errors import UsageError
    from conformance.harness_check.check import check_harness
    from conformance.harness_check.fact import State
    from conformance.harness_check.terminal import print_outcome, print_total
    from conformance.isolation.environment import command_of
    from conformance.subjects.naming import SubjectKind, SubjectName

    named = [
        (text, kind)
        for text, kind in (
            (subject, SubjectKind.BACKEND),
            (backend, SubjectKind.BACKEND),
            (optimizer, SubjectKind.OPTIMIZER),
        )
        if text
    ]
    if len(named) != 1:
        raise UsageError("There is not one harness to check.", "Name it: exec:COMMAND, or -b NAME, or -o NAME.")
    counts: Counter[State] = Counter()
    subject_named = SubjectName.of(*named[0])
    interpreter = None if subject_named.is_command else interpreter_of(subject_named)
    for outcome in check_harness(command_of(subject_named, interpreter), timeout):
        counts[outcome.state] += 1
        print_outcome(outcome)
    print_total(counts)
    raise typer.Exit(1 if counts[State.FAILS] else 0)
