"""What is shown on the terminal while work lasts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from conformance.run.session import ConformanceSession

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


class ProgressBar:
    """A pytest plugin that moves a bar with every result."""

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session
        console = Console(stderr=True, emoji=False)
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
    console = Console(stderr=True, emoji=False)
    with Progress(*_COLUMNS, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.update(task, advance=1)
