"""The audit of a model on all subjects and data sets: the function `audit_model` of the Python interface.

The command `audit` makes the same result, `ModelAudit`, and shows the progress meanwhile.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import supervised_temp_dir, write_bytes_atomically
from conformance.base.verdicts import Level
from conformance.exact.models.input_files import required_input_names
from conformance.own.audit.audit_report import (
    AuditOutcome,
    JudgedShare,
    audit_document,
    summary_text,
    text_lines,
)
from conformance.own.audit.audit_session import AuditOptions, audit_subject
from conformance.own.graphs.model_inputs import choose_inputs, given_inputs, input_text
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.exact.judgement.operator_call import Values
    from conformance.own.audit.audit_report import AuditDocument
    from conformance.own.audit.audit_session import SubjectAudit

PROBES = 5
"""The number of sets of hard values on which each distinct small node runs alone, unless the user gives another one."""

SECONDS = 60.0
"""The time limit of one call of a subject, unless the user gives another one."""

MAX_VALUES_BYTES = 2**33
"""Maximum size of all exposed values of one run."""


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

    def __str__(self) -> str:
        return "\n".join([*chain.from_iterable(map(text_lines, self.audits)), self.summary])

    @property
    def document(self) -> AuditDocument:
        """The content of the file of `audit --json`."""
        return audit_document(
            self.model, self.audits, self.inputs, self.seed, self.level, self.too_little, is_part=self.is_part
        )


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
    loaded = _read(model)
    original = loaded.original
    if inputs is None or isinstance(inputs, (str, os.PathLike)):
        data_sets = choose_inputs(original, None if inputs is None else Path(inputs), (), seed)
    else:
        data_sets = [given_inputs(original.graph, inputs)]
    named = [SubjectName.parse(backend, SubjectKind.BACKEND)]
    with started_subjects(named, audit_limits()) as (subject,):
        options = AuditOptions(probes=PROBES)
        audits = [audit_subject(loaded, subject, data_set, options=options) for data_set in data_sets]
    names = required_input_names(original.graph)
    texts = [input_text(names, data_set) for data_set in data_sets]
    return ModelAudit(loaded, audits, texts, seed if inputs is None else None)


def audit_limits(seconds: float = SECONDS) -> Limits:
    """Return the limits of a subject that is audited; `seconds` limits each of its calls."""
    return Limits(seconds, file=MAX_VALUES_BYTES, base_output=MAX_VALUES_BYTES)


def _read(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> LoadedModel:
    """Read a model; one without a file is read from a temporary one, so that all models are checked alike."""
    if isinstance(model, (str, os.PathLike)):
        return LoadedModel.read(Path(model))
    content = model if isinstance(model, bytes) else model.SerializeToString()
    with supervised_temp_dir() as folder:
        write_bytes_atomically(folder / "model.onnx", content)
        return LoadedModel.read(folder / "model.onnx")
