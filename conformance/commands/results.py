"""`onnx-conformance report`, `diff`, `merge` and `update-expectations`: verbs that read results files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import CorpusError, UsageError
from conformance.base.files.atomic_write import (
    check_target,
    is_standard_output,
    write_bytes_atomically,
    write_chunks_atomically,
    write_json_atomically,
    write_text_atomically,
)
from conformance.base.serialization.printable_text import one_line, print_line, print_lines
from conformance.base.verdicts import Verdict
from conformance.commands.command_options import add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles, write_reports

if TYPE_CHECKING:
    from conformance.run.expectations.expectations_update import UpdatedFile


@add_options
def report(
    results: list[Path],
    *,
    outputs: ReportFiles,
    evidence: Path | None = None,
    requirements: Path | None = None,
    restrict: str | None = None,
    data: Path | None = None,
) -> None:
    """Write reports of results files; the HTML report can compare several runs of one subject.

    At least one report option, such as --html or --evidence, must be given.
    """
    import gc

    gc.disable()  # what a report is made from lives until its end
    if not outputs.paths and evidence is None:
        raise UsageError("report-missing")
    if evidence is None and (requirements or restrict or data):
        raise UsageError("evidence-missing")
    outputs.check()
    if evidence is not None:
        from conformance.studies.evidence.evidence_folder import write_evidence
        from conformance.studies.evidence.evidence_inputs import results_paths

        written = write_evidence(results, evidence, requirements, restrict, data)
        print_line(f"Wrote {evidence}: {len(written)} files.", err=outputs.take_standard_output)
        results = results_paths(results)
    if outputs.paths:
        write_reports(results, outputs)
        print_written_reports(outputs)


@add_options
def diff(before: Path, after: Path, json: Path | None = None, markdown: Path | None = None) -> None:
    """Compare two runs: regressions, fixes, other changes, larger errors, added and removed cases and subjects.

    Exit status: 0 if no verdict is worse than before, 1 if a verdict is worse, 2 if a file is malformed.
    """
    from conformance.run.report.diff import compare_runs, to_markdown, to_text
    from conformance.run.results.results_file import read_results

    reports = ReportFiles.of(json=json, markdown=markdown)
    reports.check()
    found = compare_runs(read_results(before), read_results(after))
    write_json_atomically(json, found)
    if markdown:
        write_text_atomically(markdown, to_markdown(found))
    print_lines(to_text(found), err=reports.take_standard_output)
    raise typer.Exit(1 if found.regressions else 0)


@add_options
def merge(results: list[Path], output: Path, data: Path | None = None) -> None:
    """Merge results files of one corpus, such as those of its shards, into one results file.

    Exit status: 0 if the merged run passes, 1 if it fails, 2 if the files cannot be merged.
    """
    from conformance.corpus.cases.corpus import bundled_corpus_path, read_manifest
    from conformance.run.corpus_run.merge import merge_runs
    from conformance.run.results.results_file import encode_record, read_results

    check_target(output)
    taken = is_standard_output(output)
    runs = [read_results(path) for path in results]
    try:
        corpus = read_manifest(data or bundled_corpus_path())
    except CorpusError:
        corpus = None
    same = corpus is not None and corpus.digest == runs[0].header.corpus.digest
    run = merge_runs(runs, corpus if same else None)
    write_chunks_atomically(output, map(encode_record, run.records()))
    count = run.footer.results
    subjects = len(run.header.subjects)
    passes = run.footer.outcome == "pass"
    print_line("PASSED" if passes else "FAILED", err=taken)
    for reason in run.footer.reasons:
        print_line(f"  {one_line(reason)}", err=taken)
    print_line(f"Wrote {output}: {count} results on {subjects} subject{'s' if subjects > 1 else ''}.", err=taken)
    raise typer.Exit(0 if passes else 1)


@add_options
def update_expectations(
    results: Path,
    expect: Path,
    reason: str = "",
    by_cause: bool = False,
    cause: list[int] | None = None,
    keyword: str = "",
    pin_unsupported: bool = False,
    check: bool = False,
) -> None:
    """Update an expectations file so that a run with these results passes.

    Cases that pass are removed from their entries. Patterns that match no case are removed. A changed verdict replaces
    the old verdict. Comments and reasons are kept. The key `supports` is written. Failures without an entry are listed
    by cause. New entries are added with the reason of --reason, or by --by-cause; without both, no entry is written.
    With --by-cause, the reason of an earlier diagnosis is replaced by that of the run.

    Exit status: 0 if the file is up to date, 1 if it still lacks entries or if a verdict varies between repetitions (no
    entry can expect that), 2 if no reason is given. With --check: 1 if the file would change or lacks an entry.
    """
    from conformance.own.audit.audit_results import read_audit_results
    from conformance.run.corpus_run.settings import check_keyword, keyword_matcher
    from conformance.run.expectations.expectations_file import read_expectations_text
    from conformance.run.expectations.expectations_update import (
        NewEntries,
        empty_expectations_file,
        update_expectations,
    )
    from conformance.run.results.results_file import read_results

    if (cause or keyword) and not (reason.strip() or by_cause or check):
        raise UsageError("reason-missing.chosen")
    check_keyword(keyword)
    run = read_audit_results(results) or read_results(results)
    before = read_expectations_text(expect) if expect.exists() else ""
    subjects = [subject.id for subject in run.header.subjects]
    if not before and len(subjects) != 1:
        raise UsageError("subject-count.new-file", results=results, count=len(subjects), expect=expect)
    numbers = frozenset(cause) if cause else None
    new = NewEntries(reason.strip(), by_cause, numbers, keyword_matcher(keyword), pin_unsupported)
    text = before or empty_expectations_file(subjects[0], run.header.corpus.name)
    updated = update_expectations(text, str(expect), run, new)
    is_changed = updated.text != before
    if updated.missing and not check and not reason.strip() and not by_cause:
        _print_open_points(updated, check)
        raise UsageError("reason-missing.failures", expect=expect)
    if check:
        print_lines(_diff(before, updated.text, str(expect)))
    elif is_changed:
        write_bytes_atomically(expect, updated.text.encode())
    change = "needs no change" if not is_changed else "would change" if check else "is updated"
    print_line(f"{expect} {change}.")
    _print_open_points(updated, check)
    raise typer.Exit(1 if updated.missing or updated.varying or (check and is_changed) else 0)


_HINT = (
    "Give --by-cause for the reasons of known faults and diagnoses, or --reason TEXT, for some failures with --cause N."
)


def _diff(before: str, after: str, name: str) -> str:
    """Return a unified diff of two texts; `name` is the file name in its header."""
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _print_open_points(updated: UpdatedFile, check: bool) -> None:
    """Print the failures that have no entry, and the cases whose verdict varies."""
    for number, missing in enumerate(updated.missing, 1):
        more = f" and {len(missing.cases) - 3} more" if len(missing.cases) > 3 else ""
        verb = Verdict(missing.verdict).verb(len(missing.cases))
        print_line(
            f"{number}. no entry expects that {', '.join(missing.cases[:3])}{more} {verb}: {one_line(missing.cause)}"
        )
        if missing.reason:
            print_line(f"   --by-cause would give the reason: {one_line(missing.reason)}")
    if updated.accepted:
        failures = "1 failure needs" if updated.accepted == 1 else f"{updated.accepted} failures need"
        print_line(f"{failures} no entry, because the baseline of the run has the same failures.")
    if updated.missing and check:
        print_line(_HINT)
    for lost in updated.lost:
        print_line(f"support is lost: {lost}")
    for case in updated.varying:
        print_line(f"the verdict of {case} varies; no entry can expect that")
