"""What pytest collects of a corpus: an item of each case and subject; and, under xdist, batches of them.

Cases travel in batches, since a message for each costs more than most cases do.

A worker's items of ours are grouped after selection, a batch is run as one item, and its report carries all results.
The controller takes it apart again, so that there, as without xdist, every case and subject has a report of its own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLUGIN = "onnx_conformance_session"
"""Under which name pytest's plugin manager has the session."""

SETTINGS = "onnx_conformance_settings"
"""Under which key of xdist's `workerinput` a worker finds the run's settings."""

IS_OF_RUN = "onnx_conformance_is_of_run"
"""Under which key it says that the worker is of `run`, and not of a user's own pytest."""

LARGEST_BATCH = 64
BATCHES_PER_WORKER = 6

_COUNTS = re.compile(r"^onnx-conformance::batch \d+ of (\d+) cases, (\d+) results$")


class Batch(pytest.Item):
    """Several cases that a worker runs one after the other.

    Its name says how many cases and results the whole run has, which the controller of xdist knows only from it.
    """

    def __init__(self, *, items: Sequence[ConformanceItem], **rest: Any) -> None:
        super().__init__(**rest)
        self.items = items

    def runtest(self) -> None:
        """Not used: the plugin's own protocol runs the batch."""


def batched(items: list[pytest.Item], ours: Sequence[ConformanceItem], workers: int) -> list[pytest.Item]:
    """The items with ours grouped, small enough that no worker is left idle at the end."""
    size = max(1, min(LARGEST_BATCH, len(ours) // (workers * BATCHES_PER_WORKER)))
    cases = len({item.case.id for item in ours})
    own, parent = set(ours), ours[0].parent
    assert parent is not None
    return [item for item in items if item not in own] + [
        Batch.from_parent(
            parent,
            name=f"batch {start} of {cases} cases, {len(ours)} results",
            items=ours[start : start + size],
        )
        for start in range(0, len(ours), size)
    ]


def counts_of(nodeid: str) -> tuple[int, int] | None:
    """How many cases and results a batch's node id tells of; None of another item's."""
    match = _COUNTS.search(nodeid)
    return (int(match[1]), int(match[2])) if match else None


def case_report(
    nodeid: str, location: tuple[str, int | None, str], result: dict[str, Any], seconds: float
) -> pytest.TestReport:
    """The report of one case, with its result record."""
    return pytest.TestReport(nodeid, location, {}, "passed", None, "call", duration=seconds, conformance=result)


def batch_report(batch: Batch, reports: Sequence[pytest.TestReport]) -> pytest.TestReport:
    """One report of a whole batch, to be sent to the controller."""
    parts = [(part.nodeid, part.location, vars(part)["conformance"], part.duration) for part in reports]
    return pytest.TestReport(batch.nodeid, reports[0].location, {}, "passed", None, "call", batch=parts)


class CorpusFile(pytest.File):
    """A corpus: an item for each subject and case.

    Attributes:
        place: where pytest says its items are.
    """

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.place = os.path.relpath(self.path, self.config.rootpath)

    def collect(self) -> Iterator[pytest.Item]:
        """Cases in the order of their names, subject after subject."""
        session: Any = self.config.pluginmanager.get_plugin(PLUGIN)
        for subject in session.subjects:
            for case in session.cases_of(subject).values():
                # whole, so that pytest reads it as it does from its cache of failures
                id = f"{self.nodeid}::{case.id}[{subject.id}]"
                yield ConformanceItem.from_parent(self, name=case.id, nodeid=id, subject=subject, case=case)


class ConformanceItem(pytest.Item):
    """One case on one subject."""

    def __init__(self, *, subject: Any, case: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.subject = subject
        self.case = case

    def runtest(self) -> None:
        """Not used: the plugin's own protocol runs the item."""

    def listchain(self) -> list[Any]:
        """The item alone: `-k` is about cases, not about subjects, nor about where the corpus lies."""
        return [self]

    @property
    def location(self) -> tuple[str, int, str]:
        """Where pytest says the item is, whose own way to it costs as much as some cases."""
        assert isinstance(self.parent, CorpusFile)
        return self.parent.place, 0, f"{self.case.id}[{self.subject.id}]"
