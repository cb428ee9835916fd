"""The records of a results file, as types: `schemas/results.schema.json` is their definition, these mirror it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from conformance.boundary.decoding import Count, NonEmpty, Positive, Seconds
from conformance.corpus.document import CheckName, DataSetPreview, LevelName, RewriteDocument
from conformance.models.preview import ModelSummary, Preview
from conformance.results.diagnosis_records import DiagnosisRecord, ObservedRecord, UnexplainedRecord
from conformance.verdicts import Verdict

VerdictName = Annotated[str, Verdict]
PhaseName = Annotated[str, Literal["start", "load", "run", "optimize", "compare"]]
RunName = Annotated[str, Literal["once", "fixed_point"]]

LONGEST_ARCHIVE = 2**20
"""Characters of base64."""


class CaseRow(TypedDict):
    """What is kept of a case: what it is called, and what it is about."""

    record: str
    case: str
    kind: str
    title: str
    level: LevelName
    clauses: list[str]
    tags: list[str]


class CaseRecord(CaseRow):
    """What a case is: everything a report shows of it, so that a report needs no corpus."""

    model: ModelSummary
    data_sets: list[DataSetPreview]
    rewrite: NotRequired[RewriteDocument]


class BadElement(TypedDict):
    """The first element of an output that is not acceptable."""

    index: list[Count]
    expected: str
    actual: str
    expected_hex: NotRequired[str]
    actual_hex: NotRequired[str]
    bound: NotRequired[str]
    ulp: NotRequired[float]


Placement = dict[NonEmpty, dict[NonEmpty, Positive]]
"""How many nodes of which operators of the optimized graph ran on which provider or device."""


class OutputEvidence(TypedDict):
    """How one output of one data set compares with what was expected."""

    data_set: Count
    name: str
    check: CheckName
    max_ulp: NotRequired[float]
    error_over_bound: NotRequired[float]
    worst_index: NotRequired[list[Count]]
    complaint: NotRequired[str]
    first_bad: NotRequired[BadElement]
    wrong: NotRequired[Count]
    actual: NotRequired[Preview]


class Expected(TypedDict):
    """What the subject's owner expects of this case, and why."""

    verdict: VerdictName
    reason: str
    issue: NotRequired[str]
    place: NotRequired[str]
    checks: NotRequired[Annotated[list[str], Meta(min_length=1)]]


class RewriteCheck(TypedDict):
    """One thing that a subject was held to besides answers; without a complaint it held.

    `run` is that of a graph optimizer, `once` or `fixed_point`; a backend's check has none. `level` is that at which a
    complaint counts, the weaker of the check's and the case's; format 1 has none. `not_judged` says why it could not be
    held to it.
    """

    name: str
    run: NotRequired[RunName]
    level: NotRequired[LevelName]
    complaint: NotRequired[str]
    not_judged: NotRequired[str]


HazardChange = TypedDict(
    "HazardChange", {"class": str, "data_set": Count, "run": RunName, "before": list[str], "after": list[str]}
)
"""A data set on which a rewrite changed the answer although it is the documented one, by class of hazard."""


class Within(TypedDict):
    """Of so many elements that were held against a bound, how many have a quality."""

    elements: Count
    within: Count


class ResultRow(TypedDict):
    """What is kept of a result: the verdict, and how it stands to what it is held against.

    `level` is that at which the verdict stands, see `levels`. `surprise` says that the gate, as it was set in this run,
    holds the verdict against the subject. Of several runs of the case `verdict` is the worst, and `repeats` has how
    often there was which; `baseline` is an earlier verdict, and `baseline_level` the level at which it stood where that
    was weaker than its case's. `rules` names those of a profile that raise the case's level. Of `checks` those are kept
    that complain. `quality` says by the name of a quality how many elements have it, the strictest first, where the run
    was to tell.
    """

    subject: str
    case: str
    level: LevelName
    verdict: VerdictName
    phase: PhaseName | None
    message: str
    seconds: Seconds
    expected: Expected | None
    surprise: bool
    agrees_with: NotRequired[list[str]]
    repeats: NotRequired[Annotated[dict[VerdictName, Positive], Meta(min_length=1)]]
    baseline: NotRequired[VerdictName]
    baseline_level: NotRequired[LevelName]
    checks: NotRequired[list[RewriteCheck]]
    rules: NotRequired[Annotated[list[str], Meta(min_length=1)]]
    quality: NotRequired[Annotated[dict[NonEmpty, Within], Meta(min_length=1)]]


