"""docs/findings/: every case it names exists, every command can be run, what it claims comes out, the index has it all.

A finding is of one version of a runtime. Where another one is installed, or none, its case is looked up and not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest
import typer.main
from distributions import PACKAGES
from isolation_support import apart
from repository import DATA, ROOT

from conformance.cli import app
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.diagnosis.reproduction.contents import contents
from conformance.diagnosis.reproduction.folder import write_folder
from conformance.expectations.file import read_expectations
from conformance.isolation.starting import host_of
from conformance.judging.backend import judge_backend
from conformance.judging.optimizer import judge_optimizer
from conformance.results.known_faults import known_faults
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.judging.outcome import Outcome

FOLDER = ROOT / "docs" / "findings"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.md"))
    if path.name not in {"README.md", "by-search.md", "not-monotone.md"}
}
"""Those of the runtimes, by file name; what is no fault by a case of the corpus has a test of its own."""
PINNED = (ROOT / "conformance" / "backends" / "runtimes.toml").read_text(encoding="utf-8")
NAMES = {told["subject"]: name for name, told in tomllib.loads(PINNED)["runtimes"].items()}
FAULTS = known_faults()


@dataclass(frozen=True)
class Row:
    """One fault in the table of the index."""

    runtime: str
    title: str
    link: str
    case: str
    level: str
    upstream: str


def link(fault) -> str:
    return fault.place.removeprefix("docs/findings/")


RUN = typer.main.get_command(app).commands["run"]
expected_in = cache(read_expectations)


@cache
def options(fault) -> dict:
    _, verb, *arguments = shlex.split(fault.command)
    assert verb == "run"
    return RUN.make_context("run", arguments).params


def expectations(fault) -> Path:
    if fault.kind == SubjectKind.BACKEND:
        return ROOT / "expectations" / f"{NAMES[fault.subject]}.toml"
    return ROOT / "expectations" / "optimizers" / f"{fault.subject.replace('[level=', '-').rstrip(']')}.toml"


def named(fault) -> str:
    return f"{fault.subject}: {fault.title}"


def read_rows() -> list[Row]:
    table = INDEX.split("\n## ")[0]
    row = r"^\| ([^|]+) \| \[([^]|]+)\]\(([^)|]+)\) \| `(\w+)` \| (\w+) \| ([^|]+) \|$"
    rows = [Row(*cells) for cells in re.findall(row, table, re.MULTILINE)]
    assert len(rows) == sum(line.startswith("|") for line in table.splitlines()) - 2  # the head and the rule
    return rows


def anchor(heading: str) -> str:
    """What GitHub calls a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


of_each_fault = pytest.mark.parametrize("fault", FAULTS, ids=named)
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
    assert {fault.subject for fault in FAULTS} == set(PACKAGES)


def test_every_case_that_is_named_exists():
    named = {case for text in (INDEX, *PAGES.values()) for case in re.findall(r"\btest_[a-z0-9_]+", text)}
    assert named - set(corpus().cases) == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_its_version_how_to_install_it_and_the_way_to_the_index(page):
    heading, *opening = PAGES[page].split("\n## ")[0].splitlines()
    name, version = re.fullmatch(r"# (.+) (\S+)", heading).groups()
    package = next(PACKAGES[fault.subject] for fault in FAULTS if link(fault).startswith(f"{page}#"))
    assert name
    assert re.search(rf"`pip install [^`]*{re.escape(package)}=={re.escape(version)}", "\n".join(opening))
    assert "(README.md)" in "\n".join(opening)


def test_the_index_has_exactly_one_row_for_each_fault():
    assert sorted(row.link for row in ROWS) == sorted(map(link, FAULTS))


@pytest.mark.parametrize("page", PAGES)
def test_the_index_has_the_faults_of_a_page_together_and_in_its_order(page):
    pages = [row.link.partition("#")[0] for row in ROWS]
    first = pages.index(page)
    listed = ROWS[first : first + pages.count(page)]
    assert [row.title for row in listed] == [fault.title for fault in FAULTS if link(fault).startswith(f"{page}#")]


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


@of_each_fault
def test_the_row_of_the_index_has_the_runtime_the_title_the_case_and_the_level_that_is_judged(fault):
    (row,) = (row for row in ROWS if row.link == link(fault))
    level = Level.weakest([corpus().cases[fault.case].level, fault.level])
    assert (row.runtime, row.title, row.case, row.level) == (fault.runtime, fault.title, fault.case, level)


