"""Harnesses with faulty outputs, named for the fault: `python fake_output_harnesses.py NAME`."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from fake_harnesses import WellBehaved


class MistakesTypes(WellBehaved):
    def output(self, tensor):
        return {**tensor, "dtype": "int32"}


class SaysFloat32(WellBehaved):
    def output(self, tensor):
        return {**tensor, "dtype": "float32"}


class FlattensShapes(WellBehaved):
    def output(self, tensor):
        size = len(base64.b64decode(tensor["data"])) // 4
        return {**tensor, "shape": [size]}


class RunsTheGraphsOutputsTwice(WellBehaved):
    def run(self, command):
        answer = super().run(command)
        return {"outputs": answer["outputs"] * 2} if "outputs" in answer else answer


class CutsData(WellBehaved):
    def output(self, tensor):
        return {**tensor, "data": base64.b64encode(base64.b64decode(tensor["data"])[:-1]).decode()}


class LeavesOutPadding(WellBehaved):
    def output(self, tensor):
        return {**tensor, "data": tensor["data"].rstrip("=") + "!"}


class WritesBigEndian(WellBehaved):
    def output(self, tensor):
        data = base64.b64decode(tensor["data"])
        swapped = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
        return {**tensor, "data": base64.b64encode(swapped).decode()}


class TakesFiles(WellBehaved):
    """Reads inputs from files and writes outputs to files."""

    def start(self, command):
        return {**super().start(command), "files": True}

    def run(self, command):
        inputs = [
            {**{k: v for k, v in tensor.items() if k != "file"}, "data": self.read(tensor)}
            if "file" in tensor
            else tensor
            for tensor in command["inputs"]
        ]
        answer = super().run({**command, "inputs": inputs})
        if "files" in command:
            for number, output in enumerate(answer["outputs"]):
                output["file"] = self.path(command["files"], number)
                Path(output["file"]).write_bytes(base64.b64decode(output.pop("data")))
        return answer

    def read(self, tensor):
        return base64.b64encode(Path(tensor["file"]).read_bytes()).decode()

    def path(self, prefix, number):
        return f"{prefix}{number}"


class PutsFilesElsewhere(TakesFiles):
    def path(self, prefix, number):
        return f"{prefix}elsewhere_{number}"


class ReadsFilesInPart(TakesFiles):
    def read(self, tensor):
        return base64.b64encode(Path(tensor["file"]).read_bytes()[:-4]).decode()


class RunsWithTheLoad(WellBehaved):
    """Accepts a run together with the load before it."""

    def start(self, command):
        return {**super().start(command), "next": True}

    def following(self, command, answer):
        return command.get("next") if "loaded" in answer else None


class ForgetsTheRun(RunsWithTheLoad):
    def following(self, command, answer):
        return None


class RunsAfterALoadThatFailed(RunsWithTheLoad):
    def following(self, command, answer):
        return command.get("next")


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]().converse())
