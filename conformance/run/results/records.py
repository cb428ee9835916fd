"""Types of the records of a results file, format 2; docs/reference/formats.md describes them for users.

`ResultsRecord` is any of the five kinds of records: header, case, result, archive and footer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, to_builtins

from conformance.base.serialization.decoding import Count, NonEmpty, Positive, Seconds, StoredRecord
from conformance.base.verdicts import CheckKind, Level, OptimizerRunName, Phase, RewriteEffect, Verdict
from conformance.corpus.cases.case_loading import DataSetPreview, ExpectedOutput, RewriteDocument, read_case_json
from conformance.corpus.cases.corpus import corpus_label
from conformance.exact.clauses import clauses, family_titles
from conformance.exact.models.summaries import ModelSummary, TensorPreview
from conformance.run.results.violations import Violation, ViolationKind, WrongKind
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from conformance.corpus.cases.corpus import Corpus, CorpusCase


class RecordedTensor(StoredRecord):
    """A tensor that a subject returned, in row-major order.

    `data` is base64 of its elements, little-endian. A tensor of strings has `texts` and an empty `data`.
    """

    dtype: NonEmpty
    shape: list[Count]
    data: str = ""
    texts: list[str] | None = None


class RecordedOutputs(StoredRecord):
    """The outputs of one more run of a failing case, from which the diagnosis starts.

    `outputs` has the outputs of each data set, null for an output that is not a tensor. `changed` has, for each data
    set, the indices of the inputs that the subject overwrote. `ended` is the phase and the error that ended the run.
    """

    outputs: list[list[RecordedTensor | None]]
    changed: list[list[Count]]
    ended: str | None = None


EQUAL = "="
"""Stands for an output that equals its expected value, and for a model that a graph optimizer returned unchanged."""


class ReturnedValues(StoredRecord):
    """Return value of a subject for a case, with which the case can be judged again without a run.

    `outputs` has the outputs of each data set, `EQUAL` for an output that equals its expected value. `models` has the
    models that the runs of a graph optimizer returned: base64, `EQUAL` for an unchanged model, `<` for the model of
    the first run.
    """

    outputs: list[list[RecordedTensor | str]] | None = None
    models: list[str] | None = None


class DiagnosisRecord(StoredRecord):
    """A mutant that explains why a subject fails cases of an operator.

    `explained` is the number of cases that the mutant explains, of `failing` failing cases of the operator. No case
    distinguishes the mutant from the mutants in `indistinguishable`. `cases` has the ids of the explained cases.
    `jointly_explained` has the ids of cases that the mutant explains only together with other diagnosed mutants.
    `partners` has the texts of these mutants, and `alternatives` those of the mutants in `indistinguishable`.
    `condition` is there if the subject has the mistake only in models with a property, such as "have T ≤ 0".
    `clause` is the id of the clause that the mutant violates.
    """

    subject: str
    operator: NonEmpty
    mutant: NonEmpty
    text: NonEmpty
    explained: Positive
    failing: Positive
    indistinguishable: list[str]
    cases: list[str]
    jointly_explained: list[str]
    partners: list[NonEmpty] = []
    alternatives: list[NonEmpty] = []
    condition: NonEmpty = ""
    clause: NonEmpty = ""

    @classmethod
    def of_mistake(
        cls,
        subject: str,
        operator: str,
        mistakes: Sequence[str],
        cases: Collection[str],
        failing: int,
        condition: str = "",
        *,
        texts: Sequence[str],
    ) -> DiagnosisRecord:
        """Return the record of a mistake of a node that explains some of the failing cases of its operator.

        Args:
            mistakes: the mistake, and those that no case distinguishes from it.
            texts: the mistakes as reports name them.
        """
        mutant, *others = (f"{operator}-{mistake.replace(' ', '-')}" for mistake in mistakes)
        return cls(
            subject=subject,
            operator=operator,
            mutant=mutant,
            text=texts[0],
            explained=len(cases),
            failing=failing,
            indistinguishable=others,
            cases=sorted(cases),
            jointly_explained=[],
            alternatives=list(texts[1:]),
            condition=condition,
        )


class SharedRecord(StoredRecord):
    """A property that unexplained cases have in common, such as "set norm_coefficient_post".

    `cases` is the number of unexplained cases that have the property. `passing` is the number of passing cases that
    have it.
    """

    text: NonEmpty
    cases: Positive
    passing: Count


class UnexplainedRecord(StoredRecord):
    """Cases of an operator that no mutant explains and that fail with one failure mode.

    `failing` is the number of all failing cases of the operator, `passing` the number of its passing cases. `shared`
    has properties that distinguish the unexplained cases from the passing cases.
    """

    subject: str
    operator: NonEmpty
    failure_mode: str
    cases: Annotated[list[str], Meta(min_length=1)]
    failing: Positive
    passing: Count
    shared: list[SharedRecord]


class UndiagnosedRecord(StoredRecord):
    """A diagnosis that ended with an error: its code and its problem. Without `operator`, it is of all operators."""

    subject: str
    code: str
    problem: str
    operator: str = ""


class Diagnosed(StoredRecord):
    """The entries of a results file's footer that contain the diagnoses of failures."""

    diagnoses: list[DiagnosisRecord]
    unexplained: list[UnexplainedRecord]
    undiagnosed: list[UndiagnosedRecord] = []


