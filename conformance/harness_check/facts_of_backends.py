"""Facts about harnesses that run models."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from conformance.harness_check.fact import Fact
from conformance.harness_check.probes import FAMILIES, unheard_of
from conformance.harness_check.probing import LARGE, NO_MODEL, OTHER, SMALL, array_of, compare, family, type_in_words
from conformance.harness_check.questions import Complaint, Questions, Skip, in_short
from conformance.models.arrays import type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCALAR, EMPTY = (), (0,)

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
    family(ask)


def _has_types_and_shapes(ask: Questions) -> None:
    probe = family(ask)(SMALL, 1)
    outputs = ask.outputs_of(probe)
    if len(outputs) != len(probe.outputs):
        raise Complaint(f"{len(outputs)} outputs came of a graph that has {len(probe.outputs)}")
    for place, (output, (name, array)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        if (output.get("name") or name) != name:
            raise Complaint(f"output {place} is called {in_short(output['name'])}, and in the graph {name}")
        expected, came = (type_name(array.dtype), list(array.shape)), (output.get("dtype"), output.get("shape"))
        if came != expected:
            raise Complaint(f"output {name} is said to be {type_in_words(*came)}, and is {type_in_words(*expected)}")


def _fills_its_shapes(ask: Questions) -> None:
    for place, output in enumerate(ask.outputs_of(family(ask)(SMALL, 1))):
        array_of(place, output)


def _computes(ask: Questions) -> None:
    probe = family(ask)(SMALL, 1)
    compare(probe, ask.outputs_of(probe))


def _runs_twice(ask: Questions) -> None:
    of = family(ask)
    compare(of(SMALL, 1), ask.outputs_of(of(SMALL, 1)))
    compare(of(SMALL, 2), ask.ran(of(SMALL, 2)))


def _loads_anew(ask: Questions) -> None:
    of = family(ask)
    compare(of(SMALL, 1), ask.outputs_of(of(SMALL, 1)))
    compare(of(OTHER, 1), ask.outputs_of(of(OTHER, 1)))


def _drops_the_model(ask: Questions) -> None:
    probe = family(ask)(SMALL, 1)
    ask.outputs_of(probe)
    ask.expect_error(ask.load(NO_MODEL, "no_model"))
    ask.expect_error(ask.run(probe.inputs))


def _refuses_too_few(ask: Questions) -> None:
    probe = family(ask)(SMALL, 1)
    ask.outputs_of(probe)
    ask.expect_refusal(ask.run(dict(list(probe.inputs.items())[:-1])))
    compare(probe, ask.ran(probe))


def _of_shape(shape: Sequence[int]) -> Callable[[Questions], None]:
    """Look at outputs of that shape; what the runtime itself refuses cannot be looked at."""

    def look(ask: Questions) -> None:
        probe = family(ask)(shape, 1)
        for answer in (ask.load(probe.model), ask.run(probe.inputs)):
            if "error" in answer:
                raise Skip(_ERROR_BY_RUNTIME + in_short(answer["error"]))
        compare(probe, ask.expect("outputs", answer))

    return look


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

FACTS = tuple(chain(BEFORE, RUNNING))
