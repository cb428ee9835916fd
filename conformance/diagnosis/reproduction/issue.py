"""The text of an issue for those who make what fails: what happens, what must, where that is said, and with what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.boundary.text import one_line
from conformance.clauses import clauses
from conformance.corpus.case import CaseKind
from conformance.models.passages import carrier, quoted, version_of
from conformance.results.causes import broken_clauses, first_complaint
from conformance.results.evidence import bounded, shortly
from conformance.results.failure_kinds import OF_INVALID
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.clauses import Clause, Passage
    from conformance.results.known_faults import KnownFault
    from conformance.results.records import CaseRecord, ResultRecord

_FENCE = "~~~~"

LONGEST_TITLE, MOST_MODEL_LINES = 100, 60

OF_REWRITING = "onnxoptimizer "
"""What passages begin with that are in the file of the pass: they ask nothing of a backend."""


@dataclass(frozen=True)
class Reported:
    """What an issue is about.

    Attributes:
        subject: its name and version.
        kind: `backend` or `optimizer`.
        versions: of what the answer may depend on, by name.
        command: the command of this suite that gives the same verdict.
        model: the case's, in ONNX's textual form; empty where it has none.
        fault: what is known of it, where this is the smallest case of a fault that is written up.
    """

    case: CaseRecord
    result: ResultRecord
    subject: str
    kind: str
    versions: Mapping[str, str]
    command: str
    model: str = ""
    fault: KnownFault | None = None


def issue_text(reported: Reported) -> str:
    """Markdown, ready to be read over and filed."""
    return "\n".join(_lines(reported)) + "\n"


def _lines(reported: Reported) -> Iterator[str]:
    yield f"# {_title(reported)}"
    yield ""
    yield "## What happens"
    yield ""
    yield from _happens(reported)
    yield "## What must happen"
    yield ""
    yield from _must(reported)
    yield ""
    yield "## How to see it"
    yield ""
    yield "`model.onnx` and the inputs and expected outputs in `test_data_set_*`, as ONNX's own node tests have them,"
    yield "lie beside the script, which needs NumPy, onnx and what is under test, and nothing else:"
    yield ""
    yield from _fenced(["python reproduce.py"])
    yield from _model(reported.model)
    yield "The conformance suite that found it, onnx-conformance, gives the same verdict:"
    yield ""
    yield from _fenced([reported.command])
    yield "## Versions"
    yield ""
    yield f"- {one_line(reported.subject)}"
    yield from (f"- {one_line(name)}: {one_line(version)}" for name, version in sorted(reported.versions.items()))


def _title(reported: Reported) -> str:
    if reported.fault is not None:
        return f"{reported.fault.runtime}: {reported.fault.title}"
    return f"{one_line(reported.subject)}: {_headline(reported.case, reported.result)}"


def _headline(case: CaseRecord, result: ResultRecord) -> str:
    """What is wrong, in a few words."""
    verdict = result["verdict"]
    operators = " and ".join(dict.fromkeys(node["op_type"] for node in case["model"]["nodes"][:3]))
    if verdict != Verdict.FAIL:
        said = one_line(result["message"])
        return _short(f"{operators}: {verdict}, {said}" if said else f"{operators}: {verdict}")
    if (check := first_complaint(result)) is not None:
        return _short(f"{check['name']}: {one_line(check.get('complaint', ''))}")
    if case["kind"] == CaseKind.INVALID:
        return _short(f"{OF_INVALID}: {one_line(case['title'])}")
    wrong = dict.fromkeys(output["name"] for output in result["outputs"] if "complaint" in output)
    return _short(f"{operators}: wrong {', '.join(wrong)}" if wrong else f"{operators}: {one_line(result['message'])}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE].rstrip() + "…"


def _happens(reported: Reported) -> Iterator[str]:
    if reported.fault is not None:
        yield from (f"- {point}" for point in reported.fault.points)
        if "#" in reported.fault.upstream:
            yield f"- See also: {reported.fault.upstream}"
        yield ""
        if any("test_" in point for point in reported.fault.points):
            yield "Names that begin with `test_` are cases of the suite that is named below."
            yield ""
    yield from _fenced([bounded(one_line(line)) for line in shortly(reported.result, None, {})])


def _must(reported: Reported) -> Iterator[str]:
    case, fault = reported.case, reported.fault
    if fault is not None:
        yield fault.lead
        named: Sequence[str] = [id for id in re.findall(r"`([a-z_0-9.]+)`", fault.lead) if id in clauses()]
    else:
        yield f"{one_line(case['title'])}."
        named = [id for id in broken_clauses(case, reported.result["outputs"]) if id in clauses()]
    level = Level(reported.result["level"])
    if level is not Level.MUST:
        yield ""
        yield f"The suite asks this at level `{level}`: {level.meaning}."
    for id in [id for id in named if reported.kind == SubjectKind.OPTIMIZER or not _is_of_rewriting(clauses()[id])][:1]:
        yield ""
        yield from _clause(clauses()[id])


def _is_of_rewriting(clause: Clause) -> bool:
    return any(passage.document.startswith(OF_REWRITING) for passage in clause.passages)


def _clause(clause: Clause) -> Iterator[str]:
    """A clause, and where ONNX's own texts say so."""
    yield f"`{clause.id}` ({clause.source}): {clause.text}"
    for passage in clause.passages:
        yield ""
        yield from _passage(passage)


def _passage(passage: Passage) -> Iterator[str]:
    """Where the words stand, and the words where an installed package has them."""
    package, words = carrier(passage.document), quoted(passage)
    version = f"{package} {version_of(package)}: " if package and words is not None else ""
    place = f"{passage.document}, {passage.part}, characters {passage.start} to {passage.end}"
    yield f"- {version}{place} (sha256 {passage.sha256})"
    yield from (f"  > {line}" for line in (words or "").splitlines())


def _model(text: str) -> Iterator[str]:
    if not text:
        return
    lines = text.rstrip().splitlines()
    yield "The model:"
    yield ""
    more = [f"… {len(lines) - MOST_MODEL_LINES} more lines"] if len(lines) > MOST_MODEL_LINES else []
    yield from _fenced([*map(bounded, lines[:MOST_MODEL_LINES]), *more])


def _fenced(lines: list[str]) -> Iterator[str]:
    yield _FENCE
    yield from (line.replace(_FENCE, "~ ~ ~ ~") for line in lines)
    yield _FENCE
    yield ""