OutcomeName = Literal["pass", "fail"]
FailLevelName = Literal["must", "should"]

_VERDICTS = Meta(extra_json_schema={"propertyNames": {"enum": [*Verdict]}})
"""The keys of an object in its JSON Schema; msgspec leaves enumerations of keys out."""

LEVEL_KEYS = Meta(extra_json_schema={"propertyNames": {"enum": [*Level]}})

MAX_ARCHIVE_LENGTH = 2**20
"""Characters of the base64 of an archive."""


class _CaseUses(StoredRecord, kw_only=True):
    """Number of nodes of a user's models that have the configuration of a case."""

    uses: Count = 0


class CaseRow(_CaseUses):
    """The part of a case that is kept in memory: its id and its classification."""

    case: str
    kind: str
    title: str
    level: Level
    clauses: list[str]
    tags: list[str]

    @property
    def family(self) -> str:
        """The name of the operator or pass that the case tests: from its first clause, or else its first tag."""
        named = self.clauses[0].partition(".")[0] if self.clauses else next(iter(self.tags), self.kind)
        return family_titles().get(named, named)

    def title_on(self, subject_kind: str) -> str:
        """Return the title; if it is about what a graph optimizer does, with what a backend does instead."""
        first = clauses().get(self.clauses[0]) if self.clauses else None
        if first is not None and first.is_of_pass and subject_kind == SubjectKind.BACKEND:
            return f"A backend runs the model as written (a graph optimizer: {self.title})"
        return self.title


class CaseRecord(CaseRow, tag_field="record", tag="case"):
    """All information on a case that a report shows, so that a report does not need the corpus."""

    model: ModelSummary
    data_sets: list[DataSetPreview]
    rewrite: RewriteDocument | None = None

    def expected_output(self, data_set: int, name: str) -> ExpectedOutput | None:
        """Return an output of a data set; None if the case has no such data set or output."""
        outputs = (output for each in self.data_sets[data_set : data_set + 1] for output in each.outputs)
        return next((output for output in outputs if output.name == name), None)


def case_record(corpus: Corpus, case: CorpusCase) -> CaseRecord:
    """Return the record of a case of a corpus.

    Raises:
        CorpusError: the case.json of the case is altered or malformed.
    """
    document = read_case_json(corpus, case)
    described = {name: getattr(document, name) for name in document.__struct_fields__ if name != "generator"}
    return CaseRecord(case=case.id, kind=str(case.kind), **described)


class BadElement(StoredRecord):
    """The first element of an output that is not acceptable; `index` has one entry per axis.

    `error_over_bound` is the error divided by the bound, computed from the bits of both values and of the bound.
    """

    index: list[Count]
    expected: str
    actual: str
    expected_hex: str | None = None
    actual_hex: str | None = None
    bound: str | None = None
    ulp: float | None = None
    error_over_bound: float | None = None


Placement = dict[NonEmpty, dict[NonEmpty, Positive]]
"""Number of nodes of the optimized graph by execution provider or device, then by operator."""


class OutputEvidence(StoredRecord):
    """Comparison of one output of one data set with its expected value.

    `max_ulp` is the largest error in ULP of the expected value. `error_over_bound` is the largest error divided by the
    bound, and `worst_index` is the index of the element with this error. All are absent if the error of a wrong element
    is not finite. `wrong` is the number of elements that are not acceptable, and `wrong_kinds` has their kinds.
    """

    data_set: Count
    name: str
    check: CheckKind
    max_ulp: float | None = None
    error_over_bound: float | None = None
    worst_index: list[Count] | None = None
    violation: Violation | None = None
    wrong: Count | None = None
    wrong_kinds: list[WrongKind] = []
    first_bad: BadElement | None = None
    actual: TensorPreview | None = None


