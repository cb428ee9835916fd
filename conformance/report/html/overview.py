"""What the report says first: the gate and why, what was run, and how each subject did at each level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from conformance.report.html.columns import Mark, mark, run_name
from conformance.report.html.groups import Group, GroupKind, case_link, linked
from conformance.results.file import is_partial
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.report.html.known import Known
    from conformance.report.html.survey import Survey
    from conformance.results.file import Results
    from conformance.results.records import Header

# A single failure among thousands must still be seen in a bar, so no segment is narrower than this share of it.
NARROWEST = 0.008
# How many cases a warning names.
NAMED = 5
# How many causes of a subject are seen at once.
LISTED = 10
# From how many subjects on a report is a board, which is read for the subjects beside each other first.
BOARD = 4


@dataclass(frozen=True)
class Segment:
    """A run of one verdict in a bar, in thousandths of the bar's width."""

    verdict: str
    known: bool
    x: str
    width: str


@dataclass(frozen=True)
class Remainder:
    """The results of one verdict that is no pass, and the link that shows them."""

    text: str
    verdict: str
    link: str


@dataclass(frozen=True)
class Tally:
    """One subject at one level: passes, their denominator, and what the others are."""

    level: str
    passed: int
    total: int
    segments: list[Segment]
    others: list[Remainder]

    @property
    def text(self) -> str:
        return ", ".join([f"{self.passed} of {self.total} passed", *(other.text for other in self.others)])


@dataclass(frozen=True)
class ShownCause:
    """A cause with its smallest case and where that is shown, and the known faults that it may be."""

    group: Group
    smallest: str
    link: str
    known: Sequence[Known]


@dataclass(frozen=True)
class SubjectCauses:
    """The causes of one subject's failures: the first ones, and those that are shown on request."""

    column: Column
    first: list[ShownCause]
    more: list[ShownCause]

    @property
    def counted(self) -> str:
        """As in "2 causes, 18 cases"."""
        causes = [*self.first, *self.more]
        cases = sum(len(cause.group.cases) for cause in causes)
        return f"{len(causes)} cause{'s' * (len(causes) != 1)}, {cases} case{'s' * (cases != 1)}"


def overview(
    runs: Sequence[Results], shown: Sequence[Column], survey: Survey, groups: Sequence[Group], faults: Sequence[Known]
) -> dict[str, Any]:
    """The variables of the template's overview."""
    cases = {case for run in runs for case in run.described}
    return {
        "runs": [_run(run, cases) | {"name": _titled(run_name(runs, number))} for number, run in enumerate(runs)],
        "warnings": list(_between(runs)),
        "gate": bool(runs) and all(run.footer["gate"] == "pass" for run in runs),
        "is_board": len(shown) >= BOARD,
        "subjects": [(column, [_tally(column, level) for level in Level]) for column in shown],
        "has_silent": any(case["level"] == Level.SILENT for run in runs for case in run.described.values()),
        "has_hazards": bool(survey.hazards),
        "unexpected": sum(mark(result) is Mark.UNEXPECTED for column in shown for result in column.rows.values()),
        "cases": len(cases),
        "causes": list(_causes(shown, groups, faults)),
        "diagnosed": [(group, _known_in(group, faults)) for group in groups if group.kind is not GroupKind.CAUSE],
        "levels": list(Level),
        "verdicts": list(Verdict),
    }


def _run(run: Results, cases: Collection[str]) -> dict[str, Any]:
    corpus = run.header["corpus"]
    return {
        "gate": run.footer["gate"] == "pass",
        "reasons": [linked(reason, cases) for reason in run.footer["reasons"]],
        "warnings": list(_warnings(run)),
        "subjects": ", ".join(subject["id"] for subject in run.header["subjects"]),
        "corpus": corpus,
        "facts": list(_facts(run.header, run.footer["results"], run.footer["seconds"])),
    }


def _causes(shown: Sequence[Column], groups: Sequence[Group], faults: Sequence[Known]) -> Iterator[SubjectCauses]:
    for number, column in enumerate(shown):
        own = [group for group in groups if group.column == number and group.kind is GroupKind.CAUSE]
        causes = [
            ShownCause(group, group.cases[0], case_link(group.cases[0], column.label), _known_in(group, faults))
            for group in own
        ]
        if causes:
            yield SubjectCauses(column, causes[:LISTED], causes[LISTED:])


