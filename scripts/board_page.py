"""Write the board as pages for a code host: README.md with a ranked table and the faults, heat.svg, and badges/.

python scripts/board_page.py RESULTS.jsonl[.gz] FOLDER

Subjects are ranked by the number of distinct faults, then by the number of wrong `must` cases. A fault is a row of
reports/findings/README.md. A subject has a fault if it fails the smallest case of the fault. The suite's own subjects
and the example harness are left out.
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

from conformance.base.errors import ConformanceError
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.results_file import read_results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from conformance.run.results.records import CaseRow
    from conformance.run.results.results_file import Results

ROOT = Path(__file__).parent.parent
FINDINGS = ROOT / "reports" / "findings" / "README.md"
PINNED = ROOT / "conformance" / "subjects" / "adapters" / "runtimes.toml"

OWN = {"reference", "reference-pass", "identity", "exec:harnesses/cpp/harness"}
"""Subjects that are not ranked: the suite's own subjects and the example harness."""

OPERATORS = {"adam": "Adam", "adagrad": "Adagrad", "momentum": "Momentum"}
FORMS = ("native", "function", "expanded")
ALONE, CHAINS = "ArgMax alone", "ArgMax chains"
COLUMNS = (*(f"{operator} {form}" for operator in OPERATORS.values() for form in FORMS), ALONE, CHAINS)

HEADING = """# The board

{run}

Subjects are ranked by the number of distinct faults, then by the number of wrong `must` cases. A fault is a row of the
[findings](../findings/README.md); a subject has it if it fails the smallest case of the fault.

The [board over all operators](operators.md) has the cases of onnx.

![Operators of ONNX that are right, wrong, an error or unsupported, by runtime](operators.svg)

The [history](../history/README.md) has the verdicts of all releases: since which release a case fails, and which
release mends it.

*Right* and *wrong* count computed cases. Cases that a runtime reports as not supported are *unsupported*. A training
optimizer is *native* (a node of the operator), a *function* of the model, or *expanded* to primitive operators. To show
a case, run `onnx-conformance explain CASE`.

The folder `badges/` has a badge for each subject and operator. Its address for shields.io is
`https://img.shields.io/endpoint?url=` followed by the raw address of the file.

![Right cases of each subject, by operator and form](heat.svg)
"""

ROW = re.compile(r"^\| [^|]+ \| \[([^]]+)\]\(([\w-]+)\.md#([^)]+)\) \| `(\w+)` \| (\w+) \|", re.MULTILINE)


@dataclass
class Cell:
    """Numbers of right, wrong and unsupported cases of level must."""

    right: int = 0
    wrong: int = 0
    unsupported: int = 0

    @property
    def computed(self) -> int:
        """Number of right and wrong cases."""
        return self.right + self.wrong

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.right + other.right, self.wrong + other.wrong, self.unsupported + other.unsupported)

    def add(self, verdict: str) -> None:
        """Count a case with this verdict."""
        if verdict == Verdict.PASS:
            self.right += 1
        elif verdict in {Verdict.UNSUPPORTED, Verdict.SKIPPED}:
            self.unsupported += 1
        else:
            self.wrong += 1


@dataclass(frozen=True)
class Fault:
    """A row of the findings: title, page, anchor, smallest case and level of a fault."""

    title: str
    page: str
    anchor: str
    case: str
    level: str


@dataclass(frozen=True)
class Standing:
    """The results of one subject on the board: its faults, and its cells by column."""

    name: str
    version: str
    is_optimizer: bool
    faults: tuple[Fault, ...]
    cells: Mapping[str, Cell]

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sort key: number of faults, number of wrong cases, name."""
        return len(self.faults), sum(cell.wrong for cell in self.cells.values()), self.name


def faults_known(index: str) -> list[Fault]:
    """Return the rows of the index of findings."""
    return [Fault(title, page, anchor, case, level) for title, page, anchor, case, level in ROW.findall(index)]


def short_names(pinned: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return the short names of harnesses and of subjects with a provider, by subject id."""
    subjects = {str(runtime["subject"]): name for name, runtime in pinned.items()}
    return {id_: name for id_, name in subjects.items() if id_.startswith("exec:") or "[provider=" in id_}


