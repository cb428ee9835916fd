"""Writes the board for a code host: README.md, a ranked table with the faults of each subject, heat.svg, and badges/.

python scripts/board_page.py RESULTS.jsonl[.gz] FOLDER

Subjects are ranked by distinct faults, then by cases at `must`; a fault is a row of docs/findings, and a subject has it
where its smallest case fails on it. The suite's own subjects and the template of a harness are left out.
"""

from __future__ import annotations

import re
import sys
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from board_badges import write_badges
from board_map import heat_map

from conformance.errors import ConformanceError
from conformance.results.file import read
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from conformance.results.file import Results
    from conformance.results.records import CaseRow

ROOT = Path(__file__).parent.parent
FINDINGS = ROOT / "docs" / "findings" / "README.md"
PINNED = ROOT / "conformance" / "backends" / "runtimes.toml"

OWN = {"reference", "reference-pass", "identity", "exec:harnesses/cpp/harness"}
"""The suite's own, and the template of a harness."""

OPERATORS = {"adam": "Adam", "adagrad": "Adagrad", "momentum": "Momentum"}
FORMS = ("native", "function", "lowered")
ALONE, CHAINS = "ArgMax alone", "ArgMax chains"
COLUMNS = (*(f"{operator} {form}" for operator in OPERATORS.values() for form in FORMS), ALONE, CHAINS)

HEADING = """# The board

{run}

Ranked by distinct faults, each a row of the [findings](../../docs/findings/README.md) whose smallest case fails here,
then by cases that are wrong at `must`. *Right* and *wrong* are of cases that were computed; what a runtime says it does
not have is *unsupported*, and neither. A training optimizer is *native*, in a *function* of the model, or *lowered* to
primitive operators. What a case is: `onnx-conformance explain CASE`.

A badge for each subject and operator is in `badges/`, for shields.io's endpoint:
`https://img.shields.io/endpoint?url=` and the address of the file as the code host gives it raw.

![Right answers of each subject, by operator and form](heat.svg)
"""

ROW = re.compile(r"^\| [^|]+ \| \[([^]]+)\]\(([\w-]+)\.md#([^)]+)\) \| `(\w+)` \| (\w+) \|", re.MULTILINE)


@dataclass
class Cell:
    """Cases of level must by how they ended; what is unsupported is neither right nor wrong."""

    right: int = 0
    wrong: int = 0
    unsupported: int = 0

    @property
    def computed(self) -> int:
        """How many gave an answer, or failed to."""
        return self.right + self.wrong

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.right + other.right, self.wrong + other.wrong, self.unsupported + other.unsupported)

    def add(self, verdict: str) -> None:
        """Count a case."""
        if verdict == Verdict.PASS:
            self.right += 1
        elif verdict in {Verdict.UNSUPPORTED, Verdict.SKIPPED}:
            self.unsupported += 1
        else:
            self.wrong += 1


@dataclass(frozen=True)
class Fault:
    """A row of the findings."""

    title: str
    page: str
    anchor: str
    case: str
    level: str


@dataclass(frozen=True)
class Standing:
    """A subject's place on the board: its faults, and its cells by column."""

    name: str
    version: str
    is_optimizer: bool
    faults: tuple[Fault, ...]
    cells: Mapping[str, Cell]

    @property
    def rank(self) -> tuple[int, int, str]:
        """Fewer faults first, then fewer cases that are wrong."""
        return len(self.faults), sum(cell.wrong for cell in self.cells.values()), self.name


def faults_known(index: str) -> list[Fault]:
    """The rows of the findings' index."""
    return [Fault(title, page, anchor, case, level) for title, page, anchor, case, level in ROW.findall(index)]


