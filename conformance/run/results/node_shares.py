"""The share of the nodes of a user's models that a subject computes correctly.

A case of a corpus of models stands for all nodes of one configuration, so it counts as often as the models use it.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from conformance.base.serialization.decoding import Count, StoredRecord
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case import REGION_TAG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.run.results.records import CaseRow
    from conformance.run.results.results_file import Results


class NodeShare(StoredRecord):
    """The nodes and fused regions of the models: all that have a result on a subject, and those that are right."""

    subject: str
    right: Count
    nodes: Count
    right_regions: Count
    regions: Count

    @property
    def sentence(self) -> str:
        """The share in one sentence."""
        parts = [_share("nodes", self.right, self.nodes), _share("fused regions", self.right_regions, self.regions)]
        return f"{' and '.join(filter(None, parts))} of these models are right on {self.subject}"


def _share(name: str, right: int, total: int) -> str:
    """Return a share that is rounded down, so that 100 % means all; an empty text if there is nothing."""
    return f"{floor(1000 * right / total) / 10} % of the {name} ({right:,} of {total:,})" if total else ""


def count_node_shares(results: Iterable[tuple[str, CaseRow, Verdict]]) -> list[NodeShare]:
    """Return the share of each subject; nothing for cases that are not nodes of models.

    Args:
        results: the subject, the case and the verdict of each result.
    """
    counts: dict[str, list[int]] = {}
    for subject, case, verdict in results:
        if case.uses:
            found = counts.setdefault(subject, [0, 0, 0, 0])
            first = 2 * (REGION_TAG in case.tags)
            found[first] += case.uses if verdict is Verdict.PASS else 0
            found[first + 1] += case.uses
    return [NodeShare(subject, *found) for subject, found in counts.items()]


def node_shares(run: Results) -> list[NodeShare]:
    """Return the share of each subject of a run."""
    return count_node_shares((subject, run.case_rows[case], row.verdict) for (subject, case), row in run.rows.items())
