"""Check a harness: apply all rules in order, and print each violation with the command and the answer that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.files.temp_dir import supervised_temp_dir
from conformance.harness_check.backend_rules import BACKEND_RULES, CAPABILITY_RULES
from conformance.harness_check.general_rules import BEGINNING_RULES, ENDING_RULES, START_RULE, WHOLE_SESSION_RULES
from conformance.harness_check.optimizer_rules import OPTIMIZER_RULES
from conformance.harness_check.session import (
    HarnessSession,
    ProtocolRule,
    RuleOutcome,
    RuleSkipped,
    RuleState,
    RuleViolation,
)
from conformance.serialization.terminal import print_styled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


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
