"""How facts about backends use the probes: the first kind that a harness runs, and what its outputs should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.harness_check.probes import FAMILIES, Probe
from conformance.harness_check.questions import Complaint, Questions, Skip, in_short
from conformance.isolation.limits import Limits
from conformance.isolation.protocol import decoded
from conformance.isolation.tensor_files import taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.models.arrays import Array

SMALL, OTHER, LARGE = (2, 3), (4,), (200_000,)
NO_MODEL = b"This is no model.\n"


def family(ask: Questions) -> Callable[[Sequence[int], int], Probe]:
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


def compare(probe: Probe, outputs: Sequence[Any]) -> None:
    """Look whether outputs are a probe's, element by element.

    Raises:
        Complaint: they are not.
    """
    if len(outputs) != len(probe.outputs):
        raise Complaint(f"{len(outputs)} outputs came of a graph that has {len(probe.outputs)}")
    for place, (output, (name, expected)) in enumerate(zip(outputs, probe.outputs.items(), strict=True)):
        came = array_of(place, output)
        if came.dtype != expected.dtype or came.shape != expected.shape:
            types = type_in_words(came.dtype.name, came.shape), type_in_words(expected.dtype.name, expected.shape)
            raise Complaint(f"output {name} is {types[0]}, and should be {types[1]}")
        if not np.array_equal(came, expected):
            raise Complaint(f"output {name} is {_elements(came)}, and should be {_elements(expected)}")


def array_of(place: int, output: Any) -> Array:
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


def type_in_words(dtype: object, shape: object) -> str:
    """A tensor's type and shape, for people."""
    return f"{dtype} of shape {in_short(list(shape)) if isinstance(shape, tuple | list) else shape}"


def _elements(array: Array) -> str:
    return in_short(array.reshape(-1)[:8].tolist()) + ("…" if array.size > 8 else "")
