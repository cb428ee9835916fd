"""`onnx-conformance census`."""

from __future__ import annotations

import json

import pytest

from conformance.schemas import complaint

RIGHT, SEVEN = "census_subjects:CorrectlyRounded", "census_subjects:OutOfOrderSevenTimes"
SMALL = ("--type", "float16", "--operator", "Exp", "--in-process")


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_it_writes_every_report(command, tmp_path):
    files = {name: tmp_path / name for name in ("results", "html", "markdown")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    ended = command("census", "-b", RIGHT, "-b", SEVEN, *SMALL, *options)
    assert ended.status == 0
    found = records(files["results"])
    assert [complaint("census", record) for record in found] == [None] * 4
    assert [cell["total"]["counts"].get("out_of_order", 0) for cell in found[1:3]] == [0, 7]
    assert "out of order" in ended.out
    assert f"| {SEVEN.replace(':', '&#58;')} 1 | Exp | float16 | 63,488 | 7 |" in files["markdown"].read_text()
    page = files["html"].read_text()
    assert "neighbours out of order" in page
    assert "http" not in page


def test_results_on_standard_output_stand_there_alone(command):
    ended = command("census", "-b", RIGHT, *SMALL, "--results", "-")
    assert [json.loads(line)["record"] for line in ended.out.splitlines()] == ["header", "cell", "footer"]
    assert "Exp" in ended.err


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
    assert command(*given, "--in-process", "--results", whole, "--resume", state).status == 0
    lines = state.read_bytes().splitlines(keepends=True)
    state.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    for name, options in {"resumed": ("--resume", state), "two": ("-n", "2")}.items():
        assert process("onnx-conformance", *given, *options, "--results", tmp_path / name).status == 0
        assert records(tmp_path / name)[1:] == records(whole)[1:]


def test_it_ends_with_1_where_nothing_is_supported(command):
    ended = command("census", "-b", "census_subjects:SupportsNothing", *SMALL)
    assert ended.status == 1
    assert "unsupported" in ended.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-b", RIGHT, "-n", "0"), "0 workers do no work"),
        (("-b", RIGHT, "-n", "2", "--dask", "tcp://x"), "exclude each other"),
        (("-b", RIGHT, "-b", RIGHT), "named twice"),
        (("-b", "nonsuch"), "There is no backend nonsuch"),
        (("-b", RIGHT, "--type", "double", "--operator", "ArgMax"), "in float16 and bfloat16 alone"),
        (("-b", RIGHT, "--results", "same", "--html", "same"), "Two outputs go to same"),
    ],
)
def test_what_cannot_be_counted_is_refused(command, options, sentence):
    ended = command("census", "--in-process", *options)
    assert ended.status == 2
    assert sentence in ended.err
