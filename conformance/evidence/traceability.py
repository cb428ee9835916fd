"""Traceability in both directions: requirement, clause, case, data set and verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from conformance.clauses import clauses
from conformance.evidence.tables import Table, TableColumn, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.evidence.requirements import Requirement, RequirementMap
    from conformance.evidence.tables import Cell
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord, ResultRow

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

REQUIREMENT = TableColumn("requirement", "text", "id of the requirement", "requirements.requirement")
CASE = TableColumn("case", "text", "id of the case", "cases.case")
SUBJECT = TableColumn("subject", "text", "id of the subject", "subjects.subject")


class Traceability:
    """The links between requirements, clauses, cases and results.

    Args:
        corpus: the corpus of all runs.
        cases: the cases that are not left out, sorted by id.
        runs: the results.
        requirements: the map of requirements.
        linked: the cases of each requirement, by its id.
        censused: the operators of which the evidence has a census.
    """

    def __init__(
        self,
        corpus: Corpus,
        cases: Sequence[CaseRecord],
        runs: Sequence[Results],
        requirements: RequirementMap,
        linked: Mapping[str, Sequence[CaseRecord]],
        censused: frozenset[str],
    ) -> None:
        self._corpus, self._cases, self._runs, self._map = corpus, cases, runs, requirements
        kept = {case["case"] for case in cases}
        self._linked = {id: [case for case in found if case["case"] in kept] for id, found in linked.items()}
        self._censused = censused
        self._rows: dict[str, dict[str, ResultRow]] = defaultdict(dict)
        for run in runs:
            for (subject, case), row in run.rows.items():
                if case in kept:
                    self._rows[case][subject] = row
        self._by_case: dict[str, set[str]] = defaultdict(set)
        self._by_clause: dict[str, set[str]] = defaultdict(set)
        for one in requirements.requirements:
            for found in self._linked[one.id]:
                self._by_case[found["case"]].add(one.id)
                for clause in one.tested_clauses(found):
                    self._by_clause[clause].add(one.id)

    def tables(self) -> Iterator[Table]:
        """Yield all tables of the traceability."""
        yield self._requirements()
        yield self._requirement_cases()
        yield self._requirement_verdicts()
        yield self._clauses()
        yield self._case_table()
        yield self._files()
        yield from self._results()

    def _requirements(self) -> Table:
        columns = (
            TableColumn("requirement", "text", "id: source, tag and part"),
            TableColumn("title", "text", "the requirement in our words"),
            TableColumn("status", "text", "; ".join(f"{name}: {text}" for name, text in REQUIREMENT_STATUS.items())),
            TableColumn("cases", "integer", "number of cases"),
            TableColumn("must_cases", "integer", "number of cases of level must"),
            TableColumn("clauses", "list", "clauses by which the cases test it", "clauses.clause"),
            TableColumn("results", "integer", "number of results of the cases, on all subjects"),
            TableColumn("passes", "integer", "number of these results with the verdict pass"),
            TableColumn("census", "list", "operators whose census measures it"),
            TableColumn("restriction", "text", "the restriction of --restrict that implements it"),
            TableColumn("reason", "text", "why there is no case, or what the cases do not show"),
            TableColumn("source", "text", "id of the source", "sources.source"),
            TableColumn("tag", "text", "place in the source"),
        )
        order = list(REQUIREMENT_STATUS)
        rows = sorted(map(self._requirement_row, self._map.requirements), key=lambda row: order.index(str(row[2])))
        return Table(
            "requirements",
            "Requirements",
            "One requirement; those without a case stand first.",
            columns,
            rows,
            ("requirement",),
        )

    def _requirement_row(self, one: Requirement) -> tuple[Cell, ...]:
        found = self._linked[one.id]
        results = [row for case in found for row in self._rows[case["case"]].values()]
        return (
            one.id,
            plain_text(one.title),
            self._status(one),
            len(found),
            sum(case["level"] == "must" for case in found),
            tuple(sorted({clause for case in found for clause in one.tested_clauses(case)})),
            len(results),
            sum(row["verdict"] == "pass" for row in results),
            tuple(name for name in one.census if name in self._censused),
            one.restriction or None,
            plain_text(one.reason) or None,
            one.source,
            one.tag,
        )

    def _status(self, one: Requirement) -> str:
        levels = {case["level"] for case in self._linked[one.id]}
        if levels:
            return "tested" if "must" in levels else "tested below must"
        if not self._censused.isdisjoint(one.census):
            return "measured"
        return "limit of models" if one.restriction else _SCOPE_STATUS[one.scope]

    def _requirement_cases(self) -> Table:
        columns = (
            REQUIREMENT,
            TableColumn("clause", "text", "clause by which the case tests the requirement", "clauses.clause"),
            CASE,
        )
        rows = [
            (one.id, clause, case["case"])
            for one in self._map.requirements
            for case in self._linked[one.id]
            for clause in one.tested_clauses(case) or NO_CLAUSE
        ]
        return Table(
            "requirement_cases",
            "Cases of requirements",
            "A case, and a clause by which it tests a requirement.",
            columns,
            rows,
            ("requirement", "clause", "case"),
        )

    def _requirement_verdicts(self) -> Table:
        columns = (
            REQUIREMENT,
            SUBJECT,
            TableColumn("verdict", "text", "verdict"),
            TableColumn("results", "integer", "number of results with this verdict"),
        )
        rows: list[tuple[Cell, ...]] = []
        for one in self._map.requirements:
            counts: Counter[tuple[str, str]] = Counter()
            for case in self._linked[one.id]:
                counts.update((subject, row["verdict"]) for subject, row in self._rows[case["case"]].items())
            rows += [(one.id, subject, verdict, count) for (subject, verdict), count in sorted(counts.items())]
        return Table(
            "requirement_verdicts",
            "Verdicts of requirements",
            "Number of results of the cases of a requirement on a subject, by verdict.",
            columns,
            rows,
            ("requirement", "subject", "verdict"),
        )

    def _clauses(self) -> Table:
        columns = (
            TableColumn("clause", "text", "id of the clause"),
            TableColumn("text", "text", "the clause in our words"),
            TableColumn("source", "text", "place in the specification of ONNX"),
            TableColumn("support", "text", "how the passages of the specification support the text"),
            TableColumn("cases", "integer", "number of cases"),
            TableColumn(
                "requirements", "list", "requirements that the cases test by this clause", "requirements.requirement"
            ),
        )
        counts = Counter(clause for case in self._cases for clause in case["clauses"])
        recorded = {id: record for run in self._runs for id, record in run.header["clauses"].items()}
        rows: list[tuple[Cell, ...]] = []
        for id in sorted(counts.keys() | self._by_clause.keys()):
            known = clauses().get(id)
            text, source = (known.text, known.source) if known else (recorded[id]["text"], recorded[id]["source"])
            support = str(known.conclusion) if known else None
            found = (plain_text(text), plain_text(source), support, counts[id], tuple(sorted(self._by_clause[id])))
            rows.append((id, *found))
        return Table(
            "clauses",
            "Clauses",
            "A clause of the specification, with the requirements that its cases test.",
            columns,
            rows,
            ("clause",),
        )

    def _case_table(self) -> Table:
        columns = (
            TableColumn("case", "text", "id of the case: name of its folder"),
            TableColumn("kind", "text", "folder of the corpus: node, pass or invalid"),
            TableColumn("level", "text", "must, should or silent"),
            TableColumn("title", "text", "what the case tests"),
            TableColumn("data_sets", "integer", "number of data sets"),
            TableColumn("clauses", "list", "clauses that the case tests", "clauses.clause"),
            TableColumn("requirements", "list", "requirements that the case tests", "requirements.requirement"),
            TableColumn("results", "integer", "number of subjects with a result"),
        )
        rows: list[tuple[Cell, ...]] = [
            (
                case["case"],
                case["kind"],
                case["level"],
                plain_text(case["title"]),
                len(case["data_sets"]),
                tuple(case["clauses"]),
                tuple(sorted(self._by_case[case["case"]])),
                len(self._rows[case["case"]]),
            )
            for case in self._cases
        ]
        return Table("cases", "Cases", "A case of the corpus that is not left out.", columns, rows, ("case",))

    def _files(self) -> Table:
        columns = (
            CASE,
            TableColumn("data_set", "integer", "number of the data set; empty for a file of the whole case"),
            TableColumn("file", "text", "path in the folder of the case"),
            TableColumn("sha256", "text", "SHA-256 of the file"),
        )
        rows: list[tuple[Cell, ...]] = []
        for case in self._cases:
            for file, digest in sorted(self._corpus.cases[case["case"]].files.items()):
                folder = file.partition("/")[0]
                number = folder.removeprefix("test_data_set_")
                rows.append((case["case"], int(number) if number != folder else None, file, digest))
        return Table(
            "files",
            "Files of the corpus",
            "A file of a case, with its hash in the manifest of the corpus.",
            columns,
            rows,
            ("case", "file"),
        )

    def _results(self) -> Iterator[Table]:
        result_columns = (
            SUBJECT,
            CASE,
            TableColumn("level", "text", "level of the verdict; a profile can raise it"),
            TableColumn("verdict", "text", "verdict of the case"),
            TableColumn("phase", "text", "phase in which the subject failed"),
            TableColumn("known", "text", "reason of the expectation, for a known failure"),
            TableColumn("message", "text", f"message of the failure, up to {MAX_MESSAGE_LENGTH} characters"),
        )
        set_columns = (
            SUBJECT,
            CASE,
            TableColumn("data_set", "integer", "number of the data set"),
            TableColumn("verdict", "text", f"verdict of the data set; {NOT_COMPARED}: the case failed before"),
        )
        results: list[tuple[Cell, ...]] = []
        verdicts: list[tuple[Cell, ...]] = []
        sizes = {case["case"]: len(case["data_sets"]) for case in self._cases}
        for run in self._runs:
            for key in sorted(run.rows):
                if key[1] not in sizes:
                    continue
                row = run.rows[key]
                message = plain_text(row["message"])[:MAX_MESSAGE_LENGTH] or None
                known = plain_text(row["expected"]["reason"]) if row["expected"] else None
                results.append((*key, row["level"], row["verdict"], row["phase"], known, message))
                found = run.results[key] if row["verdict"] == "fail" and sizes[key[1]] > 1 else None
                verdicts += [
                    (*key, number, _data_set_verdict(row["verdict"], found, number)) for number in range(sizes[key[1]])
                ]
        yield Table(
            "results",
            "Results",
            "The result of a case on a subject.",
            result_columns,
            sorted(results, key=_key),
            ("subject", "case"),
        )
        yield Table(
            "verdicts",
            "Verdicts of data sets",
            "The verdict of a data set of a case on a subject.",
            set_columns,
            sorted(verdicts, key=_key),
            ("subject", "case", "data_set"),
        )


def _key(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return row[:3] if isinstance(row[2], int) else row[:2]


def _data_set_verdict(verdict: str, result: ResultRecord | None, number: int) -> str:
    """Return the verdict of a data set: that of the case, unless the case fails and other data sets are wrong.

    Args:
        result: the result of a case that fails and has several data sets, else None.
    """
    if result is None:
        return verdict
    compared = [output for output in result["outputs"] if output["data_set"] == number]
    if not compared:
        return NOT_COMPARED
    return "fail" if any("violation" in output for output in compared) else "pass"
