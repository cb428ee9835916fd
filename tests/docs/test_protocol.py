"""The pages of the protocol: the harness that they show follows it, and no message, field or type is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from repository import ROOT

from conformance.base.serialization.decoding import schema, schema_violation
from conformance.subjects.harness_check.backend_rules import INVALID_MODEL
from conformance.subjects.harness_check.check import check_harness
from conformance.subjects.harness_check.harness_probes import argmax_probe, unknown_operator_probe
from conformance.subjects.harness_check.harness_session import RuleState
from conformance.subjects.isolation.proxies import decode_value

TEXT = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
HOW_TO = (ROOT / "docs" / "how-to" / "write-a-harness.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PROGRAM = re.search(r"^```python\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL)[1]
CONVERSATIONS = [block for _, block in BLOCKS if block.startswith("→")]
DEFINITIONS = schema("protocol")["$defs"]

MY_RUNTIME = """
import onnx
from google.protobuf.message import DecodeError
from onnx.reference import ReferenceEvaluator

__version__ = "1.2.3"
print("my_runtime says hello")


class NoKernel(Exception):
    pass


class Model:
    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)

    def run(self, arrays):
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, arrays, strict=True)))


def load(path):
    try:
        model = onnx.load(path)
    except DecodeError:
        raise ValueError("this is no model") from None
    if model.graph.node[0].domain:
        raise NoKernel(f"no kernel for {model.graph.node[0].op_type}")
    return Model(model)
"""


@pytest.fixture
def program(tmp_path):
    """The page's harness, next to a runtime."""
    (tmp_path / "my_runtime.py").write_text(MY_RUNTIME)
    path = tmp_path / "my_harness.py"
    path.write_text(PROGRAM)
    return path


def messages(block: str, mark: str) -> list[dict]:
    return [json.loads(line.removeprefix(mark)) for line in block.splitlines() if line.startswith(mark)]


def test_example_harness_passes_check_harness(program):
    outcomes = list(check_harness([sys.executable, str(program)], 60))
    assert [outcome for outcome in outcomes if outcome.state is not RuleState.HOLDS] == []


def test_example_harness_answers_as_in_the_example(program, tmp_path):
    (tmp_path / "argmax.onnx").write_bytes(argmax_probe((2,), 1).model.SerializeToString())
    (tmp_path / "unheard.onnx").write_bytes(unknown_operator_probe().model.SerializeToString())
    (tmp_path / "text.onnx").write_bytes(INVALID_MODEL)
    sent = "".join(f"{json.dumps(message)}\n" for message in messages(CONVERSATIONS[0], "→"))
    done = subprocess.run(
        [sys.executable, str(program)],
        input=sent.replace("/scratch", str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == messages(CONVERSATIONS[0], "←")


def test_text_describes_the_tensors_of_the_example():
    first = messages(CONVERSATIONS[0], "→")[2]["inputs"][0]
    assert decode_value(first).tolist() == [[1, 4], [2, 3]]
    assert np.array([[1, 4], [2, 3]], np.float32).tobytes().hex(" ", 4) in TEXT
    assert onnx.helper.get_node_attr_value(argmax_probe((2,), 1).model.graph.node[0], "keepdims") == 0


@pytest.mark.parametrize("block", CONVERSATIONS)
def test_example_messages_match_the_schema(block):
    commands = [message for message in messages(block, "→") if message["cmd"] != "dance"]
    assert [schema_violation("protocol", message, message["cmd"]) for message in commands] == [None] * len(commands)
    names = {message["seq"]: message["cmd"] for message in commands}
    answers = messages(block, "←")
    violations = [schema_violation("protocol", each, f"{names.get(each['seq'], 'load')}_answer") for each in answers]
    assert violations == [None] * len(answers)


@pytest.mark.parametrize("part", ["start", "load", "run", "optimize", "stop"])
def test_table_of_commands_has_every_field_and_answer(part):
    row = _row(part)
    fields = set(DEFINITIONS[part]["properties"]) - {"cmd", "seq"}
    assert {field for field in fields if f"`{field}`" not in row} == set()
    answers = [each["$ref"].rpartition("/")[2] for each in DEFINITIONS.get(f"{part}_answer", {}).get("anyOf", [])]
    assert [answer for answer in answers if f"`{answer}`" not in row] == []


@pytest.mark.parametrize("part", ["started", "loaded", "ran", "optimized", "invalid_return", "unsupported", "error"])
def test_table_of_answers_has_every_field(part):
    row = _row(part)
    fields = set(DEFINITIONS[part]["properties"]) - {"seq"}
    assert {field for field in fields if f"`{field}`" not in row} == set()


def test_table_of_types_has_every_type_once():
    rows = re.findall(r"^\| (`[^|]+) \| [\d, ]+ \|", TEXT, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(DEFINITIONS["dtype"]["enum"])


def _row(name: str) -> str:
    (row,) = re.findall(rf"^\| `{name}` \|.*$", TEXT, re.MULTILINE)
    return row