class Expected(StoredRecord):
    """The verdict that an entry of an expectations file gives for a case, with its reason and its location.

    With `intermittent`, the case may also pass. `mutants` has the ids of mutants of which the first explains the
    failure, alone or together with others. `wrong` describes the wrong elements. `has_other_cause` is true if the
    failure is not theirs, and `has_shrunk` if it has fewer wrong elements.
    """

    verdict: Verdict
    reason: str
    issue: str = ""
    location: str = ""
    checks: list[str] = []
    intermittent: bool = False
    mutants: list[NonEmpty] = []
    wrong: list[NonEmpty] = []
    has_other_cause: bool = False
    has_shrunk: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether the entry accepts a failure with any wrong outputs."""
        return self.verdict is Verdict.FAIL and not (self.mutants or self.wrong or self.checks)


class RewriteCheck(StoredRecord):
    """The result of a check other than the comparison of outputs; it is satisfied if there is no `violation`.

    `run` is present for a graph optimizer: `once` or `fixed_point`. `level` is the weaker of the levels of the check
    and of the case. `not_judged` is the reason why the check could not be evaluated. `effect` is the effect of a
    rewrite on the outputs, and `witness` a smallest input of a hazard or of a fault.
    """

    name: str
    level: Level
    run: OptimizerRunName | None = None
    violation: Violation | None = None
    not_judged: str | None = None
    effect: RewriteEffect | None = None
    witness: str = ""

    @property
    def is_satisfied(self) -> bool:
        """Whether the check was evaluated and found no violation."""
        return self.violation is None and self.not_judged is None


def printed_record(record: OutputEvidence | RewriteCheck) -> dict[str, Any]:
    """Return a comparison or check as a JSON object for a report, with its violation as a sentence."""
    shown: dict[str, Any] = to_builtins(record)
    return shown if record.violation is None else shown | {"violation": str(record.violation)}


class HazardChange(StoredRecord, rename={"hazard": "class"}):
    """A data set on which an optimizer changed the answer in a documented way, with both answers."""

    hazard: str
    data_set: Count
    run: OptimizerRunName
    before: list[str]
    after: list[str]


class Within(StoredRecord):
    """Number of elements within the bound of an accuracy grade, and number of all compared elements."""

    elements: Count
    within: Count


class OpenElements(StoredRecord):
    """Number of elements that were not judged because every value is admissible, and number of all elements."""

    elements: Count
    open: Positive


class ResultRow(StoredRecord, kw_only=True):
    """The part of a result that is kept in memory: the verdict, and whether it was expected.

    `level` is the effective level of the verdict, see `effective_level`. `unexpected` is true if the result fails the
    run. If the case was run several times, `verdict` is the worst verdict and `repeats` counts all verdicts. `baseline`
    is the verdict of the baseline run; `baseline_level` is its level if that was weaker than the level of the case.
    `baseline_wrong` has what was wrong in the baseline, if more is wrong now: values of the key `wrong` of an
    expectations file, or for a graph optimizer the violated checks.
    `rules` has the ids of the profile's rules that raise the level of the case. `checks` has the checks that are
    violated or not judged. `accuracy` counts elements by accuracy grade, the strictest first; it is present if the run
    has the option `--accuracy`. `open_elements` is present if elements of the outputs were not judged because every
    value is admissible.
    """

    subject: str
    case: str
    level: Level
    verdict: Verdict
    phase: Phase | None
    message: str
    seconds: Seconds
    expected: Expected | None
    unexpected: bool
    repeats: Annotated[dict[Verdict, Positive], _VERDICTS] = {}
    baseline: Verdict | None = None
    baseline_level: Level | None = None
    baseline_wrong: list[NonEmpty] = []
    checks: list[RewriteCheck] = []
    rules: list[str] = []
    accuracy: dict[NonEmpty, Within] = {}
    open_elements: OpenElements | None = None

    @property
    def varies(self) -> bool:
        """Whether several runs of the case had different verdicts."""
        return len(self.repeats) > 1

    @property
    def baseline_text(self) -> str:
        """The baseline verdict as text, with the level and the wrong elements if the record has them."""
        level = f" at level {self.baseline_level}" if self.baseline_level else ""
        wrong = f" with {', '.join(self.baseline_wrong)}" if self.baseline_wrong else ""
        return f"{self.baseline}{level}{wrong}" if self.baseline is not None else ""

    def level_if_different(self, case: Level) -> Level | None:
        """Return the effective level if it differs from the level of the case, else None."""
        return self.level if self.level is not case else None

    def level_if_weaker(self, case: Level) -> Level | None:
        """Return the effective level if it is weaker than the level of the case, else None."""
        return self.level if case.is_stronger_than(self.level) else None

    def violated_checks(self, fail_level: Level) -> tuple[str, ...]:
        """Return the sorted names of the violated checks whose level is `fail_level` or stronger."""
        violations = (check for check in self.checks if check.violation is not None)
        return tuple(sorted({check.name for check in violations if check.level.is_within(fail_level)}))

    def passes_checked_levels(self, fail_level: Level) -> bool:
        """Return whether a failing graph optimizer satisfies all checks of `fail_level` or stronger.

        There must be at least one such check.
        """
        if self.verdict != Verdict.FAIL or self.level.is_within(fail_level):
            return False
        return any(check.is_satisfied and check.level.is_within(fail_level) for check in self.checks)


class CaseJudgement(StoredRecord, kw_only=True):
    """The verdict of one run of a case, with its evidence.

    `phase` is the phase that ended the case early. `message` is why the case did not pass, in one line or as the
    subject's error text; for an invalid model that the subject rejected, it is the error text. `seconds` is the time
    that the subject took, without the time for reading files and comparing outputs.
    """

    verdict: Verdict
    phase: Phase | None
    message: str
    seconds: float
    outputs: list[OutputEvidence] = []
    checks: list[RewriteCheck] = []
    hazards: list[HazardChange] = []
    placement: Placement | None = None
    returned: ReturnedValues | str | None = None
    accuracy: dict[str, Within] = {}
    open_elements: OpenElements | None = None


class Judged(CaseJudgement, kw_only=True, tag_field="record", tag="judged"):
    """The behaviour of a subject in a case, in one or several runs; a worker returns it. The run adds its `Assessment`.

    `repeats`, `rules`, `stderr` and `recorded_outputs` are those of the `Result`.
    """

    subject: str
    case: str
    repeats: dict[Verdict, Positive] = {}
    rules: list[str] = []
    stderr: str = ""
    recorded_outputs: RecordedOutputs | None = None

    @property
    def varies(self) -> bool:
        """Whether several runs of the case had different verdicts."""
        return len(self.repeats) > 1


class Assessment(Struct, kw_only=True):
    """The assessment of a result by a run: its level, its expectation and its baseline, and whether it is unexpected.

    The attributes are those of the `Result`.
    """

    level: Level
    expected: Expected | None = None
    unexpected: bool = False
    baseline: Verdict | None = None
    baseline_level: Level | None = None
    baseline_wrong: list[NonEmpty] = []


class Result(ResultRow, kw_only=True, tag_field="record", tag="result"):
    """The result of one case on one subject, with all evidence: what the subject did, and what the run thinks of it.

    `returned` is present if the run has the option `--record-outputs`: `EQUAL` if everything equals the expected
    values, otherwise the values, or in a history the digest of the values.
    """

    outputs: list[OutputEvidence]
    returned: ReturnedValues | str | None = None
    recorded_outputs: RecordedOutputs | None = None
    stderr: str = ""
    hazards: list[HazardChange] = []
    placement: Placement | None = None

    @classmethod
    def assessed(cls, judged: Judged | Result, assessment: Assessment) -> Result:
        """Return the record of what a subject did, with what the run thinks of it."""
        did = {name: getattr(judged, name) for name in Judged.__struct_fields__}
        return cls(**did, **{name: getattr(assessment, name) for name in Assessment.__struct_fields__})


def wrong_kinds(result: Judged | Result) -> frozenset[str]:
    """Return the kinds of wrong elements and the violations of whole outputs, over all data sets.

    It is empty for a graph optimizer, for another verdict, and for a record that does not have the kinds.
    """
    if result.verdict is not Verdict.FAIL or result.checks:
        return frozenset()
    kinds = [kinds_of_output(output) for output in result.outputs if output.violation is not None]
    return frozenset().union(*kinds or [{str(WrongKind.OTHER)}]) if all(kinds) else frozenset()


def kinds_of_output(output: OutputEvidence) -> set[str]:
    """Return the kinds of a wrong output; empty if its record does not have them."""
    if output.violation is not None and output.violation.kind is not ViolationKind.ELEMENTS:
        return {str(output.violation.kind)}
    return set(map(str, output.wrong_kinds))


def effective_level(result: ResultRow | CaseJudgement, case: Level) -> Level:
    """Return the effective level of a result: the strongest level of its violated checks, else the level of its case.

    A graph optimizer may violate only checks of a weaker level than that of the case; no check has a stronger level.

    Args:
        result: a result; its own level is not read.
        case: the level of its case.
    """
    if result.verdict != Verdict.FAIL or result.phase != "compare":
        return case
    violations = [check.level for check in result.checks if check.violation is not None]
    return Level.strongest(violations) if violations else case


class ArchiveRecord(StoredRecord, tag_field="record", tag="archive"):
    """The files of a case for download: base64 of a zip that unpacks to a corpus of this one case."""

    case: str
    zip: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]+={0,2}$", max_length=MAX_ARCHIVE_LENGTH)]


class SubjectIdentity(StoredRecord):
    """Everything besides version, options and corpus on which the results of a subject depend.

    `processor` is the machine and its instruction sets. `python` and `packages` (as `name==version`) are present for
    subjects written in Python. `adapter` is a digest of the adapter's files. `digest` is a digest of the other entries.
    """

    digest: NonEmpty
    processor: NonEmpty
    python: NonEmpty = ""
    packages: list[NonEmpty] = []
    adapter: NonEmpty = ""


class SubjectRecord(StoredRecord):
    """A subject with its version and properties at the time of the run.

    `provider` is the execution provider on which every node must run. `placement` is present if a provider or device
    was requested, and states whether the subject reports where its nodes ran. `files_sha256` identifies the files of
    the subject, if they are known.
    """

    id: str
    kind: SubjectKind
    version: str
    language: str = ""
    files_sha256: NonEmpty = ""
    passes: list[str] = []
    provider: NonEmpty = ""
    placement: Literal["reported", "not reported"] | None = None
    identity: SubjectIdentity | None = None


class CorpusRecord(StoredRecord):
    """The corpus of a run: version, digest, number of all cases, and number of selected cases.

    `name` is the name of a corpus that is not the suite's, such as `onnx`. `nodes` is the number of nodes of a user's
    models, with and without a case.
    """

    version: str
    digest: str
    cases: Count
    selected: Count
    name: NonEmpty = ""
    nodes: Count = 0

    @property
    def label(self) -> str:
        """The name, if the corpus is not that of the suite, and the version."""
        return corpus_label(self.name, self.version)


class ClauseRecord(StoredRecord):
    """A clause in the words of this suite, and its source in the specification."""

    text: str
    source: str


class BaselineRecord(StoredRecord):
    """The earlier run whose results were accepted (`--baseline`): its file, and version and digest of its corpus.

    `relative_to` is the subject whose results count for every subject of the run (`--relative-to`), with its version;
    without it, the results of each subject count for that subject.
    """

    file: str
    version: str
    digest: str
    relative_to: NonEmpty = ""


class ProfileRuleRecord(StoredRecord):
    """A rule of a profile: the level to which it raises cases, its requirement, and the source of the requirement."""

    id: str
    level: Level
    text: str
    source: str


class ProfileRecord(StoredRecord):
    """The profile of the run (`--profile`); `digest` is the SHA-256 of its file."""

    name: str
    title: str
    source: str
    digest: str
    rules: list[ProfileRuleRecord]


class EntryRecord(StoredRecord, rename={"exceptions": "except"}):
    """An entry of an expectations file for a subject of the run.

    `cases` and `except` have its patterns, and `lines` the location of each pattern of `cases`, if it is known.
    """

    subject: str
    location: str
    verdict: Verdict
    cases: list[str]
    lines: list[str]
    exceptions: list[str]


class SupportRecord(StoredRecord):
    """The supports that the expectations file of a subject lists, such as `ArgMax[float16]`."""

    subject: str
    file: str
    supports: list[NonEmpty]


class CriterionRecord(StoredRecord):
    """The pass criterion of the run; `expected_results` is the number of results of a complete run."""

    level: FailLevelName
    require: list[str]
    expected_results: Count
    expectations: list[EntryRecord]
    supports: list[SupportRecord] = []
    baseline: BaselineRecord | None = None
    profile: ProfileRecord | None = None


class HistoryRecord(StoredRecord):
    """Release and environment of the subject of a results file in a history.

    `subject` is the subject without its release. `adapter` is a hash of the adapter's code. `packages` has all packages
    of the environment as `NAME==VERSION`. `judged` is the number of results that were judged from earlier outputs,
    without a run.
    """

    subject: NonEmpty
    release: NonEmpty
    python: str
    packages: list[NonEmpty]
    adapter: str
    judged: Count = 0


class Shard(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One of several disjoint parts of the cases of a corpus: 3/8 is the third of eight parts.

    `number` counts the parts from 1, and `of` is the number of parts.
    """

    number: Positive
    of: Positive

    def __post_init__(self) -> None:
        """Check that there is a part of this number.

        Raises:
            ValueError: there are fewer parts.
        """
        if self.number > self.of:
            raise ValueError(f"shard {self} does not exist")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


