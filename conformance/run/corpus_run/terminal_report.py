"""A run in the terminal: its progress, and at its end PASSED or FAILED, verdicts, and failure groups with evidence."""

from __future__ import annotations

import gc
import shlex
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import TYPE_CHECKING

from conformance.base.errors import OutputFault
from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.serialization.printable_text import (
    count_cases,
    one_line,
    print_notice,
    print_styled,
    print_table,
    progress_counter,
    resume_option,
    shorten_middle,
)
from conformance.base.verdicts import Level, Verdict
from conformance.exact.clauses import clauses
from conformance.run.corpus_run.resume import partial_path
from conformance.run.corpus_run.run_session import RunSession, item_id, update_last_failed
from conformance.run.corpus_run.runner import RunObserver, judge_corpus
from conformance.run.results import failure_groups
from conformance.run.results.evidence import short_evidence, truncate_line
from conformance.run.results.failure_groups import (
    EVIDENCE_CASES,
    format_group_counts,
    location_file,
    violated_clause,
)
from conformance.run.results.missing_operators import unsupported_sentence
from conformance.run.results.records import FLAG_GIVEN, ClauseRecord
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conformance.run.corpus_run.recorder import AssessedResults
    from conformance.run.corpus_run.runner import Chunk, Outcome, WorkerExecution
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.report.report_files import ReportFiles
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.records import Judged, UnexplainedRecord

MAX_SHOWN_SELECTION = 80
"""Characters of the value of an option that the line on the selection shows."""

MAX_UNSUPPORTED_REASONS = 20
"""Number of reasons of unsupported cases that are printed for a subject with `-v`."""

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


class TerminalObserver(RunObserver):
    """Prints the progress of a run, and stores which cases failed for `--last-failed` at the end of the execution."""

    def __init__(self, judged: AssessedResults) -> None:
        self._judged = judged
        self._has_failed: dict[tuple[str, str], bool] = {}
        self._stack = ExitStack()
        self._advance: Callable[[str], None] | None = None

    def execution_begun(self, pending: int) -> None:
        """Show a progress bar, if standard error is a terminal."""
        if sys.stderr.isatty():
            self._advance = self._stack.enter_context(progress_counter("running", pending))

    def result_recorded(self, judged: Judged, *, is_expected: bool) -> None:
        """Advance the progress bar."""
        self._has_failed[judged.subject, judged.case] = not is_expected
        if self._advance is not None:
            self._advance(judged.case)

    def execution_ended(self) -> None:
        """Remove the progress bar."""
        self._stack.close()
        weaker = [item_id(*item) for item in self._judged.weaker_failures]
        update_last_failed({item_id(*item): has_failed for item, has_failed in self._has_failed.items()}, weaker)
        self._has_failed = {}

    def run_interrupted(self, recorded: int, expected: int) -> None:
        """Print how many results the run has."""
        print_notice(
            f"Interrupted after {recorded} of {expected} results: the subjects are ended, and the results are written"
            " without explanations. Ctrl-C again ends the command at once."
        )

    def worker_died(self, chunk: Chunk, how: str) -> None:
        """Print which results are missing."""
        cases = chunk.cases[0] if len(chunk.cases) == 1 else f"{len(chunk.cases)} cases from {chunk.cases[0]}"
        print_notice(f"A worker died ({how}): the results of {chunk.subject} on {cases} are missing.")

    def notice(self, sentence: str) -> None:
        """Print the sentence."""
        print_notice(sentence)


def judge_and_print(session: RunSession, execution: WorkerExecution, options: OutputOptions) -> Outcome:
    """Run the cases of a session, and print the progress and the outcome.

    An error while the outcome is printed becomes the fault of the outcome, because the results are written.

    Raises:
        ConformanceError: see `judge_corpus`.
        KeyboardInterrupt: see `judge_corpus`.
    """
    gc.freeze()  # what exists now lives until the end of the run
    gc.enable()
    try:
        outcome = judge_corpus(session, execution, TerminalObserver(session.recorder.assessed))
    except KeyboardInterrupt as interruption:
        interruption.add_note(_interrupted_sentence(session))
        raise
    try:
        print_outcome(outcome, options)
    except OSError as error:  # such as a full disk: no fault of the suite
        return replace(outcome, fault=outcome.fault or error)
    except Exception as error:  # noqa: BLE001 - the results are written, and the reports still must be
        fault = outcome.fault or OutputFault.caused_by(error, "the outcome was not printed")
        return replace(outcome, fault=fault)
    return outcome


def _interrupted_sentence(session: RunSession) -> str:
    """Return the line for an interruption without an outcome: the partial results file, and how to continue."""
    recorded = len(session.recorder.assessed)
    target = session.settings.results
    if not recorded:
        return "Interrupted before the first result: nothing is written."
    if target is None:
        return "Interrupted: no results are written, because --results is not given."
    return (
        f"Interrupted: {partial_path(target)} has {recorded} results."
        f" Continue the run with the same options and {resume_option(target)}"
    )


