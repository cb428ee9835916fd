"""reports/findings/: cases exist, commands run, faults reproduce, and the index lists every fault.

A fault belongs to one version of a runtime. If this version is not installed, its case is not run.
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
from batches import for_each
from distributions import PACKAGES
from isolation_support import isolated_subject
from repository import DATA, ROOT

from conformance.base.files.atomic_write import write_folder
from conformance.base.verdicts import Level, Verdict
from conformance.commands.cli import create_app
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.run.diagnosis.reproduction.reproduction_folder import reproduction_files
from conformance.run.expectations.expectations_file import read_expectations
from conformance.run.judging.execute import judge_case
from conformance.run.results.known_faults import known_faults
from conformance.run.results.records import Assessment, Judged, Result, effective_level
from conformance.subjects.calling.subject_loading import load_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.start_subjects import client_of

if TYPE_CHECKING:
    from pathlib import Path


FOLDER = ROOT / "reports" / "findings"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.md"))
    if path.name not in {"README.md", "by-audit.md", "by-search.md", "not-monotone.md"}
}
"""Texts of the runtimes' pages, by file name. The other pages have tests of their own."""
PINNED = (ROOT / "conformance" / "subjects" / "adapters" / "runtimes.toml").read_text(encoding="utf-8")
NAMES = {row["subject"]: name for name, row in tomllib.loads(PINNED)["runtimes"].items()}
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
    return fault.location.removeprefix("reports/findings/")


RUN = typer.main.get_command(create_app(())).commands["run"]
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


def fault_id(fault) -> str:
    return f"{fault.subject}: {fault.title}"


def read_rows() -> list[Row]:
    table = INDEX.split("\n## ")[0]
    row = r"^\| ([^|]+) \| \[([^]|]+)\]\(([^)|]+)\) \| `(\w+)` \| (\w+) \| ([^|]+) \|$"
    rows = [Row(*cells) for cells in re.findall(row, table, re.MULTILINE)]
    assert len(rows) == sum(line.startswith("|") for line in table.splitlines()) - 2  # the head and the rule
    return rows


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


each_fault = for_each("fault", FAULTS, fault_id)
ROWS = read_rows()


@cache
def corpus():
    return open_corpus(DATA)


def installed_version(subject: str) -> str:
    try:
        return version(PACKAGES[subject])
    except PackageNotFoundError:
        return "none"


def test_findings_cover_every_tested_distribution():
    assert {fault.subject for fault in FAULTS} == set(PACKAGES)


def test_named_cases_exist_in_the_corpus():
    named = {case for text in (INDEX, *PAGES.values()) for case in re.findall(r"\btest_[a-z0-9_]+", text)}
    assert named - set(corpus().cases) == set()


@pytest.mark.parametrize("page", PAGES)
def test_page_opens_with_version_installation_and_index(page):
    heading, *opening = PAGES[page].split("\n## ")[0].splitlines()
    name, version = re.fullmatch(r"# (.+) (\S+)", heading).groups()
    package = next(PACKAGES[fault.subject] for fault in FAULTS if link(fault).startswith(f"{page}#"))
    assert name
    assert re.search(rf"`pip install [^`]*{re.escape(package)}=={re.escape(version)}", "\n".join(opening))
    assert "(README.md)" in "\n".join(opening)


def test_index_has_one_row_per_fault():
    assert sorted(row.link for row in ROWS) == sorted(map(link, FAULTS))


@pytest.mark.parametrize("page", PAGES)
def test_index_lists_faults_in_the_order_of_the_page(page):
    pages = [row.link.partition("#")[0] for row in ROWS]
    first = pages.index(page)
    listed = ROWS[first : first + pages.count(page)]
    assert [row.title for row in listed] == [fault.title for fault in FAULTS if link(fault).startswith(f"{page}#")]


