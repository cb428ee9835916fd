"""`onnx-conformance check-harness`: check that a harness implements the protocol."""

from __future__ import annotations

import typer

from conformance.base.errors import UsageError
from conformance.commands.command_options import add_options


@add_options
def check_harness(
    harness: str | None = None, backend: str | None = None, optimizer: str | None = None, timeout: float = 60
) -> None:
    """Check that a harness implements every rule of the harness protocol (docs/reference/protocol.md).

    With -b or -o, the command checks this suite's own harness, with that backend or optimizer inside.

    Exit status: 0 if no rule is violated, 1 if a rule is violated, 2 if the command line is wrong.
    """
    from collections import Counter

    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
    from conformance.subjects.environments.registry import find_interpreter
    from conformance.subjects.harness_check.check import check_harness, print_outcome, print_summary
    from conformance.subjects.harness_check.harness_session import RuleState
    from conformance.subjects.isolation.subject_client import subject_command

    kinds = {harness: SubjectKind.BACKEND, backend: SubjectKind.BACKEND, optimizer: SubjectKind.OPTIMIZER}
    named = [SubjectName.parse(text, kind) for text, kind in kinds.items() if text]
    if len(named) != 1:
        raise UsageError("subject-count.harness", count=len(named))
    (subject,) = named
    if subject.text == harness and not subject.is_command and "/" in harness:
        raise UsageError("harness-path", path=harness)
    interpreter = None if subject.is_command else find_interpreter(subject)
    counts: Counter[RuleState] = Counter()
    for outcome in check_harness(subject_command(subject, interpreter), timeout):
        counts[outcome.state] += 1
        print_outcome(outcome)
    print_summary(counts)
    raise typer.Exit(1 if counts[RuleState.FAILS] else 0)
