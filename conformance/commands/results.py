"""`onnx-conformance report`, `diff`, `merge` and `update-expectations`: verbs that read results files."""

from __future__ import annotations

from pathlib import Path

import typer

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import (
    is_standard_output,
    write_bytes_atomically,
    write_chunks_atomically,
    write_json_atomically,
    write_text_atomically,
)
from conformance.base.serialization.printable_text import one_line, print_line, print_lines
from conformance.commands.command_options import add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles, write_reports


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
    from conformance.corpus.cases.corpus import bundled_corpus_path
    from conformance.run.corpus_run.merge import merge_files
    from conformance.run.results.results_file import encode_record

    taken = is_standard_output(output)
    run = merge_files(results, data or bundled_corpus_path())
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
    pin_wrong: bool = False,
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
    from conformance.run.expectations.expectations_update import NewEntries, open_point_lines, update_file
    from conformance.run.results.results_file import read_results

    if (cause or keyword) and not (reason.strip() or by_cause or check):
        raise UsageError("reason-missing.chosen")
    check_keyword(keyword)
    run = read_audit_results(results) or read_results(results)
    numbers = frozenset(cause) if cause else None
    new = NewEntries(reason.strip(), by_cause, numbers, keyword_matcher(keyword), pin_unsupported, pin_wrong)
    updated = update_file(expect, results, run, new)
    if updated.missing and not check and not reason.strip() and not by_cause:
        for line in open_point_lines(updated):
            print_line(line)
        raise UsageError("reason-missing.failures", expect=expect)
    if check:
        print_lines(updated.difference(str(expect)))
    elif updated.is_changed:
        write_bytes_atomically(expect, updated.text.encode())
    if updated.is_changed:
        done = "is updated" if updated.before else "is written"
        print_line(f"{expect} {'would change' if check else done}.")
    elif updated.missing:
        print_line(f"{expect} lacks entries; those that it has stay as they are.")
    else:
        print_line(f"{expect} needs no change.")
    for line in open_point_lines(updated, hint=check):
        print_line(line)
    raise typer.Exit(1 if updated.missing or updated.varying or (check and updated.is_changed) else 0)
