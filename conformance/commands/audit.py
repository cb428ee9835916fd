"""`onnx-conformance audit`: judge every node of a user's own model."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ExitStatus, UsageError
from conformance.base.files.atomic_write import (
    check_empty,
    supervised_temp_dir,
    write_json_atomically,
    write_text_atomically,
)
from conformance.base.serialization.printable_text import print_line, print_notice, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.base.jobs.job import Workers as TeamOfWorkers
    from conformance.own.audit.audit_job import AuditWorkers
    from conformance.own.audit.audit_report import AuditOutcome
    from conformance.own.audit.audit_session import AuditOptions, SubjectAudit
    from conformance.own.audit.model_audit import ModelAudit
    from conformance.own.graphs.model_inputs import InputSet
    from conformance.own.graphs.reading import LoadedModel
    from conformance.own.graphs.recorded_outputs import DeviceRun
    from conformance.run.expectations.expectations_file import Expectations
    from conformance.subjects.calling.subject_names import Subject


@add_options
def audit(
    model: Path,
    backend: list[str] | None = None,
    recorded_outputs: Path | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
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
) -> None:
    """Judge every node of your own model on the values that the runtime itself computed.

    The intermediate values of the model are exposed on the subject. Each node is then judged alone: its outputs must be
    values that a correct implementation of the operator can return for its inputs. Without --inputs the inputs are
    pseudo-random. With --outputs, values that were recorded elsewhere are judged, and no subject runs.

    Exit status: 0 if no node is wrong, 1 if a node is wrong, too little was judged, or the subject fails or is not
    deterministic, 2 for a wrong command line or file.
    """
    from functools import partial

    from conformance.base.jobs.process_pool import create_workers
    from conformance.exact.models.input_files import required_input_names
    from conformance.own.audit.audit_cases import write_cases
    from conformance.own.audit.audit_report import AuditOutcome
    from conformance.own.audit.audit_results import CORPUS
    from conformance.own.audit.audit_session import AuditOptions
    from conformance.own.audit.model_audit import PROBES, ModelAudit, audit_limits
    from conformance.own.graphs.model_inputs import choose_inputs, input_text, save_inputs_to
    from conformance.own.graphs.reading import LoadedModel
    from conformance.own.graphs.recorded_outputs import input_folder, read_recorded
    from conformance.run.expectations.expectations_file import read_expectations_by_subject
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
    from conformance.subjects.isolation.start_subjects import started_subjects

    needing_subject = {"-b": backend, "--node": node, "--resume": resume, "--dask": dask, "--save-inputs": save_inputs}
    _check_options(needing_subject, has_outputs=recorded_outputs is not None)
    reports = ReportFiles.of(json=json, html=html, junit=junit, markdown=markdown)
    reports.check()
    if output is not None:
        check_empty(output)
    is_shared = resume is not None or dask is not None or workers not in (None, 1)
    team = create_workers(workers, dask, print_notice) if is_shared else None
    audited = LoadedModel.read(model, loads_all=no_isolation)
    names = required_input_names(audited.original.graph)
    recorded = [] if recorded_outputs is None else read_recorded(recorded_outputs, audited.prepared)
    given = inputs if recorded_outputs is None or inputs is not None else input_folder(recorded_outputs, recorded)
    data_sets = choose_inputs(audited.original, given, shape or (), seed)
    texts = [input_text(names, data_set) for data_set in data_sets]
    show = partial(print_line, err=reports.take_standard_output)
    _show_inputs(data_sets, texts, show)
    subjects = [SubjectName.parse(text, SubjectKind.BACKEND) for text in backend or ()]
    known = [each.text for each in subjects] or [runs[0].subject for runs in recorded]
    expectations = read_expectations_by_subject(expect, known, CORPUS) if expect else {}
    audits = []
    with (
        started_subjects(subjects, audit_limits(timeout), no_isolation=no_isolation) as started,
        _audit_workers(team, resume, audited.digest) as pool,
    ):
        save_inputs_to(save_inputs, data_sets, names)
        options = AuditOptions(all_elements, output is not None, pool, PROBES if probes is None else probes)
        shapes = [word for each in shape or () for word in ("--shape", each)]
        for subject, data_set in product(started, data_sets):
            words = ("--inputs", data_set.name) if inputs else (*shapes, "--seed", str(seed))
            command = None if node else _command(model, subject.id, words, probes, no_isolation=no_isolation)
            audits.append(_audit_one(audited, subject, data_set, node, replace(options, command=command), show))
        audits += _audit_recorded(audited, recorded, data_sets, options, show)
    used_seed = None if given else seed
    result = ModelAudit(audited, audits, texts, used_seed, Level(fail_level), require_judged, is_part=bool(node))
    if output is not None and write_cases(output, (case for each in audits for case in each.cases)):
        show(f"Wrote {output}.")
    if _report(result, reports, expectations, show) is AuditOutcome.FAILED:
        raise typer.Exit(ExitStatus.FAILS)


def _check_options(needing_subject: Mapping[str, object], *, has_outputs: bool) -> None:
    """Check that options do not contradict each other.

    Args:
        needing_subject: the values of options that need a subject, by their names.
        has_outputs: whether values that were recorded elsewhere are judged.

    Raises:
        UsageError: they do, or there is neither a backend nor a recording.
    """
    given = [name for name, value in needing_subject.items() if value]
    if has_outputs and given:
        raise UsageError("options-conflict.two", first="--outputs", second=given[0])
    if not has_outputs and "-b" not in given:
        raise UsageError("subject-missing.backend")
    if {"--node", "--resume"} <= {*given}:
        raise UsageError("options-conflict.two", first="--node", second="--resume")


def _show_inputs(data_sets: Sequence[InputSet], texts: Sequence[str], show: Callable[[str], None]) -> None:
    from conformance.own.graphs.model_inputs import chosen_text

    for data_set, text in zip(data_sets, texts, strict=True):
        show(f"inputs ({data_set.name}): {text or 'none'}")
        if data_set.chosen:
            show(chosen_text(data_set.chosen))


def _audit_recorded(
    model: LoadedModel,
    recorded: Sequence[Sequence[DeviceRun]],
    data_sets: Sequence[InputSet],
    options: AuditOptions,
    show: Callable[[str], None],
) -> Iterator[SubjectAudit]:
    """Yield the audit of each recorded run, and show it.

    Raises:
        UsageError: there are more or fewer data sets than recorded runs.
    """
    from conformance.own.audit.audit_report import text_lines
    from conformance.own.audit.audit_session import audit_recorded

    for runs in recorded:
        if len(runs) != len(data_sets):
            raise UsageError("recorded-inputs", path=runs[0].name, count=len(runs))
        for run, data_set in zip(runs, data_sets, strict=True):
            audit = audit_recorded(model, run, data_set, print_progress, options)
            print_progress("")
            if run.unknown:
                show(f"no values of the model in {run.name}: {', '.join(run.unknown)}")
            for line in text_lines(audit):
                show(line)
            yield audit


def _audit_one(
    model: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    nodes: Sequence[int] | None,
    options: AuditOptions,
    show: Callable[[str], None],
) -> SubjectAudit:
    """Audit a model, or some of its nodes, on one subject with one data set, and show the result."""
    from conformance.own.audit.audit_report import text_lines
    from conformance.own.audit.audit_session import audit_nodes_alone, audit_subject

    if nodes:
        audit = audit_nodes_alone(model, subject, data_set, nodes, print_progress, options)
    else:
        audit = audit_subject(model, subject, data_set, print_progress, options)
    print_progress("")
    for line in text_lines(audit):
        show(line)
    return audit


def _report(
    result: ModelAudit, reports: ReportFiles, expectations: Mapping[str, Expectations], show: Callable[[str], None]
) -> AuditOutcome:
    """Write the reports, print the summary, and return the outcome, with the known failures of expectations files."""
    from conformance.own.audit.audit_page import render_page
    from conformance.own.audit.audit_report import AuditOutcome
    from conformance.own.audit.audit_results import audit_results, write_audit_reports

    json, html = (reports.paths.get(name) for name in ("json", "html"))
    of_run = {name: path for name, path in reports.paths.items() if name in {"junit", "markdown"}}
    document = result.document
    judged = audit_results(document, expectations) if expectations or of_run else None
    outcome = result.outcome
    reasons = judged.reasons if judged is not None and expectations else []
    if expectations and (reasons or outcome is AuditOutcome.FAILED):
        outcome = AuditOutcome.FAILED if reasons else AuditOutcome.PASSED
    write_json_atomically(json, None if json is None else document)
    if html is not None:
        write_text_atomically(html, render_page(result.model, result.audits, result.inputs, outcome))
    if judged is not None and of_run:
        write_audit_reports(judged, ReportFiles(of_run))
    print_written_reports(reports)
    for reason in reasons:
        show(f"  {reason}")
    show(result.summary_of(outcome, judged.known_failures if judged is not None else 0))
    return outcome


def _command(model: Path, subject: str, given: Sequence[str], probes: int | None, *, no_isolation: bool) -> str:
    """Return the command line of the audit of a model on one subject with one data set."""
    import shlex

    chosen = ["--no-isolation"] if no_isolation else []
    chosen += [] if probes is None else ["--probes", str(probes)]
    return shlex.join(["onnx-conformance", "audit", str(model), "-b", subject, *given, *chosen])


@contextmanager
def _audit_workers(team: TeamOfWorkers | None, directory: Path | None, model: str) -> Iterator[AuditWorkers | None]:
    """Yield the workers with the folder of `--resume`, or with a folder that is removed at the end."""
    if team is None:
        yield None
        return

    from conformance.own.audit.audit_job import AuditWorkers

    with supervised_temp_dir() as temporary:
        pool = AuditWorkers(team, directory or temporary)
        pool.check(model)
        yield pool
