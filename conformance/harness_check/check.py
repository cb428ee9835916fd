"""One fact after another about a harness, each with what was sent and what came where it does not hold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.harness_check import facts_of_all as any_facts
from conformance.harness_check import facts_of_backends as backend_facts
from conformance.harness_check import facts_of_offers as optional_facts
from conformance.harness_check import facts_of_optimizers as optimizer_facts
from conformance.harness_check.fact import Fact, FactOutcome, State
from conformance.harness_check.questions import Complaint, Questions, Skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KINDS = {"backend": backend_facts.FACTS, "optimizer": optimizer_facts.FACTS}


def check_harness(argv: Sequence[str], timeout: float) -> Iterator[FactOutcome]:
    """Look at every fact about a harness, in order.

    Args:
        argv: the command that starts it.
        timeout: seconds that an answer may take.
    """
    with tempfile.TemporaryDirectory(prefix="onnx-conformance-", ignore_cleanup_errors=True) as folder:
        ask = Questions(argv, timeout, Path(folder))
        try:
            yield from _outcomes(ask)
        finally:
            ask.abandon()


def _outcomes(ask: Questions) -> Iterator[FactOutcome]:
    started = _looked_at(any_facts.START, ask)
    yield started
    kind = ask.started.get("kind")
    facts = (
        *any_facts.BEGINNING,
        *(KINDS.get(kind, ()) if isinstance(kind, str) else ()),
        *(fact for offer, facts in _offers(kind).items() if ask.started.get(offer) is True for fact in facts),
        *any_facts.ENDING,
        *any_facts.KEPT,
    )
    for fact in facts:
        if started.state is State.FAILS:
            yield FactOutcome(fact.text, State.SKIPPED, "the harness does not start")
        else:
            yield _looked_at(fact, ask)


def _offers(kind: object) -> Mapping[str, Sequence[Fact]]:
    return optional_facts.FACTS if kind == "backend" else {}


def _looked_at(fact: Fact, ask: Questions) -> FactOutcome:
    try:
        fact.look(ask)
    except Skip as skip:
        return FactOutcome(fact.text, State.SKIPPED, str(skip))
    except Complaint as complaint:
        sent, came = ("", "") if fact in any_facts.KEPT else (ask.sent, ask.came)
        return FactOutcome(fact.text, State.FAILS, complaint.problem, sent, came, complaint.mend or fact.mend)
    return FactOutcome(fact.text, State.HOLDS)
