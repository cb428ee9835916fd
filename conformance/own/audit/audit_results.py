"""An audit as a results file: each node is a case, so that the pass criterion and the reports of a run serve it.

A node is a case of level `must`, and a case of level `should` if it is outside of the bounds of that level only. A node
on hard data is a case of its own, and so is the run of the model. The worst data set counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from conformance import __version__
from conformance.base.errors import ResultsError
from conformance.base.files.atomic_write import (
    read_input,
    supervised_temp_dir,
    write_chunks_atomically,
    write_json_atomically,
    write_text_atomically,
)
from conformance.base.serialization.decoding import JsonReader, MalformedError
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.exact.models.summaries import ModelSummary, NodeSummary
from conformance.own.audit.audit_cases import HARD_DATA, case_id
from conformance.own.audit.audit_report import AuditDocument, AuditOutcome, ReportedAudit
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.run.expectations.conditions import ConditionContext
from conformance.run.expectations.criterion import Completeness, PassCriterion, case_facts
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.report.report_files import ReportFiles, write_reports
from conformance.run.results.recorded_environment import describe_environment
from conformance.run.results.records import (
    Assessment,
    CaseRecord,
    CorpusRecord,
    DiagnosisRecord,
    Footer,
    Header,
    Judged,
    OpenElements,
    OutputEvidence,
    Result,
    Selection,
    SubjectRecord,
)
from conformance.run.results.results_file import FORMAT, MAX_FILE_BYTES, encode_record, read_results
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from msgspec import Struct

    from conformance.base.verdicts import Phase
    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.own.audit.audit_report import AuditRecord, NodeRecord
    from conformance.own.audit.model_audit import ModelAudit
    from conformance.run.expectations.expectations_file import Expectations
    from conformance.run.results.results_file import Results

CORPUS = "audit"
"""Name by which an expectations file means the nodes of audited models."""

RUN = "run"
"""Stands for an operator in the id and the tag of the case that the model runs, and returns the same outputs again."""

_RANKS = (Verdict.PASS, Verdict.SKIPPED, Verdict.FAIL, Verdict.ERROR)
"""The verdicts of cases of an audit, the worst last."""

_decode = JsonReader(AuditDocument, has_infinities=True)


@dataclass(frozen=True)
class AuditResults:
    """The results of an audit, as the pass criterion judges them.

    Attributes:
        records: the records of a results file.
        reasons: the reasons for which the audit fails; empty if it passes.
        known_failures: the number of failures that the expectations file lists.
    """

    records: list[Struct]
    reasons: list[str]
    known_failures: int


def report_audit(audit: ModelAudit, reports: ReportFiles, expectations: Mapping[str, Expectations]) -> ReportedAudit:
    """Write the reports of an audit, and return its outcome with the known failures of expectations files.

    Args:
        audit: the audit.
        reports: the files `json`, `html`, `junit` and `markdown` of which a path is given.
        expectations: the known failures by subject; empty if there are no such files.
    """
    json, html = (reports.paths.get(name) for name in ("json", "html"))
    of_run = {name: path for name, path in reports.paths.items() if name in {"junit", "markdown"}}
    document = audit.document
    judged = audit_results(document, expectations) if expectations or of_run else None
    reasons = judged.reasons if judged is not None and expectations else []
    outcome = expected_outcome(audit.outcome, reasons) if expectations else audit.outcome
    write_json_atomically(json, None if json is None else document)
    if html is not None:
        from conformance.own.audit.audit_page import render_page

        write_text_atomically(html, render_page(audit.model, audit.audits, audit.inputs, outcome))
    if judged is not None and of_run:
        write_audit_reports(judged, ReportFiles(of_run))
    known_failures = judged.known_failures if judged is not None else 0
    return ReportedAudit(outcome, reasons, audit.summary_of(outcome, known_failures))


def expected_outcome(outcome: AuditOutcome, reasons: Sequence[str]) -> AuditOutcome:
    """Return the outcome of an audit whose failures expectations files list.

    Args:
        outcome: the outcome without these files.
        reasons: the reasons for which the audit fails with these files.
    """
    if reasons:
        return AuditOutcome.FAILED
    return AuditOutcome.PASSED if outcome is AuditOutcome.FAILED else outcome


def audit_results(document: AuditDocument, expectations: Mapping[str, Expectations]) -> AuditResults:
    """Return the results of an audit.

    Args:
        document: the audit.
        expectations: the known failures by subject.
    """
    versions = {audit.subject: audit.version for audit in document.audits}
    environment = describe_environment()
    applying = {
        subject: file.applying(ConditionContext.from_environment(versions[subject], environment))
        for subject, file in expectations.items()
    }
    criterion = PassCriterion(
        CriterionSettings(document.level, applying), dict.fromkeys(versions, str(SubjectKind.BACKEND))
    )
    found: dict[tuple[str, str], tuple[CaseRecord, Judged]] = {}
    for audit in document.audits:
        for case, judged in _cases(document.model.file, audit):
            known = found.get((judged.subject, judged.case))
            if known is None or _RANKS.index(judged.verdict) > _RANKS.index(known[1].verdict):
                found[judged.subject, judged.case] = (case, judged)
            elif judged.verdict is known[1].verdict:
                _add_data_sets(known[1].outputs, judged.outputs)
                known[1].open_elements = _sum_of(known[1].open_elements, judged.open_elements)
    cases = {case.case: case for case, _ in found.values()}
    results = []
    for case, judged in found.values():
        assessment = Assessment(level=case.level, expected=criterion.find_expectation(judged, _no_case))
        result = Result.assessed(judged, assessment)
        result.unexpected = not criterion.assess(result, partial(case_facts, case))
        results.append(result)
    commands = [audit.command for audit in document.audits if audit.command]
    # a subject that does not run the model has no results of its nodes, which the entries are about
    is_selection = document.is_part or any(audit.failure for audit in document.audits)
    reasons = criterion.reasons(Completeness(len(results), len(results), is_selection=is_selection))
    reasons += [f"too little was judged on {subject}" for subject in document.too_little]
    header = Header(
        format=FORMAT,
        suite=__version__,
        corpus=CorpusRecord(
            document.model.file, document.model.sha256, len(cases) + document.is_part, len(cases), CORPUS
        ),
        subjects=[SubjectRecord(subject, SubjectKind.BACKEND, version) for subject, version in versions.items()],
        environment=environment,
        command="; ".join(commands),
        clauses={},
        criterion=criterion.settings.record(len(results)),
        options={},
        started=0.0,
        selections=[Selection(other_options={"--node": "some"})] if document.is_part else [],
    )
    footer = Footer(
        results=len(results),
        verdicts=criterion.verdicts,
        outcome="fail" if reasons else "pass",
        reasons=reasons,
        seconds=0.0,
        diagnoses=list(_diagnoses(document.audits, found.values())),
        unexplained=[],
    )
    known_failures = sum(criterion.known_failures.values())
    return AuditResults([header, *cases.values(), *results, footer], reasons, known_failures)


def write_audit_reports(results: AuditResults, reports: ReportFiles) -> None:
    """Write the reports of an audit in the formats of a run.

    Raises:
        ConformanceError: a report cannot be written.
    """
    with supervised_temp_dir() as folder:
        write_chunks_atomically(folder / "results.jsonl", map(encode_record, results.records))
        write_reports([folder / "results.jsonl"], reports)


def read_audit_results(path: Path) -> Results | None:
    """Return the results of the audit in a file of `audit --json`; None if the file is none.

    Raises:
        ResultsError: the file cannot be read.
    """
    try:
        document = _decode(read_input(path, MAX_FILE_BYTES))
    except MalformedError:
        return None
    except OSError as error:
        raise ResultsError("unreadable.results", path=path, reason=error.strerror) from None
    with supervised_temp_dir() as folder:
        records = audit_results(document, {}).records
        write_chunks_atomically(folder / "results.jsonl", map(encode_record, records))
        return read_results(folder / "results.jsonl")


def _cases(model: str, audit: AuditRecord) -> Iterator[tuple[CaseRecord, Judged]]:
    """Yield the cases of one audit with what the subject did."""
    run = _run_fault(audit)
    verdict = Verdict.PASS if not run else Verdict.ERROR if audit.failure else Verdict.FAIL
    yield _case(model, audit, 0, RUN, "the model runs, and returns the same outputs again", "", verdict, run)
    for nodes, data in ((audit.nodes, ""), (audit.probes, HARD_DATA)):
        yield from _node_cases(model, audit, nodes, data)


def _diagnoses(
    audits: Sequence[AuditRecord], cases: Collection[tuple[CaseRecord, Judged]]
) -> Iterator[DiagnosisRecord]:
    """Yield the mistakes that the audits name, each with the failing cases that it explains.

    Audits of one subject on several data sets may name different mistakes of an operator; none is true then.
    """
    failing = {(judged.subject, judged.case) for _, judged in cases if judged.verdict is Verdict.FAIL}
    counts = Counter(audit.subject for audit in audits)
    named: dict[tuple[str, str], list[DiagnosisRecord]] = defaultdict(list)
    for audit in audits:
        for record in audit.diagnoses:
            named[audit.subject, record.operator].append(record)
    for (subject, _), records in named.items():
        mistakes = {(record.mutant, *record.indistinguishable, record.condition) for record in records}
        if counts[subject] == 1:
            yield from records
        elif len(mistakes) == 1:
            explained = {case for record in records for case in record.cases if (subject, case) in failing}
            count = len(explained)
            yield structs.replace(records[0], cases=sorted(explained), explained=count, failing=count)


def _add_data_sets(known: list[OutputEvidence], more: Iterable[OutputEvidence]) -> None:
    """Add the comparisons of one audit of a node to those of another, with further numbers of data sets."""
    start = 1 + max((each.data_set for each in known), default=-1)
    known += (structs.replace(each, data_set=start + each.data_set) for each in more)


def _sum_of(one: OpenElements | None, other: OpenElements | None) -> OpenElements | None:
    """Return the elements without a judgement of two audits of a node."""
    if one is None or other is None:
        return one or other
    return OpenElements(one.elements + other.elements, one.open + other.open)


def _no_case() -> CaseInMemory:
    """Stand for a case of a corpus, which a criterion needs for recorded outputs only; an audit has none."""
    raise NotImplementedError


def _run_fault(audit: AuditRecord) -> str:
    if audit.failure:
        return audit.failure
    if not audit.is_repeatable:
        return "the first and the second run of the prepared model return different outputs"
    return "" if audit.repeats_when_prepared_again else "the model returns different outputs when it is prepared again"


def _node_cases(
    model: str, audit: AuditRecord, nodes: Iterable[NodeRecord], data: str
) -> Iterator[tuple[CaseRecord, Judged]]:
    for node in nodes:
        where = f" on {data}" if data else ""
        title = f"node {node.number} {node.operator} {node.name} gives what its specification states{where}"
        if node.together and node.verdict is NodeVerdict.WRONG:
            title = (
                f"nodes {', '.join((*node.together, node.name))} together give what their specifications state{where}"
            )
        add = partial(_case, model, audit, node.number, node.operator, title, data)
        if node.verdict is NodeVerdict.WRONG:
            yield add(Verdict.FAIL, node.fault or "", outputs=node.outputs)
        elif node.verdict is NodeVerdict.NOT_JUDGED or (node.elements and not node.judged_elements(node.level)):
            yield add(Verdict.SKIPPED, node.reason or "not judged")
        else:
            count = node.unspecified + node.useless_bounds(node.level)[0]
            yield add(Verdict.PASS, "", open_elements=OpenElements(node.elements, count) if count else None)
        if node.should_worst is not None and node.verdict is not NodeVerdict.WRONG:
            yield add(Verdict.FAIL, node.fault or "", level=Level.SHOULD, outputs=node.outputs)


def _case(
    model: str,
    audit: AuditRecord,
    number: int,
    operator: str,
    title: str,
    data: str,
    verdict: Verdict,
    message: str,
    *,
    level: Level = Level.MUST,
    outputs: Sequence[OutputEvidence] = (),
    open_elements: OpenElements | None = None,
) -> tuple[CaseRecord, Judged]:
    """Return the case of a node, or of the run of the model, with what the subject did."""
    id = case_id(model, number, *filter(None, (operator, data, "" if level is Level.MUST else str(level))))
    nodes = [] if operator == RUN else [NodeSummary(operator, "", [], [], {})]
    summary = ModelSummary(0, {}, [], [], nodes)
    case = CaseRecord(
        case=id,
        kind=str(CaseKind.NODE),
        title=title,
        level=level,
        clauses=[],
        tags=[operator, CORPUS],
        model=summary,
        data_sets=[],
    )
    phase: Phase | None = "run" if verdict is Verdict.ERROR else "compare" if verdict is Verdict.FAIL else None
    judged = Judged(
        verdict=verdict,
        phase=phase,
        message=message,
        seconds=0.0,
        subject=audit.subject,
        case=id,
        outputs=list(outputs),
        open_elements=open_elements,
    )
    return case, judged
