"""The fake harness: each name is a program with one behaviour, `python fake_harness.py NAME`.

- The subclasses of `WellBehaved` follow the protocol except for one point. They run Identity, or copy models.
- The functions of `FAULTS` break the protocol at every second load, and `TENSORS` at each run.
- The functions of `ATTACKS` answer `run` or `optimize` with what harms the memory or the results of the suite.

Harnesses import the messages of onnx only if they read a model, so that they start quickly.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from array import array
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MEBI = 2**20


def write(text: str | bytes) -> None:
    content = memoryview(text if isinstance(text, bytes) else text.encode())
    while content:
        content = content[os.write(1, content[: 64 * MEBI]) :]


def read_model(path: str | Path) -> Any:
    """Return a model, read with the module of onnx's messages alone; the import of onnx takes four times as long."""
    sys.path += find_spec("onnx").submodule_search_locations
    import onnx_ml_pb2

    return onnx_ml_pb2.ModelProto.FromString(Path(path).read_bytes())


def answer(seq: int, **members: Any) -> None:
    write(json.dumps({"seq": seq, **members}) + "\n")


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
            try:
                answer = self.answer(command)
            except Exception as error:  # noqa: BLE001
                answer = {"error": f"{type(error).__name__}: {error}"}
            self.write({"seq": command["seq"], **answer})
        return self.end()

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
        model = read_model(command["model"])
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


class CountsItsModelsInFloats(WellBehaved):
    def start(self, command):
        return {**super().start(command), "models": 1.0}


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


# Faults of outputs.


class KnowsFloatAlone(WellBehaved):
    def output(self, tensor):
        return {**tensor, "dtype": {"float": "float"}[tensor["dtype"]]}


class KnowsArgMaxOfFloatAlone(WellBehaved):
    """It runs ArgMax of two rows, and no Identity."""

    def load(self, command):
        super().load(command)
        model = read_model(command["model"])
        if model.graph.node[0].op_type != "ArgMax":
            return {"unsupported": "it is no ArgMax"}
        self.model = model
        return {"loaded": True}

    def output(self, tensor):
        elements = memoryview(base64.b64decode(tensor["data"])).cast({"float": "f"}[tensor["dtype"]])
        half = len(elements) // 2
        indices = array("q", (elements[place + half] > elements[place] for place in range(half)))
        data = base64.b64encode(indices.tobytes()).decode()
        return {**tensor, "dtype": "int64", "shape": tensor["shape"][1:], "data": data}


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


class Copies(WellBehaved):
    """A graph optimizer that follows the protocol and changes nothing."""

    kind = "optimizer"

    def start(self, command):
        return {**super().start(command), "passes": [], "fixed_point": True}

    def load(self, command):
        return self.unknown(command)

    run = load

    def optimize(self, command):
        read_model(command["model"])
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
        model = read_model(given)
        del model.graph.node[:]
        output.write_bytes(model.SerializeToString())


class SpoilsItsInput(Copies):
    def rewrite(self, given, output):
        super().rewrite(given, output)
        given.write_bytes(given.read_bytes() + b"\x3a\x00")


class RewritesItsFirstModelAgain(Copies):
    first = None

    def rewrite(self, given, output):
        self.first = self.first or given.read_bytes()
        output.write_bytes(self.first)


# Harnesses that fail on a model with an Abs, for `blame`.


def has_abs(command):
    return b"Abs" in Path(command["model"]).read_bytes()


class NoAbsOptimizer(Copies):
    """Copies each model without Abs."""

    def optimize(self, command):
        if has_abs(command):
            self.fail()
        self.rewrite(Path(command["model"]), Path(command["output"]))
        return {"optimized": True}


class NoAbsBackend(WellBehaved):
    """Supports no model without Abs."""

    def load(self, command):
        if has_abs(command):
            self.fail()
        return {"unsupported": "it has no Abs"}


class AbortingOptimizer(NoAbsOptimizer):
    def fail(self):
        os.abort()


class EndlessOptimizer(NoAbsOptimizer):
    def fail(self):
        time.sleep(1000)


