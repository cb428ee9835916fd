"""Harnesses that violate the protocol, named for what they do: `python fake_harnesses.py NAME`. They run Identity."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class WellBehaved:
    """A harness that follows the protocol; the others differ in one point."""

    kind = "backend"

    def __init__(self):
        self.model = None

    def converse(self):
        for line in sys.stdin.buffer:
            command = json.loads(line)
            if command["cmd"] == "stop":
                return self.stop()
            while command is not None:
                try:
                    answer = self.answer(command)
                except Exception as error:  # noqa: BLE001
                    answer = {"error": f"{type(error).__name__}: {error}"}
                self.write({"seq": command["seq"], **answer})
                command = self.following(command, answer)
        return self.end()

    def following(self, command, answer):
        """Return the command to execute before the next line is read: none."""

    def answer(self, command):
        if command["cmd"] not in {"start", "load", "run", "optimize"}:
            return self.unknown(command)
        return getattr(self, command["cmd"])(command)

    def write(self, answer):
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()

    def unknown(self, command):
        return {"error": f"unknown command {command['cmd']}"}

    def start(self, _):
        return {"version": 1, "name": "fake", "runtime_version": "1", "language": "Python", "kind": self.kind}

    def load(self, command):
        self.model = None
        import onnx

        model = onnx.ModelProto.FromString(Path(command["model"]).read_bytes())
        if model.graph.node[0].op_type != "Identity":
            return {"unsupported": "it is no Identity"}
        self.model = model
        return {"loaded": True}

    def run(self, command):
        if self.model is None:
            return {"error": "no model is loaded"}
        inputs = command["inputs"]
        if len(inputs) != len(self.model.graph.input):
            return {"error": "too few inputs"}
        return {"outputs": [self.output({**tensor, "name": "Y"}) for tensor in inputs]}

    def output(self, tensor):
        return tensor

    def stop(self):
        return 0

    def end(self):
        return 0


class ExitsAtOnce(WellBehaved):
    def converse(self):
        sys.stderr.write("libfoo.so: cannot open shared object file\n")
        return 3


class SaysNothing(WellBehaved):
    def converse(self):
        time.sleep(60)


class SpeaksVersion2(WellBehaved):
    def start(self, command):
        return {**super().start(command), "version": 2}


class ForgetsItsVersion(WellBehaved):
    def start(self, command):
        return {**super().start(command), "runtime_version": ""}


class LeavesOutItsLanguage(WellBehaved):
    def start(self, command):
        answer = super().start(command)
        del answer["language"]
        return answer


class IsOfAnotherKind(WellBehaved):
    kind = "oracle"


class CannotStart(WellBehaved):
    def start(self, _):
        return {"error": "the license has expired"}


class DiesOfUnknownCommands(WellBehaved):
    def unknown(self, command):
        raise SystemExit(1)


class IgnoresUnknownCommands(WellBehaved):
    def write(self, answer):
        if "unknown" not in answer.get("error", ""):
            super().write(answer)


class RunsWithoutAModel(WellBehaved):
    def run(self, command):
        return super().run(command) if self.model else {"outputs": []}


class CrashesOnBadModels(WellBehaved):
    def load(self, command):
        try:
            return super().load(command)
        except Exception:  # noqa: BLE001
            os.kill(os.getpid(), signal.SIGSEGV)


class LoadsAnything(WellBehaved):
    def load(self, command):
        try:
            return super().load(command)
        except Exception:  # noqa: BLE001
            return {"loaded": True}


class CallsUnsupportedAnError(WellBehaved):
    def load(self, command):
        answer = super().load(command)
        return {"error": answer["unsupported"]} if "unsupported" in answer else answer


class SupportsNothing(WellBehaved):
    def load(self, command):
        super().load(command)
        return {"unsupported": "I am a template"}


class RemembersItsFirstInputs(WellBehaved):
    def load(self, command):
        self.first = None
        return super().load(command)

    def run(self, command):
        answer = super().run(command)
        if "outputs" in answer:
            self.first = self.first or answer
            return self.first
        return answer


class KeepsItsFirstModel(WellBehaved):
    def load(self, command):
        first = self.model
        answer = super().load(command)
        self.model = first or self.model
        return answer

    def run(self, command):
        shape = [d.dim_value for d in self.model.graph.input[0].type.tensor_type.shape.dim] if self.model else None
        if self.model and any(tensor["shape"] != shape for tensor in command["inputs"]):
            return {"error": f"the model's input has the shape {shape}"}
        return super().run(command)


class KeepsTheModelAfterABadOne(WellBehaved):
    def load(self, command):
        before = self.model
        try:
            return super().load(command)
        finally:
            self.model = self.model or before


class TakesTooFewInputs(WellBehaved):
    def run(self, command):
        return super().run(command) if command["inputs"] or not self.model else {"outputs": []}


class MakesScalarsVectors(WellBehaved):
    def output(self, tensor):
        return {**tensor, "shape": tensor["shape"] or [1]}


class StumblesOverEmptyData(WellBehaved):
    def output(self, tensor):
        if not tensor["data"]:
            raise ValueError("no data")
        return tensor


class ReadsShortLines(WellBehaved):
    def run(self, command):
        if len(json.dumps(command)) > 1_000_000:
            os.abort()
        return super().run(command)


class PrintsAsItWorks(WellBehaved):
    def load(self, command):
        sys.stdout.write("loading the model ...\n")
        return super().load(command)


class AnswersTwice(WellBehaved):
    def write(self, answer):
        super().write(answer)
        super().write(answer)


class NumbersItsAnswersItself(WellBehaved):
    count = 0

    def write(self, answer):
        self.count += 1
        super().write({**answer, "seq": self.count})


class AddsAField(WellBehaved):
    def load(self, command):
        answer = super().load(command)
        return {**answer, "milliseconds": 3} if "loaded" in answer else answer


class IgnoresStop(WellBehaved):
    def stop(self):
        time.sleep(60)


class StopsWithStatus1(WellBehaved):
    def stop(self):
        return 1


class SaysGoodbye(WellBehaved):
    def stop(self):
        sys.stdout.write("goodbye\n")
        return 0


class OutlivesItsInput(WellBehaved):
    def end(self):
        time.sleep(60)


class LeavesAProcess(WellBehaved):
    def stop(self):
        nowhere = subprocess.DEVNULL
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=nowhere, stderr=nowhere)
        return 0


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]().converse())