class ResultRecord(ResultRow):
    """One verdict with its evidence: one case on one subject."""

    record: str
    outputs: list[OutputEvidence]
    observed: NotRequired[ObservedRecord]
    stderr: NotRequired[str]
    hazards: NotRequired[list[HazardChange]]
    placement: NotRequired[Placement]


class ArchiveRecord(TypedDict):
    """A case's files, to take away: a zip in base64 that unpacks to a corpus of that one case."""

    record: str
    case: str
    zip: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]+={0,2}$", max_length=LONGEST_ARCHIVE)]


class SubjectRecord(TypedDict):
    """A subject as the run found it.

    `provider` is what every node was to run on, and `placement` says of a subject that was given a provider or device
    whether it tells what ran where.
    """

    id: str
    kind: Annotated[str, Literal["backend", "optimizer"]]
    version: str
    language: NotRequired[str]
    passes: NotRequired[list[str]]
    provider: NotRequired[NonEmpty]
    placement: NotRequired[Annotated[str, Literal["told", "cannot tell"]]]


class CorpusRecord(TypedDict):
    """Which corpus was run, and how much of it."""

    version: str
    digest: str
    cases: Count
    selected: Count


class ClauseRecord(TypedDict):
    """A clause's text in our words, and where the specification says it."""

    text: str
    source: str


class BaselineRecord(TypedDict):
    """The earlier run that a gate took as it was: its file and its corpus."""

    file: str
    version: str
    digest: str


class ProfileRuleRecord(TypedDict):
    """A rule of a profile: the level that it raises to, what it asks, and where that is said."""

    id: str
    level: LevelName
    text: str
    source: str


class ProfileRecord(TypedDict):
    """The profile that a run went by, and the SHA-256 of its file."""

    name: str
    title: str
    source: str
    digest: str
    rules: list[ProfileRuleRecord]


EntryRecord = TypedDict(
    "EntryRecord",
    {"subject": str, "place": str, "verdict": VerdictName, "cases": list[str], "lines": list[str], "except": list[str]},
)
"""An entry of an expectations file that applied: its place, its patterns, and the place of each where it is known."""


class RulesRecord(TypedDict):
    """What the gate went by; `due` is how many results the run was to have."""

    level: Annotated[str, Literal["must", "should"]]
    require: list[str]
    due: Count
    expectations: list[EntryRecord]
    baseline: NotRequired[BaselineRecord]
    profile: NotRequired[ProfileRecord]


class Header(TypedDict):
    """What was run against what, with which versions; `options` are those on which a subject's verdicts depend.

    `started` is in seconds since 1970.
    """

    record: str
    format: Literal[1, 2]
    suite: str
    corpus: CorpusRecord
    subjects: list[SubjectRecord]
    environment: dict[str, str]
    selection: dict[str, str]
    command: str
    clauses: dict[str, ClauseRecord]
    rules: NotRequired[RulesRecord]
    options: NotRequired[dict[str, list[str]]]
    started: NotRequired[Seconds]


class Footer(TypedDict):
    """How the run ended: counts by subject, level and verdict, the gate, why it is shut, and what explains failures."""

    record: str
    results: Count
    verdicts: dict[str, dict[LevelName, dict[VerdictName, Count]]]
    gate: Annotated[str, Literal["pass", "fail"]]
    reasons: list[str]
    seconds: Seconds
    diagnoses: NotRequired[list[DiagnosisRecord]]
    unexplained: NotRequired[list[UnexplainedRecord]]
    interrupted: NotRequired[bool]
