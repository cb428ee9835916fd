"""Two ways to compute one model: a rewrite or a second model beside it on one subject, or the model on two subjects.

A `Comparison` runs both ways and returns two answers. A failure of a graph optimizer or of a subject is an answer too.
`OpenSubjects` starts the subjects, each in its own process unless isolation is off.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.errors import ModelError
from conformance.base.verdicts import Verdict
from conformance.exact.models.external_data import external_bytes, external_tensors, load_tensor
from conformance.exact.models.graphs import call_expansion_problem, copy_of
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_validity import find_new_faults, model_violation, open_outputs, with_known_ranks
from conformance.own.graphs.intermediate_values import SubjectRefused, are_identical, run_once, set_data_folder
from conformance.subjects.calling.harness import has_type, type_name_of
from conformance.subjects.calling.request import CaseEnded, call_running_subject
from conformance.subjects.isolation.start_subjects import client_of, started_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.models.arrays import Array
    from conformance.own.blame.second_model import SecondModel
    from conformance.own.graphs.fed_model import FedModel
    from conformance.subjects.calling.subject_names import Subject, SubjectName
    from conformance.subjects.isolation.protocol import Limits


class Failure(StrEnum):
    """The way in which a computation of the model failed."""

    NONE = ""
    REWRITE = "the graph optimizer fails"
    INVALID = "the graph optimizer returns an invalid model"
    RUN = "the subject does not run the model"
    UNSUPPORTED = "the subject does not support the model"


@dataclass(frozen=True)
class Computation:
    """The outputs of one way to compute a model, or the reason why there are none.

    Attributes:
        outputs: the outputs; empty after a failure.
        failure: the kind of failure.
        message: the message of the subject or of the checker.
        model: the model that was run: the given one, or its rewrite; None if there is no rewrite.
    """

    outputs: Sequence[Any] = ()
    failure: Failure = Failure.NONE
    message: str = ""
    model: onnx.ModelProto | None = None


def run_model(backend: Any, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Computation:
    """Run a model on a backend, and return its outputs or its failure.

    Raises:
        StorageError, SubjectError: as for `run_each`; they are no answers to a model.
    """
    names = required_input_names(model.graph)
    if missing := [name for name in names if name not in inputs]:
        return Computation((), Failure.INVALID, f"the model has a new input {missing[0]}", model)
    try:
        (outputs,) = run_once(backend, model, [inputs[name] for name in names])
    except SubjectRefused as refusal:
        return Computation((), Failure.UNSUPPORTED if refusal.is_unsupported else Failure.RUN, str(refusal), model)
    return Computation(outputs, model=model)


MAX_REWRITTEN_BYTES = 2**31 - 2**26
"""Maximum size of the external data of a model that a graph optimizer gets: an encoded model has at most 2 GiB."""


class TimeIsOverError(Exception):
    """Ends a step from any depth when its time is over: computing and judging a large model takes time too."""


@dataclass
class Comparison:
    """Both ways to compute a model.

    Attributes:
        first: the subject that runs the model.
        second: the subject that runs the rewrite, which is `first`, or the second subject.
        optimizer: the graph optimizer; None for two subjects or two models.
        second_model: the second model, which takes the place of the rewrite; None if there is one model.
        progress: is called with a text for the user.
        data_folder: the folder of the external data of all models; None if they have all tensors.

    A failure is not computed again for the same fed model, because it may have taken the whole time limit.
    """

    first: Subject
    second: Subject
    optimizer: Subject | None = None
    second_model: SecondModel | None = None
    progress: Callable[[str], None] = lambda _: None
    data_folder: Path | None = None
    _deadline: float = field(default=math.inf, init=False)
    _failed: dict[tuple[bool, str], Computation] = field(default_factory=dict, init=False)

    @property
    def names(self) -> tuple[str, str]:
        """The names of both ways, for reports."""
        if self.second_model is not None:
            return f"{self.first.id}, first model", f"{self.second.id}, {self.second_model.model.path.name}"
        if self.optimizer is None:
            return self.first.id, self.second.id
        return f"{self.first.id}, original model", f"{self.first.id}, model rewritten by {self.optimizer.id}"

    @property
    def has_rewrite(self) -> bool:
        """Whether the second way computes another model than the first."""
        return self.optimizer is not None or self.second_model is not None

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Limit the time of a block, whose steps raise `TimeIsOverError` after a time (`time.monotonic`)."""
        before = self._deadline
        self._deadline = deadline
        try:
            yield
        finally:
            self._deadline = before

    def note(self, text: str) -> None:
        """Show the progress of a long step, and end the step if its time is over.

        Raises:
            TimeIsOverError: the time of the block of `until` is over.
        """
        if time.monotonic() > self._deadline:
            raise TimeIsOverError
        self.progress(text)

    def answers(self, fed: FedModel) -> tuple[Computation, Computation]:
        """Compute the model in both ways."""
        return self._answer_once(fed, is_second=False), self._answer_once(fed, is_second=True)

    def changed_way(self, fed: FedModel, answers: tuple[Computation, Computation]) -> str | None:
        """Compute the model again, and return the name of a way whose answer has changed; None if both are as before.

        Args:
            fed: the model and its inputs.
            answers: the answers before, without a failure.
        """
        for name, before, again in zip(self.names, answers, self.answers(fed), strict=True):
            if again.failure or not are_identical(before.outputs, again.outputs):
                return name
        return None

    def _answer_once(self, fed: FedModel, *, is_second: bool) -> Computation:
        known = self._failed.get((is_second, fed.digest())) if self._failed else None
        answer = known or self.answer(fed, is_second=is_second)
        if answer.failure:
            self._failed[is_second, fed.digest()] = answer
        return answer

    def answer(self, fed: FedModel, *, is_second: bool) -> Computation:
        """Compute the model in one of both ways."""
        return self._second_answer(fed) if is_second else run_model(self.first.target, fed.model, fed.inputs)

    def _second_answer(self, fed: FedModel) -> Computation:
        if not self.has_rewrite:
            return run_model(self.second.target, fed.model, fed.inputs)
        rewritten = self.rewrite(fed.model)
        if rewritten.failure or rewritten.model is None:
            return rewritten
        return run_model(self.second.target, rewritten.model, fed.inputs)

    def rewrite(self, model: onnx.ModelProto) -> Computation:
        """Return the rewrite of a model without outputs, or the failure of the graph optimizer.

        The graph optimizer gets a model with all tensors.

        Raises:
            ModelError: the model is too large for that.
        """
        if self.second_model is not None:
            part = self.second_model.part(model)
            message = "no part of the second model has these inputs and outputs"
            return Computation(model=part) if part else Computation((), Failure.INVALID, message)
        optimizer = self.optimizer
        assert optimizer is not None
        copy = copy_of(model)
        if self.data_folder is not None:
            tensors = [(each, external_bytes(each, self.data_folder)) for each in external_tensors(copy)]
            if sum(content.nbytes for _, content in tensors) > MAX_REWRITTEN_BYTES:
                raise ModelError("too-large.to-rewrite", most=MAX_REWRITTEN_BYTES)
            for tensor, content in tensors:
                load_tensor(tensor, content)
        try:
            rewritten = call_running_subject(optimizer.id, "optimize", lambda: optimizer.target(copy))
        except CaseEnded as ended:
            failure = Failure.UNSUPPORTED if ended.verdict is Verdict.UNSUPPORTED else Failure.REWRITE
            return Computation((), failure, ended.message)
        if not has_type(rewritten, onnx.ModelProto):
            return Computation((), Failure.INVALID, f"returned {type_name_of(rewritten)}, not a model")
        if fault := find_fault(model, rewritten):
            return Computation((), Failure.INVALID, fault, rewritten)
        return Computation(model=rewritten)


