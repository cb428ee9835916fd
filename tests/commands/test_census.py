"""`onnx-conformance census`."""

from __future__ import annotations

import json
import re

import pytest

from conformance.base.serialization.decoding import schema_violation

RIGHT, SEVEN = "fake_subject:correctly_rounded", "fake_subject:out_of_order_seven_times"
SMALL = ("--type", "float16", "--operator", "Exp", "--no-isolation")


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_census_writes_all_report_formats(command, tmp_path):
    files = {name: tmp_path / name for name in ("results", "html", "markdown")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    ended = command("census", "-b", RIGHT, "-b", SEVEN, *SMALL, *options)
    assert ended.status == 0
    found = records(files["results"])
    assert [schema_violation("census", record) for record in found] == [None] * 4
    assert [cell["total"]["counts"].get("out_of_order", 0) for cell in found[1:3]] == [0, 7]
    assert re.search(rf"^{SEVEN} 1 +Exp +float16 +63,488 +7 ", ended.out, re.MULTILINE)
    assert f"| {SEVEN} 1 | Exp | float16 | 63,488 | 7 |" in files["markdown"].read_text()
    page = files["html"].read_text()
    assert "<svg viewBox" in page
    assert "://" not in page


def test_results_on_standard_output_stand_there_alone(command):
    ended = command("census", "-b", RIGHT, *SMALL, "--results", "-")
    assert [json.loads(line)["record"] for line in ended.out.splitlines()] == ["header", "cell", "footer"]
    assert "Exp" in ended.err


@pytest.mark.long
def test_counts_are_the_same_for_any_number_of_workers_and_after_a_resume(command, process, tmp_path):
    given = (
        "census",
        "-b",
        SEVEN,
        "--type",
        "float16",
        "--type",
        "bfloat16",
        "--operator",
        "Exp",
        "--operator",
        "Sqrt",
    )
    whole, state = tmp_path / "whole", tmp_path / "state"
    assert command(*given, "--no-isolation", "--results", whole, "--resume", state).status == 0
    lines = state.read_bytes().splitlines(keepends=True)
    state.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    for name, options in {"resumed": ("--resume", state), "two": ("-n", "2")}.items():
        assert process("onnx-conformance", *given, *options, "--results", tmp_path / name).status == 0
        assert records(tmp_path / name)[1:] == records(whole)[1:]


def test_census_without_supported_operator_exits_with_1(command):
    ended = command("census", "-b", "fake_subject:supports_nothing", *SMALL)
    assert ended.status == 1
    assert "unsupported" in ended.out


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (("-b", RIGHT, "-n", "0"), "--workers"),
        (("-b", RIGHT, "-n", "2", "--dask", "tcp://x"), "usage.workers-and-dask"),
        (("-b", RIGHT, "-b", RIGHT), "usage.subject-twice"),
        (("-b", "nonsuch"), "name.unknown-subject"),
        (("-b", RIGHT, "--type", "double", "--operator", "ArgMax"), "usage.type-unsupported"),
        (("-b", RIGHT, "--results", "same", "--html", "same"), "usage.duplicate-target"),
    ],
)
def test_impossible_census_is_rejected(command, options, data):
    ended = command("census", "--no-isolation", *options)
    assert ended.status == 2
    assert data in (ended.code or ended.err)
