"""Facts about what a harness that runs models need not do, but says that it does."""

from __future__ import annotations

import numpy as np

from conformance.harness_check.fact import Fact
from conformance.harness_check.probing import LARGE, NO_MODEL, SMALL, compare, family
from conformance.harness_check.questions import Complaint, Questions
from conformance.isolation.tensor_files import put


def _takes_files(ask: Questions) -> None:
    """Look at a run whose inputs are in files, and whose outputs may be."""
    probe = family(ask)(LARGE, 1)
    ask.expect("loaded", ask.load(probe.model))
    messages = [
        put(str(ask.folder / f"input_{i}"), *each) for i, each in enumerate(probe.inputs.items()) if each[1].size
    ]
    prefix = str(ask.folder / "output_")
    outputs = ask.expect("outputs", ask.ask("run", inputs=messages, files=prefix))
    for place, output in enumerate(outputs):
        if "file" in output and output["file"] != f"{prefix}{place}":
            raise Complaint(f"output {place} is in another file than {prefix}{place}")
    compare(probe, outputs)


def _runs_with_the_load(ask: Questions) -> None:
    probe = family(ask)(SMALL, 1)
    loaded, ran = ask.load_and_run(probe.model, probe.inputs)
    ask.expect("loaded", loaded)
    compare(probe, ask.expect("outputs", ran or {}))


def _runs_nothing_after_a_load_that_fails(ask: Questions) -> None:
    before = len(ask.kept.stray)
    ask.expect_error(ask.load_and_run(NO_MODEL, {"X": np.zeros(1, np.float32)})[0])
    ask.expect_error(ask.load(NO_MODEL))
    if len(ask.kept.stray) > before:
        raise Complaint(f"the `run` is answered all the same: {ask.kept.stray[-1]}")


_IN_FILES = (
    Fact(
        "inputs in files are read, and outputs in files are where they belong",
        "Read the bytes of `file` as those of `data`, and write output N to the name in `files` with N behind it.",
        _takes_files,
    ),
)
_WITH_LOADS = (
    Fact(
        "a `run` that comes with a `load` is done at once, and answered behind it",
        "Answer `load` first; where that succeeded, do what is in its `then` as if it had come in a line of its own.",
        _runs_with_the_load,
    ),
    Fact(
        "a `run` that comes with a `load` which fails is not answered",
        "Answer `load` alone where it fails, and read the next line.",
        _runs_nothing_after_a_load_that_fails,
    ),
)

FACTS = {"files": _IN_FILES, "then": _WITH_LOADS}
"""By what a harness says of itself in `started`: tensors in files, and a command that comes with the one before."""
