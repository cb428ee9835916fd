"""The release that introduced a fault: a search among the releases of one subject.

`ReleaseSearch` is the algorithm. It asks each release one question: does it have the fault? The answers are *has*,
*lacks* and *unknown*. A release is unknown if it is not installed, does not start, does not support the model, or fails
in another way. Unknown releases are skipped. The search assumes nothing about the order of answers: it finds neighbours
with different answers, between which all releases are unknown.

1. The ends of the range are tested first. An unknown end is replaced by a known release near it.
2. If the ends have different answers, the range between them is bisected.
3. If the ends have equal answers, releases between them are tested until one has another answer: first the releases
   that the history names, then the middles of ever smaller ranges. Both parts are bisected then.

`CaseQuestion` and `ModelQuestion` answer the question by a run. A fault is the cause and the outputs of a failure.

If the reference does not judge the outputs of a model, its nodes are judged. If they are not judged either, the
question is another one: does the release return the outputs of the newest one? `compare_releases` searches by it.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import cycle, islice, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct
from packaging.version import Version

from conformance.base.errors import ConformanceError, UsageError
from conformance.base.serialization.printable_text import one_line, shorten_middle
from conformance.base.verdicts import Verdict
from conformance.exact.judgement.distances import are_comparable, find_distances, output_share
from conformance.exact.models.arrays import have_same_bits
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.own.audit.audit_report import JudgedShare
from conformance.own.audit.audit_session import audit_subject
from conformance.own.blame.difference import find_difference
from conformance.own.blame.model_comparison import Failure, OpenSubjects, run_model
from conformance.own.blame.verdict import BlameOutcome, ChangedReleases, TextEnclosures, is_judged, judge
from conformance.run.judging.execute import judge_case
from conformance.run.results.failure_groups import find_cause
from conformance.run.results.recorded_environment import package_changes
from conformance.studies.history.index import open_index, results_of
from conformance.studies.history.release_ranges import ReleaseRange, middles_between
from conformance.studies.history.store import HistoryStore
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.registry import list_environments
from conformance.subjects.environments.requirements import find_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from conformance.corpus.cases.case_loading import LoadedCase
    from conformance.corpus.cases.corpus import CorpusCase
    from conformance.own.blame.blame_session import Request
    from conformance.run.results.records import Judged, Result
    from conformance.subjects.calling.subject_names import Subject

MAX_SAMPLES = 16
"""Largest number of releases that are tested between ends with equal answers."""

MAX_TEXT_LENGTH = 120
"""Characters of the text of an answer in the report."""


class FaultPresence(StrEnum):
    """Whether a release has the fault."""

    HAS = "has"
    LACKS = "lacks"
    UNKNOWN = "unknown"

    @property
    def text(self) -> str:
        """The answer in words."""
        if self is FaultPresence.UNKNOWN:
            return "unknown"
        return "has the fault" if self is FaultPresence.HAS else "does not have the fault"


@dataclass(frozen=True)
class ReleaseAnswer:
    """The answer of one release.

    Attributes:
        answer: the answer.
        text: the failure, or the reason why the answer is unknown, in one line.
        packages: packages of the environment, as `name==version`.
        runs: whether the release computes the outputs, although they are not judged.
    """

    answer: FaultPresence
    text: str = ""
    packages: tuple[str, ...] = ()
    runs: bool = False


class Change(Struct, frozen=True, rename={"after": "release"}):
    """Two releases with different answers; all releases between them are unknown.

    Attributes:
        kind: `introduced` if the newer release has the fault, and otherwise `fixed`.
        after: the newer release.
        before: the older release.
        unknown: the releases between them.
    """

    kind: Literal["introduced", "fixed"]
    after: str
    before: str
    unknown: tuple[str, ...]


class TestedRelease(Struct):
    """The answer of a release in the document of a search; for the attributes see `ReleaseAnswer`."""

    release: str
    answer: FaultPresence
    text: str
    packages: tuple[str, ...]


class SearchDocument(Struct):
    """The file of `--json` of a search: the subject, the tested releases, and the changes that were found."""

    format: Literal[1]
    subject: str
    kind: SubjectKind
    releases: list[TestedRelease]
    changes: Sequence[Change]


@dataclass
class ReleaseSearch:
    """A search among releases.

    Attributes:
        releases: the releases, the oldest first.
        observe: tests one release.
        hints: releases that are tested first if the ends have equal answers.
        observations: the answers so far, by release.
        settle: changes the answers after a search; the search repeats with the changed answers.
        stops_unjudged: whether to end the search if nobody judges what the newest release computes. The reason holds
            for all releases.
    """

    releases: Sequence[str]
    observe: Callable[[str], ReleaseAnswer]
    hints: Sequence[str] = ()
    observations: dict[str, ReleaseAnswer] = field(default_factory=dict)
    settle: Callable[[ReleaseAnswer], ReleaseAnswer] = lambda answer: answer
    stops_unjudged: bool = False

    def run(self) -> list[Change]:
        """Return the changes that were found, the oldest first; empty if all known answers are equal."""
        changes = self._search()
        settled = {release: self.settle(found) for release, found in self.observations.items()}
        if settled == self.observations:
            return changes
        self.observations = settled
        return self.run()

    def _search(self) -> list[Change]:
        last = len(self.releases) - 1
        high = self._find_known(range(last, -1, -1))
        if high is None:
            return []
        low = self._find_known(range(high + 1))
        assert low is not None
        if self._answer(low) is not self._answer(high):
            return [self._bisect(low, high)]
        for number in self._samples(last):
            if self._answer(number) not in (FaultPresence.UNKNOWN, self._answer(low)):
                before = [self._bisect(low, number)] if low < number else []
                return [*before, *([self._bisect(number, high)] if number < high else [])]
        return []

    @property
    def tested(self) -> list[tuple[str, ReleaseAnswer]]:
        """The tested releases with their answers, the oldest first."""
        return [(release, self.observations[release]) for release in self.releases if release in self.observations]

    @property
    def oldest_fault(self) -> str | None:
        """The release with the fault before which all tested releases are unknown; None if an older one lacks it."""
        known = [(release, found.answer) for release, found in self.tested if found.answer is not FaultPresence.UNKNOWN]
        return known[0][0] if known and known[0][1] is FaultPresence.HAS else None

    def _find_known(self, numbers: Sequence[int]) -> int | None:
        """Return a release that is known, near the beginning of `numbers`; None if all are unknown.

        The steps grow while releases are unknown. The last step is then bisected.
        """
        step = 1
        unknown = -1
        known = 0
        while self._answer(numbers[known]) is FaultPresence.UNKNOWN:
            if self.stops_unjudged and self.observations[self.releases[numbers[known]]].runs:
                return None
            if known == len(numbers) - 1:
                rest = [each for each in numbers if self._answer(each) is not FaultPresence.UNKNOWN]
                return rest[0] if rest else None
            unknown, known, step = known, min(known + step, len(numbers) - 1), 2 * step
        while known - unknown > 1:
            middle = (unknown + known) // 2
            if self._answer(numbers[middle]) is FaultPresence.UNKNOWN:
                unknown = middle
            else:
                known = middle
        return numbers[known]

    def _answer(self, number: int) -> FaultPresence:
        release = self.releases[number]
        if release not in self.observations:
            self.observations[release] = self.settle(self.observe(release))
        return self.observations[release].answer

    def _bisect(self, low: int, high: int) -> Change:
        """Return a change between two releases with different answers."""
        unknown: set[int] = set()
        while untested := set(range(low + 1, high)) - unknown:
            middle = min(untested, key=lambda number: (abs(2 * number - low - high), number))
            answer = self._answer(middle)
            if answer is FaultPresence.UNKNOWN:
                unknown.add(middle)
            elif answer is self._answer(low):
                low = middle
            else:
                high = middle
        between = tuple(self.releases[number] for number in range(low + 1, high))
        kind: Literal["introduced", "fixed"] = "introduced" if self._answer(high) is FaultPresence.HAS else "fixed"
        return Change(kind, self.releases[high], self.releases[low], between)

    def _samples(self, last: int) -> Iterator[int]:
        """Yield the numbers of releases: the hints, then the middles of ever smaller ranges."""
        hinted = [self.releases.index(release) for release in self.hints if release in self.releases]
        order = dict.fromkeys([*hinted, *middles_between(-1, last + 1)])
        yield from islice(order, MAX_SAMPLES + len(self.hints))


@dataclass(frozen=True)
class Fault:
    """Properties that two releases share if they have the same fault.

    Attributes:
        cause: the cause of the failure, without numbers.
        outputs: the outputs that are wrong, or the checks that are violated; empty if the release computes none.
    """

    cause: str
    outputs: frozenset[str]

    @property
    def is_failure(self) -> bool:
        """Whether the release has the fault that it computes no outputs."""
        return bool(self.cause) and not self.outputs


@dataclass
class Question:
    """Asks releases of a subject for a fault: the first failure that is seen, unless it is given.

    Attributes:
        named: the subject; its release is ignored.
        subjects: starts the subjects.
        prepare: is called before a release is started. It creates the environment, or raises an error if it is missing.
        fault: the fault; None until a failure is seen.
        text: the text of the first failure.
    """

    named: SubjectName
    subjects: OpenSubjects
    prepare: Callable[[SubjectName], None] = lambda _: None
    fault: Fault | None = None
    text: str = ""

    def observe(self, release: str) -> ReleaseAnswer:
        """Test one release."""
        named = self.named.at_release(release)
        try:
            found, text, packages = self._test(named)
        except ConformanceError as error:
            return ReleaseAnswer(FaultPresence.UNKNOWN, error.problem.strip().partition("\n")[0])
        if found is None:
            return ReleaseAnswer(FaultPresence.UNKNOWN, text, packages)
        if found is NOT_JUDGED:
            return ReleaseAnswer(FaultPresence.UNKNOWN, text, packages, runs=True)
        if not found.cause:
            return ReleaseAnswer(FaultPresence.LACKS, text, packages)
        if self.fault is None:
            self.fault = found
            self.text = text
        if found == self.fault:
            return ReleaseAnswer(FaultPresence.HAS, text, packages)
        return ReleaseAnswer(FaultPresence.UNKNOWN, f"fails in another way: {text}", packages)

    def settle(self, answer: ReleaseAnswer) -> ReleaseAnswer:
        """Return an answer with the fault known: a release whose outputs are not judged lacks the fault of a crash."""
        if answer.runs and answer.answer is FaultPresence.UNKNOWN and self.fault is not None and self.fault.is_failure:
            return replace(answer, answer=FaultPresence.LACKS)
        return answer

    def _test(self, named: SubjectName) -> tuple[Fault | None, str, tuple[str, ...]]:
        """Run a release; return its fault, a text, and the packages of its environment.

        The fault has no cause if the release does not fail, and is `NOT_JUDGED` if nobody judged its outputs. It is
        None if the release does not show whether it fails.
        """
        raise NotImplementedError


NO_FAULT = Fault("", frozenset())
"""Stands for a release that does not fail."""

NOT_JUDGED = Fault("", frozenset({"not judged"}))
"""Stands for a release that computes outputs, of which it is not known whether they are right."""


@dataclass
class CaseQuestion(Question):
    """Asks for the fault that a case of the corpus shows.

    Attributes:
        case: the case.
        stored: the results of the history; they answer for releases without an environment.
    """

    case: LoadedCase | None = None
    stored: StoredAnswers | None = None

    def _test(self, named: SubjectName) -> tuple[Fault | None, str, tuple[str, ...]]:
        assert self.case is not None
        try:
            self.prepare(named)
        except ConformanceError:
            if self.stored is None or named.release not in self.stored.verdicts:
                raise
            return self.stored.result(named.release)
        with self.subjects.open(named) as (subject,):
            result = judge_case(subject, self.case)
            packages = subject.packages
        message = result.message.strip().partition("\n")[0]
        if result.verdict is Verdict.PASS:
            return NO_FAULT, str(result.verdict), packages
        if not result.verdict.is_defect or result.phase == "start":
            return None, f"{result.verdict}: {message}", packages
        return result_fault(self.case.entry.kind, result), message, packages


def result_fault(kind: str, result: Judged | Result) -> Fault:
    """Return the fault of a result that is a failure.

    Args:
        kind: the kind of the case.
        result: the result.
    """
    wrong = {one.name for one in result.outputs if one.violation is not None}
    wrong |= {one.name for one in result.checks if one.violation is not None}
    return Fault(f"{result.verdict}: {find_cause(kind, result).line}", frozenset(wrong))


class StoredAnswers:
    """The answers of the releases whose results a history has.

    Args:
        folder: folder of the history.
        named: the subject; its release is ignored.
        case: the case.
        digest: digest of the corpus.

    Attributes:
        verdicts: verdict of the case by release.
    """

    def __init__(self, folder: Path, named: SubjectName, case: CorpusCase, digest: str) -> None:
        store = HistoryStore(folder)
        target = named.without_release
        self._case = case
        self._files = {each.release: each for each in store.releases(target) if each.digest == digest}
        self.verdicts: dict[str, str] = {}
        if self._files:
            with open_index(store) as index:
                query = "SELECT verdict FROM results JOIN files ON files.id = file WHERE path = ? AND case_id = ?"
                for release, stored in self._files.items():
                    found = index.execute(query, (str(stored.path.relative_to(folder)), case.id)).fetchone()
                    if found is not None:
                        self.verdicts[release] = found[0]

    def result(self, release: str) -> tuple[Fault | None, str, tuple[str, ...]]:
        """Return fault, text and packages of a release, as `Question._test` does."""
        stored = self._files[release]
        verdict = Verdict(self.verdicts[release])
        packages = tuple(stored.history.packages)
        if verdict is Verdict.PASS:
            return NO_FAULT, "pass in the history", packages
        result = next(each for each in results_of(stored) if each.case == self._case.id)
        message = result.message.strip().partition("\n")[0]
        if not verdict.is_defect:
            return None, f"{verdict} in the history: {message}", packages
        return result_fault(self._case.kind, result), f"in the history: {message}", packages

    @property
    def hints(self) -> list[str]:
        """The releases at which the verdict changes between failing and not failing, the newest first."""
        releases = sorted(self.verdicts, key=Version)
        fails = [Verdict(self.verdicts[release]).is_defect for release in releases]
        changed = [number for number in range(1, len(releases)) if fails[number] != fails[number - 1]]
        return [releases[each] for number in reversed(changed) for each in (number, number - 1)]


MAX_NEIGHBOURS = 3
"""Largest number of pairs of releases that are worth comparing."""


def releases_worth_comparing(folder: Path, named: SubjectName, operators: Collection[str]) -> list[ChangedReleases]:
    """Return the neighbouring releases of a subject between which most verdicts of cases of some operators change.

    The list is empty if the history is missing or has no results of the subject.

    Raises:
        HistoryError: the folder is not a history of this version.
        ResultsError: a file is damaged.
    """
    if not folder.is_dir():
        return []
    store = HistoryStore(folder)
    target = SubjectName.parse(named.name, named.kind)
    releases = store.releases(target)
    newest_digest = releases[-1].digest if releases else ""
    releases = [each for each in releases if each.digest == newest_digest]
    query = (
        "SELECT a.case_id FROM results AS a JOIN results AS b ON a.case_id = b.case_id WHERE a.verdict != b.verdict"
        " AND a.file = (SELECT id FROM files WHERE path = ?) AND b.file = (SELECT id FROM files WHERE path = ?)"
    )
    words = {operator.lower() for operator in operators}
    found: list[ChangedReleases] = []
    with open_index(store) as index:
        for older, newer in pairwise(releases):
            paths = [str(each.path.relative_to(folder)) for each in (older, newer)]
            changed = sum(not words.isdisjoint(id.split("_")) for (id,) in index.execute(query, paths))
            found += [ChangedReleases(target.text, older.release, newer.release, changed)] if changed else []
    return sorted(found, key=lambda each: -each.changed)[:MAX_NEIGHBOURS]


def stored_releases(folder: Path, named: SubjectName) -> list[str]:
    """Return the releases of a subject that a history has; none if there is no history."""
    return [each.release for each in HistoryStore(folder).releases(named.without_release)]


def installed_releases(named: SubjectName) -> list[str]:
    """Return the releases of a subject that have a usable environment."""
    found = []
    for environment in list_environments():
        release = SubjectName.parse(environment.subject, named.kind).release
        if release and environment.is_usable:
            requirements = find_requirements(named.at_release(release))
            if environment.folder.name == requirements.key:
                found.append(release)
    return found


def releases_in_range(named: SubjectName, text: str, releases: Iterable[str]) -> list[str]:
    """Return the releases that belong to a range such as `1.20..1.32`, the oldest first.

    Raises:
        UsageError: the range has no such release.
    """
    range = ReleaseRange.parse(text)
    found = sorted({release for release in releases if range.has(Version(release))}, key=Version)
    if not found:
        raise UsageError("no-release-in-range", name=named.name, text=text)
    return found


@dataclass
class ModelQuestion(Question):
    """Asks for the fault that a model shows: an output outside of its bound, or a failure.

    With one subject, the outputs are compared with the reference. With another subject or with a graph optimizer, both
    answers are compared. A difference counts if the reference does not admit it. A failure counts without the
    reference.

    Attributes:
        request: the model, its inputs and the subjects; the subject with releases is `named`.
        is_alone: whether no other way to compute the model is given.
        computed: the outputs of each release that computes them.
    """

    request: Request | None = None
    is_alone: bool = False
    computed: dict[str, ComputedOutputs] = field(default_factory=dict)

    def _test(self, named: SubjectName) -> tuple[Fault | None, str, tuple[str, ...]]:
        self.prepare(named)
        return self._test_alone(named) if self.is_alone else self._test_difference(named)

    def _test_alone(self, named: SubjectName) -> tuple[Fault | None, str, tuple[str, ...]]:
        assert self.request is not None
        wrong = set()
        is_whole = True
        reason = ""
        computed = ComputedOutputs()
        with self.subjects.open(named) as (subject,):
            for number in range(len(self.request.data_sets)):
                case = self.request.fed_model(number)
                found = run_model(subject.target, case.model, case.inputs)
                if found.failure is Failure.UNSUPPORTED:
                    return None, found.message, subject.packages
                if found.failure:
                    return Fault(found.message.partition(":")[0], frozenset()), found.message, subject.packages
                expected = TextEnclosures(case).of(found.outputs)
                pairs = list(zip(found.outputs, expected.values(), strict=True))
                shares = [output_share(*pair) for pair in pairs]
                is_whole = is_whole and all(is_judged(*pair) for pair in pairs)
                reason = reason or next((each for each in expected.values() if isinstance(each, str)), "")
                computed.add(found.outputs, map(_open_part, found.outputs, expected.values()))
                wrong |= {name for name, share in zip(expected, shares, strict=True) if share is not None and share > 1}
            self.computed[named.release] = computed
            if not is_whole and not wrong:
                return self._test_nodes(subject, computed, reason)
        if wrong:
            text = f"{', '.join(sorted(wrong))} outside of the bound"
            return Fault("an output is outside of its bound", frozenset(wrong)), text, subject.packages
        return NO_FAULT, "all outputs are within their bounds", subject.packages

    def _test_nodes(
        self, subject: Subject, computed: ComputedOutputs, reason: str
    ) -> tuple[Fault, str, tuple[str, ...]]:
        """Judge the nodes of the model on the values of a release, because not all its outputs are judged.

        Args:
            subject: the release.
            computed: its outputs.
            reason: why an output is not judged.
        """
        assert self.request is not None
        audits = [audit_subject(self.request.model, subject, each) for each in self.request.data_sets]
        wrong = {node.name for audit in audits for node in audit.wrong_nodes}
        share = JudgedShare.of(audits)
        if wrong:
            text = f"{', '.join(sorted(wrong))} outside of the bound; {share.text}"
            return Fault("a node is outside of its bound", frozenset(wrong)), text, subject.packages
        if not share.has_judged:
            return NOT_JUDGED, reason or "the outputs have no useful bound", subject.packages
        if share.nodes == share.all_nodes:
            computed.judge_all()
        return NO_FAULT, share.text, subject.packages

    def _test_difference(self, named: SubjectName) -> tuple[Fault | None, str, tuple[str, ...]]:
        assert self.request is not None
        optimizer = named if named.kind is SubjectKind.OPTIMIZER else None
        second = self.request.second if optimizer else named
        verdict = None
        with self.subjects.compare(self.request.first, second, optimizer) as comparison:
            packages = (comparison.optimizer or comparison.second).packages
            for number in range(len(self.request.data_sets)):
                case = self.request.fed_model(number)
                answers = comparison.answers(case)
                if Failure.UNSUPPORTED in (answers[0].failure, answers[1].failure) or answers[0].failure:
                    return None, answers[1].message or answers[0].message, packages
                names = [value.name for value in case.model.graph.output]
                difference = find_difference(names, *answers)
                if not answers[1].failure:
                    self.computed.setdefault(named.release, ComputedOutputs()).add(answers[1].outputs, ())
                verdict = judge(comparison, case, difference, answers)
                if verdict.outcome is BlameOutcome.NOT_JUDGED and not any(difference.failures):
                    return NOT_JUDGED, f"{verdict.outcome}: {verdict.reason}", packages
                if difference and verdict.outcome not in _ADMITTED:
                    outputs = frozenset(each.name for each in difference.outputs)
                    cause = " ".join((str(verdict.outcome), *difference.kind))
                    return Fault(cause, outputs), f"{verdict.outcome}: {verdict.reason}", packages
        return NO_FAULT, str(verdict.outcome) if verdict else "", packages


_ADMITTED = (BlameOutcome.NO_DIFFERENCE, BlameOutcome.BOTH_ADMISSIBLE, BlameOutcome.FIRST_WRONG)
"""Verdicts on a difference that is no fault of the second subject or of the graph optimizer."""


@dataclass
class ComputedOutputs:
    """The outputs of one release for all data sets.

    Attributes:
        whole: the outputs.
        unjudged: the elements that the reference does not judge; all elements of an output that it cannot compute.
    """

    whole: list[Any] = field(default_factory=list)
    unjudged: list[Any] = field(default_factory=list)

    def add(self, outputs: Iterable[Any], unjudged: Iterable[Any]) -> None:
        """Add the outputs for one data set."""
        self.whole += outputs
        self.unjudged += unjudged

    def judge_all(self) -> None:
        """Note that all elements are judged, because all nodes are."""
        self.unjudged = []


def _open_part(actual: Any, expected: Any) -> Any:
    """Return the elements of an output that the reference does not judge."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return list(map(_open_part, actual, expected))
    if isinstance(expected, str) or not isinstance(actual, np.ndarray):
        return actual
    if not isinstance(expected, Enclosure) or not are_comparable(actual, expected):
        return actual[:0].reshape(-1) if actual.ndim else np.empty(0, actual.dtype)
    return actual[~find_distances(actual, expected).is_judged]


