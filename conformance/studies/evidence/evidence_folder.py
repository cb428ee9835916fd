"""The folder of the evidence: tables, page, checking script and hashes, written as a whole or not at all."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from conformance.base.errors import EvidenceError, UsageError
from conformance.base.files.atomic_write import TEMPORARY_PREFIX, real_path, supervised_temp_dir, write_folder
from conformance.base.pages import templating
from conformance.base.plugins import suite_version
from conformance.base.serialization.decoding import encode_document
from conformance.run.results.records import case_record
from conformance.studies.evidence.accuracy_tables import accuracy_table, bounds_table, census_table
from conformance.studies.evidence.evidence_inputs import MeasuredCorpus, read_inputs
from conformance.studies.evidence.evidence_tables import TableRecord  # noqa: TC001 - msgspec reads the annotations
from conformance.studies.evidence.requirement_maps import BUNDLED_MAP, bundled_map, read_map
from conformance.studies.evidence.restrictions import cases_outside, cells_outside
from conformance.studies.evidence.suite_facts import (
    left_out_table,
    quality_table,
    run_tables,
    source_tables,
    statement_tables,
)
from conformance.studies.evidence.traceability import REQUIREMENT_STATUS, traceability_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.run.results.records import CaseRecord
    from conformance.run.results.results_file import Results
    from conformance.studies.evidence.evidence_inputs import EvidenceInputs
    from conformance.studies.evidence.evidence_tables import Cell, Table
    from conformance.studies.evidence.requirement_maps import RequirementMap


class MappedRequirements(Struct):
    """The map of requirements of the evidence: its name and title, and the SHA-256 of its file."""

    name: str
    title: str
    sha256: str


class EvidenceDocument(Struct):
    """The file `tables.json`: what the evidence was made of, the profile of `--restrict`, and the tables."""

    format: Literal[1]
    suite: str
    corpus: MeasuredCorpus
    requirements: MappedRequirements
    restrict: str | None
    tables: list[TableRecord]


SUMS = "SHA256SUMS"

CENSUS_TYPES = ("float16", "bfloat16", "float", "double")

MAX_ACCURACY_ROWS = 400
"""Number of rows of the table of accuracy that the page shows."""


_LONG_TABLES = frozenset({"requirement_cases", "requirement_verdicts", "cases", "files", "results", "verdicts"})
"""Tables whose rows the page does not show."""


def check_folder(folder: Path) -> None:
    """Check that evidence can be written to a folder.

    Raises:
        EvidenceError: the folder exists and is not empty, or it is a file.
        UsageError: the nearest folder above it that exists is not writable.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise EvidenceError("folder-is-file", folder=folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise EvidenceError("folder-not-empty", folder=folder)
    target = real_path(folder)
    with _write_errors(folder):
        above = next(parent for parent in target.parents if parent.exists())
        with supervised_temp_dir(above, TEMPORARY_PREFIX):
            pass


@contextmanager
def _write_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError("evidence-not-writable", folder=folder, reason=error.strerror) from None


def write_evidence(
    paths: Sequence[Path],
    folder: Path,
    requirements: Path | None = None,
    restrict: str | None = None,
    data: Path | None = None,
) -> list[str]:
    """Write the evidence of some input files, and return the names of the written files.

    Args:
        paths: results files, census files, and measurements of the suite.
        folder: a new or empty folder.
        requirements: map of requirements; None for that of the suite.
        restrict: the profile to whose models the evidence is restricted; None for no restriction.
        data: folder of the corpus; None for that of the suite.

    Raises:
        ConformanceError: an input is wrong, or the folder is not empty. Nothing is written then.
    """
    check_folder(folder)
    if restrict not in {None, BUNDLED_MAP}:
        raise UsageError("restriction-unknown", restrict=restrict, known=BUNDLED_MAP)
    map = read_map(requirements)
    inputs = read_inputs(paths, data)
    files = dict(_evidence_files(inputs, map, restrict))
    with _write_errors(folder):
        write_folder(real_path(folder), files)
    return sorted(files)


def _evidence_files(inputs: EvidenceInputs, map: RequirementMap, restrict: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file; the last file has the hashes of the others."""
    tables = {table.name: table for table in _evidence_tables(inputs, map, restrict)}
    document = EvidenceDocument(
        1,
        suite_version(),
        MeasuredCorpus(inputs.corpus.version, inputs.corpus.digest, len(inputs.corpus.cases)),
        MappedRequirements(map.parsed.name, map.parsed.title, map.digest),
        restrict,
        [table.to_record() for table in tables.values()],
    )
    files: dict[str, bytes] = {}
    for table in tables.values():
        files[f"tables/{table.name}.csv"] = table.to_csv()
        files[f"tables/{table.name}.json"] = table.to_json()
        files[f"tables/{table.name}.schema.json"] = table.to_schema()
    files["tables.json"] = encode_document(document, is_ascii=False)
    files["requirements.toml"] = map.content
    files["verify.py"] = resources.files("conformance.studies.evidence").joinpath("verify.py").read_bytes()
    files["index.html"] = _render_page(document, tables, inputs.runs).encode("utf-8", "backslashreplace")
    yield from files.items()
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    yield SUMS, sums.encode()


def _evidence_tables(inputs: EvidenceInputs, map: RequirementMap, restrict: str | None) -> Iterator[Table]:
    records = _case_records(inputs)
    linked = map.link(list(records.values()))
    outside: Mapping[str, Sequence[str]] = {}
    cells_out: Mapping[str, Sequence[str]] = {}
    limits = map if map.parsed.restriction else bundled_map()
    cells = {name: list(found) for name, (_, found) in inputs.cells.items()}
    if restrict:
        outside = cases_outside(inputs.corpus, records.values())
        cells_out = cells_outside(each for found in cells.values() for each in found)
        left_out = {id for ids in outside.values() for id in ids}
        records = {id: case for id, case in records.items() if id not in left_out}
        unmeasured = {name for names in cells_out.values() for name in names}
        cells = {name: [each for each in found if each.cell.name not in unmeasured] for name, found in cells.items()}
    censused = frozenset(each.cell.operator for found in cells.values() for each in found if each.number("pairs"))
    yield from traceability_tables(inputs.corpus, records, inputs.runs, map, linked, censused)
    yield accuracy_table(inputs.corpus, records, inputs.runs, cells)
    yield census_table(cells)
    types = [type for type in CENSUS_TYPES if not (restrict and type == "bfloat16")]
    yield bounds_table(not restrict, types)
    yield from run_tables(inputs, frozenset(records))
    yield quality_table(inputs)
    yield from statement_tables()
    yield from source_tables(map)
    yield from left_out_table(limits, outside, cells_out)


def _case_records(inputs: EvidenceInputs) -> dict[str, CaseRecord]:
    """Return the records of all cases of the corpus, sorted by id: from the results, or else from the corpus."""
    records: dict[str, CaseRecord] = {}
    for id, entry in sorted(inputs.corpus.cases.items()):
        run = next((run for run in inputs.runs if id in run.case_rows), None)
        records[id] = case_record(inputs.corpus, entry) if run is None else run.cases[id]
    return records


def _render_page(facts: EvidenceDocument, tables: Mapping[str, Table], runs: Sequence[Results]) -> str:
    """Return the page.

    Args:
        facts: suite, corpus, map and restriction.
        tables: the tables of the evidence by name.
        runs: the results, which have the outcome.
    """
    rows = {
        name: [_named(table, row) for row in table.rows] for name, table in tables.items() if name not in _LONG_TABLES
    }
    requirements = rows["requirements"]
    counts = Counter(row["status"] for row in rows["requirements"])
    verdicts = _verdict_counts(tables)
    results = sum(count.total() for count in verdicts.values())
    cases = len(set(tables["results"].column("case")))
    tested = f"{templating.count_text(cases, 'case')} on {templating.count_text(len(verdicts), 'subject')}"
    return templating.render_page(
        "evidence.html.j2",
        styles=["evidence.css"],
        facts=facts,
        tables=tables,
        rows=rows,
        passes=all(run.footer.outcome == "pass" for run in runs),
        judged=f"{templating.count_text(results, 'result')} of {tested}",
        outcomes=[_outcome_text(run, verdicts) for run in runs],
        run_requirements=sum(bool(row["results"]) for row in requirements),
        run_cases=cases,
        statuses_text="; ".join(f"{counts[name]} {name}" for name in REQUIREMENT_STATUS),
        anchors={row["requirement"]: f"r{number}" for number, row in enumerate(requirements, 1)},
        clause_anchors={row["clause"]: f"c{number}" for number, row in enumerate(rows["clauses"], 1)},
        without=[row for row in requirements if not row["cases"]],
        tested=[row for row in requirements if row["cases"]],
        statuses=REQUIREMENT_STATUS,
        linked_clauses=[row for row in rows["clauses"] if row["requirements"]],
        accuracy=rows["accuracy"][:MAX_ACCURACY_ROWS],
        is_shortened=len(rows["accuracy"]) > MAX_ACCURACY_ROWS,
        failures=verdicts,
    )


def _outcome_text(run: Results, verdicts: Mapping[str, Counter[str]]) -> str:
    """Return the outcome of a run, and the verdicts of each of its subjects."""
    outcome = "passed" if run.footer.outcome == "pass" else "failed"
    subjects = [
        f"{subject.id}: "
        + (", ".join(f"{count:,} {name}" for name, count in sorted(verdicts[subject.id].items())) or "no result")
        for subject in run.header.subjects
    ]
    return f"{run.path.rpartition('/')[2]} {outcome}. {'; '.join(subjects)}"


def _named(table: Table, row: tuple[Cell, ...]) -> dict[str, Cell]:
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _verdict_counts(tables: Mapping[str, Table]) -> dict[str, Counter[str]]:
    """Return the number of results of each subject by verdict."""
    results = tables["results"]
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for subject, verdict in zip(results.column("subject"), results.column("verdict"), strict=True):
        found[subject][verdict] += 1
    return found
