"""Tables about the run and the suite: what was tested with, how good the suite is, its limits, and facts about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.serialization.decoding import read_own_toml
from conformance.studies.evidence.evidence_tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.run.results.results_file import Results
    from conformance.studies.evidence.evidence_inputs import CorrectOptimizerDocument, EvidenceInputs, VariantDocument
    from conformance.studies.evidence.evidence_tables import Cell, Table
    from conformance.studies.evidence.requirement_maps import RequirementMap

NOT_RECORDED = "not recorded"

NOT_MEASURED = "not measured: no file with this measurement was given"


def run_tables(inputs: EvidenceInputs, kept: frozenset[str]) -> Iterator[Table]:
    """Yield the tables of input files, subjects, and environments.

    Args:
        kept: ids of the cases that are not left out.
    """
    yield table_of("inputs", inputs.files)
    yield _subject_table(inputs.runs, kept)
    yield _environment_table(inputs)


def _subject_table(runs: Sequence[Results], kept: frozenset[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for subject in run.header.subjects:
            id = subject.id
            found = [row for (name, case), row in run.rows.items() if name == id and case in kept]
            rows.append(
                (
                    id,
                    subject.kind,
                    subject.version,
                    subject.language,
                    subject.files_sha256 or NOT_RECORDED,
                    len(found),
                    sum(row.verdict == "pass" for row in found),
                    sum(row.unexpected for row in found),
                    _file_name(run),
                )
            )
    return table_of("subjects", sorted(rows))


def _environment_table(inputs: EvidenceInputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for run in inputs.runs:
        header = run.header
        facts = {
            "suite": header.suite,
            "corpus version": header.corpus.version,
            "corpus digest": header.corpus.digest,
            "corpus cases": str(header.corpus.cases),
            "fail level": header.criterion.level,
            "profile": profile.name if (profile := header.criterion.profile) else "none",
            "outcome": run.footer.outcome,
            **{f"selection {name}": value for name, value in header.selection_options.items()},
            **{f"environment {name}": value for name, value in header.environment.items()},
        }
        facts.setdefault("environment cpu", NOT_RECORDED)
        commands = header.command.split(" && ")
        facts |= {f"command {number}": command for number, command in enumerate(commands, 1)}
        rows += [(_file_name(run), name, str(value)) for name, value in facts.items()]
    for name, (environment, _) in inputs.cells.items():
        rows += [(name, f"environment {fact}", str(value)) for fact, value in sorted(environment.items())]
    return table_of("environment", rows)


def _file_name(run: Results) -> str:
    return run.path.rpartition("/")[2]


def quality_table(inputs: EvidenceInputs) -> Table:
    """Return the figures that show how good the suite is, each with the command that measures it."""
    rows = [*_mutation_rows(inputs), *_second_oracle_rows(inputs)]
    return table_of("quality", rows)


def _mutation_rows(inputs: EvidenceInputs) -> Iterator[tuple[Cell, ...]]:
    found = inputs.mutation
    figure = "mutants detected"
    if found is None:
        yield figure, "all", None, None, "nox -s mutation", NOT_MEASURED
        yield "false positives", "all", None, None, "nox -s mutation", NOT_MEASURED
        return
    command = found.command
    for name, family in sorted(found.operators.items()):
        yield f"{figure}, level must", name, family.detected, family.must, command, None
        if family.should:
            yield f"{figure}, below must", name, family.should_detected, family.should, command, None
        if family.detected_by_onnx is not None:
            note = "by the cases of onnx itself, with their tolerance"
            yield f"{figure} by onnx's cases", name, family.detected_by_onnx, family.must, command, note
    mutants = found.of_pass.mutants
    detected = sum(one.detection is not None for one in mutants)
    yield figure, "the pass", detected, len(mutants), command, None
    families = found.operators.values()
    wrong = sum(one.false_positive is not None for family in families for one in family.mutants)
    every = sum(len(family.mutants) for family in families)
    note = "mutants that fail a must case in which their behaviour is permitted"
    yield "false positives", "mutants of operators", wrong, every, command, note
    correct: dict[str, Sequence[VariantDocument | CorrectOptimizerDocument]] = {
        "variants of operators": found.variants,
        "graph optimizers": found.of_pass.correct,
    }
    for what, own in correct.items():
        wrong = sum(len(one.false_positives) for one in own)
        cases = sum(one.cases for one in own)
        kind = "variants" if own is found.variants else "optimizers"
        note = f"{len(own)} {kind}; the number of all is that of executed cases"
        yield "false positives", f"correct {what}", wrong, cases, command, note


def _second_oracle_rows(inputs: EvidenceInputs) -> Iterator[tuple[Cell, ...]]:
    found = inputs.second_oracle
    figure = "differences of the oracles"
    if found is None:
        yield figure, "corpus", None, None, "nox -s oracle", NOT_MEASURED
        return
    note = f"{found.cases} of {found.corpus.cases} cases"
    yield figure, "corpus", len(found.differences), sum(found.counts.values()), found.command, note
    for kind, count in sorted(found.counts.items()):
        yield f"{kind} computed by both oracles", "corpus", count, count, found.command, None


def statement_tables() -> Iterator[Table]:
    """Yield the tables of limits and of facts about the tool."""
    stated = read_own_toml("conformance.studies.evidence", "statements.toml")
    yield table_of("limits", [(one["id"], one["kind"], one["text"], one["where"]) for one in stated["limit"]])
    facts = ("id", "standard", "question", "answer", "where")
    yield table_of("tool_facts", [tuple(one[name] for name in facts) for one in stated["fact"]])


def source_tables(requirements: RequirementMap) -> Iterator[Table]:
    """Yield the tables of the sources of requirements, and of contradictions in them."""
    rows: list[tuple[Cell, ...]] = [
        (one.id, one.repository, one.commit, one.ref, one.path, one.sha256) for one in requirements.parsed.source
    ]
    yield table_of("sources", rows)
    rows = [(one.source, one.tags, one.text, one.handling) for one in requirements.parsed.contradiction]
    yield table_of("contradictions", rows)


def left_out_table(
    requirements: RequirementMap, cases: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[str]]
) -> Iterator[Table]:
    """Yield the tables of restrictions and of what they leave out.

    Args:
        cases: ids of the cases that each restriction leaves out.
        cells: names of the census cells that each restriction leaves out.
    """
    entries = requirements.parsed.restriction
    rows: list[tuple[Cell, ...]] = [
        (one.id, one.text, one.tags, len(cases.get(one.id, ())), len(cells.get(one.id, ()))) for one in entries
    ]
    yield table_of("restrictions", rows)
    rows = [
        (one.id, kind, name)
        for one in entries
        for kind, found in (("case", cases), ("census", cells))
        for name in sorted(set(found.get(one.id, ())))
    ]
    yield table_of("left_out", rows)
