"""Output of verbs: control characters are escaped, and every terminal encoding works."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conformance.commands.options import echo
from conformance.serialization.text import escape_unprintable

MISLEADING = "\x1b[2J\x07\r\x9b1A\u202e"
COMMAND = "from conformance.cli import main; main()"


def ran(*arguments: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], env=environment, capture_output=True, check=False, timeout=60
    )


def test_controls_are_said_as_escapes(capsys):
    echo(f"version {MISLEADING}")
    assert capsys.readouterr().out == "version \\x1b[2J\\x07\\x0d\\x9b1A\\u202e\n"


def test_lines_and_tabs_stay_what_they_are():
    assert escape_unprintable("one\n\ttwo") == "one\n\ttwo"


def test_error_message_escapes_control_characters(tmp_path):
    ended = ran("report", str(tmp_path / f"none{MISLEADING}"), "--json", "-", encoding="utf-8")
    assert ended.returncode == 2
    assert b"\\x1b[2J\\x07" in ended.stderr
    assert b"\x1b" not in ended.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_replaces_characters_missing_from_encoding(encoding, small_corpus):
    ended = ran("explain", "ü→", "--data", str(small_corpus), encoding=encoding)
    assert ended.returncode == 2, ended.stderr
    assert b"Traceback" not in ended.stderr
    ended.stderr.decode(encoding)
