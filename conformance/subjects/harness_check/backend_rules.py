"""Rules for harnesses of backends: loading, running, and the optional capabilities `files` and `next`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import type_name
from conformance.subjects.harness_check.harness_probes import (
    PROBED_TYPES,
    PROBES_BY_OPERATOR,
    Probe,
    argmax_probe,
    identity_probe,
    unknown_operator_probe,
)
from conformance.subjects.harness_check.harness_session import (
    HarnessSession,
    RuleSkipped,
    RuleViolation,
    excerpt,
    rules_of,
)
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.proxies import decode_value, take_tensor, write_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array


SCALAR_SHAPE = ()
EMPTY_SHAPE = (0,)
SMALL_SHAPE = (2, 3)
OTHER_SHAPE = (4,)
LARGE_SHAPE = (200_000,)
INVALID_MODEL = b"This is not a model.\n"


def first_supported_probe(session: HarnessSession) -> Callable[[Sequence[int], int], Probe]:
    """Find an operator that the harness supports; return the function that creates probes with this operator.

    Raises:
        RuleViolation: the harness answers a probe with neither outputs nor `unsupported`.
        RuleSkipped: the harness supports none of the operators.
    """
    for make_probe in PROBES_BY_OPERATOR.values():
        answer = _last_answer(session, make_probe(SMALL_SHAPE, 1))
        if "outputs" in answer:
            return make_probe
        if "unsupported" not in answer:
            raise RuleViolation("a valid model is answered with neither outputs nor `unsupported`")
    raise RuleSkipped(f"the harness supports none of {', '.join(PROBES_BY_OPERATOR)}")


def _last_answer(session: HarnessSession, probe: Probe) -> Mapping[str, Any]:
    """Return the answer to a load of the probe's model if it is not loaded, and otherwise the answer to its run."""
    answer = session.load(probe.model)
    return session.run(probe.inputs) if "loaded" in answer else answer


