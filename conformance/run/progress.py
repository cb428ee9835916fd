"""Progress bars on standard error."""

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
    """A pytest plugin that shows a progress bar and advances it with every result."""

    def __init__(self, session: ConformanceSession) -> None:
        self._session = session
        console = Console(stderr=True, emoji=False)
        self._progress = Progress(*_COLUMNS, console=console, transient=True)
        self._task = self._progress.add_task("running", total=None)

    def pytest_sessionstart(self) -> None:
        """Show the bar."""
        self._progress.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Advance the bar."""
        if hasattr(report, "conformance"):
            self._progress.update(self._task, advance=1, total=self._session.pending)

    def pytest_sessionfinish(self) -> None:
        """Remove the bar."""
        self._progress.stop()


@contextmanager
def progress_counter(label: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar for `total` steps, and yield a function to call with the name of each finished step."""
    console = Console(stderr=True, emoji=False)
    with Progress(*_COLUMNS, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda _: progress.update(task, advance=1)
