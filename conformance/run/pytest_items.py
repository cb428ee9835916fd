"""pytest items of a run: one item for each case and subject, and batches of items under pytest-xdist.

A message between processes takes longer than most cases. Therefore a worker groups the selected items into batches,
runs a batch as one item, and sends one report with all results. The controller splits the report again, so that every
case and subject has a report, as without pytest-xdist.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


SESSION_PLUGIN_NAME = "onnx_conformance_session"
"""Name under which the session is registered with pytest's plugin manager."""

SETTINGS_KEY = "onnx_conformance_settings"
"""Key of the settings in the `workerinput` of pytest-xdist."""

RUN_COMMAND_KEY = "onnx_conformance_is_of_run"
"""Key in `workerinput` that marks a worker of the command `run`; workers of a user's own pytest lack it."""

MAX_BATCH_CASES = 64
MIN_BATCHES_PER_WORKER = 6

_BATCH_ID_PATTERN = re.compile(r"^onnx-conformance::batch \d+ of (\d+) cases, (\d+) results$")


class Batch(pytest.Item):
    """Several items that a worker runs one after the other.

    The name of a batch contains the number of cases and the number of results of the whole run. The controller needs
    both numbers, and pytest-xdist sends it only the items' names.
    """

    def __init__(self, *, items: Sequence[ConformanceItem], **rest: Any) -> None:
        super().__init__(**rest)
        self.items = items

    def runtest(self) -> None:
        """Do nothing: `Worker` runs the batch in a hook of pytest."""


def group_into_batches(
    items: list[pytest.Item], ours: Sequence[ConformanceItem], workers: int, expected: int
) -> list[pytest.Item]:
    """Return the items, with this suite's items in batches.

    The batches are small, so that no worker waits long for another one at the end.

    Args:
        items: all items that pytest has collected.
        ours: the items of this suite.
        workers: number of worker processes.
        expected: number of results that the run must have.
    """
    size = max(1, min(MAX_BATCH_CASES, len(ours) // (workers * MIN_BATCHES_PER_WORKER)))
    cases = len({item.case.id for item in ours})
    own, parent = set(ours), ours[0].parent
    assert parent is not None
    return [item for item in items if item not in own] + [
        Batch.from_parent(
            parent,
            name=f"batch {start} of {cases} cases, {expected} results",
            items=ours[start : start + size],
        )
        for start in range(0, len(ours), size)
    ]


def counts_in_batch_id(nodeid: str) -> tuple[int, int] | None:
    """Return the number of cases and the number of results of a run from the node id of a batch.

    Return None if `nodeid` is not the id of a batch; see `Batch`.
    """
    match = _BATCH_ID_PATTERN.search(nodeid)
    return (int(match[1]), int(match[2])) if match else None


class CorpusFile(pytest.File):
    """The pytest collector of a corpus; the file is the manifest.

    Attributes:
        relative_path: path of the manifest, relative to pytest's root directory.
    """

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.relative_path = os.path.relpath(self.path, self.config.rootpath)

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each subject and case, subject by subject, in the order of the cases' ids."""
        session: Any = self.config.pluginmanager.get_plugin(SESSION_PLUGIN_NAME)
        for subject in session.subjects:
            for case in session.cases_of(subject).values():
                # the complete node id, as pytest's cache of failures contains it
                id = f"{self.nodeid}::{case.id}[{subject.id}]"
                yield ConformanceItem.from_parent(self, name=case.id, nodeid=id, subject=subject, case=case)


class ConformanceItem(pytest.Item):
    """The pytest item for one case on one subject."""

    def __init__(self, *, subject: Any, case: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.subject = subject
        self.case = case
        assert isinstance(self.parent, CorpusFile)
        self.location = self.parent.relative_path, 0, f"{case.id}[{subject.id}]"  # pytest's own computation is slow

    def runtest(self) -> None:
        """Do nothing: `Worker` runs the case in a hook of pytest."""

    def listchain(self) -> list[Any]:
        """Return the item without its parents, so that `-k` does not match the path of the corpus."""
        return [self]
