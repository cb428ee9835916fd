"""Compute the files of a case's directory: model, inputs, expected outputs and case.json.

The oracle computes the expected outputs with their bounds and acceptable indices. Inputs and outputs are written as
`TensorProto` files, and case.json describes the case.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec import to_builtins
from msgspec.structs import asdict

from conformance.base.errors import CaseError
from conformance.base.jobs.job import ChunkResult, require_number, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.processes.start import available_processors
from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case_loading import (
    COMPANION_FILE,
    CaseDocument,
    DataSetPreview,
    ExpectedOutput,
    RewriteDocument,
    companion_bytes,
)
from conformance.exact.clauses import clauses
from conformance.exact.models.arrays import Array, tensor_of
from conformance.exact.models.input_files import DeclaredInput, GraphInputs, fed_input_names
from conformance.exact.models.model_validity import check_model, has_schemas
from conformance.exact.models.summaries import MAX_SHOWN_ELEMENTS, format_true_indices, model_summary, tensor_preview
from conformance.exact.reference.node_enclosures import answer_of, enclose, outputs_of_model
from conformance.exact.reference.oracle import Answer, answers, quiet_evaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from conformance.corpus.cases.case import Case


def with_answers(case: Case) -> Case:
    """Return a case with its answers: of enclosures of its nodes if the oracle has none or none of level `must`."""
    try:
        found = [answers(case.model, inputs, case.level) for inputs in case.data_sets]
        every = [each for outputs in found for each in outputs]
        is_refused = any(map(is_unbounded, every))  # `case_files` refuses it
        if case.level is not Level.MUST:
            exact = tuple(tuple(map(_bit_exact, outputs)) for outputs in found)
            return case if is_refused else replace(case, answers=exact)
        if not any(each.indeterminacy for each in every):
            return case if is_refused else replace(case, answers=tuple(map(tuple, found)))
    except Unsupported:
        pass
    model = onnx.load_model_from_string(case.model)
    return replace(case, answers=tuple(tuple(enclosed_answers(model, inputs)) for inputs in case.data_sets))


def enclosed_answers(
    model: onnx.ModelProto, inputs: Sequence[Any], compute: Callable[..., Sequence[Any]] = enclose
) -> list[Answer]:
    """Return the answers of enclosures of the nodes of a model.

    Args:
        model: the model.
        inputs: its inputs.
        compute: returns what `enclose` returns.

    Raises:
        Unsupported: a node has no enclosure.
    """
    with quiet_evaluation():
        return [answer_of(each) for each in outputs_of_model(compute, model, inputs)]


def case_files(case: Case, generator: str) -> dict[str, bytes]:
    """Return the content of every file of a case's directory, by relative path.

    Raises:
        CaseError: the case names an unknown clause, ONNX's checker or the oracle rejects the model, no element of an
            output is judged, or the level is `must` although admissible evaluations disagree by more than rounding.
    """
    unknown = [id for id in case.clauses if id not in clauses()]
    if unknown:
        raise CaseError("clause-unknown", case=case.id, unknown=unknown[0])
    model = _checked_model(case)
    files = {"model.onnx": case.model}
    previews = []
    for number, inputs in enumerate(case.data_sets):
        given = list(zip(fed_input_names(model.graph, len(inputs)), inputs, strict=True))
        names = [value.name for value in model.graph.output]
        given_answers = case.answers[number] if case.answers else _answers(case, inputs)
        outputs = list(zip(names, given_answers, strict=not case.is_invalid))
        _check_declared_outputs(case, model, outputs)
        if outputs and all(is_unbounded(answer) for _, answer in outputs):
            raise CaseError("output-unbounded", case=case.id)
        files |= _data_set(f"test_data_set_{number}", given, outputs)
        hazard = case.hazards[number] if case.hazards else None
        shown = [_expected_output_preview(*named) for named in outputs]
        previews.append(DataSetPreview([tensor_preview(*named) for named in given], shown, hazard or ""))
    if case.companion is not None:
        files[COMPANION_FILE] = companion_bytes(case.companion)
    files["case.json"] = _case_json(case, generator, model, previews)
    return files


def _checked_model(case: Case) -> onnx.ModelProto:
    """Parse a case's model and check it and its inputs.

    ONNX's checker is not applied to cases of kind `invalid`, because its result differs between versions of onnx.

    Raises:
        CaseError: ONNX rejects the model, or the inputs do not match its declarations.
    """
    with _model_errors(case):
        model = onnx.load_model_from_string(case.model)
    declared = GraphInputs.of(model)
    try:
        for inputs in case.data_sets:
            declared.by_name(inputs)
    except ValueError as error:
        raise CaseError("inputs-mismatch", case=case.id, error=error) from None
    if not case.is_invalid:
        with _model_errors(case):
            check_model(model, shapes=not case.full_check_exception and has_schemas(model))
    return model


@contextmanager
def _model_errors(case: Case) -> Iterator[None]:
    """Replace an error of onnx in the block by a `CaseError`."""
    try:
        yield
    except (DecodeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise CaseError("model-invalid", case=case.id, error=error) from None


def _check_declared_outputs(case: Case, model: onnx.ModelProto, outputs: Sequence[tuple[str, Answer]]) -> None:
    """Check that the model declares types and shapes that its outputs have.

    Raises:
        CaseError: an output has another type or shape.
    """
    for value, (name, answer) in zip(model.graph.output, outputs, strict=False):
        try:
            DeclaredInput.of(value).check(answer.expected.dtype, answer.expected.shape)
        except ValueError as error:
            raise CaseError("output-declaration", case=case.id, name=name, error=error) from None


def _answers(case: Case, inputs: Sequence[Array]) -> list[Answer]:
    """Return the acceptable values of each output; an empty list for an invalid model."""
    if case.is_invalid:
        return []
    try:
        outputs = answers(case.model, inputs, case.level)
    except Unsupported as error:
        raise CaseError("not-computable", case=case.id, error=error) from None
    for answer in outputs:
        if case.level is Level.MUST and answer.indeterminacy:
            raise CaseError("must-ambiguous", case=case.id, indeterminacy=answer.indeterminacy)
        if is_unbounded(answer):
            raise CaseError("output-unbounded", case=case.id)
    return outputs if case.level is Level.MUST else [_bit_exact(answer) for answer in outputs]


def is_unbounded(answer: Answer) -> bool:
    """Return whether every value of every element is admissible, so that nothing would be judged."""
    return answer.bound is not None and bool(answer.bound.size) and bool(np.isinf(answer.bound).all())


def _bit_exact(answer: Answer) -> Answer:
    """Return the answer with a bit-for-bit match in place of a bound that is 0 for every element.

    Unlike a bound of 0, a bit-for-bit match includes the sign of zero. It applies to level `should`.
    """
    if answer.bound is None or answer.bound.any():
        return answer
    return Answer(answer.expected, choices=answer.choices)


def _data_set(
    folder: str, inputs: Sequence[tuple[str, Array]], outputs: Sequence[tuple[str, Answer]]
) -> dict[str, bytes]:
    files = {}
    for i, (name, array) in enumerate(inputs):
        files[f"{folder}/input_{i}.pb"] = _tensor(array, name)
    for i, (name, answer) in enumerate(outputs):
        files[f"{folder}/output_{i}.pb"] = _tensor(answer.expected, name)
        if answer.choices is not None:
            files[f"{folder}/accept_{i}.pb"] = _tensor(answer.choices, name)
        elif answer.bound is not None:
            files[f"{folder}/bound_{i}.pb"] = _tensor(answer.bound, name)
    return files


def _tensor(array: Array, name: str) -> bytes:
    return bytes(tensor_of(array, name).SerializeToString(deterministic=True))


def _expected_output_preview(name: str, answer: Answer) -> ExpectedOutput:
    output = ExpectedOutput(**asdict(tensor_preview(name, answer.expected)), check=answer.check)
    if answer.bound is not None:
        output.bounds = [f"{bound:.3g}" for bound in answer.bound.flat[:MAX_SHOWN_ELEMENTS]]
    if answer.choices is not None:
        choices = answer.choices.reshape(-1, answer.choices.shape[-1])[:MAX_SHOWN_ELEMENTS]
        output.accept = [format_true_indices(acceptable) for acceptable in choices]
    return output


def _case_json(case: Case, generator: str, model: onnx.ModelProto, previews: Sequence[DataSetPreview]) -> bytes:
    document_of_rewrite = None
    if (rewrite := case.rewrite) is not None:
        document_of_rewrite = RewriteDocument(
            rewrite.effect, list(rewrite.once), list(rewrite.fixed_point), rewrite.check or ""
        )
    document = to_builtins(
        CaseDocument(
            case.title,
            case.level,
            generator,
            list(case.clauses),
            list(case.tags),
            model_summary(model),
            list(previews),
            document_of_rewrite,
            case.uses,
        )
    )
    if problem := schema_violation("case", document):
        raise CaseError("case-json-invalid", case=case.id, problem=problem)
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


MIN_CASES_FOR_PARALLEL = 100
"""Minimum number of cases for which starting worker processes is worth it."""


@dataclass(frozen=True)
class CaseFilesJob:
    """The job of computing the files of cases; each chunk of the job is one case.

    Attributes:
        cases: each case, with the name of its generator.
    """

    result_type: ClassVar[Any] = dict[str, bytes]

    cases: Sequence[tuple[str, Case]]

    def chunk_numbers(self) -> Iterable[int]:
        """Return the numbers of the chunks: the index of each case."""
        return range(len(self.cases))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.cases))

    @contextmanager
    def open(self) -> Iterator[Callable[[int], dict[str, bytes]]]:
        """Yield the function that executes a chunk: it returns the files of the case with the given index.

        Raises:
            CaseError: the files cannot be computed.
        """

        def compute(index: int) -> dict[str, bytes]:
            generator, case = self.cases[index]
            return case_files(case, generator)

        yield compute


def compute_case_files(cases: Sequence[tuple[str, Case]]) -> Iterator[tuple[Case, dict[str, bytes]]]:
    """Compute the files of cases in parallel and yield each case with its files when it is complete.

    Raises:
        CaseError: the files of a case cannot be computed.
    """
    job = CaseFilesJob(cases)
    # the message that a worker died is ignored, because another worker computes its case again
    workers = ProcessWorkers(available_processors() if len(cases) > MIN_CASES_FOR_PARALLEL else 1, lambda _: None)
    for chunk in run_job(job, workers):
        yield cases[chunk.number][1], chunk.result
