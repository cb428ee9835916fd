"""docs/harness.md: its harness holds its conversation and keeps to the protocol; no field and no type is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from repository import ROOT

from conformance.harness_check.check import check_harness
from conformance.harness_check.fact import State
from conformance.harness_check.facts_of_backends import NO_MODEL
from conformance.harness_check.probes import argmax, unheard_of
from conformance.isolation.protocol import decoded
from conformance.schemas import complaint, schema

TEXT = (ROOT / "docs" / "harness.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PROGRAM = next(block for language, block in BLOCKS if language == "python")
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
    """The page's harness, beside a runtime."""
    (tmp_path / "my_runtime.py").write_text(MY_RUNTIME)
    path = tmp_path / "my_harness.py"
    path.write_text(PROGRAM)
    return path


def messages(block: str, mark: str) -> list[dict]:
    return [json.loads(line.removeprefix(mark)) for line in block.splitlines() if line.startswith(mark)]


def test_its_harness_keeps_to_the_protocol(program):
    outcomes = list(check_harness([sys.executable, str(program)], 60))
    assert [outcome for outcome in outcomes if outcome.state is not State.HOLDS] == []


def test_its_harness_holds_its_conversation(program, tmp_path):
    (tmp_path / "argmax.onnx").write_bytes(argmax((2,), 1).model.SerializeToString())
    (tmp_path / "unheard.onnx").write_bytes(unheard_of().model.SerializeToString())
    (tmp_path / "text.onnx").write_bytes(NO_MODEL)
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


def test_its_conversation_is_what_the_text_says_of_it():
    first = messages(CONVERSATIONS[0], "→")[2]["inputs"][0]
    assert decoded(first).tolist() == [[1, 4], [2, 3]]
    assert np.array([[1, 4], [2, 3]], np.float32).tobytes().hex(" ", 4) in TEXT
    assert onnx.helper.get_node_attr_value(argmax((2,), 1).model.graph.node[0], "keepdims") == 0


@pytest.mark.parametrize("block", CONVERSATIONS)
def test_its_messages_are_as_the_schema_says(block):
    commands = [message for message in messages(block, "→") if message["cmd"] != "dance"]
    assert [complaint("protocol", message, message["cmd"]) for message in commands] == [None] * len(commands)
    carried = [message["then"] for message in commands if "then" in message]
    names = {message["seq"]: message["cmd"] for message in (*commands, *carried)}
    answers = messages(block, "←")
    complaints = [complaint("protocol", each, f"{names.get(each['seq'], 'load')}_answer") for each in answers]
    assert complaints == [None] * len(answers)


@pytest.mark.parametrize("part", ["start", "load", "run", "optimize", "stop"])
def test_every_command_is_there_with_its_fields_and_answers(part):
    row = _row(part)
    fields = set(DEFINITIONS[part]["properties"]) - {"cmd", "seq"}
    assert {field for field in fields if f"`{field}`" not in row} == set()
    answers = [each["$ref"].rpartition("/")[2] for each in DEFINITIONS.get(f"{part}_answer", {}).get("anyOf", [])]
    assert [answer for answer in answers if f"`{answer}`" not in row] == []


@pytest.mark.parametrize("part", ["started", "loaded", "ran", "optimized", "returned", "unsupported", "error"])
def test_every_answer_is_there_with_its_fields(part):
    row = _row(part)
    fields = set(DEFINITIONS[part]["properties"]) - {"seq"}
    assert {field for field in fields if f"`{field}`" not in row} == set()


def test_every_type_is_there_once():
    rows = re.findall(r"^\| (`[^|]+) \| [\d, ]+ \|", TEXT, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(DEFINITIONS["dtype"]["enum"])


def _row(name: str) -> str:
    (row,) = re.findall(rf"^\| `{name}` \|.*$", TEXT, re.MULTILINE)
    return row
