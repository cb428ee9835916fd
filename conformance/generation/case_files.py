"""From a case to the files of its directory: the oracle's answers become outputs, bounds and acceptable indices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.clauses import clauses
from conformance.corpus.beside import BESIDE, beside_bytes
from conformance.errors import CaseError
from conformance.models.arrays import tensor_of, type_name, type_number
from conformance.models.checking import check
from conformance.models.feeds import fed_inputs, fed_names
from conformance.models.preview import SHOWN, alternatives, model_summary, preview
from conformance.reference.oracle import Answer, answers
from conformance.schemas import complaint
from conformance.verdicts import Level, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.case import Case
    from conformance.corpus.document import DataSetPreview, ExpectedOutput
    from conformance.models.arrays import Array


def files_of(case: Case, generator: str) -> dict[str, bytes]:
    """Every file of a case's directory, by its path in it.

    Raises:
        CaseError: the case names an unknown clause, has a model that ONNX or the oracle refuses, or is `must`
            where admissible evaluations disagree.
    """
    unknown = [id for id in case.clauses if id not in clauses()]
    if unknown:
        raise CaseError(f"Case {case.id} names the clause {unknown[0]}, which does not exist.", "See `list --clauses`.")
    model = _model(case)
    files = {"model.onnx": case.model}
    previews = []
    for number, inputs in enumerate(case.data_sets):
        given = list(zip(fed_names(model.graph), inputs, strict=True))
        outputs = _outputs(case, model.graph, inputs)
        files |= _data_set(f"test_data_set_{number}", given, outputs)
        previews.append(_preview(given, outputs, case.hazards[number] if case.hazards else None))
    if case.beside is not None:
        files[BESIDE] = beside_bytes(case.beside)
    files["case.json"] = _case_json(case, generator, model, previews)
    return files


def _model(case: Case) -> onnx.ModelProto:
    """A case's model, after making sure that the inputs are those that it declares and that ONNX accepts it.

    An invalid model is not shown to ONNX's checker: its opinion on these differs by version.

    Raises:
        CaseError: it is not so.
    """
    try:
        model = onnx.load_model_from_string(case.model)
        if not case.is_invalid:
            check(model)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise CaseError(f"Case {case.id} has a model that onnx refuses: {error}", "Mend its generator.") from None
    values = fed_inputs(model.graph)
    for inputs in case.data_sets:
        if len(inputs) != len(values) or not all(map(_is_declared, inputs, values)):
            raise CaseError(f"Case {case.id} has inputs that its model does not declare.", "Mend its generator.")
    return model


def _is_declared(array: Array, value: onnx.ValueInfoProto) -> bool:
    """Whether an array is of a value's type and shape; a dimension that is symbolic or open is of any size."""
    tensor = value.type.tensor_type
    if type_number(type_name(array.dtype)) != tensor.elem_type:
        return False
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    fits = len(sizes) == array.ndim and all(a in (b, None) for a, b in zip(sizes, array.shape, strict=True))
    return fits or not tensor.HasField("shape")


def _outputs(case: Case, graph: onnx.GraphProto, inputs: Sequence[Array]) -> list[tuple[str, Answer]]:
    """What must come out, by the output's name; nothing of a model that must be rejected."""
    if case.is_invalid:
        return []
    return list(zip([value.name for value in graph.output], _answers(case, inputs), strict=True))


def _answers(case: Case, inputs: Sequence[Array]) -> list[Answer]:
    try:
        outputs = answers(case.model, inputs, case.level)
    except Unsupported as error:
        raise CaseError(f"The oracle cannot run case {case.id}: {error}.", "Use the suite's operators only.") from None
    for answer in outputs:
        if case.level is Level.MUST and answer.unsettled:
            raise CaseError(
                f"Case {case.id} is must, but admissible evaluations disagree: {answer.unsettled}.",
                "Choose other values, or make it should.",
            )
        if answer.bound is not None and answer.bound.size and np.isinf(answer.bound).all():
            raise CaseError(f"Case {case.id} has an output that accepts anything.", "Choose other values.")
    return outputs if case.level is Level.MUST else [_bit_exact(answer) for answer in outputs]


def _bit_exact(answer: Answer) -> Answer:
    """At level `should`, what no rounding touches must match bit for bit, the sign of a zero included."""
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


def _preview(
    inputs: Sequence[tuple[str, Array]], outputs: Sequence[tuple[str, Answer]], hazard: str | None
) -> DataSetPreview:
    shown: DataSetPreview = {
        "inputs": [preview(*named) for named in inputs],
        "outputs": [_expected(*named) for named in outputs],
    }
    return {**shown, "hazard": hazard} if hazard else shown


def _expected(name: str, answer: Answer) -> ExpectedOutput:
    output: ExpectedOutput = {**preview(name, answer.expected), "check": answer.check}  # type: ignore[typeddict-item]
    if answer.bound is not None:
        output["bounds"] = [f"{bound:.3g}" for bound in answer.bound.flat[:SHOWN]]
    if answer.choices is not None:
        choices = answer.choices.reshape(-1, answer.choices.shape[-1])[:SHOWN]
        output["accept"] = [alternatives(acceptable) for acceptable in choices]
    return output


def _case_json(case: Case, generator: str, model: onnx.ModelProto, previews: Sequence[DataSetPreview]) -> bytes:
    document: dict[str, Any] = {
        "title": case.title,
        "level": str(case.level),
        "generator": generator,
        "clauses": list(case.clauses),
        "tags": list(case.tags),
        "model": model_summary(model),
        "data_sets": previews,
    }
    if case.rewrite is not None:
        rewrite = case.rewrite
        document["rewrite"] = {
            "answer": str(rewrite.answer),
            "once": list(rewrite.once),
            "fixed_point": list(rewrite.fixed_point),
        } | ({"check": rewrite.check} if rewrite.check else {})
    if problem := complaint("case", document):
        raise CaseError(f"Case {case.id} would have an invalid case.json: {problem}.", "Mend its generator.")
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
