"""Rules for harnesses of backends and of graph optimizers: start, unknown commands, exit, and the whole session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.harness_check.session import (
    AnswerTimeout,
    HarnessSession,
    OutputEnded,
    RuleViolation,
    rules_of,
    shorten,
)
from conformance.isolation.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.harness_check.session import HarnessProcess


SUBJECT_KINDS = ("backend", "optimizer")


def _check_start(session: HarnessSession) -> None:
    answer = session.start()
    if "error" in answer or "unsupported" in answer:
        raise RuleViolation("the harness answers that it cannot start", "Correct the error in the answer.")
    missing = [key for key in ("version", "name", "runtime_version", "language", "kind") if key not in answer]
    if missing:
        raise RuleViolation(f"the answer has no {', '.join(missing)}")
    if answer["version"] != PROTOCOL_VERSION:
        raise RuleViolation(f"the version is {shorten(answer['version'])} instead of {PROTOCOL_VERSION}")
    if answer["kind"] not in SUBJECT_KINDS:
        raise RuleViolation(f"the kind is {shorten(answer['kind'])} instead of {' or '.join(SUBJECT_KINDS)}")


def _check_unknown_command(session: HarnessSession) -> None:
    for _ in range(2):
        session.expect_error(session.ask("dance"))


def _check_end_of_input(session: HarnessSession) -> None:
    _check_exit(session, session.close_input())


def _check_stop(session: HarnessSession) -> None:
    _check_exit(session, session.stop())


def _check_exit(session: HarnessSession, process: HarnessProcess) -> None:
    """Check that a harness exits with status 0 and leaves no processes.

    Raises:
        RuleViolation: the status is not 0, the harness does not exit, or processes remain.
    """
    try:
        _read_to_end(session, process)
        status = process.wait_for_exit()
        if status is None:
            raise RuleViolation(f"the process still runs after {session.timeout:g} s, with its output closed")
        if status != 0:
            raise RuleViolation(process.describe_exit())
        if process.has_orphans():
            raise RuleViolation(
                "processes that the harness started still run", "End these processes, and wait for their end."
            )
    finally:
        process.kill()


def _read_to_end(session: HarnessSession, process: HarnessProcess) -> None:
    """Read the output of the harness to its end; every line after the last answer is recorded as a violation."""
    deadline = process.deadline()
    while True:
        try:
            session.record_stray(process.read_line(deadline))
        except AnswerTimeout:
            raise RuleViolation(f"the harness still runs after {session.timeout:g} s") from None
        except OutputEnded:
            return


def _check_irregular(key: str, what: str) -> Callable[[HarnessSession], None]:
    """Return a check that the session recorded nothing in one attribute of its `IrregularAnswers`."""

    def check(session: HarnessSession) -> None:
        found = getattr(session.irregular, key)
        if found:
            count = f" ({len(found)} times in total)" if len(found) > 1 else ""
            raise RuleViolation(f"{what}{count}: {found[0]}")

    return check


_check_stray_output = _check_irregular("stray", "output that is not an answer")
_check_sequence_numbers = _check_irregular("numbers", "wrong number")
_check_schema = _check_irregular("schema", "violation of the schema")

(START_RULE,) = rules_of("start", globals())
BEGINNING_RULES = rules_of("beginning", globals())
ENDING_RULES = rules_of("ending", globals())
WHOLE_SESSION_RULES = rules_of("session", globals())
"""Rules about violations in the output of the whole session, which do not belong to a single command."""
