"""Tables about the run and the suite: what was tested with, how good the suite is, its limits, and facts about it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from conformance.evidence.tables import Table, TableColumn, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.evidence.inputs import EvidenceInputs
    from conformance.evidence.requirements import RequirementMap
    from conformance.evidence.tables import Cell
    from conformance.results.file import Results

NOT_RECORDED = "not recorded"

NOT_MEASURED = "not measured: no file with this measurement was given"


def run_tables(inputs: EvidenceInputs, kept: frozenset[str]) -> Iterator[Table]:
    """Yield the tables of input files, subjects, and environments.

    Args:
        kept: ids of the cases that are not left out.
    """
    yield _input_table(inputs)
    yield _subject_table(inputs.runs, kept)
    yield _environment_table(inputs)


def _input_table(inputs: EvidenceInputs) -> Table:
    columns = (
        TableColumn("name", "text", "name of the file"),
        TableColumn("kind", "text", "results, census or measurements"),
        TableColumn("sha256", "text", "SHA-256 of the file"),
    )
    return Table("inputs", "Input files", "A file from which this evidence is made.", columns, inputs.files, ("name",))


def _subject_table(runs: Sequence[Results], kept: frozenset[str]) -> Table:
    columns = (
        TableColumn("subject", "text", "id of the subject: its name on the command line"),
        TableColumn("kind", "text", "backend or optimizer"),
        TableColumn("version", "text", "version that the subject reports"),
        TableColumn("language", "text", "language of the subject's program"),
        TableColumn("files_sha256", "text", "SHA-256 of the subject's files"),
        TableColumn("results", "integer", "number of results"),
        TableColumn("pass", "integer", "number of results with the verdict pass"),
        TableColumn("unexpected", "integer", "number of results that the pass criterion counts against the subject"),
        TableColumn("file", "text", "results file", "inputs.name"),
    )
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for subject in run.header["subjects"]:
            id = subject["id"]
            found = [row for (name, case), row in run.rows.items() if name == id and case in kept]
            rows.append(
                (
                    id,
                    subject["kind"],
                    plain_text(subject["version"]),
                    subject.get("language"),
                    subject.get("files_sha256", NOT_RECORDED),
                    len(found),
                    sum(row["verdict"] == "pass" for row in found),
                    sum(row["unexpected"] for row in found),
                    _file_name(run),
                )
            )
    return Table("subjects", "Subjects", "A runtime or graph optimizer.", columns, sorted(rows), ("subject",))


def _environment_table(inputs: EvidenceInputs) -> Table:
    columns = (
        TableColumn("file", "text", "results or census file", "inputs.name"),
        TableColumn("name", "text", "name of the fact"),
        TableColumn("value", "text", "the fact"),
    )
    rows: list[tuple[Cell, ...]] = []
    for run in inputs.runs:
        header = run.header
        facts = {
            "suite": header["suite"],
            "corpus version": header["corpus"]["version"],
            "corpus digest": header["corpus"]["digest"],
            "corpus cases": str(header["corpus"]["cases"]),
            "fail level": header["criterion"]["level"],
            "profile": profile["name"] if (profile := header["criterion"].get("profile")) else "none",
            "outcome": run.footer["outcome"],
            **{f"selection {name}": value for name, value in header["selection"].items()},
            **{f"environment {name}": value for name, value in header["environment"].items()},
        }
        facts.setdefault("environment cpu", NOT_RECORDED)
        commands = header["command"].split(" && ")
        facts |= {f"command {number}": command for number, command in enumerate(commands, 1)}
        rows += [(_file_name(run), name, plain_text(value)) for name, value in facts.items()]
    for name, (environment, _) in inputs.cells.items():
        rows += [(name, f"environment {fact}", plain_text(value)) for fact, value in sorted(environment.items())]
    return Table("environment", "Environment", "A fact about a run or a census.", columns, rows, ("file", "name"))


def _file_name(run: Results) -> str:
    return run.path.rpartition("/")[2]


def quality_table(inputs: EvidenceInputs) -> Table:
    """Return the figures that show how good the suite is, each with the command that measures it."""
    columns = (
        TableColumn("figure", "text", "what is measured"),
        TableColumn("of", "text", "operator or part of the suite"),
        TableColumn("value", "integer", "the figure; empty if it was not measured"),
        TableColumn("out_of", "integer", "the number of all"),
        TableColumn("command", "text", "command that measures it"),
        TableColumn("note", "text", "remarks"),
    )
    rows = [*_mutation_rows(inputs), *_second_oracle_rows(inputs)]
    return Table("quality", "Quality of the suite", "A figure about the suite itself.", columns, rows, ("figure", "of"))


def _mutation_rows(inputs: EvidenceInputs) -> Iterator[tuple[Cell, ...]]:
    found, figure = inputs.mutation, "mutants detected"
    if found is None:
        yield figure, "all", None, None, "nox -s mutation", NOT_MEASURED
        yield "false positives", "all", None, None, "nox -s mutation", NOT_MEASURED
        return
    command = found["command"]
    for name, family in sorted(found["operators"].items()):
        yield f"{figure}, level must", name, family["detected"], family["must"], command, None
        if family["should"]:
            yield f"{figure}, below must", name, family["should_detected"], family["should"], command, None
        if family["detected_by_onnx"] is not None:
            note = "by the cases of onnx itself, with their tolerance"
            yield f"{figure} by onnx's cases", name, family["detected_by_onnx"], family["must"], command, note
    mutants = found["pass"]["mutants"]
    detected = sum(one["detection"] is not None for one in mutants)
    yield figure, "the pass", detected, len(mutants), command, None
    families = found["operators"].values()
    wrong = sum(one["false_positive"] is not None for family in families for one in family["mutants"])
    every = sum(len(family["mutants"]) for family in families)
    note = "mutants that fail a must case in which their behaviour is permitted"
    yield "false positives", "mutants of operators", wrong, every, command, note
    yield (
        *("false positives", "correct variants of operators"),
        sum(len(one["false_positives"]) for one in found["variants"]),
        sum(one["cases"] for one in found["variants"]),
        command,
        f"{len(found['variants'])} variants; the number of all is that of executed cases",
    )
    correct = found["pass"]["correct"]
    yield (
        *("false positives", "correct graph optimizers"),
        sum(len(one["false_positives"]) for one in correct),
        sum(one["cases"] for one in correct),
        command,
        f"{len(correct)} optimizers; the number of all is that of executed cases",
    )


def _second_oracle_rows(inputs: EvidenceInputs) -> Iterator[tuple[Cell, ...]]:
    found, figure = inputs.second_oracle, "differences of the oracles"
    if found is None:
        yield figure, "corpus", None, None, "nox -s oracle", NOT_MEASURED
        return
    note = f"{found['cases']} of {found['corpus']['cases']} cases"
    yield figure, "corpus", len(found["differences"]), sum(found["counts"].values()), found["command"], note
    for kind, count in sorted(found["counts"].items()):
        yield f"{kind} computed by both oracles", "corpus", count, count, found["command"], None


@cache
def _statements() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    text = resources.files("conformance.evidence").joinpath("statements.toml").read_text("utf-8")
    return tomllib.loads(text)


def statement_tables() -> Iterator[Table]:
    """Yield the tables of limits and of facts about the tool."""
    columns = (
        TableColumn("id", "text", "id of the statement"),
        TableColumn("kind", "text", "limit, open problem, or not tested"),
        TableColumn("text", "text", "the statement"),
        TableColumn("where", "text", "page or file of the suite with details"),
    )
    limits = [tuple(one[column.name] for column in columns) for one in _statements()["limit"]]
    yield Table("limits", "Limits, open problems, and what is not tested", "A statement.", columns, limits, ("id",))
    other_columns = (
        TableColumn("id", "text", "id of the fact"),
        TableColumn("standard", "text", "standard and clause that ask for it"),
        TableColumn("question", "text", "the question"),
        TableColumn("answer", "text", "the fact"),
        TableColumn("where", "text", "page or file of the suite with details"),
    )
    facts = [tuple(one[column.name] for column in other_columns) for one in _statements()["fact"]]
    yield Table(
        "tool_facts", "Facts about the tool", "A question about a tool, and a fact.", other_columns, facts, ("id",)
    )


def source_tables(requirements: RequirementMap) -> Iterator[Table]:
    """Yield the tables of the sources of requirements, and of contradictions in them."""
    columns = (
        TableColumn("source", "text", "id of the source"),
        TableColumn("repository", "text", "repository"),
        TableColumn("commit", "text", "commit"),
        TableColumn("ref", "text", "branch or pull request that contains the commit"),
        TableColumn("path", "text", "path of the file"),
        TableColumn("sha256", "text", "SHA-256 of the file at this commit"),
    )
    rows: list[tuple[Cell, ...]] = [
        (one.id, one.repository, one.commit, one.ref, one.path, one.sha256) for one in requirements.parsed.source
    ]
    yield Table("sources", "Sources of requirements", "A document with requirements.", columns, rows, ("source",))
    other_columns = (
        TableColumn("source", "text", "id of the source", "sources.source"),
        TableColumn("tags", "list", "places in the source"),
        TableColumn("text", "text", "the contradiction in our words"),
        TableColumn("handling", "text", "what this suite does"),
    )
    rows = [
        (one.source, one.tags, plain_text(one.text), plain_text(one.handling))
        for one in requirements.parsed.contradiction
    ]
    yield Table("contradictions", "Contradictions in the sources", "A contradiction.", other_columns, rows)


def left_out_table(
    requirements: RequirementMap, cases: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[str]]
) -> Iterator[Table]:
    """Yield the tables of restrictions and of what they leave out.

    Args:
        cases: ids of the cases that each restriction leaves out.
        cells: names of the census cells that each restriction leaves out.
    """
    columns = (
        TableColumn("restriction", "text", "id of the restriction"),
        TableColumn("text", "text", "what the restriction leaves out"),
        TableColumn("tags", "list", "tags that state the restriction"),
        TableColumn(
            "cases", "integer", "number of cases that are left out; a case can be left out by several restrictions"
        ),
        TableColumn("cells", "integer", "number of census cells that are left out"),
    )
    entries = requirements.parsed.restriction
    rows: list[tuple[Cell, ...]] = [
        (one.id, plain_text(one.text), one.tags, len(cases.get(one.id, ())), len(cells.get(one.id, ())))
        for one in entries
    ]
    yield Table(
        "restrictions", "Restrictions", "A restriction, and how much it leaves out.", columns, rows, ("restriction",)
    )
    other_columns = (
        TableColumn("restriction", "text", "id of the restriction", "restrictions.restriction"),
        TableColumn("kind", "text", "case or census"),
        TableColumn("name", "text", "id of the case, or subject, operator and element type of the census"),
    )
    rows = [
        (one.id, kind, name)
        for one in entries
        for kind, found in (("case", cases), ("census", cells))
        for name in sorted(set(found.get(one.id, ())))
    ]
    yield Table(
        "left_out",
        "Left out",
        "A case or a census cell that a restriction leaves out.",
        other_columns,
        rows,
        ("restriction", "kind", "name"),
    )
