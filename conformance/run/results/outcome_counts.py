"""The counts that stand beside the outcome of a run: judged results, unsupported cases, known failures, node shares.

A run can pass although most of its cases are unsupported or known to fail. The counts show how much PASSED states.
A case of a corpus of models stands for all nodes of one configuration, so it counts as often as the models use it.
"""

from __future__ import annotations

from collections import Counter
from math import floor
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from conformance.base.serialization.decoding import Count, StoredRecord
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import REGION_TAG
from conformance.run.results.results_file import fail_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.run.results.records import CaseRow, OpenElements, ResultRow
    from conformance.run.results.results_file import Results


WEAKER_OPTION = "--fail-level should"
"""The option with which a run judges failures at level `should`."""


class OutcomeCounts(Struct, frozen=True):
    """Numbers of results at the levels that can fail a run; a case counts once for each subject.

    `judged` excludes unsupported and skipped results. `known_failures` are failures that an expectation or a baseline
    explains; of `loose_failures`, the entry accepts any wrong outputs, and `shrunk_failures` have fewer wrong elements
    than their entries list. `weaker_failures` is the number of failures at level `should` if only level `must` can fail
    the run. `open_elements` of the `elements` of `open_results` were not judged, because every value is admissible.
    """

    results: Count
    judged: Count
    unsupported: Count
    skipped: Count
    known_failures: Count
    weaker_failures: Count
    loose_failures: Count = 0
    shrunk_failures: Count = 0
    open_results: Count = 0
    open_elements: Count = 0
    elements: Count = 0

    @property
    def sentence(self) -> str:
        """The counts as a phrase: `190 of 2,506 judged, 2,316 unsupported, 289 known failures (12 not pinned)`."""
        notes = [f"{self.loose_failures:,} not pinned"] if self.loose_failures else []
        notes += [f"{self.shrunk_failures:,} with less wrong than listed"] if self.shrunk_failures else []
        noted = f" ({', '.join(notes)})" if notes else ""
        return ", ".join(
            [
                f"{self.judged:,} of {self.results:,} judged",
                *([f"{self.unsupported:,} unsupported"] if self.unsupported else []),
                *([f"{self.skipped:,} skipped"] if self.skipped else []),
                *([_plural(self.known_failures, "known failure") + noted] if self.known_failures else []),
            ]
        )

    @property
    def weaker_sentence(self) -> str:
        """The failures that do not fail the run, with the option that changes this; empty if there are none."""
        if not self.weaker_failures:
            return ""
        verb = "does" if self.weaker_failures == 1 else "do"
        failures = _plural(self.weaker_failures, "failure")
        return f"{failures} at level should {verb} not fail the run without {WEAKER_OPTION}"

    @property
    def open_sentence(self) -> str:
        """The elements that were not judged because every value is admissible; empty if there are none."""
        if not self.open_elements:
            return ""
        verb = "was" if self.open_elements == 1 else "were"
        share = f"{self.open_elements:,} of the {self.elements:,} elements of {_plural(self.open_results, 'result')}"
        return f"{share} {verb} not judged: the specification admits every value there"

    @classmethod
    def count(
        cls,
        verdicts: Iterable[Mapping[Any, Mapping[Any, int]]],
        known_failures: int,
        level: Level,
        loose: int = 0,
        shrunk: int = 0,
        open_elements: Sequence[OpenElements] = (),
    ) -> OutcomeCounts:
        """Return the counts of some subjects.

        Args:
            verdicts: for each subject, the number of each verdict by level.
            known_failures: number of known failures of these subjects at the levels that `level` includes.
            level: the fail level of the run.
            loose: number of those whose entry accepts any wrong outputs.
            shrunk: number of those with fewer wrong elements than their entry lists.
            open_elements: the elements without a judgement of each result that has them, at the levels that `level`
                includes.
        """
        results = judged = unsupported = skipped = weaker = 0
        for by_level in verdicts:
            for name, counts in by_level.items():
                of_level = Level(name)
                defects = sum(count for verdict, count in counts.items() if Verdict(verdict).is_defect)
                if not of_level.is_within(level):
                    weaker += defects if of_level is Level.SHOULD else 0
                    continue
                results += sum(counts.values())
                judged += defects + counts.get(Verdict.PASS, 0)
                unsupported += counts.get(Verdict.UNSUPPORTED, 0)
                skipped += counts.get(Verdict.SKIPPED, 0)
        numbers = (
            len(open_elements),
            sum(each.open for each in open_elements),
            sum(each.elements for each in open_elements),
        )
        return cls(results, judged, unsupported, skipped, known_failures, weaker, loose, shrunk, *numbers)

    @classmethod
    def of_runs(cls, runs: Iterable[Results]) -> OutcomeCounts:
        """Return the sums of the counts of several runs."""
        counts = [cls.of_run(run) for run in runs]
        return cls(*(sum(getattr(one, name) for one in counts) for name in cls.__struct_fields__))

    @classmethod
    def of_run(cls, run: Results) -> OutcomeCounts:
        """Return the counts of a run."""
        level = fail_level(run.header)
        known = [row for row in _known_failures(run) if row.level.is_within(level)]
        entries = [row.expected for row in known if row.expected is not None]
        loose = sum(entry.is_loose for entry in entries)
        shrunk = sum(entry.has_shrunk for entry in entries)
        rows = (row for row in run.rows.values() if row.level.is_within(level))
        not_judged = [row.open_elements for row in rows if row.open_elements is not None]
        return cls.count(run.footer.verdicts.values(), len(known), level, loose, shrunk, not_judged)


