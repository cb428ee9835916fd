"""Harnesses in `harnesses/`: the C++ harness is built and checked; npm packages are pinned by hash."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command_outputs import results_by_key
from repository import DATA, ROOT

from conformance.subjects.harness_check.check import check_harness
from conformance.subjects.harness_check.harness_session import RuleState

pytestmark = pytest.mark.programs

HARNESSES = ROOT / "harnesses"
REQUIREMENTS = "needs a C++ compiler, make and nlohmann's JSON library: apt-get install g++ make nlohmann-json3-dev"
FLAGS = "-O0 -Wall -Wextra -Werror"
SANITIZERS = f"{FLAGS} -fsanitize=address,undefined -fno-sanitize-recover=all"
RUNTIMES = ("onnxruntime-node", "onnxruntime-web")


@pytest.fixture(scope="module", params=[FLAGS, pytest.param(SANITIZERS, marks=pytest.mark.long)])
def built(tmp_path_factory, request) -> Path:
    """Path of the C++ harness, built in a copy of its folder."""
    compiles = shutil.which("make") and shutil.which("g++")
    if (
        not compiles
        or subprocess.run(
            ["g++", "-fsyntax-only", "-x", "c++", "-include", "nlohmann/json.hpp", "/dev/null"],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip(REQUIREMENTS)
    folder = tmp_path_factory.mktemp("cpp") / "cpp"
    shutil.copytree(HARNESSES / "cpp", folder, ignore=shutil.ignore_patterns("harness", "runner"))
    shutil.copytree(HARNESSES / "c", folder.parent / "c")
    subprocess.run(["make", "-C", str(folder), f"CXXFLAGS={request.param}"], check=True, capture_output=True)
    return folder / "harness"


def test_cpp_harness_satisfies_every_rule(built):
    assert [outcome for outcome in check_harness([str(built)], 60) if outcome.state is not RuleState.HOLDS] == []


def test_cpp_harness_and_runner_give_same_verdicts(process, built, tmp_path):
    results = tmp_path / "results.jsonl"
    subject = f"exec:{shlex.quote(str(built))}"
    ended = process("onnx-conformance", "run", "--data", DATA, "-b", subject, "--results", results, "-k", "argmax")
    assert ended.status == 0, ended.out
    verdicts = {case: result["verdict"] for (_, case), result in results_by_key(results).items()}
    assert set(verdicts.values()) == {"pass", "unsupported"}
    assert {verdicts[f"test_argmax_type_{name}"] for name in ("float", "double", "int8", "int64", "uint64")} == {"pass"}
    assert verdicts["test_argmax_type_float16"] == "unsupported"
    alone = subprocess.run([str(built.parent / "runner"), str(DATA)], capture_output=True, text=True, check=False)
    printed = (line.partition(":")[0].partition(" ") for line in alone.stdout.splitlines())
    without_python = {case: verdict for verdict, _, case in printed if case}
    assert alone.returncode == 0
    assert {case: without_python[case] for case in verdicts} == verdicts


def test_cpp_runner_refuses_a_corpus_that_is_smaller_than_announced(built, small_corpus, tmp_path):
    def status(*words):
        return subprocess.run([built.parent / "runner", *words], capture_output=True, check=False).returncode

    cases = str(len(list(small_corpus.glob("*/*"))))
    assert status(small_corpus, cases) == 0
    assert status(small_corpus, f"{cases}0") == 2
    shutil.copytree(small_corpus, tmp_path / "copy")
    shutil.rmtree(next((tmp_path / "copy" / "node").iterdir()))
    assert status(tmp_path / "copy") == 2


def test_cpp_harness_answers_malformed_commands_and_models(built, tmp_path):
    model = (DATA / "node" / "test_argmax_type_float" / "model.onnx").read_bytes()
    shapes = ([], [-1, -6], [2**62, 2**62], [2**63 - 1, 2, 2], [2**61, 2, 0], [-(2**63)], [0], "x", [None], [[2]])
    commands = [
        {"cmd": "run", "inputs": [{"dtype": "float", "shape": shape, "data": data}]}
        for shape in shapes
        for data in ("", "AAAAAAAAgD8=", "A", "====", None)
    ]
    for place in range(0, len(model), 3):
        path = tmp_path / f"{place}.onnx"
        path.write_bytes(model[:place] + b"\xff" + model[place + 1 : place + 200])
        commands.append({"cmd": "load", "model": str(path)})
    whole = {"cmd": "load", "model": str(tmp_path / "whole.onnx")}
    (tmp_path / "whole.onnx").write_bytes(model)
    lines = [json.dumps({"seq": number, **command}) for number, command in enumerate([whole, *commands])]
    done = subprocess.run([str(built)], input="\n".join(lines), capture_output=True, text=True, check=False, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr, len(answers)) == (0, "", len(lines))
    assert answers[0] == {"seq": 0, "loaded": True}
    assert "shape" in answers[1 + shapes.index([2**62, 2**62]) * 5]["error"]


@pytest.mark.parametrize("line", ["[]", "1", '{"cmd": "start"}', "{", '{"seq": 1}'])
def test_cpp_harness_ends_with_status_2_after_a_line_that_is_no_command(built, line):
    done = subprocess.run([str(built)], input=f"{line}\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_npm_lock_has_requested_version(runtime):
    folder = HARNESSES / "javascript" / runtime
    requested = json.loads((folder / "package.json").read_bytes())["dependencies"]
    locked = json.loads((folder / "package-lock.json").read_bytes())["packages"]
    assert locked[f"node_modules/{runtime}"]["version"] == requested[runtime]
    assert re.fullmatch(r"\d+\.\d+\.\d+", requested[runtime])


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_npm_lock_has_hashes_and_no_registry(runtime):
    lock = json.loads((HARNESSES / "javascript" / runtime / "package-lock.json").read_bytes())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert [name for name, package in packages.items() if not package.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
