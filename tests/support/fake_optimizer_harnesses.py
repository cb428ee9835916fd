"""Optimizer harnesses that violate the protocol, named for what they do: `python fake_optimizer_harnesses.py NAME`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fake_harnesses import WellBehaved


class Copies(WellBehaved):
    """A graph optimizer that follows the protocol and changes nothing."""

    kind = "optimizer"

    def start(self, command):
        return {**super().start(command), "passes": [], "fixed_point": True}

    def load(self, command):
        return self.unknown(command)

    run = load

    def optimize(self, command):
        import onnx

        onnx.load(command["model"])
        self.rewrite(Path(command["model"]), Path(command["output"]))
        return {"optimized": True}

    def rewrite(self, given, output):
        shutil.copyfile(given, output)


class KnowsOneKindOfRun(Copies):
    def start(self, command):
        return {**super().start(command), "fixed_point": False}


class WritesNoFile(Copies):
    def rewrite(self, given, output):
        pass


class WritesNonsense(Copies):
    def rewrite(self, given, output):
        output.write_text("optimized!")


class RemovesEveryNode(Copies):
    def rewrite(self, given, output):
        import onnx

        model = onnx.load(given)
        del model.graph.node[:]
        onnx.save(model, output)


class SpoilsItsInput(Copies):
    def rewrite(self, given, output):
        super().rewrite(given, output)
        given.write_bytes(given.read_bytes() + b"\x3a\x00")


class RewritesItsFirstModelAgain(Copies):
    first = None

    def rewrite(self, given, output):
        self.first = self.first or given.read_bytes()
        output.write_bytes(self.first)


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]().converse())