def test_headings_of_a_page_have_distinct_anchors():
    for text in PAGES.values():
        anchors = [anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_links_lead_to_existing_files_and_headings(name):
    for link in re.findall(r"\]\(([^)]+)\)", (FOLDER / name).read_text(encoding="utf-8")):
        file, _, heading = link.partition("#")
        target = FOLDER / file if file else FOLDER / name
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in map(anchor, headings), link


@each_fault
def test_index_row_matches_the_fault(fault):
    (row,) = (row for row in ROWS if row.link == link(fault))
    level = Level.weakest([corpus().cases[fault.case].level, fault.level])
    assert (row.runtime, row.title, row.case, row.level) == (fault.runtime, fault.title, fault.case, level)


@each_fault
def test_index_row_has_the_upstream_status(fault):
    (row,) = (row for row in ROWS if row.link == link(fault))
    if "not found" in fault.upstream:
        assert row.upstream == "not found"
    assert set(re.findall(r"[\w./-]*#\d+", row.upstream)) <= set(re.findall(r"[\w./-]*#\d+", fault.upstream))


@each_fault
def test_fault_is_on_the_page_of_its_runtime(fault):
    name = NAMES.get(fault.subject, fault.subject.partition("[")[0].removesuffix("-defaults"))
    assert link(fault).partition("#")[0] == f"{name}.md"


@each_fault
def test_command_runs_the_case_on_the_subject(fault):
    assert fault.command.startswith("onnx-conformance run ")
    given = options(fault)
    assert (list(given[fault.kind]), list(given["case"])) == ([fault.subject], [fault.case])


@each_fault
def test_command_has_the_fail_level_of_the_case(fault):
    assert options(fault)["fail_level"] == fault.level
    assert Level(corpus().cases[fault.case].level).is_within(fault.level)


@each_fault
def test_section_shows_the_reproduction_command(fault):
    section = PAGES[link(fault).partition("#")[0]].partition(f"\n## {fault.title}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\$ (.+)$", section, re.MULTILINE) == [fault.command, fault.reproduction]


@each_fault
def test_verdict_matches_the_expectations_file(fault):
    expectation = expected_in(expectations(fault)).entry_for(fault.case)
    assert expectation is not None
    assert expectation.verdict == fault.verdict != Verdict.PASS


@each_fault
def test_version_is_the_pinned_version(fault):
    assert f'"{PACKAGES[fault.subject]}=={fault.version}"' in PINNED


@pytest.mark.programs
@pytest.mark.parametrize("fault", FAULTS, ids=fault_id)
def test_fault_and_its_reproduction_folder_fail(fault, tmp_path, monkeypatch):
    case = load_case(corpus(), corpus().cases[fault.case])
    if (other := installed_version(fault.subject)) != fault.version:
        sys.stdout.write(f"{fault_id(fault)} is of {fault.runtime}; installed is {other}: not run.\n")
        return
    outcome = judge(fault, case)
    entry = expected_in(expectations(fault)).entry_for(fault.case)
    if entry.intermittent and outcome.verdict == Verdict.PASS:
        sys.stdout.write(f"{fault_id(fault)} depends on chance, and passes this time: not reproduced.\n")
        return
    assert outcome.verdict == fault.verdict
    write_folder(tmp_path / "out", reproduction(fault, outcome))
    ended = (
        run_crashing_script(tmp_path / "out")
        if fault.verdict == Verdict.CRASH
        else run_script(tmp_path / "out", monkeypatch)
    )
    assert ended not in {0, None}
    assert (tmp_path / "out" / "ISSUE.md").read_text("utf-8").startswith(f"# {fault.runtime}: {fault.title}\n")


def judge(fault, case) -> Judged:
    if fault.verdict == Verdict.CRASH:  # not in this process
        with isolated(fault) as subject:
            return judge_case(subject, case)
    return judge_case(load_subject(SubjectName.parse(fault.subject, SubjectKind(fault.kind))), case)


@contextmanager
def isolated(fault):
    subject = isolated_subject(fault.subject, kind=SubjectKind(fault.kind))
    try:
        yield subject
    finally:
        client_of(subject).stop()


def reproduction(fault, judged: Judged) -> dict[str, bytes]:
    subject = SubjectName.parse(fault.subject, SubjectKind(fault.kind))
    case = corpus().cases[fault.case]
    outcome = Result.assessed(judged, Assessment(level=effective_level(judged, case.level)))
    return reproduction_files(corpus(), case, subject, fault.version, outcome, {}, fault.command)


def run_script(folder, monkeypatch) -> int | None:
    """Run a reproduction's script in this process, and return its status."""
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


def run_crashing_script(folder) -> int:
    return subprocess.run([sys.executable, folder / "reproduce.py"], capture_output=True, check=False).returncode
