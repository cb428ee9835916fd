"""How a command ends: one table, and no traceback."""

from __future__ import annotations

import re
from pathlib import Path

from repository import ROOT

from conformance.errors import ExitStatus

TABLE = [(int(status), status.meaning) for status in ExitStatus]


def test_the_documentation_has_the_table_of_the_code():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(status), meaning) for status, meaning in rows] == TABLE


def test_help_has_the_table_of_the_code(command):
    help = " ".join(command("--help").out.split())
    assert all(f"{status} {meaning}" in help for status, meaning in TABLE)


def test_a_fault_of_the_suite_is_one_sentence_and_a_file(command, monkeypatch):
    monkeypatch.setattr("conformance.corpus.corpus.bundled", lambda: 1 / 0)
    ended = command("verify")
    (trace,) = re.findall(r"report it with (\S+),", ended.err)
    assert (ended.status, "a fault of onnx-conformance: ZeroDivisionError" in ended.err) == (3, True)
    assert "Traceback" not in ended.err
    assert "Traceback" in Path(trace).read_text(encoding="utf-8")
    Path(trace).unlink()


def test_help_is_told_without_loading_what_runs_and_reports(process):
    heavy = {"numpy", "onnx", "jsonschema_rs", "jinja2", "pytest"}
    program = f"import sys, conformance.cli; print(sorted({heavy} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"
