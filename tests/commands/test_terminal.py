"""Output of verbs: control characters are escaped, and every terminal encoding works."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conformance.base.serialization.printable_text import escape_unprintable, print_line, print_styled, print_table
from conformance.run.results.outcome_counts import WEAKER_OPTION

MISLEADING = "\x1b[2J\x07\r\x9b1A\u202e"
COMMAND = "from conformance.commands.cli import main; main()"


def ran(*arguments: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], env=environment, capture_output=True, check=False, timeout=60
    )


def test_controls_are_said_as_escapes(capsys):
    print_line(f"version {MISLEADING}")
    assert capsys.readouterr().out == "version \\x1b[2J\\x07\\x0d\\x9b1A\\u202e\n"


def test_piped_table_does_not_cut_names(small_corpus, tmp_path):
    module = f"a_backend_{'with_a_long_name_' * 8}end"
    (tmp_path / f"{module}.py").write_text(
        "from conformance.subjects.adapters.reference import ReferenceBackend as Backend\n"
    )
    environment = {**os.environ, "COLUMNS": "60", "PYTHONPATH": str(tmp_path)}
    words = ("run", "-b", f"{module}:Backend", "--data", str(small_corpus))
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (head, row) = (line for line in ended.stdout.splitlines() if line.startswith(("subject ", f"{module}:Backend ")))
    assert row.split()[0] == f"{module}:Backend"
    assert "…" not in head + row
    counts = dict(zip(head.split()[3:], row.split()[3:], strict=True))
    assert counts["judged"] == counts["pass"]


def test_failures_below_the_fail_level_name_the_option(command, small_corpus):
    ended = command("run", "-b", "fake_subject:always_wrong", "--data", small_corpus)
    lines = [line for line in ended.out.splitlines() if line.endswith(WEAKER_OPTION)]
    assert len(lines) == 1
    assert (
        WEAKER_OPTION
        not in command("run", "-b", "fake_subject:always_wrong", "--data", small_corpus, *WEAKER_OPTION.split()).out
    )


def test_print_table_of_short_rows_aligns_columns(capsys):
    print_table([[("name", "bold"), ("count", "bold")], [("a\x1b", ""), ("1", "dim")], [("ab", "")]], 1)
    assert capsys.readouterr().out.splitlines() == ["name   count", "a\\x1b      1", "ab"]


@pytest.mark.parametrize(("variable", "has_style"), [("", True), ("1", False)])
def test_print_styled_on_a_terminal_follows_no_color(variable, has_style, monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", variable)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_styled(("FAILED", "bold red"), ": \x1b[2J")
    out = capsys.readouterr().out
    assert out == ("\x1b[31m\x1b[1mFAILED\x1b[0m: \\x1b[2J\n" if has_style else "FAILED: \\x1b[2J\n")


def test_lines_and_tabs_stay_what_they_are():
    assert escape_unprintable("one\n\ttwo") == "one\n\ttwo"


@pytest.mark.parametrize(
    "arguments", [["hazards", "none"], ["run", "more"], ["run", "--option"], ["history", ""], [""]]
)
def test_error_message_escapes_control_characters(arguments, command):
    ended = command(*arguments[:-1], arguments[-1] + MISLEADING)
    assert ended.status == 2
    assert "\\x1b[2J\\x07" in ended.err
    assert not set(MISLEADING) & set(ended.err) - set("[2JA1\r")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_replaces_characters_missing_from_encoding(encoding, small_corpus):
    ended = ran("explain", "ü→", "--data", str(small_corpus), encoding=encoding)
    assert ended.returncode == 2, ended.stderr
    assert b"Traceback" not in ended.stderr
    ended.stderr.decode(encoding)
