"""A backend whose behaviour depends on the graph name of a model, for tests of prefetching."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from conformance.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    import onnx


class ByName(ReferenceBackend):
    """The reference, except for models with some graph names."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: object):
        """Prepare a model, or behave as its graph name demands."""
        name = model.graph.name
        if name.startswith("says"):
            print(name, file=sys.stderr)  # noqa: T201
        if name == "sleeps":
            time.sleep(0.1)
        if name == "hangs":
            time.sleep(600)
        if name == "is_killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "raises":
            raise ValueError(name)
        prepared = super().prepare(model, device, **options)
        return _Dies() if name == "dies_as_it_runs" else _Sleeps(prepared) if name == "sleeps_as_it_runs" else prepared


class _Dies:
    def run(self, inputs: object):
        os.kill(os.getpid(), signal.SIGKILL)


class _Sleeps:
    def __init__(self, prepared) -> None:
        self.prepared = prepared

    def run(self, inputs: object):
        time.sleep(0.1)
        return self.prepared.run(inputs)
