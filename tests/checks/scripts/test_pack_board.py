"""scripts/pack_board.py, and the subjects of the committed board."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from repository import ROOT

BOARD = ROOT / "reports" / "scoreboard" / "results.jsonl.gz"

MESSAGES = {
    "{here}/conformance/judge.py": "/conformance/judge.py",
    "{home}/model.onnx": "/model.onnx",
    "/opt/python/lib/python3.11/site-packages/onnx/checker.py": "/site-packages/onnx/checker.py",
    "/opt/python/bin/python -c": "/bin/python -c",
    "/tmp/build.1/Python/ceval.c": "/Python/ceval.c",
    "at /tmp/buil": "at ",
    "a/b of shape [2]": "a/b of shape [2]",
}


@pytest.fixture
def pack(here):
    """Return a function that packs lines as `nox -s board` does."""

    def run(*lines, name="packed.jsonl.gz"):
        (here / "results.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        script = ROOT / "scripts" / "pack_board.py"
        subprocess.run([sys.executable, script, "results.jsonl", f"board/{name}"], cwd=here, check=True)
        return (here / "board" / name).read_bytes()

    return run


@pytest.mark.parametrize("message", MESSAGES)
def test_pack_message_with_paths_removes_machine_paths(pack, here, message):
    line = f'{{"message":"{message.format(here=here.resolve(), home=Path.home())}"}}'
    assert gzip.decompress(pack(line)).decode() == f'{{"message":"{MESSAGES[message]}"}}\n'


def test_pack_archive_record_is_removed(pack):
    assert gzip.decompress(pack('{"record":"archive","case":"a","zip":""}', '{"record":"footer"}')) == (
        b'{"record":"footer"}\n'
    )


def test_pack_result_removes_bits_and_recorded_outputs(pack):
    line = '{"record":"result","outputs":[{"values":["1"],"hex":["0x3f800000"]}],"recorded_outputs":{"outputs":[[]]}}'
    assert gzip.decompress(pack(line)) == b'{"record":"result","outputs":[{"values":["1"]}]}\n'


def test_pack_equal_results_gives_equal_bytes(pack):
    assert pack('{"record":"footer"}') == pack('{"record":"footer"}', name="other.jsonl.gz")


@pytest.mark.skipif(not BOARD.exists(), reason="a source distribution has no board")
def test_committed_board_has_every_pinned_subject_except_those_listed_as_not_run():
    pinned = tomllib.loads(
        (ROOT / "conformance" / "subjects" / "adapters" / "runtimes.toml").read_text(encoding="utf-8")
    )
    missing = BOARD.with_name("README.md").read_text(encoding="utf-8").split("## Not run on this corpus\n\n")[1]
    runtimes = {
        name: runtime for name, runtime in pinned["runtimes"].items() if name not in missing.split("\n")[0].split(", ")
    }
    subjects = [runtime["subject"] for runtime in runtimes.values()]
    subjects += [subject for package in pinned["optimizers"].values() for subject in package["subjects"]]
    with gzip.open(BOARD) as lines:
        header = json.loads(next(lines))
    suites_own = {"reference", "reference-pass", "identity"}
    assert sorted({subject["id"] for subject in header["subjects"]} - suites_own) == sorted(subjects)
