"""docs/findings/: every case it names exists, every command can be run, what it claims comes out, the index has it all.

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
from repository import DATA, ROOT

from conformance.cli import app
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.expectations.file import read_expectations
from conformance.isolation.starting import host_of
from conformance.judging.backend import judge_backend
from conformance.judging.optimizer import judge_optimizer
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "docs" / "findings"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.md"))
    if path.name not in {"README.md", "not-monotone.md"}
}
"""Those of the runtimes, by file name; what is no fault by a case of the corpus has a test of its own."""
PACKAGES = {
    "emx-onnx-cgen": "emx-onnx-cgen",
    "iree": "iree-base-compiler",
    "jaxonnxruntime": "jaxonnxruntime",
    "nxrt": "nxrt",
    "onnx-reference": "onnx",
    "onnx2torch": "onnx2torch",
    "onnxoptimizer": "onnxoptimizer",
    "onnxoptimizer-defaults": "onnxoptimizer",
    "onnxruntime": "onnxruntime",
    "onnxruntime[level=basic]": "onnxruntime",
    "onnxscript": "onnxscript",
    "onnxsim": "onnxsim",
    "opencv": "opencv-python-headless",
    "openvino": "openvino",
    "tinygrad": "tinygrad",
    "tract": "tract",
    "tvm": "apache-tvm",
}
"""The distribution of each subject."""
VERDICTS = {verdict.verb(1): str(verdict) for verdict in Verdict}


@dataclass(frozen=True)
class Finding:
    """One section of a page: the command that shows it, the line with the verdict that it prints, and its upstream."""

    page: str
    runtime: str
    title: str
    upstream: str
    command: str
    printed: tuple[str, str, str]

    @property
    def version(self) -> str:
        return self.runtime.split()[-1]

    @property
    def link(self) -> str:
        return f"{self.page}#{anchor(self.title)}"

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


@dataclass(frozen=True)
class Row:
    """One fault in the table of the index."""

    runtime: str
    title: str
    link: str
    case: str
    level: str
    upstream: str


def read_findings() -> list[Finding]:
    found = []
    for page, text in PAGES.items():
        heading, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
        runtime = heading.splitlines()[0].removeprefix("# ")
        for section in sections:
            (command,) = re.findall(r"^\$ (.+)$", section, re.MULTILINE)
            (line,) = re.findall(rf"^  (test_\w+) ({'|'.join(VERDICTS)}) on (\S+)$", section, re.MULTILINE)
            (upstream,) = re.findall(r"^- Upstream: (.+?)\n\n", section, re.MULTILINE | re.DOTALL)
            printed = line[0], line[2], VERDICTS[line[1]]
            found.append(Finding(page, runtime, section.splitlines()[0], upstream, command, printed))
    return found


def read_rows() -> list[Row]:
    table = INDEX.split("\n## ")[0]
    row = r"^\| ([^|]+) \| \[([^]|]+)\]\(([^)|]+)\) \| `(\w+)` \| (\w+) \| ([^|]+) \|$"
    rows = [Row(*cells) for cells in re.findall(row, table, re.MULTILINE)]
    assert len(rows) == sum(line.startswith("|") for line in table.splitlines()) - 2  # the head and the rule
    return rows


def anchor(heading: str) -> str:
    """What GitHub calls a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


FINDINGS = read_findings()
ROWS = read_rows()


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
    named = {case for text in (INDEX, *PAGES.values()) for case in re.findall(r"\btest_[a-z0-9_]+", text)}
    assert named - set(corpus().cases) == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_its_version_how_to_install_it_and_the_way_to_the_index(page):
    heading, *opening = PAGES[page].split("\n## ")[0].splitlines()
    name, version = re.fullmatch(r"# (.+) (\S+)", heading).groups()
    requirement = f"{PACKAGES[page.removesuffix('.md')]}=={version}"
    assert name
    assert re.search(rf"`pip install [^`]*{re.escape(requirement)}", "\n".join(opening))
    assert "(README.md)" in "\n".join(opening)


def test_the_index_has_exactly_one_row_for_each_fault():
    assert sorted(row.link for row in ROWS) == sorted(finding.link for finding in FINDINGS)


@pytest.mark.parametrize("page", PAGES)
def test_the_index_has_the_faults_of_a_page_together_and_in_its_order(page):
    pages = [row.link.partition("#")[0] for row in ROWS]
    first = pages.index(page)
    listed = ROWS[first : first + pages.count(page)]
    assert [row.title for row in listed] == [finding.title for finding in FINDINGS if finding.page == page]


def test_no_two_headings_of_a_page_have_one_anchor():
    for text in PAGES.values():
        anchors = [anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(name):
    for link in re.findall(r"\]\(([^)]+)\)", (FOLDER / name).read_text(encoding="utf-8")):
        file, _, heading = link.partition("#")
        target = FOLDER / file if file else FOLDER / name
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in map(anchor, headings), link


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_row_of_the_index_has_the_runtime_the_title_the_case_and_the_level_that_is_judged(finding):
    (row,) = (row for row in ROWS if row.link == finding.link)
    case = finding.printed[0]
    level = Level.weakest([corpus().cases[case].level, Level(finding.options["level"])])
    assert (row.runtime, row.title, row.case, row.level) == (finding.runtime, finding.title, case, level)


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_row_of_the_index_has_the_upstream_status_of_the_finding(finding):
    (row,) = (row for row in ROWS if row.link == finding.link)
    if "not found" in finding.upstream:
        assert row.upstream == "not found"
    assert set(re.findall(r"[\w./-]*#\d+", row.upstream)) <= set(re.findall(r"[\w./-]*#\d+", finding.upstream))


@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_finding_stands_on_the_page_of_its_runtime(finding):
    assert finding.page == f"{finding.printed[1].partition('[')[0].removesuffix('-defaults')}.md"


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
