"""What a run shows on the terminal once it has ended: verdicts, causes with evidence, and the gate."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from conformance.boundary.text import one_line, visible
from conformance.clauses import clauses
from conformance.results import diagnosed
from conformance.results.causes import FEW, clause_of, counted
from conformance.results.evidence import bounded, shortly
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conformance.results.causes import Cause
    from conformance.run.session import ConformanceSession

MOST_CAUSES = 8
"""Of each subject, where not all are asked for."""

_STYLES = {Verdict.PASS: "green", Verdict.UNSUPPORTED: "yellow", Verdict.SKIPPED: "dim"}


class Detail(IntEnum):
    """How much of an outcome is printed."""

    GATE = auto()
    CAUSES = auto()
    CASES = auto()


@dataclass(frozen=True)
class Telling:
    """How an outcome is printed.

    Attributes:
        detail: how much of it.
        results: the results file that the user keeps, or None.
        data: the corpus that the user named, or None.
        to_stderr: whether it goes to standard error, since a report goes to standard output.
    """

    detail: Detail = Detail.CAUSES
    results: Path | None = None
    data: Path | None = None
    to_stderr: bool = False


def print_outcome(session: ConformanceSession, telling: Telling) -> None:
    """Print verdicts by subject and level, causes of failures with evidence, the gate, and what to do next."""
    console = Console(highlight=False, emoji=False, stderr=telling.to_stderr)
    causes = session.recorder.causes if session.recorder else []
    if telling.detail > Detail.GATE:
        console.print(_verdict_table(session))
        for line in (_selection(session), *_notes(session), *_causes(causes, telling.detail), *_unexplained(session)):
            console.print(visible(line), markup=False, soft_wrap=True)
    if session.reasons:
        console.print("[bold red]The gate does not hold:[/]")
        for reason in session.reasons:
            console.print(f"  {visible(reason)}", markup=False, soft_wrap=True)
    else:
        console.print("[bold green]The gate holds.[/]")
    if telling.detail > Detail.GATE and causes:
        console.print(visible(_next(causes, telling)), markup=False, soft_wrap=True)


def _selection(session: ConformanceSession) -> str:
    """How much of the corpus was run, and why not all of it."""
    corpus, selected = session.corpus, session.selected
    told = f"corpus {corpus.version} ({corpus.digest[:12]}), {selected} of {len(corpus.cases)} cases"
    unasked = len(corpus.cases) - len({id for subject in session.subjects for id in session.cases_of(subject)})
    if selected < len(corpus.cases) and (options := session.selected_by):
        return f"{told} (selected by {options})"
    if not unasked:
        return told
    kinds = {subject.kind for subject in session.subjects}
    others = next((kind.prose for kind in SubjectKind if kind not in kinds), "")
    return f"{told} (the other {unasked} ask{'s' * (unasked == 1)} something of a {others}, and none is named)"


def _causes(causes: Sequence[Cause], detail: Detail) -> Iterator[str]:
    """The causes of each subject, those of most cases first, with evidence of the smallest case or of all the few."""
    few = sum(len(cause.cases) for cause in causes) <= FEW
    all_of_it = detail is Detail.CASES
    for subject in dict.fromkeys(cause.subject for cause in causes):
        own = [cause for cause in causes if cause.subject == subject]
        shown = own if all_of_it else own[:MOST_CAUSES]
        yield ""
        yield f"{subject}: {counted(own)}"
        for number, cause in enumerate(shown, 1):
            yield from _cause(number, cause, of_all=few or all_of_it, names=all_of_it)
        if more := own[len(shown) :]:
            yield f"and {counted(more)} more: -v shows them"
    if causes:
        yield ""


def _cause(number: int, cause: Cause, *, of_all: bool, names: bool) -> Iterator[str]:
    count = f"{len(cause.cases)} case{'s' * (len(cause.cases) > 1)}"
    yield f"{number}. {one_line(bounded(cause.sentence))} ({count})"
    texts: Any = {id: {"source": clause.source, "text": clause.text} for id, clause in clauses().items()}
    for case, result in cause.smallest[: None if of_all else 1]:
        yield f"   {case['case']}: {case['title']}"
        yield from (f"     {visible(line)}" for line in shortly(result, clause_of(cause, case, result), texts))
    if names and (others := cause.cases[len(cause.smallest) :]):
        yield "   and"
        yield from (f"     {id}" for id in others)


def _next(causes: Sequence[Cause], telling: Telling) -> str:
    """The command that tells more of the first cause's smallest case."""
    data = ["--data", str(telling.data)] if telling.data else []
    results = ["-r", str(telling.results)] if telling.results else []
    command = shlex.join(["onnx-conformance", "explain", causes[0].cases[0], *results, *data])
    return f"Next: {command}" + ("" if results else "; with --results FILE, -r FILE shows the evidence there.")


def _notes(session: ConformanceSession) -> Iterator[str]:
    """What else the gate goes by, where that is not usual."""
    assert session.recorder is not None
    rules = session.recorder.gate.rules
    if rules.require:
        yield f"required: {', '.join(rules.require)}"
    if rules.profile is not None:
        yield f"profile: {rules.profile.name}, {rules.profile.title}"
    if rules.baseline is not None:
        record, same = rules.baseline.record, rules.baseline.record["digest"] == session.corpus.digest
        other = "" if same else f", of another corpus ({record['version']}): cases that it has not are judged as usual"
        yield f"baseline: {record['file']}{other}"
    for subject in session.subjects:
        if subject.placement == "cannot tell":
            yield f"{subject.id} cannot tell what ran where: another device may have computed its answers"
    if session.settings.repeat > 1:
        yield f"each case was run {session.settings.repeat} times"


def _unexplained(session: ConformanceSession) -> Iterator[str]:
    """What failures that no deviation explains have in common."""
    left = session.recorder.unexplained if session.recorder else ()
    yield from map(diagnosed.unexplained, left)
    yield from [""] if left else []


def _verdict_table(session: ConformanceSession) -> Table:
    assert session.recorder is not None
    counts = session.recorder.gate.verdicts
    shown = [v for v in Verdict if any(counter[v] for levels in counts.values() for counter in levels.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("subject", "version", "level"):
        table.add_column(name)
    for name in (*shown, "cases"):
        table.add_column(name, justify="right")
    for subject in session.subjects:
        rows = [(level, counts[subject.id][level]) for level in Level if counts[subject.id][level]]
        for place, (level, counter) in enumerate(rows):
            named = (subject.id, subject.version) if not place else ("", "")
            table.add_row(*_escaped(named), level, *(_count(v, counter[v]) for v in shown), str(counter.total()))
    return table


def _escaped(texts: Sequence[str]) -> list[Any]:
    from rich.text import Text

    return [Text(visible(text)) for text in texts]


def _count(verdict: Verdict, count: int) -> str:
    style = _STYLES.get(verdict, "bold red") if count else "dim"
    return f"[{style}]{count}[/]"
