"""Harnesses that misbehave in what they answer with, named for it: `python fake_output_harnesses.py NAME`."""

from __future__ import annotations

import base64
import sys

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


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]().converse())
