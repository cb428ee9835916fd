"""Facts about harnesses of both kinds: how they begin, how they take what they do not know, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.harness_check.conversation import Ended, Silence
from conformance.harness_check.fact import Fact
from conformance.harness_check.questions import Complaint, Questions, in_short
from conformance.isolation.protocol import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.harness_check.conversation import Conversation

KINDS = ("backend", "optimizer")


def _starts(ask: Questions) -> None:
    answer = ask.start()
    if "error" in answer or "unsupported" in answer:
        raise Complaint("the harness says that it cannot start", "Mend what it names.")
    missing = [key for key in ("version", "name", "runtime_version", "language", "kind") if key not in answer]
    if missing:
        raise Complaint(f"the answer has no {', '.join(missing)}")
    if answer["version"] != PROTOCOL:
        raise Complaint(f"the harness speaks version {in_short(answer['version'])}, and this suite version {PROTOCOL}")
    if answer["kind"] not in KINDS:
        raise Complaint(f"the kind is {in_short(answer['kind'])}, and neither {' nor '.join(KINDS)}")


def _goes_on(ask: Questions) -> None:
    for _ in range(2):
        ask.expect_error(ask.ask("dance"))


def _only_answers(ask: Questions) -> None:
    _none(ask.kept.stray, "came between the answers")


def _numbers(ask: Questions) -> None:
    _none(ask.kept.numbers, "has another number")


def _schema(ask: Questions) -> None:
    _none(ask.kept.schema, "departs from the schema")


def _none(kept: Sequence[str], what: str) -> None:
    if kept:
        more = f" ({len(kept)} times in all)" if len(kept) > 1 else ""
        raise Complaint(f"{what}{more}: {kept[0]}")


def _ends_with_its_input(ask: Questions) -> None:
    _ends(ask, ask.close())


def _stops(ask: Questions) -> None:
    _ends(ask, ask.stop())


def _ends(ask: Questions, conversation: Conversation) -> None:
    """Look whether a harness that was told to end does so, and leaves nothing behind.

    Raises:
        Complaint: it does not.
    """
    try:
        _until_ended(ask, conversation)
        status = conversation.status()
        if status is None:
            raise Complaint(f"the process goes on for {ask.timeout:g} s, with its output closed")
        if status != 0:
            raise Complaint(conversation.ending())
        if conversation.leaves_processes():
            raise Complaint("processes that the harness started live on", "End them, and wait for them.")
    finally:
        conversation.kill()


def _until_ended(ask: Questions, conversation: Conversation) -> None:
    """Read what comes after the last answer, which is stray, up to the end of the output."""
    deadline = conversation.deadline()
    while True:
        try:
            ask.stray(conversation.line(deadline))
        except Silence:
            raise Complaint(f"the harness goes on for {ask.timeout:g} s") from None
        except Ended:
            return


START = Fact(
    "`start` is answered with the version, the name, the runtime's version, the language and the kind",
    'Answer {"seq":N,"version":1,"name":"…","runtime_version":"…","language":"…","kind":"backend"}.',
    _starts,
)

BEGINNING = (
    Fact(
        "an unknown command is answered with an error, and the harness goes on",
        'Answer {"seq":N,"error":"unknown command …"} and read the next line.',
        _goes_on,
    ),
)

ENDING = (
    Fact(
        "the end of the input ends the harness with status 0, and all that it started",
        "Exit with status 0 when there is no further line: whoever started the harness is gone.",
        _ends_with_its_input,
    ),
    Fact(
        "`stop` ends the harness with status 0, and all that it started",
        "Exit with status 0 as soon as `stop` comes; it has no answer.",
        _stops,
    ),
)

KEPT = (
    Fact(
        "standard output has one answer for each command, and nothing else",
        "Send what the runtime prints, from native code too, to standard error, and answer each command once.",
        _only_answers,
    ),
    Fact("every answer repeats the number of its command", "Copy the command's `seq` into the answer.", _numbers),
    Fact(
        "every answer is as its schema says",
        "Compare it with conformance/schemas/protocol.schema.json and docs/harness.md.",
        _schema,
    ),
)
"""Facts about the whole conversation: no one command is to blame."""
