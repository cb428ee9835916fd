"""`onnx-conformance audit`: judge every node of a user's own model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ExitStatus, UsageError
from conformance.base.files.atomic_write import check_empty
from conformance.base.serialization.printable_text import print_line, print_notice, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.own.audit.audit_session import SubjectAudit
    from conformance.own.audit.model_audit import AuditObserver, ModelAudit, PreparedAudit


@add_options
def audit(
    model: Path,
    backend: list[str] | None = None,
    recorded_outputs: Path | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
    input_value: list[str] | None = None,
    seed: int = 0,
    save_inputs: Path | None = None,
    all_elements: bool = False,
    output: Path | None = None,
    require_judged: float = 0.0,
    fail_level: FailLevel = FailLevel.MUST,
    expect: list[Path] | None = None,
    json: Path | None = None,
    html: Path | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
    node: list[int] | None = None,
    probes: int | None = None,
    workers: int | None = None,
    dask: str | None = None,
    resume: Path | None = None,
    timeout: float = 60.0,
    no_isolation: bool = False,
    quiet: bool = False,
) -> None:
    """Judge every node of your own model on the values that the runtime itself computed.

    The intermediate values of the model are exposed on the subject. Each node is then judged alone: its outputs must be
    values that a correct implementation of the operator can return for its inputs. Without --inputs the inputs are
    pseudo-random. With --outputs, values that were recorded elsewhere are judged, and no subject runs.

    Exit status: 0 if no node is wrong, 1 if a node is wrong, too little was judged, or the subject fails or is not
    deterministic, 2 for a wrong command line or file.
    """
    from conformance.base.jobs.process_pool import create_workers
    from conformance.own.audit.audit_report import AuditOutcome
    from conformance.own.audit.audit_results import CORPUS, report_audit
    from conformance.own.audit.model_audit import AuditRequest, prepare_audit
    from conformance.run.expectations.expectations_file import read_expectations_by_subject

    needing_subject = {"-b": backend, "--node": node, "--resume": resume, "--dask": dask, "--save-inputs": save_inputs}
    _check_options(needing_subject, has_outputs=recorded_outputs is not None)
    reports = ReportFiles.of(json=json, html=html, junit=junit, markdown=markdown)
    if output is not None:
        check_empty(output)
    is_shared = resume is not None or dask is not None or workers not in (None, 1)
    request = AuditRequest(
        model,
        backend or (),
        recorded=recorded_outputs,
        inputs=inputs,
        shapes=shape or (),
        values=input_value or (),
        seed=seed,
        save_inputs=save_inputs,
        nodes=node or (),
        all_elements=all_elements,
        makes_cases=output is not None,
        probes=probes,
        level=Level(fail_level),
        required=require_judged,
        workers=create_workers(workers, dask, print_notice) if is_shared else None,
        resume=resume,
        timeout=timeout,
        no_isolation=no_isolation,
        is_command=True,
    )
    show_outcome = partial(print_line, err=reports.take_standard_output)
    show: Callable[[str], None] = (lambda _: None) if quiet else show_outcome
    with prepare_audit(request) as prepared:
        expectations = read_expectations_by_subject(expect, prepared.subject_texts, CORPUS) if expect else {}
        result = prepared.run(_observer(show))
    has_reports = bool(reports.paths or expectations)
    reported = report_audit(result, reports, expectations) if has_reports else result.unreported
    # the corpus is last: an interrupted command can be repeated, and replaces a report, but not a corpus
    if output is not None:
        _write_cases(output, result, show)
    print_written_reports(reports)
    for reason in reported.reasons:
        show_outcome(f"  {reason}")
    show_outcome(reported.summary)
    if reported.outcome is AuditOutcome.FAILED:
        raise typer.Exit(ExitStatus.FAILS)


def _write_cases(output: Path, result: ModelAudit, show: Callable[[str], None]) -> None:
    """Write the wrong nodes as cases, and show how many of them cannot be cases."""
    from conformance.own.audit.audit_cases import write_cases

    cases = [case for each in result.audits for case in each.cases]
    if write_cases(output, cases):
        show(f"Wrote {output}.")
    wrong = sum(len(each.wrong_nodes) + len(each.wrong_probes) for each in result.audits)
    if len(cases) < wrong:
        show(f"wrong nodes that are no cases: {wrong - len(cases)} (too many, or a value is unknown or no tensor)")


def _check_options(needing_subject: Mapping[str, object], *, has_outputs: bool) -> None:
    """Check that options do not contradict each other.

    Args:
        needing_subject: the values of options that need a subject, by their names.
        has_outputs: whether values that were recorded elsewhere are judged.

    Raises:
        UsageError: they do, or there is neither a backend nor recorded outputs.
    """
    given = [name for name, value in needing_subject.items() if value]
    if has_outputs and given:
        raise UsageError("options-conflict.two", first="--outputs", second=given[0])
    if not has_outputs and "-b" not in given:
        raise UsageError("subject-missing.backend")
    if {"--node", "--resume"} <= {*given}:
        raise UsageError("options-conflict.two", first="--node", second="--resume")


def _show_inputs(prepared: PreparedAudit, show: Callable[[str], None]) -> None:
    from conformance.own.graphs.model_inputs import chosen_text

    for data_set, text in zip(prepared.data_sets, prepared.input_texts, strict=True):
        show(f"inputs ({data_set.name}): {text or 'none'}")
        if data_set.chosen:
            show(chosen_text(data_set.chosen))


def _observer(show: Callable[[str], None]) -> AuditObserver:
    from conformance.own.audit.audit_report import text_lines
    from conformance.own.audit.model_audit import AuditObserver

    class Observer(AuditObserver):
        """Shows the progress and the audits in the terminal."""

        def progress(self, text: str) -> None:
            print_progress(text)

        def inputs_chosen(self, prepared: PreparedAudit) -> None:
            print_progress("")
            _show_inputs(prepared, show)

        def audited(self, audit: SubjectAudit, unknown: Sequence[str], run: str) -> None:
            print_progress("")
            if unknown:
                show(f"no values of the model in {run}: {', '.join(unknown)}")
            for line in text_lines(audit):
                show(line)

    return Observer()