def by_operator(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells of a subject by operator; forms of an optimizer are added, as are both ArgMax columns."""
    joined: dict[str, Cell] = {}
    for column, cell in cells.items():
        operator = column.split()[0]
        joined[operator] = joined.get(operator, Cell()) + cell
    return joined


def page_of(subject: str, pages: Collection[str]) -> str | None:
    """Return the page with the findings of a subject: the longest page name that its name begins with."""
    name = subject.partition("[")[0]
    matching = [page for page in pages if name == page or name.startswith(f"{page}-")]
    return max(matching, key=len, default=None)


def column_of(case: CaseRow) -> str | None:
    """Return the column that counts a case; None for an invalid model."""
    tags = set(case.tags)
    if case.kind == "invalid":
        return None
    for tag, operator in OPERATORS.items():
        if tag in tags:
            return f"{operator} {_form(tags)}"
    return CHAINS if case.kind == "pass" else ALONE


def _form(tags: set[str]) -> str:
    if "expanded" in tags:
        return "expanded"
    return (
        "function"
        if any(tag == "function" or tag.startswith(("scope=function", "place=function")) for tag in tags)
        else "native"
    )


def standings(run: Results, known: Sequence[Fault], names: Mapping[str, str]) -> list[Standing]:
    """Return the subjects of a run, sorted by rank."""
    cells: dict[str, dict[str, Cell]] = defaultdict(lambda: {column: Cell() for column in COLUMNS})
    failed: dict[str, set[str]] = defaultdict(set)
    for (subject, case), row in run.rows.items():
        if row.verdict not in {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}:
            failed[subject].add(case)
        column = column_of(run.case_rows[case])
        if row.level == Level.MUST and column:
            cells[subject][column].add(row.verdict)
    pages = {fault.page for fault in known}
    found = [
        Standing(
            names.get(one.id, one.id),
            one.version,
            one.kind == "optimizer",
            tuple(
                fault
                for fault in known
                if fault.page == page_of(names.get(one.id, one.id), pages) and fault.case in failed[one.id]
            ),
            cells[one.id],
        )
        for one in run.header.subjects
        if one.id not in OWN
    ]
    return sorted(found, key=lambda one: one.rank)


def table(standing: Sequence[Standing], columns: Sequence[str]) -> Iterator[str]:
    """Yield a Markdown table: total faults and cases, then right and computed cases by column."""
    head = ("rank", "subject", "faults", "wrong", "right", "unsupported", *columns)
    yield f"| {' | '.join(head)} |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: |" + " ---: |" * len(columns)
    for place, one in enumerate(standing, 1):
        total = [
            sum(getattr(one.cells[column], kind) for column in COLUMNS) for kind in ("wrong", "right", "unsupported")
        ]
        shown = [_cell_text(one.cells[column]) for column in columns]
        numbers = (f"{len(one.faults)}", *map(str, total), *shown)
        yield f"| {place} | {one.name} {one.version} | {' | '.join(numbers)} |"


def _cell_text(cell: Cell) -> str:
    unsupported = f" ({cell.unsupported} unsupported)" if cell.unsupported and cell.computed else ""
    return f"{cell.right}/{cell.computed}{unsupported}" if cell.computed else "-"


def faults(standing: Sequence[Standing]) -> Iterator[str]:
    """Yield the faults of each subject as links to the findings."""
    for one in standing:
        yield f"- **{one.name} {one.version}**" + ("" if one.faults else ": none")
        for fault in one.faults:
            yield f"  - [{fault.title}](../findings/{fault.page}.md#{fault.anchor}) (`{fault.level}`)"


def not_run(run: Results, pinned: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the pinned runtimes without results."""
    there = {one.id for one in run.header.subjects} | OWN
    return sorted(name for name, runtime in pinned.items() if runtime["subject"] not in there)


def run_sentence(run: Results) -> str:
    """Return a sentence with date, suite, corpus and machine of a run."""
    corpus, environment = run.header.corpus, run.header.environment
    return (
        f"Run of {time.strftime('%Y-%m-%d', time.gmtime(run.header.started))}: "
        f"suite {run.header.suite}, corpus {corpus.version} ({corpus.digest[:12]}, {corpus.cases} cases), "
        f"{environment.get('platform', 'unknown platform')}, {environment.get('cpus', 'unknown')} CPUs with "
        f"{environment.get('cpu features', 'unknown features')}. Written by `scripts/board_page.py`."
    )


def page(run: Results, standing: Sequence[Standing], missing: Sequence[str]) -> str:
    """Return the board as Markdown."""
    backends, optimizers = ([one for one in standing if one.is_optimizer is kind] for kind in (False, True))
    sections = {
        "Runtimes": table(backends, COLUMNS),
        "Graph optimizers": table(optimizers, ()),
        "Not run on this corpus": [", ".join(missing) or "None: all pinned runtimes were run."],
        "Faults": faults(standing),
    }
    return HEADING.format(run=run_sentence(run)) + "".join(
        f"\n## {title}\n\n" + "".join(f"{line}\n" for line in lines) for title, lines in sections.items()
    )


def main() -> int:
    """Write the board of a results file into a folder; return the exit status."""
    if len(sys.argv) != 3:
        sys.stderr.write(f"{__doc__}\nGive a results file and a folder.\n")
        return 2
    try:
        run = read_results(Path(sys.argv[1]))
    except ConformanceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    pinned = tomllib.loads(PINNED.read_text(encoding="utf-8"))["runtimes"]
    standing = standings(run, faults_known(FINDINGS.read_text(encoding="utf-8")), short_names(pinned))
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(page(run, standing, not_run(run, pinned)), encoding="utf-8")
    rows = {f"{one.name} {one.version}": one.cells for one in standing if not one.is_optimizer}
    title = "Right and computed cases of level must"
    (folder / "heat.svg").write_bytes(heat_map(rows, COLUMNS, title))
    write_badges(folder / "badges", {one.name: by_operator(one.cells) for one in standing})
    return 0


if __name__ == "__main__":
    sys.exit(main())