@dataclass(frozen=True)
class ReleaseComparison:
    """The releases compared with the newest one that computes the outputs.

    Attributes:
        newest: this release.
        search: the search; a release *has* the outputs of the newest one, or *lacks* them.
        changes: the releases in which the outputs change.
        is_judged: whether the reference judges all elements that change.
    """

    newest: str
    search: ReleaseSearch
    changes: Sequence[Change]
    is_judged: bool


def compare_releases(search: ReleaseSearch, question: ModelQuestion) -> ReleaseComparison | None:
    """Search for the release in which the outputs of a model change; None if no tested release computes them.

    Elements that the reference does not judge come first, because they are no fault that another search finds.

    Args:
        search: the search for a fault, which found none. Its releases are not tested again.
        question: its question.
    """
    assert question.request is not None
    names = [value.name for value in question.request.model.original.graph.output]
    newest = next((release for release in reversed(search.releases) if release in question.computed), None)
    if newest is None:
        return None
    for compares_whole in (False, True):

        def parts(release: str, *, is_whole: bool = compares_whole) -> list[Any]:
            computed = question.computed[release]
            return computed.whole if is_whole else computed.unjudged

        def observe(release: str) -> ReleaseAnswer:
            if release not in search.observations:
                search.observations[release] = search.observe(release)
            found = search.observations[release]
            if release not in question.computed:
                return found if found.answer is FaultPresence.UNKNOWN else replace(found, answer=FaultPresence.LACKS)
            differing = [
                name
                for name, one, other in zip(cycle(names), parts(release), parts(newest), strict=False)
                if not have_same_bits(one, other)
            ]
            text = f"other values of {', '.join(dict.fromkeys(differing))}" if differing else ""
            return ReleaseAnswer(FaultPresence.LACKS if differing else FaultPresence.HAS, text, found.packages)

        compared = ReleaseSearch(search.releases, observe, search.hints)
        changes = compared.run()
        if changes:
            return ReleaseComparison(newest, compared, changes, compares_whole)
    return ReleaseComparison(newest, compared, (), True)