def find_fault(model: onnx.ModelProto, rewritten: onnx.ModelProto) -> str:
    """Return why the rewrite of a valid model is not valid; an empty text if it is valid."""
    before, after = ([value.name for value in each.graph.output] for each in (model, rewritten))
    if len(before) != len(after):
        return f"it has {len(after)} outputs instead of {len(before)}"
    if fault := model_violation(with_known_ranks(rewritten, open_outputs(model))) or next(
        find_new_faults(model, rewritten), ""
    ):
        return fault
    return call_expansion_problem(rewritten) or ""


class OpenSubjects:
    """Starts subjects by name.

    Args:
        limits: limits of each process.
        in_process: whether subjects written in Python run in this process.

    Attributes:
        data_folder: the folder of the external data of all models that the subjects will load; None without such data.
    """

    def __init__(self, limits: Limits, *, in_process: bool = False) -> None:
        self.data_folder: Path | None = None
        self._limits = limits
        self._in_process = in_process
        self._in_this_process: dict[SubjectName, Subject] = {}

    @contextmanager
    def open(self, *names: SubjectName) -> Iterator[list[Subject]]:
        """Start subjects in processes of their own, and end them with the block.

        Without isolation, a subject is loaded once and is used again.

        Raises:
            ConformanceError: a subject cannot be loaded.
        """
        kept = self._in_this_process
        unique = [name for name in dict.fromkeys(names) if name not in kept]
        with started_subjects(unique, self._limits, no_isolation=self._in_process) as subjects:
            found = dict(zip(unique, subjects, strict=True))
            kept.update({name: subject for name, subject in found.items() if client_of(subject) is None})
            chosen = [(kept | found)[name] for name in names]
            for subject in chosen:
                set_data_folder(subject.target, self.data_folder)
            yield chosen

    @contextmanager
    def compare(
        self, first: SubjectName, second: SubjectName, optimizer: SubjectName | None = None
    ) -> Iterator[Comparison]:
        """Start the subjects of a comparison in new processes, and end them with the block."""
        with self.open(first, second, *([optimizer] if optimizer else [])) as subjects:
            chosen = subjects[2] if optimizer else None
            yield Comparison(subjects[0], subjects[1], chosen, data_folder=self.data_folder)
