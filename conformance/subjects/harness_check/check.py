"""Check a harness: apply all rules in order, and print each violation with the command and the answer that show it.

The rules for both kinds of harnesses are here: start, unknown commands, exit, and the output of the whole session.
Those for backends are in `backend_rules`, and those for graph optimizers in `optimizer_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.serialization.printable_text import print_styled
from conformance.subjects.harness_check.backend_rules import BACKEND_RULES, CAPABILITY_RULES
from conformance.subjects.harness_check.harness_session import (
    AnswerTimeout,
    HarnessSession,
    OutputEnded,
    ProtocolRule,
    RuleOutcome,
    RuleSkipped,
    RuleState,
    RuleViolation,
    Violations,
    excerpt,
    rules_of,
)
from conformance.subjects.harness_check.optimizer_rules import OPTIMIZER_RULES
from conformance.subjects.isolation.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.subjects.harness_check.harness_session import HarnessProcess


SUBJECT_KINDS = ("backend", "optimizer")


def _check_start(session: HarnessSession) -> None:
    answer = session.start()
    if "error" in answer or "unsupported" in answer:
        raise RuleViolation("the harness answers that it cannot start", "Correct the error in the answer.")
    missing = [key for key in ("version", "name", "runtime_version", "language", "kind") if key not in answer]
    if missing:
        raise RuleViolation(f"the answer has no {', '.join(missing)}")
    if answer["version"] != PROTOCOL_VERSION:
        raise RuleViolation(f"the version is {excerpt(answer['version'])} instead of {PROTOCOL_VERSION}")
    if answer["kind"] not in SUBJECT_KINDS:
        raise RuleViolation(f"the kind is {excerpt(answer['kind'])} instead of {' or '.join(SUBJECT_KINDS)}")


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
        found: Violations = getattr(session.irregular, key)
        if found.count:
            count = f" ({found.count} times in total)" if found.count > 1 else ""
            raise RuleViolation(f"{what}{count}: {found.first}")

    return check


_check_stray_output = _check_irregular("stray", "output that is not an answer")
_check_sequence_numbers = _check_irregular("numbers", "wrong number")
_check_schema = _check_irregular("schema", "violation of the schema")

(START_RULE,) = rules_of("start", globals())
BEGINNING_RULES = rules_of("beginning", globals())
ENDING_RULES = rules_of("ending", globals())
WHOLE_SESSION_RULES = rules_of("session", globals())
"""Rules about violations in the output of the whole session, which do not belong to a single command."""


def check_harness(argv: Sequence[str], timeout: float) -> Iterator[RuleOutcome]:
    """Check a harness, and yield the outcome of each rule in order.

    Args:
        argv: the command that starts the harness.
        timeout: time limit of an answer, in seconds.
    """
    with supervised_temp_dir() as folder:
        session = HarnessSession(argv, timeout, folder)
        try:
            yield from _check_all(session)
        finally:
            session.kill()


def _check_all(session: HarnessSession) -> Iterator[RuleOutcome]:
    started = _check_rule(START_RULE, session)
    yield started
    for rule in (*BEGINNING_RULES, *_rules_of_kind(session.started), *ENDING_RULES, *WHOLE_SESSION_RULES):
        if started.state is RuleState.FAILS:
            yield RuleOutcome(rule.name, rule.text, RuleState.SKIPPED, "the harness does not start")
        else:
            yield _check_rule(rule, session)


def _rules_of_kind(started: Mapping[str, object]) -> Sequence[ProtocolRule]:
    """Return the rules for the kind and the capabilities that the answer to `start` declares."""
    if started.get("kind") == "optimizer":
        return OPTIMIZER_RULES
    if started.get("kind") != "backend":
        return ()
    declared = [rules for capability, rules in CAPABILITY_RULES.items() if started.get(capability) is True]
    return (*BACKEND_RULES, *(rule for rules in declared for rule in rules))


def _check_rule(rule: ProtocolRule, session: HarnessSession) -> RuleOutcome:
    try:
        rule.check(session)
    except RuleSkipped as skip:
        return RuleOutcome(rule.name, rule.text, RuleState.SKIPPED, str(skip))
    except RuleViolation as violation:
        sent, received = ("", "") if rule in WHOLE_SESSION_RULES else (session.sent, session.received)
        hint = violation.hint or rule.hint
        return RuleOutcome(rule.name, rule.text, RuleState.FAILS, violation.problem, sent, received, hint)
    return RuleOutcome(rule.name, rule.text, RuleState.HOLDS)


_MARKS = {RuleState.HOLDS: ("✓", "green"), RuleState.FAILS: ("✗", "bold red"), RuleState.SKIPPED: ("-", "yellow")}


def print_outcome(outcome: RuleOutcome) -> None:
    """Print a rule and its outcome."""
    mark, style = _MARKS[outcome.state]
    print_styled((mark, style), f" {outcome.text}")
    if outcome.state is RuleState.SKIPPED:
        print_styled((f"    skipped: {outcome.why}", "dim"))
    elif outcome.state is RuleState.FAILS:
        details = {"problem": outcome.why, "sent": outcome.sent, "received": outcome.received, "hint": outcome.hint}
        for label, text in details.items():
            if text:
                print_styled(f"    {label:8}  {text}")


def print_summary(counts: Mapping[RuleState, int]) -> None:
    """Print how many rules hold, fail, and were skipped."""
    skipped = f", {counts[RuleState.SKIPPED]} skipped" if counts[RuleState.SKIPPED] else ""
    verb = "violates" if counts[RuleState.FAILS] else "implements"
    summary = f"{counts[RuleState.HOLDS]} rules hold, {counts[RuleState.FAILS]} fail{skipped}"
    print_styled(f"The harness {verb} the protocol: {summary}.")
