"""The text of an issue for those who make what fails: what happens, what must, where that is said, and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.boundary.text import one_line
from conformance.clauses import clauses
from conformance.models.passages import locator
from conformance.results.causes import broken_clauses
from conformance.results.evidence import bounded, shortly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.clauses import Clause
    from conformance.results.records import CaseRecord, ResultRecord

_FENCE = "~~~~"


def issue_text(case: CaseRecord, result: ResultRecord, subject: str, versions: Mapping[str, str], command: str) -> str:
    """Markdown, ready to be read over and filed.

    Args:
        subject: its name and version.
        versions: of what the answer may depend on, by name.
        command: the command of this suite that gives the same verdict.
    """
    return "\n".join(_lines(case, result, subject, versions, command)) + "\n"


def _lines(
    case: CaseRecord, result: ResultRecord, subject: str, versions: Mapping[str, str], command: str
) -> Iterator[str]:
    broken = broken_clauses(case, result["outputs"])
    yield f"# {one_line(subject)}: {result['verdict']} where {one_line(case['title'])}"
    yield ""
    yield "## What happens"
    yield ""
    yield from _fenced([bounded(one_line(line)) for line in shortly(result, None, {})])
    yield "## What must happen"
    yield ""
    yield f"{one_line(case['title'])}."
    for id in broken:
        if (clause := clauses().get(id)) is not None:
            yield ""
            yield from _clause(clause)
    yield ""
    yield "## How to see it"
    yield ""
    yield "`model.onnx` and the inputs and expected outputs in `test_data_set_*` lie beside the script, which needs"
    yield "NumPy, onnx and what is under test, and nothing else:"
    yield ""
    yield from _fenced(["python reproduce.py"])
    yield "The conformance suite that found it gives the same verdict:"
    yield ""
    yield from _fenced([command])
    yield "## Versions"
    yield ""
    yield f"- {one_line(subject)}"
    yield from (f"- {one_line(name)}: {one_line(version)}" for name, version in sorted(versions.items()))


def _clause(clause: Clause) -> Iterator[str]:
    yield f"`{clause.id}` ({clause.source}): {clause.text}"
    for passage in clause.passages:
        place = f"{passage.document}, {passage.part}, characters {passage.start} to {passage.end}"
        yield ""
        yield f"- {place} (sha256 {passage.sha256})"
        yield from (f"  {line}" for line in locator(passage))


def _fenced(lines: list[str]) -> Iterator[str]:
    yield _FENCE
    yield from (line.replace(_FENCE, "~ ~ ~ ~") for line in lines)
    yield _FENCE
    yield ""
