"""docs/findings.md: every case it names exists, every command in it can be run, and what it claims comes out.

A finding is of one version of a runtime. Where another one is installed, or none, its case is looked up and not run.
"""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest
import typer.main
from isolation_support import apart
from support import DATA, ROOT

from conformance.cli import app
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.expectations.file import read_expectations
from conformance.isolation.starting import host_of
from conformance.judging.backend import judge_backend
from conformance.judging.optimizer import judge_optimizer
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import VERBS, Level, Verdict

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
PACKAGES = {
    "iree": "iree-base-compiler",
    "jaxonnxruntime": "jaxonnxruntime",
    "onnx-reference": "onnx",
    "onnx2torch": "onnx2torch",
    "onnxoptimizer": "onnxoptimizer",
    "onnxruntime": "onnxruntime",
    "onnxruntime[level=basic]": "onnxruntime",
    "onnxscript": "onnxscript",
    "onnxsim": "onnxsim",
    "openvino": "openvino",
    "tinygrad": "tinygrad",
    "tract": "tract",
    "tvm": "apache-tvm",
}
"""The distribution of each subject."""
VERDICTS = {one: verdict for verdict, (one, _) in VERBS.items()}


@dataclass(frozen=True)
class Finding:
    """One section: the command that shows it, and the line with the verdict that it prints."""

    title: str
    version: str
    command: str
    printed: tuple[str, str, str]

    @property
    def options(self) -> dict:
        run = typer.main.get_command(app).commands["run"]
        _, verb, *arguments = shlex.split(self.command)
        assert verb == "run"
        return run.make_context("run", arguments).params

    @property
    def kind(self) -> SubjectKind:
        return SubjectKind.OPTIMIZER if self.options["optimizer"] else SubjectKind.BACKEND

    @property
    def expectations(self) -> Path:
        subject = self.printed[1]
        if self.kind is SubjectKind.BACKEND:
            return ROOT / "expectations" / f"{subject}.toml"
        return ROOT / "expectations" / "optimizers" / f"{subject.replace('[level=', '-').rstrip(']')}.toml"

    def __str__(self) -> str:
        return f"{self.printed[1]}: {self.title}"


def read_findings() -> list[Finding]:
    found = []
    for chapter in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        heading, *sections = re.split(r"^### ", chapter, flags=re.MULTILINE)
        for section in sections:
            (command,) = re.findall(r"^\$ (.+)$", section, re.MULTILINE)
            (line,) = re.findall(rf"^  (test_\w+) ({'|'.join(VERDICTS)}) on (\S+)$", section, re.MULTILINE)
            printed = line[0], line[2], VERDICTS[line[1]]
            found.append(Finding(section.splitlines()[0], heading.split("\n")[0].split()[-1], command, printed))
    return found


FINDINGS = read_findings()


@cache
def corpus():
    return open_corpus(DATA)


def installed(subject: str) -> str:
    try:
        return version(PACKAGES[subject])
    except PackageNotFoundError:
        return "none"


def test_every_runtime_has_findings():
    assert {finding.printed[1] for finding in FINDINGS} == set(PACKAGES)


def test_every_case_that_is_named_exists():
    named = set(re.findall(r"\btest_[a-z0-9_]+", TEXT))
    assert named - set(corpus().cases) == set()


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_command_runs_the_case_on_the_runtime_that_is_named(finding):
    case, subject, _ = finding.printed
    assert finding.command.startswith("onnx-conformance run ")
    assert (finding.options[finding.kind], finding.options["case"]) == ([subject], [case])


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_command_judges_the_level_of_the_case(finding):
    case = corpus().cases[finding.printed[0]]
    assert Level(case.level).within(Level(finding.options["level"]))


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_verdict_is_the_expected_one(finding):
    case, _, verdict = finding.printed
    expectation = read_expectations(finding.expectations).of(case)
    assert expectation is not None
    assert expectation.verdict == verdict != Verdict.PASS


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_version_is_the_one_that_nox_installs(finding):
    package = PACKAGES[finding.printed[1]]
    pinned = (ROOT / "conformance" / "backends" / "runtimes.toml").read_text(encoding="utf-8")
    assert f'"{package}=={finding.version}"' in pinned


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_finding_reproduces(finding):
    case, subject, verdict = finding.printed
    loaded = load_case(corpus(), corpus().cases[case])
    if (other := installed(subject)) != finding.version:
        sys.stdout.write(f"{finding} is of {PACKAGES[subject]} {finding.version}; installed is {other}: not run.\n")
        return
    if verdict == Verdict.CRASH:  # not in this process
        with apart_from_here(finding) as target:
            assert judged(target, finding, loaded) == verdict
    else:
        assert judged(load_subject(SubjectName.of(subject, finding.kind)), finding, loaded) == verdict


def judged(subject, finding, case) -> Verdict:
    return (
        judge_optimizer(subject, case) if finding.kind is SubjectKind.OPTIMIZER else judge_backend(subject.target, case)
    ).verdict


@contextmanager
def apart_from_here(finding):
    subject = apart(finding.printed[1], kind=finding.kind)
    try:
        yield subject
    finally:
        host_of(subject).stop()