def comparison_lines(named: SubjectName, comparison: ReleaseComparison) -> Iterator[str]:
    """Yield the answers of a comparison of releases, and the changes, as lines of text."""
    yield f"The releases compared with {named.name} {comparison.newest}:"
    for release, found in comparison.search.tested:
        same = "the same outputs" if found.answer is FaultPresence.HAS else "other outputs"
        yield f"  {release}  {'unknown' if found.answer is FaultPresence.UNKNOWN else found.text or same}"
    for change in comparison.changes:
        after = f"; {change.before} is the release before" if not change.unknown else f" or after {change.before}"
        yield f"The outputs changed in {named.name} {change.after}{after}."
        yield from _environment_lines(comparison.search, change.before, change.after)
    if not comparison.changes:
        yield "All tested releases return the same outputs."
    elif comparison.is_judged:
        yield "All of these outputs are within their bounds."
    else:
        yield "The reference does not judge the elements that changed."


def report_lines(
    named: SubjectName, search: ReleaseSearch, changes: Sequence[Change], *, is_compared: bool = False
) -> list[str]:
    """Return the answers of the tested releases, and the changes, as lines of text.

    Args:
        named: the subject.
        search: the search.
        changes: the changes.
        is_compared: whether the releases are also compared with each other, which says more than that none has a fault.
    """
    tested = search.tested
    width = max((len(release) for release, _ in tested), default=0)
    known = sum(found.answer is not FaultPresence.UNKNOWN for _, found in tested)
    lines = [f"{named.name}: {known} of {len(search.releases)} releases answer"]
    for release, found in tested:
        about = f" ({shorten_middle(one_line(found.text), MAX_TEXT_LENGTH)})" if found.text else ""
        lines.append(f"  {release:{width}}  {found.answer.text}{about}")
    if (oldest := search.oldest_fault) is not None:
        lines.append(f"The oldest release that is known to have the fault is {named.name} {oldest}.")
        before = search.releases[: search.releases.index(oldest)]
        unknown = [release for release in before if release in search.observations]
        lines.append(f"  Unknown before it: {', '.join(unknown)}" if unknown else "  Begin the range earlier.")
        if unknown:
            lines += _environment_lines(search, unknown[-1], oldest)
    elif not changes and not is_compared:
        is_known = any(found.answer is FaultPresence.LACKS for _, found in tested)
        lines.append("No tested release has the fault." if is_known else "No release in the range could be tested.")
    for change in changes:
        verb = f"The fault was {change.kind}"
        if change.unknown:
            lines.append(f"{verb} after {named.name} {change.before}, in {change.after} at the latest.")
            lines.append(f"  Unknown between them: {', '.join(change.unknown)}")
        else:
            lines.append(f"{verb} in {named.name} {change.after}; {change.before} is the release before.")
        lines += _environment_lines(search, change.before, change.after)
    return lines


def _environment_lines(search: ReleaseSearch, before: str, after: str) -> Iterator[str]:
    """Yield a line for each package that differs in the environments of two releases, if both are known."""
    old, new = (search.observations[release].packages for release in (before, after))
    if old and new:
        yield from (f"  In the environment: {each}" for each in package_changes(old, new))


def search_document(named: SubjectName, search: ReleaseSearch, changes: Sequence[Change]) -> SearchDocument:
    """Return the document of a search."""
    tested = [TestedRelease(release, each.answer, each.text, each.packages) for release, each in search.tested]
    return SearchDocument(1, named.text, named.kind, tested, changes)