def print_outcome(outcome: Outcome, options: OutputOptions) -> None:
    """Print PASSED or FAILED with the reasons, verdicts by subject and level, failure groups, and the next command."""
    if options.detail is Detail.NOTHING:
        return
    counts = outcome.counts
    heading = ("PASSED", "bold green") if outcome.passes else ("FAILED", "bold red")
    print_styled(heading, f": {counts.sentence}", err=options.to_stderr)
    for reason in [*outcome.reasons, *map(one_line, outcome.known_failures)]:
        print_styled(f"  {reason}", err=options.to_stderr)
    if options.detail is Detail.OUTCOME:
        return
    print_table(_verdict_rows(outcome), 3, err=options.to_stderr)
    lines = [_selection_line(outcome), *(share.sentence for share in outcome.node_shares), *_notes(outcome)]
    lines += filter(None, (counts.open_sentence, counts.weaker_sentence))
    lines += map(one_line, outcome.missing_operators)
    lines += [*_group_lines(outcome, options.detail), *_unexplained(outcome, options.detail)]
    lines += _unsupported(outcome, options.detail)
    lines += map(one_line, outcome.other_operators)
    lines += [_next_command(outcome.groups, options)] if outcome.groups and options.keeps_corpus else []
    for line in lines:
        print_styled(line, err=options.to_stderr)


def _selection_line(outcome: Outcome) -> str:
    """Return a line on the corpus, the number of cases that were run, and why the other cases were not run."""
    corpus = outcome.header.corpus
    line = f"corpus {corpus.label} ({corpus.digest[:12]}), {corpus.selected} of {corpus.cases} cases"
    others = corpus.cases - corpus.selected
    if not others:
        return line
    if selected_by := [
        name if value == FLAG_GIVEN else f"{name} {shorten_middle(value, MAX_SHOWN_SELECTION)}"
        for name, value in outcome.header.selection_options.items()
    ]:
        return f"{line} (selected by {' '.join(selected_by)})"
    kinds = {subject.kind for subject in outcome.header.subjects}
    missing = next((kind.prose for kind in SubjectKind if kind not in kinds), "")
    return f"{line} (the other {others} test a {missing}, and no {missing} is named)"


def _group_lines(outcome: Outcome, detail: Detail) -> Iterator[str]:
    """Yield lines with the failure groups of each subject and the evidence of one case per group.

    If there are few failing cases, the evidence of all is included.
    """
    groups = outcome.groups
    kinds = {subject.id: subject.kind for subject in outcome.header.subjects}
    has_few_cases = sum(len(group.cases) for group in groups) <= EVIDENCE_CASES
    is_complete = detail is Detail.CASES
    for subject in dict.fromkeys(group.subject for group in groups):
        own = [group for group in groups if group.subject == subject]
        printed = own if is_complete else own[:MAX_GROUPS_PER_SUBJECT]
        yield ""
        yield f"{subject}: {format_group_counts([group.cases for group in own])}"
        for number, group in enumerate(printed, 1):
            has_all = has_few_cases or is_complete
            yield from _group(number, group, kinds[subject], with_all_evidence=has_all, with_all_ids=is_complete)
        if more := own[len(printed) :]:
            yield f"and {format_group_counts([group.cases for group in more])} more: -v prints them"
    if groups:
        yield ""


def _group(
    number: int, group: FailureGroup, kind: str, *, with_all_evidence: bool, with_all_ids: bool
) -> Iterator[str]:
    yield f"{number}. {one_line(truncate_line(group.sentence))} ({count_cases(len(group.cases))})"
    texts = {id: ClauseRecord(clause.text, clause.source) for id, clause in clauses().items()}
    for case, result in group.smallest[: None if with_all_evidence else 1]:
        yield f"   {case.case}: {case.title_on(kind)}"
        yield from (f"     {line}" for line in short_evidence(result, violated_clause(group, case, result), texts))
    if with_all_ids and (others := group.cases[len(group.smallest) :]):
        yield "   and"
        yield from (f"     {id}" for id in others)


def _next_command(groups: Sequence[FailureGroup], options: OutputOptions) -> str:
    """Return a line with the command that explains the smallest case of the first group of failures.

    If all unexpected cases pass, it is the command that removes the cases from the expectations file.
    """
    failing = [group for group in groups if group.verdict != Verdict.PASS]
    expected = groups[0].smallest[0].result.expected
    if not failing and expected is not None:
        words = ["update-expectations", str(options.results or "FILE"), "--expect", location_file(expected.location)]
        command = shlex.join(["onnx-conformance", *words])
        return f"Next: {command}" + ("" if options.results else ", after a run with --results FILE.")
    data = ["--data", str(options.data)] if options.data else []
    results = ["-r", str(options.results)] if options.results else []
    command = shlex.join(["onnx-conformance", "explain", (failing or groups)[0].cases[0], *results, *data])
    return f"Next: {command}" + ("" if results else "; after a run with --results FILE, -r FILE adds the evidence.")


