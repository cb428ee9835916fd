"""What is in the folder of a reproduction: the case's files, the script, how it calls what is under test, the issue."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from conformance.corpus.document import case_json
from conformance.diagnosis.reproduction.issue import Reported, issue_text
from conformance.diagnosis.reproduction.subject_file import subject_files
from conformance.results.known_faults import known_faults_in
from conformance.results.levels import standing_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.judging.outcome import Outcome
    from conformance.subjects.naming import SubjectName
    from conformance.verdicts import Level

_STRUCTURE = "structure"
"""The check of which nodes are gone."""


def contents(
    corpus: Corpus,
    case: CorpusCase,
    named: SubjectName,
    version: str,
    outcome: Outcome,
    versions: Mapping[str, str],
    command: str,
    stderr: str = "",
) -> dict[str, bytes]:
    """The files by their paths in the folder.

    Args:
        version: the subject's.
        outcome: what became of the case, which is a defect.
        versions: of what the answer may depend on, by name.
        command: the command of this suite that gives the same verdict.
        stderr: what the subject wrote there.
    """
    document = case_json(corpus, case)
    files = {name: corpus.read(case, name) for name in case.files if name != "case.json"}
    result: Any = {
        "verdict": str(outcome.verdict),
        "phase": outcome.phase,
        "message": outcome.message,
        "level": str(level_of(case, outcome)),
        "outputs": list(outcome.outputs),
        "stderr": stderr,
        **({"checks": list(outcome.checks)} if outcome.checks else {}),
    }
    known = known_faults_in(named.text, str(named.kind), case.id)
    record: Any = {"case": case.id, "kind": str(case.kind), **document}
    reported = Reported(
        record,
        result,
        f"{named.name if not named.is_command else named.text} {version}",
        str(named.kind),
        versions,
        command,
        _model_text(files["model.onnx"]),
        next((fault for fault in known if fault.case == case.id), None),
    )
    if any(check["name"] == _STRUCTURE and "complaint" in check for check in outcome.checks):
        files["rewrite.json"] = json.dumps(document["rewrite"]["once"]).encode()
    files |= {name: source.encode() for name, source in subject_files(named, str(Path.cwd())).items()}
    script = resources.files(__package__).joinpath(f"show_{named.kind}.py")
    return {**files, "reproduce.py": script.read_bytes(), "ISSUE.md": issue_text(reported).encode()}


def level_of(case: CorpusCase, outcome: Outcome) -> Level:
    """The level at which a verdict stands."""
    told = {"verdict": outcome.verdict, "phase": outcome.phase, "checks": outcome.checks}
    return standing_level(told, case.level)


def _model_text(model: bytes) -> str:
    """A model in ONNX's textual form; empty where that has no words for something in it."""
    try:
        return str(onnx.printer.to_text(onnx.load_model_from_string(model)))
    except Exception:  # noqa: BLE001 - the printer raises what it likes
        return ""