class TruncatingOptimizer(Copies):
    """Writes the first half of each model."""

    def optimize(self, command):
        model = Path(command["model"]).read_bytes()
        Path(command["output"]).write_bytes(model[: len(model) // 2])
        return {"optimized": True}


class CrashingBackend(NoAbsBackend):
    def fail(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class EndlessBackend(NoAbsBackend):
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


ON_ABS = ("NoAbsOptimizer", "NoAbsBackend", "AbortingOptimizer", "EndlessOptimizer", "TruncatingOptimizer")
ON_ABS += ("CrashingBackend", "EndlessBackend", "StartsOnce")


# Faults at every second load.


def half_a_line_then_dies(seq: int) -> None:
    write('{"seq":')
    os._exit(1)


def answers_the_wrong_case(seq: int) -> None:
    answer(seq - 1, loaded=True)


def answers_twice(seq: int) -> None:
    line = json.dumps({"seq": seq, "loaded": True}) + "\n"
    write(line + line)


def speaks_plain_text(seq: int) -> None:
    write("Loaded <b>model</b>.\n")


def writes_no_utf8(seq: int) -> None:
    write(b"\xff\xfe\x00\n")


def endless_line(seq: int) -> None:
    while True:
        write("x" * 65536)


def floods_lines(seq: int) -> None:
    while True:
        write("progress\n" * 1000)


def deep_json(seq: int) -> None:
    write("[" * 100_000 + "]" * 100_000 + "\n")


def huge_number(seq: int) -> None:
    write('{"seq":' + "9" * 10_000 + ',"loaded":true}\n')


def not_a_number(seq: int) -> None:
    write('{"seq":NaN,"loaded":true}\n')


def answers_a_list(seq: int) -> None:
    write("[1]\n")


def answers_another_command(seq: int) -> None:
    answer(seq, outputs=[])


def invents_members(seq: int) -> None:
    answer(seq, loaded=True, also="this")


def closes_stdout(seq: int) -> None:
    os.close(1)
    time.sleep(1000)


def closes_stdin(seq: int) -> None:
    os.close(0)
    answer(seq, unsupported="this time")
    time.sleep(1000)


def dies_after_its_answer(seq: int) -> None:
    answer(seq, unsupported="this time")
    os._exit(5)


FAULTS: tuple[Callable[[int], None], ...] = (
    half_a_line_then_dies,
    answers_the_wrong_case,
    answers_twice,
    speaks_plain_text,
    writes_no_utf8,
    endless_line,
    floods_lines,
    deep_json,
    huge_number,
    not_a_number,
    answers_a_list,
    answers_another_command,
    invents_members,
    closes_stdout,
    closes_stdin,
    dies_after_its_answer,
)

TENSORS = {
    "sends_bad_base64": {"dtype": "float", "shape": [2], "data": "AAAA!AAAAAAA"},
    "sends_too_few_bytes": {"dtype": "float", "shape": [2, 3], "data": "AAAAAA=="},
    "names_an_unknown_type": {"dtype": "float33", "shape": [1], "data": "AAAAAA=="},
    "has_a_negative_shape": {"dtype": "float", "shape": [-1], "data": "AAAAAA=="},
    "has_an_enormous_shape": {"dtype": "float", "shape": [2**60], "data": "AAAAAA=="},
    "has_an_enormous_product": {"dtype": "float", "shape": [2**40] * 30, "data": "AAAAAA=="},
    "says_it_changed_input_99": None,
}
"""The tensor in the answer to `run`."""


# Answers to `run` or `optimize` that are attacks.


def claims_endless_seconds(command: dict[str, Any]) -> None:
    answer(command["seq"], outputs=[], seconds=1.7e308)


def writes_three_sparse_gibibytes(command: dict[str, Any]) -> None:
    outputs = []
    for number in range(3):
        path = f"{command['files']}{number}"
        with Path(path).open("wb") as stream:
            stream.truncate(2**30)
        outputs.append({"dtype": "float", "shape": [2**28], "file": path})
    answer(command["seq"], outputs=outputs)


def writes_sparse_outputs_up_to_the_limit(command: dict[str, Any]) -> None:
    path = f"{command['files']}0"
    with Path(path).open("wb") as stream:
        stream.truncate(8 * MEBI)
    answer(command["seq"], outputs=[{"dtype": "float", "shape": [2 * MEBI], "file": path}])


def writes_a_line_of_250_megabytes(command: dict[str, Any]) -> None:
    data = base64.b64encode(bytes(187_500_000)).decode()
    answer(command["seq"], outputs=[{"dtype": "uint8", "shape": [187_500_000], "data": data}])


def writes_the_longest_line(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"error":"' + "\U0001f600" * (4 * MEBI - 50) + '"}\n')


def writes_an_endless_line_byte_by_byte(command: dict[str, Any]) -> None:
    for _ in range(MEBI):
        os.write(1, b"x")
    while True:  # slowly, so that no machine reaches the longest line before the time is over
        os.write(1, b"x")
        time.sleep(0.001)


def nests_five_million_lists(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"outputs":[' + "[]," * (5 * MEBI) + "[]]}\n")


def returns_a_million_outputs(command: dict[str, Any]) -> None:
    one = '{"dtype":"float","shape":[],"data":"AAAAAA=="},'
    write(f'{{"seq":{command["seq"]},"outputs":[' + one * 200_000 + one[:-1] + "]}\n")


def places_nodes_on_long_names(command: dict[str, Any]) -> None:
    placement = {f"p{i}": {f"{j:03}".ljust(190, "é"): 1 for j in range(1000)} for i in range(40)}
    write(
        (json.dumps({"seq": command["seq"], "outputs": [], "placement": placement}, ensure_ascii=False) + "\n").encode()
    )


def overwrites_what_is_not_there(command: dict[str, Any]) -> None:
    answer(command["seq"], outputs=[], overwritten=[[number, 0] for number in range(100_000)])


def varint(number: int) -> bytes:
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def writes_a_model_of_two_million_nodes(command: dict[str, Any]) -> None:
    nodes = b"\x0a\x00" * (2 * MEBI - 10)
    Path(command["output"]).write_bytes(b"\x3a" + varint(len(nodes)) + nodes)
    answer(command["seq"], optimized=True)


def writes_a_model_with_an_endless_number(command: dict[str, Any]) -> None:
    Path(command["output"]).write_bytes(b"\x3a" + b"\xff" * (4 * MEBI - 10))
    answer(command["seq"], optimized=True)


def writes_a_sparse_model_of_a_gibibyte(command: dict[str, Any]) -> None:
    with Path(command["output"]).open("wb") as stream:
        stream.truncate(2**30)
    answer(command["seq"], optimized=True)


def refuses_with_a_long_text(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"unsupported":"' + "x" * (15 * MEBI) + '"}\n')


ATTACKS: tuple[Callable[[dict[str, Any]], None], ...] = (
    claims_endless_seconds,
    writes_three_sparse_gibibytes,
    writes_sparse_outputs_up_to_the_limit,
    writes_a_line_of_250_megabytes,
    writes_the_longest_line,
    writes_an_endless_line_byte_by_byte,
    nests_five_million_lists,
    returns_a_million_outputs,
    places_nodes_on_long_names,
    overwrites_what_is_not_there,
    writes_a_model_of_two_million_nodes,
    writes_a_model_with_an_endless_number,
    writes_a_sparse_model_of_a_gibibyte,
    refuses_with_a_long_text,
)


def serve(name: str) -> None:
    """Answer commands: a fault is the answer to every second load or to each run, an attack to each run."""
    faults, attacks = ({function.__name__: function for function in table} for table in (FAULTS, ATTACKS))
    started = {"version": 1, "name": name, "runtime_version": "0.0.7", "language": "Python"}
    started["kind"] = "optimizer" if name in attacks and "model" in name else "backend"
    if name in attacks and started["kind"] == "backend":
        started["files"] = True
    loads = 0
    for line in sys.stdin.buffer:
        command = json.loads(line)
        seq = command["seq"]
        match command["cmd"]:
            case "start":
                answer(seq, **started)
            case "load" if name in attacks:
                answer(seq, loaded=True, seconds=0)
            case "load":
                loads += 1
                if loads % 2 == 1:
                    answer(seq, unsupported="not this time")
                elif name in TENSORS:
                    answer(seq, loaded=True)
                else:
                    faults[name](seq)
            case "run" if name in TENSORS:
                tensor = TENSORS[name]
                answer(seq, **({"outputs": [tensor]} if tensor else {"outputs": [], "changed": [99]}))
            case "run" | "optimize":
                attacks[name](command)
            case _:
                return


def main(name: str) -> int | None:
    """Be the harness of a name."""
    harness = globals().get(name)
    return harness().converse() if isinstance(harness, type) else serve(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
