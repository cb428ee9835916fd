"""Rules for harnesses of graph optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.exact.models.model_validity import check_model
from conformance.subjects.harness_check.backend_rules import INVALID_MODEL, OTHER_SHAPE, SMALL_SHAPE
from conformance.subjects.harness_check.harness_probes import Probe, argmax_probe, identity_probe
from conformance.subjects.harness_check.harness_session import HarnessSession, RuleSkipped, RuleViolation, rules_of

if TYPE_CHECKING:
    from pathlib import Path


PROBE = argmax_probe(SMALL_SHAPE, 1)
LONG_TEXT_CHARACTERS = 1_500_000
"""Length of a documentation string that makes a model larger than any buffer."""


def _check_load_refused(session: HarnessSession) -> None:
    session.expect_error(session.load(PROBE.model))


def _check_invalid_model(session: HarnessSession) -> None:
    session.expect_error(_request_optimize(session, session.write_model(INVALID_MODEL, "no_model")))


def _check_missing_file(session: HarnessSession) -> None:
    session.expect_error(_request_optimize(session, session.folder / "there_is_no_such_file.onnx"))


def _check_optimize(session: HarnessSession) -> None:
    _optimize_probe(session, PROBE)


def _check_input_file_unchanged(session: HarnessSession) -> None:
    given = session.write_model(PROBE.model)
    before = given.read_bytes()
    session.expect("optimized", _request_optimize(session, given))
    if given.read_bytes() != before:
        raise RuleViolation("the file of the input model has changed")


def _check_fixed_point(session: HarnessSession) -> None:
    for fixed_point in (False, True):
        _optimize_probe(session, PROBE, fixed_point=fixed_point)


def _check_several_models(session: HarnessSession) -> None:
    for probe in (PROBE, identity_probe(OTHER_SHAPE, 1), PROBE):
        optimized = _optimize_probe(session, probe)
        if _interface(optimized) != _interface(probe.model):
            raise RuleViolation("the model in `output` has other inputs or outputs than the input model")


def _check_large_model(session: HarnessSession) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(PROBE.model)
    model.graph.doc_string = "x" * LONG_TEXT_CHARACTERS
    _optimize_probe(session, Probe(model, PROBE.inputs, PROBE.outputs))


def _optimize_probe(session: HarnessSession, probe: Probe, *, fixed_point: bool = False) -> onnx.ModelProto:
    """Optimize the model of a probe, and return the optimized model.

    Raises:
        RuleViolation: the harness does not return a model, or ONNX's checker rejects the model.
        RuleSkipped: the harness answers `unsupported`.
    """
    session.expect("optimized", _request_optimize(session, session.write_model(probe.model), fixed_point=fixed_point))
    output = _output_path(session)
    if not output.is_file():
        raise RuleViolation("the file `output` does not exist")
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(output.read_bytes())
        check_model(model)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise RuleViolation(f"the file `output` is not a valid model: {error}".splitlines()[0]) from None
    return model


def _request_optimize(session: HarnessSession, given: Path, *, fixed_point: bool = False) -> dict[str, object]:
    if not session.started.get("fixed_point", False) and fixed_point:
        raise RuleSkipped("the harness does not distinguish a single run from running to a fixed point")
    output = _output_path(session)
    output.unlink(missing_ok=True)
    return session.ask("optimize", model=str(given), output=str(output), fixed_point=fixed_point)


def _output_path(session: HarnessSession) -> Path:
    return session.folder / "rewritten.onnx"


def _interface(model: onnx.ModelProto) -> list[tuple[str, int]]:
    return [(value.name, value.type.tensor_type.elem_type) for value in (*model.graph.input, *model.graph.output)]


OPTIMIZER_RULES = rules_of("optimizer", globals())
