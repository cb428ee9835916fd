"""The GitHub workflows: they call existing sessions, and their actions are pinned."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from repository import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text())["jobs"].values()]
STEPS = [step for job in JOBS for step in job["steps"]]
SHELL = [step["run"] for step in STEPS if "run" in step]
RECORDS = '#!/bin/sh\necho "$(basename "$0") $*" >> "$RECORD"\n'
"""A program that only records its arguments, in place of a slow program."""


def test_workflows_are_board_ci_history_nightly_and_release():
    assert [file.stem for file in WORKFLOWS] == ["board", "ci", "history", "nightly", "release"]


@pytest.mark.parametrize("step", [step for step in STEPS if "uses" in step], ids=lambda step: step["uses"])
def test_actions_are_pinned_by_commit(step):
    assert re.fullmatch(r"(actions/[\w-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40}", step["uses"])


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_have_read_permission_only(file):
    assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}


def test_only_jobs_that_publish_after_all_checks_have_a_further_permission():
    further = [job for job in JOBS if "permissions" in job]
    assert [job["permissions"] for job in further] == [
        {"contents": "read", "id-token": "write"},
        {"contents": "write"},
    ]
    assert {job["needs"] for job in further} == {"release"}
    assert not any("secrets." in str(job) for job in JOBS)


@pytest.mark.parametrize("script", SHELL)
def test_shellcheck_finds_nothing_in_steps(script):
    shellcheck = Path(sysconfig.get_path("scripts")) / "shellcheck"
    ended = subprocess.run([shellcheck, "-s", "bash", "-"], input=script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("script", SHELL)
def test_steps_call_existing_sessions(script, tmp_path):
    """Run every step with recording programs in place of those that install, build and test."""
    (tmp_path / ".ci").mkdir()
    for program in ("python3", "apt-get", "gh", ".ci/run"):
        (tmp_path / program).write_text(RECORDS)
        (tmp_path / program).chmod(0o755)
    record = tmp_path / "record"
    variables = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "RECORD": str(record)}
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env={**os.environ, **variables}, check=True)
    calls = record.read_text().splitlines()
    named = [call.partition("-s ")[2].partition(" -- ")[0] for call in calls if "-m nox -s" in call]
    sessions = [name for names in named for name in names.split()]
    assert len(calls) == len(script.strip().splitlines())
    assert all(f"def {session}(" in _NOXFILE or f'    "{session}": (' in _NOXFILE for session in sessions)


_NOXFILE = (ROOT / "noxfile.py").read_text()


def test_scoreboard_job_installs_programs_of_all_runtimes():
    runtimes = tomllib.loads((ROOT / "conformance" / "subjects" / "adapters" / "runtimes.toml").read_text())["runtimes"]
    needed = {
        package
        for runtime in runtimes.values()
        for names in runtime.get("programs", {}).values()
        for package in names.split()
    }
    assert needed <= {word for script in SHELL for word in script.split()}


def test_ci_types_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    typed = re.search(r'command=\$\(grep -x "(.*)" README.md\)', script)[1]
    lines = (ROOT / "README.md").read_text().splitlines()
    for session in re.findall(r"type_command ([a-z]+)", script):
        assert lines.count(typed.replace("$name", session)) == 1


def test_every_dependency_has_tests_with_its_lowest_version():
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = document["project"]["dependencies"] + document["dependency-groups"]["tests"]
    table = re.search(r"^LOWEST_TESTS = (\{.*?^\})", _NOXFILE, re.MULTILINE | re.DOTALL)[1]
    tests = ast.literal_eval(table)
    assert {re.match(r"[\w-]+", each)[0] for each in requirements} == set(tests)
    assert all((ROOT / test.partition("::")[0]).is_file() for test in tests.values())


def test_actionlint_has_nothing_to_say():
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("needs actionlint, which is no Python package: https://github.com/rhysd/actionlint")
    ended = subprocess.run([actionlint, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_sessions_start_modules_and_scripts_that_exist():
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    modules = set(re.findall(r'"-m", "([\w.]+)"|python -m ([\w.]+)', text))
    names = {name for pair in modules for name in pair if name.startswith(("checks.", "conformance.", "tests."))}
    scripts = set(re.findall(r"\b(?:checks|scripts|tests)/[\w/]+\.py\b", text))
    assert {"checks.mutation", "checks.oracle"} <= names
    assert [name for name in names if find_spec(name) is None] == []
    assert len(scripts) > 10
    assert [path for path in scripts if not (ROOT / path).is_file()] == []
    assert not {name for pair in modules for name in pair if name} & {path.name for path in (ROOT / "checks").iterdir()}