@of_each_fault
def test_the_row_of_the_index_has_the_upstream_status_of_the_finding(fault):
    (row,) = (row for row in ROWS if row.link == link(fault))
    if "not found" in fault.upstream:
        assert row.upstream == "not found"
    assert set(re.findall(r"[\w./-]*#\d+", row.upstream)) <= set(re.findall(r"[\w./-]*#\d+", fault.upstream))


@of_each_fault
def test_the_finding_stands_on_the_page_of_its_runtime(fault):
    name = NAMES.get(fault.subject, fault.subject.partition("[")[0].removesuffix("-defaults"))
    assert link(fault).partition("#")[0] == f"{name}.md"


@of_each_fault
def test_the_command_runs_the_case_on_the_runtime_that_is_named(fault):
    assert fault.command.startswith("onnx-conformance run ")
    assert (options(fault)[fault.kind], options(fault)["case"]) == ([fault.subject], [fault.case])


@of_each_fault
def test_the_command_judges_the_level_of_the_case(fault):
    assert options(fault)["level"] == fault.level
    assert Level(corpus().cases[fault.case].level).within(fault.level)


@of_each_fault
def test_the_finding_shows_the_command_that_reproduces_it_without_the_suite(fault):
    section = PAGES[link(fault).partition("#")[0]].partition(f"\n## {fault.title}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\$ (.+)$", section, re.MULTILINE) == [fault.command, fault.reproduction]


@of_each_fault
def test_the_verdict_is_the_expected_one(fault):
    expectation = expected_in(expectations(fault)).of(fault.case)
    assert expectation is not None
    assert expectation.verdict == fault.verdict != Verdict.PASS


@of_each_fault
def test_the_version_is_the_one_that_nox_installs(fault):
    assert f'"{PACKAGES[fault.subject]}=={fault.version}"' in PINNED


@pytest.mark.programs
@of_each_fault
def test_the_finding_reproduces_and_so_does_what_is_handed_to_those_who_make_the_runtime(fault, tmp_path, monkeypatch):
    case = load_case(corpus(), corpus().cases[fault.case])
    if (other := installed(fault.subject)) != fault.version:
        sys.stdout.write(f"{named(fault)} is of {fault.runtime}; installed is {other}: not run.\n")
        return
    outcome = judged(fault, case)
    assert outcome.verdict == fault.verdict
    write_folder(tmp_path / "out", reproduction(fault, outcome))
    ended = crashed(tmp_path / "out") if fault.verdict == Verdict.CRASH else shown(tmp_path / "out", monkeypatch)
    assert ended not in {0, None}
    assert (tmp_path / "out" / "ISSUE.md").read_text("utf-8").startswith(f"# {fault.runtime}: {fault.title}\n")


def judged(fault, case) -> Outcome:
    if fault.verdict == Verdict.CRASH:  # not in this process
        with apart_from_here(fault) as subject:
            return judged_on(subject, fault, case)
    return judged_on(load_subject(SubjectName.of(fault.subject, SubjectKind(fault.kind))), fault, case)


def judged_on(subject, fault, case) -> Outcome:
    return judge_optimizer(subject, case) if fault.kind == "optimizer" else judge_backend(subject.target, case)


@contextmanager
def apart_from_here(fault):
    subject = apart(fault.subject, kind=SubjectKind(fault.kind))
    try:
        yield subject
    finally:
        host_of(subject).stop()


def reproduction(fault, outcome) -> dict[str, bytes]:
    subject = SubjectName.of(fault.subject, SubjectKind(fault.kind))
    return contents(corpus(), corpus().cases[fault.case], subject, fault.version, outcome, {}, fault.command)


def shown(folder, monkeypatch) -> int | None:
    """Run a reproduction's script in this process; its status."""
    for name in ("subject", "adapter"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(folder)
    printed = io.StringIO()
    with (
        pytest.raises(SystemExit) as ended,
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(action="ignore"),
    ):
        runpy.run_path(str(folder / "reproduce.py"), run_name="__main__")
    assert re.search(r"\bgot\b.*, expected\b|^--- ", printed.getvalue(), re.MULTILINE | re.DOTALL)
    return ended.value.code


def crashed(folder) -> int:
    return subprocess.run([sys.executable, folder / "reproduce.py"], capture_output=True, check=False).returncode
