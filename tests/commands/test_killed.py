"""Commands that SIGKILL ends: they leave no temporary folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import evidence_inputs
import onnx
import pytest
from isolation_support import wait_until
from onnx import TensorProto, helper
from repository import exec_subject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.programs

PROGRAM = """
import os, signal, sys
from unittest import mock
from conformance.commands.cli import main
function = sys.argv.pop(1)
with mock.patch(function, side_effect=lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)):
    main()
"""
"""The command line, in which a call of the function that the first argument names kills the process."""

EVIDENCE = ("report", "results.jsonl", "--data", "corpus", "--requirements", "map.toml", "--evidence", "evidence")


def paths_in(folder: Path) -> set[str]:
    """Return all paths in a folder, also while another process removes some of them."""
    return {f"{here}/{name}" for here, folders, files in os.walk(folder) for name in (*folders, *files)}


@pytest.mark.variants(1)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("conformance.own.audit.audit_job.write_exposed_model", ("audit", "m.onnx", "-b", "onnx-reference", "-n", "2")),
        (
            "conformance.subjects.harness_check.harness_session.HarnessProcess.send",
            ("check-harness", exec_subject(sys.executable, "-c", "pass")),
        ),
        ("pathlib.Path.write_bytes", EVIDENCE),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_killed_command_leaves_no_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, function: str, arguments: tuple[str, ...]
) -> None:
    X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XY")
    graph = helper.make_graph([helper.make_node("Tanh", ["X"], ["Y"])], "g", [X], [Y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "m.onnx")
    if arguments is EVIDENCE:
        evidence_inputs.write_inputs(here)
    (here / "tmp").mkdir()
    before = paths_in(here)
    monkeypatch.setenv("TMPDIR", str(here / "tmp"))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, function, *arguments], check=False, stdout=subprocess.DEVNULL
    )
    assert ended.returncode == -signal.SIGKILL
    assert wait_until(lambda: paths_in(here) == before)