def short_names(pinned: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """What subjects are called on the board, by their ids: harnesses and other providers by names of their own."""
    subjects = {str(told["subject"]): name for name, told in pinned.items()}
    return {id_: name for id_, name in subjects.items() if id_.startswith("exec:") or "[provider=" in id_}


def by_operator(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """The cells of a subject by operator: the forms of an optimizer together, and ArgMax with its chains."""
    joined: dict[str, Cell] = {}
    for column, cell in cells.items():
        operator = column.split()[0]
        joined[operator] = joined.get(operator, Cell()) + cell
    return joined


def page_of(subject: str, pages: Collection[str]) -> str | None:
    """The page of findings that a subject's faults stand on: that of its name, or of what its name begins with."""
    name = subject.partition("[")[0]
    begun = [page for page in pages if name == page or name.startswith(f"{page}-")]
    return max(begun, key=len, default=None)


def column_of(case: CaseRow) -> str | None:
    """Where a case is counted; an invalid model is counted in no column."""
    tags = set(case["tags"])
    if case["kind"] == "invalid":
        return None
    for tag, operator in OPERATORS.items():
        if tag in tags:
            return f"{operator} {_form(tags)}"
    return CHAINS if case["kind"] == "pass" else ALONE


def _form(tags: set[str]) -> str:
    if "expanded" in tags:
        return "lowered"
    return "function" if any(tag == "function" or tag.startswith("place=function") for tag in tags) else "native"


def standings(run: Results, known: Sequence[Fault], names: Mapping[str, str]) -> list[Standing]:
    """The subjects of a run in the order of their rank."""
    cells: dict[str, dict[str, Cell]] = defaultdict(lambda: {column: Cell() for column in COLUMNS})
    failed: dict[str, set[str]] = defaultdict(set)
    for (subject, case), row in run.rows.items():
        if row["verdict"] not in {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}:
            failed[subject].add(case)
        column = column_of(run.described[case])
        if row["level"] == Level.MUST and column:
            cells[subject][column].add(row["verdict"])
    pages = {fault.page for fault in known}
    found = [
        Standing(
            names.get(one["id"], one["id"]),
            one["version"],
            one["kind"] == "optimizer",
            tuple(
                fault
                for fault in known
                if fault.page == page_of(names.get(one["id"], one["id"]), pages) and fault.case in failed[one["id"]]
            ),
            cells[one["id"]],
        )
        for one in run.header["subjects"]
        if one["id"] not in OWN
    ]
    return sorted(found, key=lambda one: one.rank)


def table(standing: Sequence[Standing], columns: Sequence[str]) -> Iterator[str]:
    """A Markdown table: faults and cases in all, then right of what was computed, by column."""
    head = ("rank", "subject", "faults", "wrong", "right", "unsupported", *columns)
    yield f"| {' | '.join(head)} |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: |" + " ---: |" * len(columns)
    for place, one in enumerate(standing, 1):
        total = [
            sum(getattr(one.cells[column], what) for column in COLUMNS) for what in ("wrong", "right", "unsupported")
        ]
        shown = [_shown(one.cells[column]) for column in columns]
        numbers = (f"{len(one.faults)}", *map(str, total), *shown)
        yield f"| {place} | {one.name} {one.version} | {' | '.join(numbers)} |"


def _shown(cell: Cell) -> str:
    unsupported = f" ({cell.unsupported} unsupported)" if cell.unsupported and cell.computed else ""
    return f"{cell.right}/{cell.computed}{unsupported}" if cell.computed else "-"


def faults(standing: Sequence[Standing]) -> Iterator[str]:
    """The faults of each subject, each a link to its finding."""
    for one in standing:
        yield f"- **{one.name} {one.version}**" + ("" if one.faults else ": none")
        for fault in one.faults:
            yield f"  - [{fault.title}](../../docs/findings/{fault.page}.md#{fault.anchor}) (`{fault.level}`)"


def not_run(run: Results, pinned: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The runtimes that are pinned and of which the results have nothing."""
    there = {one["id"] for one in run.header["subjects"]} | OWN
    return sorted(name for name, told in pinned.items() if told["subject"] not in there)


def told_of(run: Results) -> str:
    """When, of what and where a run was, in a sentence."""
    corpus, environment = run.header["corpus"], run.header["environment"]
    started = run.header.get("started")
    return (
        f"Of {time.strftime('%Y-%m-%d', time.gmtime(started)) if started else 'a day that is not told'}: "
        f"suite {run.header['suite']}, corpus {corpus['version']} ({corpus['digest'][:12]}, {corpus['cases']} cases), "
        f"{environment.get('platform', 'a platform that is not told')}, {environment.get('cpus', 'unknown')} CPUs with "
        f"{environment.get('cpu features', 'features that are not told')}. Made by `scripts/board_page.py`."
    )


def page(run: Results, standing: Sequence[Standing], missing: Sequence[str]) -> str:
    """The board as Markdown."""
    backends, optimizers = ([one for one in standing if one.is_optimizer is kind] for kind in (False, True))
    sections = {
        "Runtimes": table(backends, COLUMNS),
        "Graph optimizers": table(optimizers, ()),
        "Not run on this corpus": [", ".join(missing) or "None: all that are pinned were run."],
        "Faults": faults(standing),
    }
    return HEADING.format(run=told_of(run)) + "".join(
        f"\n## {title}\n\n" + "".join(f"{line}\n" for line in lines) for title, lines in sections.items()
    )


def main() -> int:
    """Write the board of a results file into a folder; gives the exit status."""
    if len(sys.argv) != 3:
        sys.stderr.write(f"{__doc__}\nName a results file and a folder.\n")
        return 2
    try:
        run = read(Path(sys.argv[1]))
    except ConformanceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    pinned = tomllib.loads(PINNED.read_text(encoding="utf-8"))["runtimes"]
    standing = standings(run, faults_known(FINDINGS.read_text(encoding="utf-8")), short_names(pinned))
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(page(run, standing, not_run(run, pinned)), encoding="utf-8")
    rows = {f"{one.name} {one.version}": one.cells for one in standing if not one.is_optimizer}
    title = "Right answers of what was computed, at level must"
    (folder / "heat.svg").write_bytes(heat_map(rows, COLUMNS, title))
    write_badges(folder / "badges", {one.name: by_operator(one.cells) for one in standing})
    return 0


if __name__ == "__main__":
    sys.exit(main())