def check_outputs(probe: Probe, outputs: Sequence[Any], prefix: str = "") -> None:
    """Check that the output messages of a run contain the expected outputs of a probe.

    Args:
        probe: the probe.
        outputs: the messages.
        prefix: prefix of the paths of output files; empty if the suite has requested no files.

    Raises:
        RuleViolation: number, type, shape or an element of the outputs is wrong.
    """
    _check_output_count(probe, outputs)
    for number, (message, (name, expected)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        actual = decode_output(number, message, prefix)
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            types = format_type(actual.dtype.name, actual.shape), format_type(expected.dtype.name, expected.shape)
            raise RuleViolation(f"output {name} is {types[0]} instead of {types[1]}")
        if not np.array_equal(actual, expected):
            raise RuleViolation(f"output {name} is {_format_elements(actual)} instead of {_format_elements(expected)}")


def _check_output_count(probe: Probe, outputs: Sequence[Any]) -> None:
    if len(outputs) != len(probe.outputs):
        raise RuleViolation(f"the answer has {len(outputs)} outputs, and the graph has {len(probe.outputs)}")


def decode_output(number: int, message: Any, prefix: str = "") -> Array:
    """Return the tensor in an output message.

    Args:
        number: index of the output.
        message: the message.
        prefix: as for `check_outputs`.

    Raises:
        RuleViolation: the message lacks a field, its data does not match type and shape, or it names a file that was
            not requested.
    """
    try:
        if "file" in message:
            return take_tensor(message, f"{prefix}{number}" if prefix else "", Limits.file)
        array: Array = decode_value(message)
    except ValueError as error:
        raise RuleViolation(f"output {number} {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise RuleViolation(f"output {number} has no known `dtype`, no `shape` or no `data`") from None
    return array


def format_type(dtype: object, shape: object) -> str:
    """Return the type and shape of a tensor in words."""
    return f"{dtype} of shape {excerpt(list(shape)) if isinstance(shape, tuple | list) else shape}"


def _format_elements(array: Array) -> str:
    return excerpt(array.reshape(-1)[:8].tolist()) + ("…" if array.size > 8 else "")


def _check_run_before_load(session: HarnessSession) -> None:
    session.kill()
    session.expect_error(session.run({"X": np.zeros(1, np.float32)}))


def _check_invalid_model(session: HarnessSession) -> None:
    truncated = unknown_operator_probe().model.SerializeToString()[:-3]
    for content in (INVALID_MODEL, truncated):
        session.expect_error(session.load(content, "no_model"))


def _check_missing_file(session: HarnessSession) -> None:
    session.expect_error(session.ask("load", model=str(session.folder / "there_is_no_such_file.onnx")))


def _check_unsupported(session: HarnessSession) -> None:
    if "unsupported" not in _last_answer(session, unknown_operator_probe()):
        raise RuleViolation("the answer has no `unsupported`, neither to `load` nor to `run`")


def _check_unsupported_type(session: HarnessSession) -> None:
    """Check that each type is computed or unsupported, in a model of Identity, or of ArgMax if Identity is unsupported.

    Both have all these types, apart from ArgMax of bool, and an error can have no other cause than the type.
    """
    for make_probe in (identity_probe, argmax_probe):
        if "unsupported" in _last_answer(session, make_probe(SMALL_SHAPE, 1)):
            continue
        for dtype in PROBED_TYPES:
            is_admitted = make_probe is identity_probe or dtype != "bool"
            if is_admitted and "error" in _last_answer(session, make_probe(SMALL_SHAPE, 1, dtype)):
                raise RuleViolation(f"a tensor of type {dtype} is answered with an error")
        return
    raise RuleSkipped("the harness supports neither Identity nor ArgMax of float")


def _check_some_model_runs(session: HarnessSession) -> None:
    first_supported_probe(session)


def _check_types_and_shapes(session: HarnessSession) -> None:
    probe = first_supported_probe(session)(SMALL_SHAPE, 1)
    outputs = session.load_and_run_probe(probe)
    _check_output_count(probe, outputs)
    for number, (message, (name, array)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        if (message.get("name") or name) != name:
            raise RuleViolation(f"output {number} has the name {excerpt(message['name'])} instead of {name}")
        expected = (type_name(array.dtype), list(array.shape))
        actual = (message.get("dtype"), message.get("shape"))
        if actual != expected:
            raise RuleViolation(f"output {name} is {format_type(*actual)} instead of {format_type(*expected)}")


def _check_data_length(session: HarnessSession) -> None:
    for number, message in enumerate(session.load_and_run_probe(first_supported_probe(session)(SMALL_SHAPE, 1))):
        decode_output(number, message)


def _check_byte_order(session: HarnessSession) -> None:
    probe = first_supported_probe(session)(SMALL_SHAPE, 1)
    check_outputs(probe, session.load_and_run_probe(probe))


def _check_second_run(session: HarnessSession) -> None:
    make_probe = first_supported_probe(session)
    first = make_probe(SMALL_SHAPE, 1)
    second = make_probe(SMALL_SHAPE, 2)
    check_outputs(first, session.load_and_run_probe(first))
    check_outputs(second, session.run_probe(second))


def _check_second_load(session: HarnessSession) -> None:
    make_probe = first_supported_probe(session)
    for probe in (make_probe(SMALL_SHAPE, 1), make_probe(OTHER_SHAPE, 1)):
        check_outputs(probe, session.load_and_run_probe(probe))


def _check_failed_load(session: HarnessSession) -> None:
    probe = first_supported_probe(session)(SMALL_SHAPE, 1)
    session.load_and_run_probe(probe)
    session.expect_error(session.load(INVALID_MODEL, "no_model"))
    session.expect_error(session.run(probe.inputs))


def _check_missing_input(session: HarnessSession) -> None:
    probe = first_supported_probe(session)(SMALL_SHAPE, 1)
    session.load_and_run_probe(probe)
    session.expect_refusal(session.run(dict(list(probe.inputs.items())[:-1])))
    check_outputs(probe, session.run_probe(probe))


def _check_shape(shape: Sequence[int]) -> Callable[[HarnessSession], None]:
    """Return a check function that runs a probe with outputs of this shape.

    The check is skipped if the runtime answers with an error, because a runtime may reject unusual shapes.
    """

    def check(session: HarnessSession) -> None:
        probe = first_supported_probe(session)(shape, 1)
        for answer in (session.load(probe.model), session.run(probe.inputs)):
            if "error" in answer:
                raise RuleSkipped(
                    "the harness answers an error; if it is an error of the runtime, the harness needs no change: "
                    + excerpt(answer["error"])
                )
        check_outputs(probe, session.expect("outputs", answer))

    return check


_check_scalar = _check_shape(SCALAR_SHAPE)
_check_empty_tensor = _check_shape(EMPTY_SHAPE)
_check_long_lines = _check_shape(LARGE_SHAPE)


def _check_tensor_files(session: HarnessSession) -> None:
    """Check a run with inputs in files, and outputs in files if the harness writes them."""
    probe = first_supported_probe(session)(LARGE_SHAPE, 1)
    session.expect("loaded", session.load(probe.model))
    messages = [
        write_tensor(str(session.folder / f"input_{number}"), *each)
        for number, each in enumerate(probe.inputs.items())
        if each[1].size
    ]
    prefix = str(session.folder / "output_")
    outputs = session.expect("outputs", session.ask("run", inputs=messages, files=prefix))
    check_outputs(probe, outputs, prefix)


BACKEND_RULES = rules_of("backend", globals())
CAPABILITY_RULES = {"files": rules_of("files", globals())}
"""Rules for optional capabilities, by the key of `started` that declares the capability."""