def _notes(outcome: Outcome) -> Iterator[str]:
    """Yield remarks on unusual properties of the pass criterion and of the subjects."""
    settings = outcome.criterion.settings
    if settings.require:
        yield f"required: {', '.join(settings.require)}"
    if settings.profile is not None:
        yield f"profile: {settings.profile.name}, {settings.profile.title}"
    if settings.baseline is not None:
        record = settings.baseline.record
        note = f", of another corpus ({record.version}): its new cases are judged without the baseline"
        other = "" if record.digest == outcome.header.corpus.digest else note
        if base := record.relative_to:
            yield f"relative to {base}: its own failures are known failures and are not diagnosed{other}"
        else:
            yield f"baseline: {record.file}{other}"
    for subject in outcome.header.subjects:
        if subject.placement == "not reported":
            yield f"{subject.id} does not report placement: another device may have computed its outputs"
    if outcome.settings.repeat > 1:
        yield f"each case was run {outcome.settings.repeat} times"


def _unexplained(outcome: Outcome, detail: Detail) -> Iterator[str]:
    """Yield lines on failures that were not diagnosed, or that differ from all passing cases; with -v on all others.

    Known failures alone have no line without -v.
    """
    footer = outcome.footer
    is_complete = detail is Detail.CASES
    unexpected = failure_groups.unexpected_records(footer.unexplained, outcome.groups)
    shown = footer.unexplained if is_complete else [record for record in unexpected if _is_distinguished(record)]
    yield from map(failure_groups.unexplained_sentence, shown)
    left = list(failure_groups.not_examined_sentences(footer, outcome.failing_cases)) if is_complete else []
    yield from left
    for one in footer.undiagnosed:
        failures = f"failures of {one.operator}" if one.operator else "failures"
        yield f"{one.subject}: the {failures} were not diagnosed ({one.code}): {one.problem}"
    yield from [""] if shown or left or footer.undiagnosed else []


def _is_distinguished(record: UnexplainedRecord) -> bool:
    """Return whether failures that no mistake explains have a property that no passing case has."""
    return record.passing > 0 and any(one.cases == len(record.cases) and not one.passing for one in record.shared)


def _unsupported(outcome: Outcome, detail: Detail) -> Iterator[str]:
    """Yield why most unsupported cases of each subject are unsupported; all reasons with -v."""
    for subject, reasons in outcome.unsupported_reasons.items():
        if detail is not Detail.CASES:
            yield unsupported_sentence(subject, reasons) + (" (-v prints them)" if len(reasons) > 1 else "")
            continue
        yield f"{subject}: {count_cases(sum(reason.cases for reason in reasons))} unsupported"
        yield from (f"  {reason.text}" for reason in reasons[:MAX_UNSUPPORTED_REASONS])
        if more := len(reasons) - MAX_UNSUPPORTED_REASONS:
            yield from [f"  and {more} more reasons"] if more > 0 else []
        yield ""


def _verdict_rows(outcome: Outcome) -> list[list[tuple[str, str]]]:
    """Return the number of each verdict by subject and level as a table; known failures are counted by subject."""
    counts = outcome.verdicts
    used = [v for v in Verdict if any(counter[v] for levels in counts.values() for counter in levels.values())]
    known = outcome.criterion.known_failures
    names = ("subject", "version", "level", *used, "judged", "cases", *["known failures"][: known.total()])
    rows = [[(name, "bold") for name in names]]
    for subject in outcome.header.subjects:
        own = [(level, counts[subject.id][level]) for level in Level if counts[subject.id][level]]
        for index, (level, counter) in enumerate(own):
            named = (subject.id, subject.version) if not index else ("", "")
            judged = counter.total() - counter[Verdict.UNSUPPORTED] - counter[Verdict.SKIPPED]
            last = [str(known[subject.id])] if not index and known.total() else []
            verdicts = [(str(counter[v]), _STYLES.get(v, "bold red") if counter[v] else "dim") for v in used]
            plain = [str(judged), str(counter.total()), *last]
            rows.append([*((text, "") for text in (*named, level)), *verdicts, *((text, "") for text in plain)])
    return rows


@contextmanager
def with_results_file(settings: Settings, outputs: ReportFiles) -> Iterator[Settings]:
    """Yield the settings. If reports are requested without `--results`, the results file is a temporary file."""
    if settings.results is not None or not outputs.paths:
        yield settings
        return
    with supervised_temp_dir() as scratch:
        yield replace(settings, results=scratch / "results.jsonl")


@contextmanager
def with_base_results(settings: Settings, execution: WorkerExecution) -> Iterator[Settings]:
    """Yield the settings. For `--relative-to` without `--baseline`, run that subject first; its results are temporary.

    Raises:
        KeyboardInterrupt: the user interrupted this first run.
    """
    if settings.relative_to is None or settings.baseline is not None:
        yield settings
        return
    with supervised_temp_dir() as scratch:
        results = scratch / "base.jsonl"
        base = replace(
            settings,
            subjects=(SubjectName.parse(settings.relative_to, settings.subjects[0].kind),),
            relative_to=None,
            results=results,
            expect=(),
            require=(),
            diagnosis=False,
        )
        printed = OutputOptions(detail=Detail.NOTHING)
        if judge_and_print(RunSession(base), replace(execution, exit_first=False), printed).is_interrupted:
            raise KeyboardInterrupt
        yield replace(settings, baseline=results)
