"""What a run shows on the terminal: progress while it lasts, then a table of verdicts and why the gate is shut."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from conformance.text import visible
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest

    from conformance.results.records import DiagnosisRecord
    from conformance.run.session import ConformanceSession

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
_STYLES = {Verdict.PASS: "green", Verdict.UNSUPPORTED: "yellow", Verdict.SKIPPED: "dim"}


class ProgressBar:
    """A pytest plugin that moves a bar with every result."""

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session
        console = Console(stderr=True)
        self._progress = Progress(*_COLUMNS, console=console, transient=True)
        self._task = self._progress.add_task("running", total=None)

    def pytest_sessionstart(self) -> None:
        """Show the bar."""
        self._progress.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Move it by one."""
        if hasattr(report, "conformance"):
            self._progress.update(self._task, advance=1, total=self._session.pending)

    def pytest_sessionfinish(self) -> None:
        """Take it away."""
        self._progress.stop()


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar for work on a known number of things; call what it gives with each thing's name when it is done."""
    console = Console(stderr=True)
    with Progress(*_COLUMNS, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.update(task, advance=1)


def print_outcome(session: ConformanceSession, *, to_stderr: bool = False) -> None:
    """Print the table of verdicts per subject and level, and whether the gate holds and why not."""
    console = Console(highlight=False, stderr=to_stderr)
    console.print(_verdict_table(session))
    corpus = session.corpus
    console.print(
        f"corpus {corpus.version} ({corpus.digest[:12]}), {session.selected} of {len(corpus.cases)} cases", markup=False
    )
    for note in _notes(session):
        console.print(visible(note), markup=False, soft_wrap=True)
    for diagnosis in session.recorder.diagnoses if session.recorder else ():
        console.print(visible(_diagnosed(diagnosis)), markup=False, soft_wrap=True)
    if session.reasons:
        console.print("[bold red]The gate does not hold:[/]")
        for reason in session.reasons:
            console.print(f"  {visible(reason)}", markup=False, soft_wrap=True)
    else:
        console.print("[bold green]The gate holds.[/]")


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


def _diagnosed(diagnosis: DiagnosisRecord) -> str:
    others = ", ".join(diagnosis["alike"])
    return (
        f"{diagnosis['operator']} on {diagnosis['subject']} agrees on {diagnosis['agrees']} of {diagnosis['of']} "
        f"failing cases with: {diagnosis['text']}{f' (no case tells it apart from {others})' if others else ''}"
    )


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
