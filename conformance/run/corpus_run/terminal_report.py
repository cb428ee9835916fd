"""Terminal output at the end of a run: PASSED or FAILED, verdicts, and failure groups with evidence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import TYPE_CHECKING

from conformance.base.serialization.printable_text import one_line
from conformance.base.serialization.terminal import print_styled, print_table
from conformance.base.verdicts import Level, Verdict
from conformance.exact.clauses import clauses
from conformance.run.results import failure_groups
from conformance.run.results.evidence import short_evidence, truncate_line
from conformance.run.results.failure_groups import EVIDENCE_CASES, count_cases, format_group_counts, violated_clause
from conformance.run.results.outcome_counts import OutcomeCounts
from conformance.run.results.records import ClauseRecord
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conformance.run.corpus_run.run_session import RunSession
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.records import Footer

MAX_GROUPS_PER_SUBJECT = 8
"""Number of failure groups that are printed for a subject without `-v`."""

_STYLES = {Verdict.PASS: "green", Verdict.UNSUPPORTED: "yellow", Verdict.SKIPPED: "dim"}


class Detail(IntEnum):
    """Amount of detail that is printed about the outcome of a run."""

    NOTHING = auto()
    OUTCOME = auto()
    FAILURES = auto()
    CASES = auto()


@dataclass(frozen=True)
class OutputOptions:
    """Options for printing the outcome of a run.

    Attributes:
        detail: amount of detail.
        results: the results file that the user named, or None.
        data: the corpus that the user named, or None.
        to_stderr: whether to print to standard error, because a report is written to standard output.
        keeps_corpus: whether the corpus exists after the run. Otherwise no next command is printed.
    """

    detail: Detail = Detail.FAILURES
    results: Path | None = None
    data: Path | None = None
    to_stderr: bool = False
    keeps_corpus: bool = True


def print_outcome(session: RunSession, footer: Footer, options: OutputOptions) -> None:
    """Print PASSED or FAILED with the reasons, verdicts by subject and level, failure groups, and the next command."""
    if options.detail is Detail.NOTHING:
        return
    groups = session.recorder.judged.failure_groups(footer.diagnoses)
    criterion = session.recorder.judged.criterion
    known = criterion.known_failures.total()
    level = criterion.settings.level
    counts = OutcomeCounts.count(criterion.verdicts.values(), known, level)
    outcome = ("FAILED", "bold red") if footer.reasons else ("PASSED", "bold green")
    print_styled(outcome, f": {counts.sentence}", err=options.to_stderr)
    for reason in footer.reasons:
        print_styled(f"  {reason}", err=options.to_stderr)
    if options.detail is Detail.OUTCOME:
        return
    print_table(_verdict_rows(session), 3, err=options.to_stderr)
    lines = [_selection_line(session), *(share.sentence for share in session.recorder.judged.node_shares())]
    lines += _notes(session)
    lines += [counts.weaker_sentence] if counts.weaker_sentence else []
    lines += [*_group_lines(groups, options.detail), *_unexplained(session, footer, options.detail)]
    lines += [_next_command(session, groups, options)] if groups and options.keeps_corpus else []
    for line in lines:
        print_styled(line, err=options.to_stderr)


def _selection_line(session: RunSession) -> str:
    """Return a line on the corpus, the number of cases that were run, and why the other cases were not run."""
    corpus = session.corpus
    selected = session.selected
    line = f"corpus {corpus.label} ({corpus.digest[:12]}), {selected} of {len(corpus.cases)} cases"
    if selected < len(corpus.cases) and (options := session.selected_by):
        return f"{line} (selected by {options})"
    others = len(corpus.cases) - len({id for subject in session.subjects for id in session.cases_of(subject.kind)})
    if not others:
        return line
    kinds = {subject.kind for subject in session.subjects}
    missing = next((kind.prose for kind in SubjectKind if kind not in kinds), "")
    return f"{line} (the other {others} test a {missing}, and no {missing} is named)"


def _group_lines(groups: Sequence[FailureGroup], detail: Detail) -> Iterator[str]:
    """Yield lines with the failure groups of each subject and the evidence of one case per group.

    If there are few failing cases, the evidence of all is included.
    """
    has_few_cases = sum(len(group.cases) for group in groups) <= EVIDENCE_CASES
    is_complete = detail is Detail.CASES
    for subject in dict.fromkeys(group.subject for group in groups):
        own = [group for group in groups if group.subject == subject]
        printed = own if is_complete else own[:MAX_GROUPS_PER_SUBJECT]
        yield ""
        yield f"{subject}: {format_group_counts([group.cases for group in own])}"
        for number, group in enumerate(printed, 1):
            yield from _group(number, group, with_all_evidence=has_few_cases or is_complete, with_all_ids=is_complete)
        if more := own[len(printed) :]:
            yield f"and {format_group_counts([group.cases for group in more])} more: -v prints them"
    if groups:
        yield ""


def _group(number: int, group: FailureGroup, *, with_all_evidence: bool, with_all_ids: bool) -> Iterator[str]:
    yield f"{number}. {one_line(truncate_line(group.sentence))} ({count_cases(len(group.cases))})"
    texts = {id: ClauseRecord(clause.text, clause.source) for id, clause in clauses().items()}
    for case, result in group.smallest[: None if with_all_evidence else 1]:
        yield f"   {case.case}: {case.title}"
        yield from (f"     {line}" for line in short_evidence(result, violated_clause(group, case, result), texts))
    if with_all_ids and (others := group.cases[len(group.smallest) :]):
        yield "   and"
        yield from (f"     {id}" for id in others)


def _next_command(session: RunSession, groups: Sequence[FailureGroup], options: OutputOptions) -> str:
    """Return a line with the command that explains the smallest case of the first group of failures.

    If all unexpected cases pass, it is the command that removes the cases from the expectations file.
    """
    failing = [group for group in groups if group.verdict != Verdict.PASS]
    file = session.recorder.judged.criterion.settings.expectations.get(groups[0].subject)
    if not failing and file is not None:
        words = ["update-expectations", str(options.results or "FILE"), "--expect", file.name]
        command = shlex.join(["onnx-conformance", *words])
        return f"Next: {command}" + ("" if options.results else ", after a run with --results FILE.")
    data = ["--data", str(options.data)] if options.data else []
    results = ["-r", str(options.results)] if options.results else []
    command = shlex.join(["onnx-conformance", "explain", (failing or groups)[0].cases[0], *results, *data])
    return f"Next: {command}" + ("" if results else "; after a run with --results FILE, -r FILE adds the evidence.")


def _notes(session: RunSession) -> Iterator[str]:
    """Yield remarks on unusual properties of the pass criterion and of the subjects."""
    settings = session.recorder.judged.criterion.settings
    if settings.require:
        yield f"required: {', '.join(settings.require)}"
    if settings.profile is not None:
        yield f"profile: {settings.profile.name}, {settings.profile.title}"
    if settings.baseline is not None:
        record = settings.baseline.record
        note = f", of another corpus ({record.version}): its new cases are judged without the baseline"
        other = "" if record.digest == session.corpus.digest else note
        if base := record.relative_to:
            yield f"relative to {base}: its own failures are known failures and are not diagnosed{other}"
        else:
            yield f"baseline: {record.file}{other}"
    for subject in session.subjects:
        if subject.placement == "not reported":
            yield f"{subject.id} does not report placement: another device may have computed its outputs"
    if session.settings.repeat > 1:
        yield f"each case was run {session.settings.repeat} times"


def _unexplained(session: RunSession, footer: Footer, detail: Detail) -> Iterator[str]:
    """Yield lines on failures that were not examined or not diagnosed, and with -v on those that no mutant explains."""
    shown = footer.unexplained if detail is Detail.CASES else []
    yield from map(failure_groups.unexplained_sentence, shown)
    left = list(failure_groups.not_examined_sentences(footer, session.recorder.judged.failing_cases()))
    yield from left
    for one in footer.undiagnosed:
        failures = f"failures of {one.operator}" if one.operator else "failures"
        yield f"{one.subject}: the {failures} were not diagnosed ({one.code}): {one.problem}"
    yield from [""] if shown or left or footer.undiagnosed else []


def _verdict_rows(session: RunSession) -> list[list[tuple[str, str]]]:
    """Return the number of each verdict by subject and level as a table; known failures are counted by subject."""
    counts = session.recorder.judged.criterion.verdicts
    used = [v for v in Verdict if any(counter[v] for levels in counts.values() for counter in levels.values())]
    known = session.recorder.judged.criterion.known_failures
    names = ("subject", "version", "level", *used, "judged", "cases", *["known failures"][: known.total()])
    rows = [[(name, "bold") for name in names]]
    for subject in session.subjects:
        own = [(level, counts[subject.id][level]) for level in Level if counts[subject.id][level]]
        for index, (level, counter) in enumerate(own):
            named = (subject.id, subject.version) if not index else ("", "")
            judged = counter.total() - counter[Verdict.UNSUPPORTED] - counter[Verdict.SKIPPED]
            last = [str(known[subject.id])] if not index and known.total() else []
            verdicts = [(str(counter[v]), _STYLES.get(v, "bold red") if counter[v] else "dim") for v in used]
            plain = [str(judged), str(counter.total()), *last]
            rows.append([*((text, "") for text in (*named, level)), *verdicts, *((text, "") for text in plain)])
    return rows
