"""The pages of the documentation: openings, links, and tables that repeat the code."""

from __future__ import annotations

import re
import tomllib
from pkgutil import resolve_name

import pytest
from batches import for_each
from repository import ROOT

from conformance.base.errors import ExitStatus
from conformance.base.verdicts import Verdict
from conformance.run.judging.optimizer_checks import CHECKS

DOCS = ROOT / "docs"
FOLDERS = ("docs", "reports", "expectations", "harnesses")
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))
PAGES = [page for page in PAGES if "node_modules" not in page]
WRITTEN = [page for page in PAGES if page.startswith("docs/")]

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

FORMER_WORDS = re.compile(
    r"\b(accus\w+|acquit\w*|bystanders?|campaigns?|deviations?|gate|lowered|mend\w*|rooms?|rulings?|store?ys?|surprises?"
    r"|twists?)\b",
    re.IGNORECASE,
)
FORMER_OPTIONS = re.compile(r"--(?:claims|quality|in-process|case-level|level|keep|hazards)\b(?!-)")


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """Return the anchor that code hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def first_cells(page: str, head: str) -> list[str]:
    """Return the code in the first column of the table with this head."""
    lines = read(page).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {head} |")) + 2
    cells = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        cells += re.findall(r"`([^`]+)`", line.split("|")[1]) or [line.split("|")[1].strip()]
    return cells


@pytest.mark.parametrize("page", ["the-way-of-a-case", "the-way-of-an-audit"])
def test_page_of_a_way_names_functions_that_exist(page):
    steps = re.findall(r"^\| \d+ \| ([^|]+) \|", read(f"docs/contributing/{page}.md"), re.MULTILINE)
    named = [name for step in steps for name in re.findall("`([^`]+)`", step)]
    assert len(named) >= len(steps) > 10
    assert all(resolve_name(f"conformance.{name}") for name in named)


@pytest.mark.parametrize("page", WRITTEN)
def test_page_opens_with_its_purpose(page):
    heading, blank, *opening = read(page).splitlines()[:5]
    assert heading.startswith("# ")
    assert not blank
    assert len(" ".join(opening).split()) >= 15
    paragraph = read(page).split("\n\n")[1]
    assert re.search(
        r"\b[Ff]or\s+(all\s+|both\s+)?(readers|users|authors|contributors|owners|maintainers|every|safety)", paragraph
    )


@for_each("page", [*PAGES, *ROOT_PAGES])
def test_links_of_a_page_lead_to_a_file_and_a_heading(page):
    for link in _LINK.findall(_CODE.sub("", read(page))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, heading = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), link
        if heading and target.suffix == ".md":
            text = re.sub(r"^```.*?^```$", "", target.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            assert heading in map(anchor, _HEADING.findall(text)), link


def test_readme_and_contributing_link_to_all_pages():
    texts = read("README.md") + read("CONTRIBUTING.md")
    linked = {link.partition("#")[0] for link in _LINK.findall(texts)}
    assert [page for page in WRITTEN if page not in linked] == []


@for_each("page", [*WRITTEN, "README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_page_uses_no_former_word(page):
    assert FORMER_WORDS.findall(_CODE.sub("", read(page))) == []
    assert FORMER_OPTIONS.findall(read(page)) == []


def test_glossary_defines_subject_first():
    first = next(line for line in read("docs/glossary.md").splitlines() if line.startswith("- "))
    assert first.startswith("- **subject**: ")


def test_table_of_optimizer_checks_is_that_of_the_code():
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", read("docs/reference/optimizer-checks.md"), re.MULTILINE)
    assert sorted(rows) == sorted((check.name, str(check.level)) for check in CHECKS)


def test_how_to_page_names_every_optimizer_check():
    page = read("docs/how-to/test-a-graph-optimizer.md")
    assert [check.name for check in CHECKS if f"`{check.name}`" not in page] == []


def test_table_of_exit_statuses_is_that_of_the_code():
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", read("docs/reference/exit-statuses.md"), re.MULTILINE)
    meanings = {int(status): meaning.strip() for status, meaning in rows}
    assert set(meanings) == {int(status) for status in ExitStatus}
    assert all(meanings[status].startswith(status.meaning) for status in ExitStatus)


def test_table_of_verdicts_is_that_of_the_code():
    assert first_cells("docs/how-to/read-a-report.md", "verdict") == [str(verdict) for verdict in Verdict]


def test_table_of_hazard_classes_is_that_of_the_code():
    hazards = tomllib.loads(read("conformance/corpus/passes/hazards.toml"))
    assert sorted(first_cells("docs/explanation/hazards.md", "class")) == sorted(hazards)


def test_package_layout_has_the_wings_and_parts_of_the_import_contracts():
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    contracts = [contract for contract in contracts if "containers" in contract]
    layers = {contract["containers"][0]: contract["layers"] for contract in contracts}
    wings = [wing for wing in layers["conformance"] if wing != "__main__"]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", read("docs/contributing/package-layout.md"), re.MULTILINE)
    assert [wing for wing, _ in rows] == wings
    for wing, parts in rows:
        expected = {part.strip() for layer in layers.get(f"conformance.{wing}", ()) for part in layer.split("|")}
        assert set(re.findall(r"`(\w+)`", parts)) == expected


def test_site_lists_each_page_once():
    listed = re.findall(r'^ +"(docs/[^"*]+)",?$|"(docs/[^"*]+)"[,)]', read("scripts/site/conf.py"), re.MULTILINE)
    assert sorted(f"{one or other}.md" for one, other in listed) == WRITTEN
