"""Traceability in both directions: requirement, clause, case, data set and verdict."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from conformance.base.serialization.printable_text import one_line
from conformance.exact.clauses import clauses
from conformance.studies.evidence.evidence_tables import plain_row, queried_table, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.records import CaseRecord, Result
    from conformance.run.results.results_file import Results
    from conformance.studies.evidence.evidence_tables import Cell, Table
    from conformance.studies.evidence.requirement_maps import RequirementMap

NOT_COMPARED = "not compared"
"""Verdict of a data set of a case that fails, if its outputs were not compared."""

MAX_MESSAGE_LENGTH = 300
"""Characters of a subject's message in a table."""

REQUIREMENT_STATUS = {
    "no case": "no case tests the requirement on a runtime; the reason states what is missing",
    "measured": "no case tests it; a census measures it",
    "limit of models": "it limits the permitted models; --restrict leaves out the other models",
    "real numbers": "it is about real numbers, which no program computes with",
    "about the text": "it is about the text of the source, and not about a runtime",
    "tested below must": "only should or silent cases test it",
    "tested": "at least one must case tests it",
}
"""Meaning of each status of a requirement, in the order of the table of requirements."""

_SCOPE_STATUS = {"runtime": "no case", "document": "about the text", "real": "real numbers"}

NO_CLAUSE = (None,)

_SCHEMA = """
CREATE TABLE status (name, position);
CREATE TABLE requirement (position, id PRIMARY KEY, title, scope, census, restriction, reason, source, tag);
CREATE TABLE cases (id PRIMARY KEY, kind, level, title, data_sets, clauses);
CREATE TABLE case_clause (case_id, clause);
CREATE TABLE clause (id PRIMARY KEY, text, source, support);
CREATE TABLE link (requirement, case_id);
CREATE TABLE link_clause (requirement, clause, case_id);
CREATE TABLE result (subject, case_id, level, verdict, phase, known, message, PRIMARY KEY (subject, case_id));
CREATE TABLE data_set_verdict (subject, case_id, data_set, verdict, PRIMARY KEY (subject, case_id, data_set));
CREATE INDEX clauses_of_cases ON case_clause (clause);
CREATE INDEX requirements_of_cases ON link (case_id);
CREATE INDEX clauses_of_requirements ON link_clause (requirement);
CREATE INDEX requirements_of_clauses ON link_clause (clause);
CREATE INDEX results_of_cases ON result (case_id);
"""
"""The database from which the queries in `tables.toml` compute the tables."""

_QUERIED = ("requirements", "requirement_cases", "requirement_verdicts", "clauses", "cases", "results", "verdicts")


def traceability_tables(
    corpus: Corpus,
    cases: Mapping[str, CaseRecord],
    runs: Sequence[Results],
    requirements: RequirementMap,
    linked: Mapping[str, Sequence[CaseRecord]],
    censused: frozenset[str],
) -> Iterator[Table]:
    """Yield the tables that link requirements, clauses, cases, data sets and verdicts.

    Args:
        corpus: the corpus of all runs.
        cases: the cases that are not left out, by id, sorted.
        runs: the results.
        requirements: the map of requirements.
        linked: the cases of each requirement, by its id.
        censused: the operators of which the evidence has a census.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_SCHEMA)
        for name, rows in (
            ("status", ((name, position) for position, name in enumerate(REQUIREMENT_STATUS))),
            ("requirement", _requirement_rows(requirements, censused)),
            ("cases", map(_case_row, cases.values())),
            ("case_clause", ((id, clause) for id, case in cases.items() for clause in case.clauses)),
            ("clause", _clause_rows(cases.values(), runs)),
            ("link", ((id, case.case) for id, found in linked.items() for case in found if case.case in cases)),
            ("link_clause", _clause_links(requirements, linked, cases)),
            ("result", _result_rows(cases, runs)),
            ("data_set_verdict", _verdict_rows(cases, runs)),
        ):
            _insert(database, name, rows)
        yield from (queried_table(name, database) for name in _QUERIED)
    yield table_of("files", _file_rows(corpus, cases))


def _insert(database: sqlite3.Connection, table: str, rows: Iterable[tuple[Cell, ...]]) -> None:
    """Insert rows into a table; a later row replaces a row with the same key."""
    width = len(database.execute(f"SELECT * FROM {table}").description)  # noqa: S608 - one of our tables
    database.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * width)})", map(plain_row, rows))  # noqa: S608


def _requirement_rows(requirements: RequirementMap, censused: frozenset[str]) -> Iterator[tuple[Cell, ...]]:
    for position, one in enumerate(requirements.requirements):
        census = json.dumps([name for name in one.census if name in censused])
        texts = (one.restriction or None, one.reason or None, one.source, one.tag)
        yield (position, one.id, one.title, _SCOPE_STATUS[one.scope], census, *texts)


def _case_row(case: CaseRecord) -> tuple[Cell, ...]:
    texts = (case.case, case.kind, case.level, case.title)
    return (*texts, len(case.data_sets), json.dumps(case.clauses))


def _clause_rows(cases: Iterable[CaseRecord], runs: Sequence[Results]) -> Iterator[tuple[Cell, ...]]:
    """Yield the clauses of the cases, with the texts of the suite, or else those of the results."""
    recorded = {id: record for run in runs for id, record in run.header.clauses.items()}
    for id in {clause for case in cases for clause in case.clauses}:
        known = clauses().get(id)
        text, source = (known.text, known.source) if known else (recorded[id].text, recorded[id].source)
        yield id, text, source, str(known.conclusion) if known else None


def _clause_links(
    requirements: RequirementMap, linked: Mapping[str, Sequence[CaseRecord]], cases: Mapping[str, CaseRecord]
) -> Iterator[tuple[Cell, ...]]:
    for one in requirements.requirements:
        for case in linked[one.id]:
            if case.case in cases:
                yield from ((one.id, clause, case.case) for clause in one.tested_clauses(case) or NO_CLAUSE)


def _result_rows(cases: Mapping[str, CaseRecord], runs: Sequence[Results]) -> Iterator[tuple[Cell, ...]]:
    for run in runs:
        for (subject, id), row in run.rows.items():
            if id in cases:
                message = one_line(row.message)[:MAX_MESSAGE_LENGTH] or None
                known = row.expected.reason if row.expected else None
                yield subject, id, row.level, row.verdict, row.phase, known, message


def _verdict_rows(cases: Mapping[str, CaseRecord], runs: Sequence[Results]) -> Iterator[tuple[Cell, ...]]:
    for run in runs:
        for (subject, id), row in run.rows.items():
            count = len(cases[id].data_sets) if id in cases else 0
            found = run.results[subject, id] if row.verdict == "fail" and count > 1 else None
            yield from ((subject, id, each, _data_set_verdict(row.verdict, found, each)) for each in range(count))


def _file_rows(corpus: Corpus, cases: Iterable[str]) -> Iterator[tuple[Cell, ...]]:
    for id in cases:
        for file, digest in sorted(corpus.cases[id].files.items()):
            folder = file.partition("/")[0]
            number = folder.removeprefix("test_data_set_")
            yield id, int(number) if number != folder else None, file, digest


def _data_set_verdict(verdict: str, result: Result | None, number: int) -> str:
    """Return the verdict of a data set: that of the case, unless the case fails and other data sets are wrong.

    Args:
        result: the result of a case that fails and has several data sets, else None.
    """
    if result is None:
        return verdict
    compared = [output for output in result.outputs if output.data_set == number]
    if not compared:
        return NOT_COMPARED
    return "fail" if any(output.violation is not None for output in compared) else "pass"
