"""Facts about harnesses that rewrite models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.harness_check.fact import Fact
from conformance.harness_check.probes import FAMILIES, Probe
from conformance.harness_check.probing import NO_MODEL, OTHER, SMALL
from conformance.harness_check.questions import Complaint, Questions, Skip
from conformance.models.checking import check

if TYPE_CHECKING:
    from pathlib import Path

PROBE = FAMILIES["ArgMax"](SMALL, 1)
LONG_TEXT = 1_500_000
"""Characters of documentation: more than any buffer holds."""


def _optimizes(ask: Questions) -> None:
    _rewritten(ask, PROBE)


def _leaves_its_input(ask: Questions) -> None:
    given = ask.file(PROBE.model)
    before = given.read_bytes()
    ask.expect("optimized", _ask(ask, given))
    if given.read_bytes() != before:
        raise Complaint("the file of the model that was given has changed")


def _knows_both_runs(ask: Questions) -> None:
    for fixed_point in (False, True):
        _rewritten(ask, PROBE, fixed_point=fixed_point)


def _optimizes_anew(ask: Questions) -> None:
    for probe in (PROBE, FAMILIES["Identity"](OTHER, 1), PROBE):
        came = _rewritten(ask, probe)
        if _interface(came) != _interface(probe.model):
            raise Complaint("the model in `output` has not the inputs and outputs of the one that was given")


def _optimizes_large_models(ask: Questions) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(PROBE.model)
    model.graph.doc_string = "x" * LONG_TEXT
    _rewritten(ask, Probe(model, PROBE.inputs, PROBE.outputs))


def _refuses_no_model(ask: Questions) -> None:
    ask.expect_error(_ask(ask, ask.file(NO_MODEL, "no_model")))


def _refuses_no_file(ask: Questions) -> None:
    ask.expect_error(_ask(ask, ask.folder / "there_is_no_such_file.onnx"))


def _does_not_load(ask: Questions) -> None:
    ask.expect_error(ask.load(PROBE.model))


def _rewritten(ask: Questions, probe: Probe, *, fixed_point: bool = False) -> onnx.ModelProto:
    """The model that came of one.

    Raises:
        Complaint: none came, or one that the checker refuses.
        Skip: the harness says that it is unsupported.
    """
    ask.expect("optimized", _ask(ask, ask.file(probe.model), fixed_point=fixed_point))
    output = _output(ask)
    if not output.is_file():
        raise Complaint("there is no file `output`")
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(output.read_bytes())
        check(model)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise Complaint(f"the file `output` is no valid model: {error}".splitlines()[0]) from None
    return model


def _ask(ask: Questions, given: Path, *, fixed_point: bool = False) -> dict[str, object]:
    if not ask.started.get("fixed_point", False) and fixed_point:
        raise Skip("the harness does not know single runs and runs to a fixed point apart")
    _output(ask).unlink(missing_ok=True)
    return ask.ask("optimize", model=str(given), output=str(_output(ask)), fixed_point=fixed_point)


def _output(ask: Questions) -> Path:
    return ask.folder / "rewritten.onnx"


def _interface(model: onnx.ModelProto) -> list[tuple[str, int]]:
    return [(value.name, value.type.tensor_type.elem_type) for value in (*model.graph.input, *model.graph.output)]


_CATCH = "Catch what the runtime raises as it reads the file, and answer its text as `error`."

FACTS = (
    Fact(
        "`load` is answered with an error by a harness of the kind `optimizer`",
        'Answer {"seq":N,"error":"unknown command load"}.',
        _does_not_load,
    ),
    Fact("a file that is no model is answered with an error, and the harness goes on", _CATCH, _refuses_no_model),
    Fact("a file that does not exist is answered with an error, and the harness goes on", _CATCH, _refuses_no_file),
    Fact(
        "a model is rewritten into the file `output`, and is valid",
        "Write the rewritten model there before the answer, also where nothing has changed.",
        _optimizes,
    ),
    Fact("the file of the model that is given stays as it is", "Write to `output` alone.", _leaves_its_input),
    Fact(
        "a single run and a run to a fixed point are both answered",
        "Heed `fixed_point` of the command, or leave it out of the answer to `start`.",
        _knows_both_runs,
    ),
    Fact(
        "one model after another is rewritten, each for itself",
        "Keep nothing from one `optimize` to the next.",
        _optimizes_anew,
    ),
    Fact("models of a megabyte are rewritten", "Read and write whole files.", _optimizes_large_models),
)