FLAG_GIVEN = "yes"
"""The value of an option of a selection that has no value, such as `--lf`."""


class Selection(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions on the cases of a run; a case is selected if it satisfies all of them.

    An empty attribute is not a condition. An attribute with several values is satisfied by a case with any of the
    values.

    Attributes:
        keyword: expression over ids, the value of `-k`.
        case: ids of cases.
        tag: tags of the case.
        clause: ids of clauses that the case tests.
        select_level: levels of the case.
        operator: operators of the case's model, also in subgraphs and functions.
        shard: the part of the cases that satisfy the other conditions.
        other_options: options of pytest and of audits that select cases, with their values.
    """

    keyword: str = ""
    case: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    clause: tuple[str, ...] = ()
    select_level: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()
    shard: Shard | None = None
    other_options: dict[str, str] = {}

    @property
    def options(self) -> dict[str, str]:
        """The options of the conditions and their values, as a user types them."""
        values = {
            "-k": self.keyword,
            "--case": " ".join(self.case),
            "--tag": " ".join(self.tag),
            "--clause": " ".join(self.clause),
            "--select-level": " ".join(self.select_level),
            "--operator": " ".join(self.operator),
            "--shard": str(self.shard or ""),
        }
        return self.other_options | {option: value for option, value in values.items() if value}


class Header(StoredRecord, tag_field="record", tag="header"):
    """The first record: corpus, subjects, environment, selections and pass criterion of the run.

    `selections` is empty if all cases were selected. It has one selection, or the different ones of merged runs.
    `options` has, by subject, the command-line options on which its verdicts depend. `started` is in seconds since
    1970. `history` is present in the files of a history, whose case records are in another file of the history.
    """

    format: Literal[2]
    suite: str
    corpus: CorpusRecord
    subjects: list[SubjectRecord]
    environment: dict[str, str]
    command: str
    clauses: dict[str, ClauseRecord]
    criterion: CriterionRecord
    options: dict[str, list[str]]
    started: Seconds
    selections: list[Selection] = []
    history: HistoryRecord | None = None

    @property
    def selection_options(self) -> dict[str, str]:
        """The options that selected cases, with their values; ` | ` stands between those of several selections."""
        values: dict[str, dict[str, None]] = {}
        for selection in self.selections:
            for option, value in selection.options.items():
                values.setdefault(option, {})[value] = None
        return {option: " | ".join(given) for option, given in values.items()}


class Footer(StoredRecord, tag_field="record", tag="footer"):
    """The last record: counts of verdicts by subject and level, the outcome of the run, and diagnoses of failures.

    `reasons` has the reasons why the run fails; it is empty if the run passes. `hosts` is present if Dask workers
    executed cases, and names their machines. `interrupted` states that `--resume` can continue the run: the user ended
    it, or a worker died.
    """

    results: Count
    verdicts: Mapping[str, Annotated[Mapping[Level, Annotated[Mapping[Verdict, Count], _VERDICTS]], LEVEL_KEYS]]
    outcome: OutcomeName
    reasons: list[str]
    seconds: Seconds
    diagnoses: list[DiagnosisRecord]
    unexplained: list[UnexplainedRecord]
    undiagnosed: list[UndiagnosedRecord] = []
    interrupted: bool = False
    hosts: Annotated[list[NonEmpty], Meta(min_length=1)] = []


ResultsRecord: TypeAlias = Header | CaseRecord | Result | ArchiveRecord | Footer
"""A record of a results file; the value of its key `record` determines its type."""
