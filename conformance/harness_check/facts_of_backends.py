"""Facts about harnesses that run models."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.harness_check.fact import Fact
from conformance.harness_check.probes import FAMILIES, Probe, unheard_of
from conformance.harness_check.questions import Complaint, Questions, Skip, in_short
from conformance.isolation.limits import Limits
from conformance.isolation.protocol import decoded
from conformance.isolation.tensor_files import put, taken
from conformance.models.arrays import type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.models.arrays import Array

SMALL, OTHER, SCALAR, EMPTY, LARGE = (2, 3), (4,), (), (0,), (200_000,)
NO_MODEL = b"This is no model.\n"

_ERROR_BY_RUNTIME = "the harness answers an error; if that is the runtime's own, there is nothing to mend: "


def _runs_nothing_before_load(ask: Questions) -> None:
    ask.abandon()
    ask.expect_error(ask.run({"X": np.zeros(1, np.float32)}))


def _refuses_no_model(ask: Questions) -> None:
    for content in (NO_MODEL, unheard_of().model.SerializeToString()[:-3]):
        ask.expect_error(ask.load(content, "no_model"))


def _refuses_no_file(ask: Questions) -> None:
    ask.expect_error(ask.ask("load", model=str(ask.folder / "there_is_no_such_file.onnx")))


def _says_unsupported(ask: Questions) -> None:
    probe = unheard_of()
    answer = ask.load(probe.model)
    if "loaded" in answer:
        answer = ask.run(probe.inputs)
    if "unsupported" not in answer:
        raise Complaint("the answer has no `unsupported`, neither to `load` nor to `run`")


def _runs(ask: Questions) -> None:
    _family(ask)


def _has_types_and_shapes(ask: Questions) -> None:
    probe = _family(ask)(SMALL, 1)
    outputs = ask.outputs_of(probe)
    if len(outputs) != len(probe.outputs):
        raise Complaint(f"{len(outputs)} outputs came of a graph that has {len(probe.outputs)}")
    for place, (output, (name, array)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        if (output.get("name") or name) != name:
            raise Complaint(f"output {place} is called {in_short(output['name'])}, and in the graph {name}")
        expected, came = (type_name(array.dtype), list(array.shape)), (output.get("dtype"), output.get("shape"))
        if came != expected:
            raise Complaint(f"output {name} is said to be {_type(*came)}, and is {_type(*expected)}")


def _fills_its_shapes(ask: Questions) -> None:
    for place, output in enumerate(ask.outputs_of(_family(ask)(SMALL, 1))):
        _array(place, output)


def _computes(ask: Questions) -> None:
    probe = _family(ask)(SMALL, 1)
    _compare(probe, ask.outputs_of(probe))


def _runs_twice(ask: Questions) -> None:
    of = _family(ask)
    _compare(of(SMALL, 1), ask.outputs_of(of(SMALL, 1)))
    _compare(of(SMALL, 2), ask.ran(of(SMALL, 2)))


def _loads_anew(ask: Questions) -> None:
    of = _family(ask)
    _compare(of(SMALL, 1), ask.outputs_of(of(SMALL, 1)))
    _compare(of(OTHER, 1), ask.outputs_of(of(OTHER, 1)))


def _drops_the_model(ask: Questions) -> None:
    probe = _family(ask)(SMALL, 1)
    ask.outputs_of(probe)
    ask.expect_error(ask.load(NO_MODEL, "no_model"))
    ask.expect_error(ask.run(probe.inputs))


def _refuses_too_few(ask: Questions) -> None:
    probe = _family(ask)(SMALL, 1)
    ask.outputs_of(probe)
    ask.expect_refusal(ask.run(dict(list(probe.inputs.items())[:-1])))
    _compare(probe, ask.ran(probe))


def _of_shape(shape: Sequence[int]) -> Callable[[Questions], None]:
    """Look at outputs of that shape; what the runtime itself refuses cannot be looked at."""

    def look(ask: Questions) -> None:
        probe = _family(ask)(shape, 1)
        for answer in (ask.load(probe.model), ask.run(probe.inputs)):
            if "error" in answer:
                raise Skip(_ERROR_BY_RUNTIME + in_short(answer["error"]))
        _compare(probe, ask.expect("outputs", answer))

    return look


def _takes_files(ask: Questions) -> None:
    """Look at a run whose inputs are in files, and whose outputs may be."""
    probe = _family(ask)(LARGE, 1)
    ask.expect("loaded", ask.load(probe.model))
    messages = [
        put(str(ask.folder / f"input_{i}"), *each) for i, each in enumerate(probe.inputs.items()) if each[1].size
    ]
    prefix = str(ask.folder / "output_")
    outputs = ask.expect("outputs", ask.ask("run", inputs=messages, files=prefix))
    for place, output in enumerate(outputs):
        if "file" in output and output["file"] != f"{prefix}{place}":
            raise Complaint(f"output {place} is in another file than {prefix}{place}")
    _compare(probe, outputs)


def _family(ask: Questions) -> Callable[[Sequence[int], int], Probe]:
    """The first kind of model that the harness runs.

    Raises:
        Complaint: it answers one with neither outputs nor `unsupported`.
        Skip: it supports none.
    """
    for of in FAMILIES.values():
        probe = of(SMALL, 1)
        answer = ask.load(probe.model)
        if "loaded" in answer:
            answer = ask.run(probe.inputs)
        if "outputs" in answer:
            return of
        if "unsupported" not in answer:
            raise Complaint("a valid model is answered with neither outputs nor `unsupported`")
    raise Skip(f"the harness supports none of {', '.join(FAMILIES)}")


def _compare(probe: Probe, outputs: Sequence[Any]) -> None:
    """Look whether outputs are a probe's, element by element.

    Raises:
        Complaint: they are not.
    """
    if len(outputs) != len(probe.outputs):
        raise Complaint(f"{len(outputs)} outputs came of a graph that has {len(probe.outputs)}")
    for place, (output, (name, expected)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        came = _array(place, output)
        if came.dtype != expected.dtype or came.shape != expected.shape:
            types = _type(came.dtype.name, came.shape), _type(expected.dtype.name, expected.shape)
            raise Complaint(f"output {name} is {types[0]}, and should be {types[1]}")
        if not np.array_equal(came, expected):
            raise Complaint(f"output {name} is {_elements(came)}, and should be {_elements(expected)}")


def _array(place: int, output: Any) -> Array:
    """An output's elements.

    Raises:
        Complaint: its data are not what its type and shape say.
    """
    try:
        return taken(output, output["file"], Limits.file) if "file" in output else decoded(output)
    except ValueError as error:
        raise Complaint(f"output {place} {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise Complaint(f"output {place} has no known `dtype`, no `shape` or no `data`") from None


def _type(dtype: object, shape: object) -> str:
    return f"{dtype} of shape {in_short(list(shape)) if isinstance(shape, tuple | list) else shape}"


def _elements(array: Array) -> str:
    return in_short(array.reshape(-1)[:8].tolist()) + ("…" if array.size > 8 else "")


BEFORE = (
    Fact(
        "`run` before any `load` is answered with an error",
        'Answer {"seq":N,"error":"no model is loaded"}.',
        _runs_nothing_before_load,
    ),
    Fact(
        "a file that is no model is answered with an error, and the harness goes on",
        "Catch what the runtime raises as it reads the file, and answer its text as `error`.",
        _refuses_no_model,
    ),
    Fact(
        "a file that does not exist is answered with an error, and the harness goes on",
        "Catch the failure to open it, and answer its text as `error`.",
        _refuses_no_file,
    ),
    Fact(
        "an operator that the runtime does not have is answered with `unsupported`",
        "Find the text or type by which the runtime says so, and answer `unsupported` instead of `error`.",
        _says_unsupported,
    ),
)

RUNNING = (
    Fact(
        f"a model is loaded and run: one node of {', '.join(FAMILIES)}, the first that is supported",
        "Answer what can be run with outputs, and what the runtime has no kernel for with `unsupported`.",
        _runs,
    ),
    Fact(
        "outputs are as many as the graph's and in its order, with their types and shapes",
        "Name types as TensorProto.DataType does, in lower case, and give a shape as a list of numbers.",
        _has_types_and_shapes,
    ),
    Fact(
        "the data of every output are base64, and as long as its type and shape say",
        "Encode the elements' bytes alone, with padding.",
        _fills_its_shapes,
    ),
    Fact(
        "the elements are little-endian and in C order, in both directions",
        "Look at how inputs are decoded and outputs encoded; the last index runs fastest.",
        _computes,
    ),
    Fact(
        "a second run on one load computes from its own inputs",
        "Keep the prepared model from `load`, and nothing from one `run` to the next.",
        _runs_twice,
    ),
    Fact("a second load takes the place of the first", "Drop the loaded model when `load` comes.", _loads_anew),
    Fact(
        "after a load that fails, no model is loaded",
        "Drop the loaded model when `load` comes, before the new one is read.",
        _drops_the_model,
    ),
    Fact(
        "an input too few is answered with an error, and the next run is right",
        "Hand the inputs over by name or number, and answer what the runtime then raises.",
        _refuses_too_few,
    ),
    Fact(
        "a tensor of rank 0 has the shape [] and one element", "Mind that [] is not [1] and not [0].", _of_shape(SCALAR)
    ),
    Fact(
        "a tensor without elements has a 0 in its shape and empty data",
        'Decode and encode "" as no bytes.',
        _of_shape(EMPTY),
    ),
    Fact(
        "lines of a megabyte are read and written",
        "Read whole lines however long, and write all of a line before the next is read.",
        _of_shape(LARGE),
    ),
)

IN_FILES = (
    Fact(
        "inputs in files are read, and outputs in files are where they belong",
        "Read the bytes of `file` as those of `data`, and write output N to the name in `files` with N behind it.",
        _takes_files,
    ),
)
"""What is looked at where the harness says that it takes files."""

FACTS = tuple(chain(BEFORE, RUNNING))
