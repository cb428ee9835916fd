"""Harnesses that fail on a model with an Abs, named for what they do: `python blame_harnesses.py NAME`.

They need only the standard library, so that they start again quickly after each failure.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from fake_harnesses import WellBehaved
from fake_optimizer_harnesses import Copies


def has_abs(command):
    return b"Abs" in Path(command["model"]).read_bytes()


class Optimizer(Copies):
    """Copies each model without Abs."""

    def optimize(self, command):
        if has_abs(command):
            self.fail()
        self.rewrite(Path(command["model"]), Path(command["output"]))
        return {"optimized": True}


class Backend(WellBehaved):
    """Supports no model without Abs."""

    def load(self, command):
        if has_abs(command):
            self.fail()
        return {"unsupported": "it has no Abs"}


class AbortingOptimizer(Optimizer):
    def fail(self):
        os.abort()


class EndlessOptimizer(Optimizer):
    def fail(self):
        time.sleep(1000)


class TruncatingOptimizer(Copies):
    """Writes the first half of each model."""

    def optimize(self, command):
        model = Path(command["model"]).read_bytes()
        Path(command["output"]).write_bytes(model[: len(model) // 2])
        return {"optimized": True}


class CrashingBackend(Backend):
    def fail(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class EndlessBackend(Backend):
    def fail(self):
        time.sleep(1000)


class StartsOnce(CrashingBackend):
    """Crashes at its start if the file of its argument exists, which the first start makes."""

    def start(self, command):
        marker = Path(sys.argv[2])
        if marker.exists():
            os.abort()
        marker.touch()
        return super().start(command)


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]().converse())