def _known_in(group: Group, faults: Sequence[Known]) -> list[Known]:
    """The known faults of a group's subject that are known in one of its cases."""
    return [fault for fault in faults if fault.column == group.column and fault.is_among(group.cases)]


def _warnings(run: Results) -> list[str]:
    corpus = run.header["corpus"]
    warnings = []
    if run.footer.get("interrupted"):
        warnings.append("The run was interrupted: what it had not reached has no result.")
    if is_partial(run) and corpus["selected"] < corpus["cases"]:
        warnings.append(
            f"Partial run: {corpus['selected']} of the corpus's {corpus['cases']} cases were selected. "
            "Nothing is known of the others."
        )
    if len(run.described) < corpus["selected"]:
        warnings.append(
            f"The run ended early: {len(run.described)} of {corpus['selected']} selected cases have a result."
        )
    return warnings


def _between(runs: Sequence[Results]) -> Iterator[str]:
    """What to beware of where runs are compared."""
    if len({run.header["corpus"]["digest"] for run in runs}) <= 1:
        return
    yield "The runs are of different corpora. Only cases that both have are compared."
    first: dict[str, Results] = {}
    cases = [(name, run) for run in runs for name in run.cases]
    if altered := {name for name, run in cases if first.setdefault(name, run).cases[name] != run.cases[name]}:
        count = "1 case is" if len(altered) == 1 else f"{len(altered)} cases are"
        named = ", ".join([*sorted(altered)[:NAMED], *(["…"] if len(altered) > NAMED else [])])
        yield f"{count} not the same in all of the corpora, and shown as the first of the runs has it: {named}"


def _facts(header: Header, results: int, seconds: float) -> list[tuple[str, str]]:
    corpus = header["corpus"]
    return [
        ("Suite", header["suite"]),
        ("Corpus", corpus["version"]),
        ("Corpus digest", corpus["digest"]),
        ("Cases", f"{corpus['selected']} of {corpus['cases']} selected"),
        ("Results", f"{results} in {seconds:.1f} s"),
        *_profile(header),
        *header["selection"].items(),
        *header["environment"].items(),
        ("Command", header["command"]),
    ]


def _profile(header: Header) -> Iterator[tuple[str, str]]:
    """What the run asked beyond the specification, with its source."""
    rules = header.get("rules")
    if rules and "profile" in rules:
        profile = rules["profile"]
        yield "Profile", f"{profile['name']}: {profile['title']} ({profile['source']})"
        for rule in profile["rules"]:
            yield f"{rule['level']} by {rule['id']}", f"{rule['text']} ({rule['source']})"


def _tally(column: Column, level: Level) -> Tally:
    counts = Counter(
        (Verdict(result["verdict"]), mark(result) is Mark.KNOWN)
        for result in column.rows.values()
        if result["level"] == level
    )
    passed = sum(counts[Verdict.PASS, known] for known in (False, True))
    others = [_remainder(column, level, verdict, counts) for verdict in Verdict if verdict is not Verdict.PASS]
    return Tally(level, passed, counts.total(), _segments(counts), [other for other in others if other])


def _remainder(
    column: Column, level: Level, verdict: Verdict, counts: Counter[tuple[Verdict, bool]]
) -> Remainder | None:
    known, new = counts[verdict, True], counts[verdict, False]
    if not known + new:
        return None
    text = f"{known + new} {verdict}"
    if known:
        text += " (known)" if not new else f" ({known} known)"
    filters = {"view": "matrix", "verdict": verdict, "level": level, "of": column.label}
    return Remainder(text, verdict, "#" + urlencode(filters, quote_via=quote))


def _segments(counts: Counter[tuple[Verdict, bool]]) -> list[Segment]:
    present = [(verdict, known) for verdict in Verdict for known in (False, True) if counts[verdict, known]]
    shares = [max(counts[key] / counts.total(), NARROWEST) for key in present]
    whole = sum(shares)
    segments, x = [], 0.0
    for (verdict, known), share in zip(present, shares, strict=True):
        width = 1000 * share / whole
        segments.append(Segment(verdict, known, f"{x:.2f}", f"{width:.2f}"))
        x += width
    return segments


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:]
