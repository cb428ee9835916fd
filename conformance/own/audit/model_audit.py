"""The audit of a model on all subjects and data sets: `prepare_audit` reads what is needed, and `run` audits.

The command `audit` and the function `audit_model` of the Python interface are the two callers.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import supervised_temp_dir, write_bytes_atomically
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.verdicts import Level
from conformance.exact.models.input_files import required_input_names
from conformance.own.audit.audit_job import AuditWorkers
from conformance.own.audit.audit_report import (
    AuditOutcome,
    JudgedShare,
    ReportedAudit,
    audit_document,
    summary_text,
    text_lines,
)
from conformance.own.audit.audit_session import (
    AuditOptions,
    audit_nodes_alone,
    audit_recorded,
    audit_subject,
)
from conformance.own.graphs.fitting_inputs import find_fitting_inputs
from conformance.own.graphs.model_inputs import choose_inputs, given_inputs, input_text, other_inputs, save_inputs_to
from conformance.own.graphs.reading import LoadedModel, shared_weights
from conformance.own.graphs.recorded_outputs import input_folder, read_recorded
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx

    from conformance.base.jobs.job import Workers
    from conformance.exact.judgement.operator_call import Values
    from conformance.own.audit.audit_report import AuditDocument
    from conformance.own.audit.audit_session import SubjectAudit
    from conformance.own.graphs.model_inputs import InputSet
    from conformance.own.graphs.recorded_outputs import DeviceRun
    from conformance.subjects.calling.subject_names import Subject

PROBES = 5
"""The number of sets of hard values on which each distinct small node runs alone, unless the user gives another one."""

SECONDS = 60.0
"""The time limit of one call of a subject, unless the user gives another one."""


@dataclass(frozen=True)
class ModelAudit:
    """The audits of one model. The whole is true if nothing is wrong, and something was judged in each audit.

    Attributes:
        model: the model.
        audits: the audits, one for each subject and data set.
        inputs: the names, types and shapes of the inputs of each data set.
        seed: the seed of pseudo-random inputs; None if the user gave inputs.
        level: the weakest level whose bounds the outputs must keep.
        required: the share of each audit that must be judged.
        is_part: whether only some nodes are audited, each alone.
    """

    model: LoadedModel
    audits: Sequence[SubjectAudit]
    inputs: Sequence[str]
    seed: int | None
    level: Level = Level.MUST
    required: float = 0.0
    is_part: bool = False

    def __bool__(self) -> bool:
        return self.outcome is AuditOutcome.PASSED

    @property
    def outcome(self) -> AuditOutcome:
        """The outcome of all audits together."""
        return AuditOutcome.of(self.audits, self.level, self.required)

    @property
    def too_little(self) -> list[str]:
        """The subjects that run the model, and on which less was judged than is required."""
        shares = ((each, JudgedShare.of([each], self.level)) for each in self.audits if not each.failure)
        return sorted({each.subject for each, share in shares if not share.is_enough(self.required)})

    @property
    def summary(self) -> str:
        """The outcome and the numbers of judged nodes and elements, in one line."""
        return self.summary_of(self.outcome)

    def summary_of(self, outcome: AuditOutcome, known_failures: int = 0) -> str:
        """Return the summary with another outcome, because an expectations file lists failures."""
        missing = "; too little was judged" if self.too_little else ""
        if outcome is AuditOutcome.NO_VERDICT:
            missing = "; every element is unspecified or has no useful bound"
        known = f"; {known_failures} known" if known_failures else ""
        return f"{outcome}: {summary_text(self.audits)}{missing}{known}"

    @property
    def unreported(self) -> ReportedAudit:
        """The outcome without reports and expectations files; see `audit_results.report_audit`."""
        return ReportedAudit(self.outcome, (), self.summary)

    def __str__(self) -> str:
        return "\n".join([*chain.from_iterable(map(text_lines, self.audits)), self.summary])

    def __repr__(self) -> str:
        return str(self)

    @property
    def document(self) -> AuditDocument:
        """The content of the file of `audit --json`."""
        return audit_document(
            self.model, self.audits, self.inputs, self.seed, self.level, self.too_little, is_part=self.is_part
        )


@dataclass(frozen=True)
class AuditRequest:
    """The model, backends, inputs and options of an audit.

    Attributes:
        model: the file of the model.
        backends: the names of the backends.
        recorded: values that were recorded elsewhere, which are judged without a subject; None if there are none.
        inputs: a file or folder of inputs; None for those beside the recorded values, or for pseudo-random inputs.
        shapes: the sizes of inputs, as for `--shape`.
        values: the values of single inputs, as for `--input`.
        seed: the seed of pseudo-random inputs.
        save_inputs: a folder to which the inputs are written; None for none.
        nodes: the numbers of the nodes that are audited, each alone; empty for all.
        all_elements: whether every element of a large output is judged, and not a sample.
        makes_cases: whether wrong nodes become cases.
        probes: the number of sets of hard values of each node; None for the default.
        level: the weakest level whose bounds the outputs must keep.
        required: the share of each audit that must be judged.
        workers: workers that judge the nodes; None to judge in this process.
        resume: the folder of an interrupted audit; None for a temporary one.
        timeout: seconds for each call of a subject.
        no_isolation: whether the subjects run in this process.
        is_command: whether a command line repeats the audit.
    """

    model: Path
    backends: Sequence[str] = ()
    recorded: Path | None = None
    inputs: Path | None = None
    shapes: Sequence[str] = ()
    values: Sequence[str] = ()
    seed: int = 0
    save_inputs: Path | None = None
    nodes: Sequence[int] = ()
    all_elements: bool = False
    makes_cases: bool = False
    probes: int | None = None
    level: Level = Level.MUST
    required: float = 0.0
    workers: Workers | None = None
    resume: Path | None = None
    timeout: float = SECONDS
    no_isolation: bool = False
    is_command: bool = False

    def command(self, subject: str, data_set: str, sizes: Sequence[str] = ()) -> str | None:
        """Return the command line of the audit on one subject with one data set; None if no node can be added to it.

        `sizes` are options of chosen sizes and values that are not the first choice.
        """
        if self.nodes or not self.is_command:
            return None
        options = ("--shape", self.shapes), ("--input", self.values)
        words = [word for flag, texts in options for text in texts for word in (flag, text)]
        given = ["--inputs", data_set] if self.inputs else [*words, "--seed", str(self.seed)]
        chosen = ["--no-isolation"] if self.no_isolation else []
        chosen += [] if self.probes is None else ["--probes", str(self.probes)]
        words = ["onnx-conformance", "audit", str(self.model), "-b", subject, *given, *chosen]
        return " ".join([shlex.join(words), *sizes])


class AuditObserver:
    """Is told about the progress of an audit. The default does nothing."""

    def progress(self, text: str) -> None:
        """Show a text in place of the last one."""

    def inputs_chosen(self, prepared: PreparedAudit) -> None:
        """Show the inputs."""

    def audited(self, audit: SubjectAudit, unknown: Sequence[str], run: str) -> None:
        """Show an audit that ended.

        Args:
            audit: the audit.
            unknown: the names of recorded values that the model does not have.
            run: the name of the recorded run; empty for a subject.
        """


SILENT = AuditObserver()


@dataclass(frozen=True)
class PreparedAudit:
    """A model with its inputs, ready to be audited.

    Attributes:
        request: what is audited.
        model: the model.
        data_sets: the inputs.
        recorded: the recorded runs.
        seed: the seed of pseudo-random inputs; None if the user gave inputs.
    """

    request: AuditRequest
    model: LoadedModel
    data_sets: Sequence[InputSet]
    recorded: Sequence[Sequence[DeviceRun]]
    seed: int | None

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return required_input_names(self.model.original.graph)

    @property
    def input_texts(self) -> list[str]:
        """The names, types and shapes of the inputs of each data set."""
        return [input_text(self.input_names, data_set) for data_set in self.data_sets]

    @property
    def subjects(self) -> list[SubjectName]:
        """The backends."""
        return [SubjectName.parse(text, SubjectKind.BACKEND) for text in self.request.backends]

    @property
    def subject_texts(self) -> list[str]:
        """The names of the backends, or of the subjects of recorded runs."""
        return [each.text for each in self.subjects] or [runs[0].subject for runs in self.recorded]

    def run(self, observer: AuditObserver = SILENT) -> ModelAudit:
        """Audit the model on each subject with each data set.

        The sizes and values that the suite chose are others if the first subject does not run the model with them.

        Raises:
            ConformanceError: a subject cannot be started, or a file or folder cannot be used.
        """
        request = self.request
        limits = Limits.for_large_outputs(request.timeout)
        with (
            started_subjects(self.subjects, limits, no_isolation=request.no_isolation) as started,
            self._workers() as workers,
        ):
            chosen = self._with_fitting_sizes(started, observer)
            observer.inputs_chosen(chosen)
            data_sets = chosen.data_sets
            save_inputs_to(request.save_inputs, data_sets, self.model.original.graph)
            probes = PROBES if request.probes is None else request.probes
            options = AuditOptions(request.all_elements, request.makes_cases, workers, probes)
            audits = []
            for subject, data_set in product(started, data_sets):
                sizes = () if chosen is self else data_set.chosen
                own = replace(options, command=request.command(subject.id, data_set.name, sizes))
                if request.nodes:
                    audit = audit_nodes_alone(self.model, subject, data_set, request.nodes, observer.progress, own)
                else:
                    audit = audit_subject(self.model, subject, data_set, observer.progress, own)
                observer.audited(audit, (), "")
                audits.append(audit)
            audits += self._audit_recorded(options, observer)
        is_part = bool(request.nodes)
        return ModelAudit(
            self.model, audits, chosen.input_texts, self.seed, request.level, request.required, is_part=is_part
        )

    def _with_fitting_sizes(self, started: Sequence[Subject], observer: AuditObserver) -> PreparedAudit:
        """Return the audit with other inputs if the first subject does not run the model with the chosen sizes."""
        data_set = self.data_sets[0]
        if not data_set.chosen or not started:
            return self
        request = self.request
        others = other_inputs(self.model.original, request.shapes, request.seed, request.values)
        found = find_fitting_inputs(self.model, started[0], data_set, others, observer.progress)
        return self if found is data_set else replace(self, data_sets=[found])

    def _audit_recorded(self, options: AuditOptions, observer: AuditObserver) -> Iterator[SubjectAudit]:
        """Yield the audit of each recorded run.

        Raises:
            UsageError: there are more or fewer data sets than recorded runs.
        """
        for runs in self.recorded:
            if len(runs) != len(self.data_sets):
                raise UsageError("recorded-inputs", path=runs[0].name, count=len(runs))
            for run, data_set in zip(runs, self.data_sets, strict=True):
                audit = audit_recorded(self.model, run, data_set, observer.progress, options)
                observer.audited(audit, run.unknown, run.name)
                yield audit

    @contextmanager
    def _workers(self) -> Iterator[AuditWorkers | None]:
        """Yield the workers with the folder of an interrupted audit, or with a folder that is removed at the end."""
        if self.request.workers is None:
            yield None
            return
        with supervised_temp_dir() as temporary:
            pool = AuditWorkers(self.request.workers, self.request.resume or temporary)
            pool.check(self.model.digest)
            yield pool


@contextmanager
def prepare_audit(request: AuditRequest) -> Iterator[PreparedAudit]:
    """Read the model, its inputs and recorded values, or draw the inputs; no subject is started.

    Files that the model needs are removed at the end of the block.

    Raises:
        ConformanceError: a file cannot be read, or does not fit the model.
    """
    subjects = [SubjectName.parse(text, SubjectKind.BACKEND) for text in request.backends]
    is_local = request.workers is None or isinstance(request.workers, ProcessWorkers)
    with shared_weights([request.model], subjects if is_local else ()) as scratch:
        yield _prepared(request, scratch)


def _prepared(request: AuditRequest, scratch: Path | None) -> PreparedAudit:
    model = LoadedModel.read(request.model, scratch=scratch)
    recorded = [] if request.recorded is None else read_recorded(request.recorded, model.prepared)
    given = request.inputs
    if given is None and request.recorded is not None:
        given = input_folder(request.recorded, recorded)
    data_sets = choose_inputs(model.original, given, request.shapes, request.seed, request.values)
    return PreparedAudit(request, model, data_sets, recorded, None if given else request.seed)


def audit_model(
    model: onnx.ModelProto | bytes | str | os.PathLike[str],
    backend: str,
    *,
    inputs: Values | str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> ModelAudit:
    """Judge every node of a model on the values that a backend computes for it, and print nothing.

    Args:
        model: the model, its bytes, or its file.
        backend: the backend, by its name on the command line.
        inputs: arrays by name or in order, or a file or folder as for `--inputs`; None for pseudo-random inputs.
        seed: the seed of pseudo-random inputs.

    Raises:
        ConformanceError: the model or the inputs cannot be read, or the backend cannot be started.
    """
    folder = Path(inputs) if isinstance(inputs, (str, os.PathLike)) else None
    with (
        _file_of(model) as path,
        prepare_audit(AuditRequest(path, [backend], inputs=folder, seed=seed)) as prepared,
    ):
        if isinstance(inputs, (str, os.PathLike)) or inputs is None:
            return prepared.run()
        given = given_inputs(prepared.model.original.graph, inputs)
        return replace(prepared, data_sets=[given], seed=None).run()


@contextmanager
def _file_of(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the file of a model; one without a file is read from a temporary one, so that all models are read alike."""
    if isinstance(model, (str, os.PathLike)):
        yield Path(model)
        return
    content = model if isinstance(model, bytes) else model.SerializeToString()
    with supervised_temp_dir() as folder:
        write_bytes_atomically(folder / "model.onnx", content)
        yield folder / "model.onnx"