def is_known_failure(result: ResultRow) -> bool:
    """Return whether a result is a failure that its expectation or its baseline explains."""
    has_explanation = result.expected is not None or result.baseline is not None
    return result.verdict.is_defect and not result.unexpected and has_explanation


def _known_failures(run: Results) -> Iterator[ResultRow]:
    return (row for row in run.rows.values() if is_known_failure(row))


def known_failures_by_level(run: Results) -> Counter[tuple[str, Level]]:
    """Return the numbers of known failures by subject and level; silent cases never count."""
    return Counter((row.subject, row.level) for row in _known_failures(run) if row.level is not Level.SILENT)


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


class NodeShare(StoredRecord):
    """The nodes and fused regions of the models: all that have a result on a subject, and those that are right.

    `all_nodes` is the number of nodes of the models, with and without a case.
    """

    subject: str
    right: Count
    nodes: Count
    right_regions: Count
    regions: Count
    all_nodes: Count = 0

    @property
    def sentence(self) -> str:
        """The share in one sentence."""
        parts = [_share("nodes", self.right, self.nodes), _share("fused regions", self.right_regions, self.regions)]
        share = " and ".join(filter(None, parts))
        if self.nodes >= self.all_nodes:
            return f"{share} of these models are right on {self.subject}"
        missing = f"{self.all_nodes - self.nodes:,} of {self.all_nodes:,} nodes of the models have no case or no result"
        return f"{share} with a result are right on {self.subject}; {missing}"


def _share(name: str, right: int, total: int) -> str:
    """Return a share that is rounded down, so that 100 % means all; an empty text if there is nothing."""
    return f"{floor(1000 * right / total) / 10} % of the {name} ({right:,} of {total:,})" if total else ""


def count_node_shares(results: Iterable[tuple[str, CaseRow, Verdict]], nodes: int) -> list[NodeShare]:
    """Return the share of each subject; nothing for cases that are not nodes of models.

    Args:
        results: the subject, the case and the verdict of each result.
        nodes: the number of nodes of the models, with and without a case.
    """
    counts: dict[str, list[int]] = {}
    for subject, case, verdict in results:
        if case.uses:
            found = counts.setdefault(subject, [0, 0, 0, 0])
            first = 2 * (REGION_TAG in case.tags)
            found[first] += case.uses if verdict is Verdict.PASS else 0
            found[first + 1] += case.uses
    return [
        NodeShare(subject, right, judged, right_regions, regions, nodes)
        for subject, (right, judged, right_regions, regions) in counts.items()
    ]


def node_shares(run: Results) -> list[NodeShare]:
    """Return the share of each subject of a run."""
    results = ((subject, run.case_rows[case], row.verdict) for (subject, case), row in run.rows.items())
    return count_node_shares(results, run.header.corpus.nodes)
