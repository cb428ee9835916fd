"""The files of a reproduction folder: the case's files, `reproduce.py`, `subject.py` and the issue text `ISSUE.md`.

The folder is written completely or not at all, and never over existing files.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from conformance.clauses import clauses
from conformance.corpus.case import CaseKind
from conformance.corpus.case_json import read_case_json
from conformance.diagnosis.reproduction.subject_file import subject_files
from conformance.errors import UsageError
from conformance.files.temp_dir import supervised_temp_dir
from conformance.models.spec_text import installed_version, quote_passage, text_package
from conformance.results.evidence import short_evidence, truncate_line
from conformance.results.failure_groups import INVALID_MODEL_SIGNATURE, first_violation, violated_clauses
from conformance.results.known_faults import known_faults_in
from conformance.results.levels import effective_level
from conformance.serialization.text import one_line
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

    from conformance.clauses import Clause, Passage
    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.judging.outcome import Outcome
    from conformance.results.known_faults import KnownFault
    from conformance.results.records import CaseRecord, ResultRecord
    from conformance.subjects.naming import SubjectName


def check_empty(folder: Path) -> None:
    """Check that a folder can be created at this path.

    Raises:
        UsageError: the path exists and is not an empty directory.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "a directory that is not empty" if folder.is_dir() else "not a directory"
        raise UsageError("directory-not-empty", f"{folder} is {what}.", "Pass a new or an empty directory.")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder: fill a temporary folder and rename it.

    Args:
        files: the contents by path relative to the folder.

    Raises:
        UsageError: the path is not a new or empty directory any more.
        OSError: the folder cannot be written.
    """
    check_empty(folder)
    target = folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with supervised_temp_dir(target.parent, ".onnx-conformance-") as scratch:
        made = scratch / "made"
        for name, content in files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        check_empty(folder)
        made.rename(target)


_FENCE = "~~~~"

LONGEST_TITLE, MOST_MODEL_LINES = 100, 60

PASS_DOCUMENT_PREFIX = "onnxoptimizer "  # noqa: S105 - not a password
"""Prefix of the documents that specify the pass. Clauses from them do not apply to backends."""


def issue_text(
    case: CaseRecord,
    result: ResultRecord,
    subject: str,
    kind: str,
    versions: Mapping[str, str],
    command: str,
    model: str = "",
    fault: KnownFault | None = None,
) -> str:
    """Return the text of an issue as Markdown, to be reviewed and filed.

    Args:
        case: the record of the case.
        result: the record of the subject's result.
        subject: the name and version of the subject.
        kind: `backend` or `optimizer`.
        versions: the versions of everything that can affect the result, by name.
        command: the command of this suite that gives the same verdict.
        model: the model in ONNX's textual form; empty if it cannot be written in this form.
        fault: the documented fault of the runtime for which this case is the smallest example, or None.
    """
    name = one_line(subject)
    if fault is not None:
        title, expected = f"{fault.runtime}: {fault.title}", fault.lead
        ids: Sequence[str] = re.findall(r"`([a-z_0-9.]+)`", fault.lead)
    else:
        title, expected = f"{name}: {_headline(case, result)}", f"{one_line(case['title'])}."
        ids = violated_clauses(case, result["outputs"])
    named = [clauses()[id] for id in ids if id in clauses()]
    clause = next((one for one in named if kind == SubjectKind.OPTIMIZER or not _is_about_the_pass(one)), None)
    return _issue_template().render(
        title=title,
        fault=fault,
        evidence=[truncate_line(one_line(line)) for line in short_evidence(result, None, {})],
        expected=expected,
        level=Level(result["level"]),
        clause=clause,
        passages=[_passage_view(passage) for passage in clause.passages] if clause is not None else [],
        model=_model_lines(model),
        command=command,
        subject=name,
        versions=[(one_line(name), one_line(version)) for name, version in sorted(versions.items())],
    )


def _issue_template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("conformance.diagnosis.reproduction"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the text is Markdown
    )
    environment.filters["code_block"] = _code_block
    return environment.get_template("ISSUE.md.j2")


def _headline(case: CaseRecord, result: ResultRecord) -> str:
    """Return the title of the issue: the fault in a few words."""
    verdict = result["verdict"]
    operators = " and ".join(dict.fromkeys(node["op_type"] for node in case["model"]["nodes"][:3]))
    if verdict != Verdict.FAIL:
        said = one_line(result["message"])
        return _short(f"{operators}: {verdict}, {said}" if said else f"{operators}: {verdict}")
    if (check := first_violation(result)) is not None:
        return _short(f"{check['name']}: {one_line(check.get('violation', ''))}")
    if case["kind"] == CaseKind.INVALID:
        return _short(f"{INVALID_MODEL_SIGNATURE}: {one_line(case['title'])}")
    wrong = dict.fromkeys(output["name"] for output in result["outputs"] if "violation" in output)
    return _short(f"{operators}: wrong {', '.join(wrong)}" if wrong else f"{operators}: {one_line(result['message'])}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE].rstrip() + "…"


def _is_about_the_pass(clause: Clause) -> bool:
    return any(passage.document.startswith(PASS_DOCUMENT_PREFIX) for passage in clause.passages)


def _passage_view(passage: Passage) -> tuple[str, list[str]]:
    """Return the location of a passage, and the lines of its text if an installed package contains it."""
    package, words = text_package(passage.document), quote_passage(passage)
    version = f"{package} {installed_version(package)}: " if package and words is not None else ""
    place = f"{passage.document}, {passage.part}, characters {passage.start} to {passage.end}"
    return f"{version}{place} (sha256 {passage.sha256})", (words or "").splitlines()


def _model_lines(text: str) -> list[str]:
    lines = text.rstrip().splitlines()
    more = [f"… {len(lines) - MOST_MODEL_LINES} more lines"] if len(lines) > MOST_MODEL_LINES else []
    return [*map(truncate_line, lines[:MOST_MODEL_LINES]), *more]


def _code_block(lines: Sequence[str]) -> str:
    """Return lines as a block of code in Markdown."""
    return "\n".join([_FENCE, *(line.replace(_FENCE, "~ ~ ~ ~") for line in lines), _FENCE])


_STRUCTURE = "structure"
"""Name of the check that compares which nodes were removed."""


def reproduction_files(
    corpus: Corpus,
    case: CorpusCase,
    named: SubjectName,
    version: str,
    outcome: Outcome,
    versions: Mapping[str, str],
    command: str,
    stderr: str = "",
) -> dict[str, bytes]:
    """Return the contents of the folder's files by relative path.

    Args:
        version: the version of the subject.
        outcome: the outcome of the case, which is a defect.
        versions: the versions of everything that can affect the result, by name.
        command: the command of this suite that gives the same verdict.
        stderr: the text that the subject wrote to standard error.
    """
    document = read_case_json(corpus, case)
    files = {name: corpus.read(case, name) for name in case.files if name != "case.json"}
    result: Any = {
        "case": case.id,
        "verdict": str(outcome.verdict),
        "phase": outcome.phase,
        "message": outcome.message,
        "level": str(outcome_level(case, outcome)),
        "outputs": list(outcome.outputs),
        "stderr": stderr,
        **({"checks": list(outcome.checks)} if outcome.checks else {}),
    }
    known = known_faults_in(named.text, str(named.kind), case.id)
    record: Any = {"case": case.id, "kind": str(case.kind), **document}
    issue = issue_text(
        record,
        result,
        f"{named.name if not named.is_command else named.text} {version}",
        str(named.kind),
        versions,
        command,
        _model_text(files["model.onnx"]),
        next((fault for fault in known if fault.case == case.id and fault.fits(version, result)), None),
    )
    if any(check["name"] == _STRUCTURE and "violation" in check for check in outcome.checks):
        files["rewrite.json"] = json.dumps(document["rewrite"]["once"]).encode()
    files |= {name: source.encode() for name, source in subject_files(named, str(Path.cwd())).items()}
    script = resources.files(__package__).joinpath(f"show_{named.kind}.py")
    return {**files, "reproduce.py": script.read_bytes(), "ISSUE.md": issue.encode()}


def outcome_level(case: CorpusCase, outcome: Outcome) -> Level:
    """Return the level of an outcome; it can be weaker than the level of the case."""
    result = {"verdict": outcome.verdict, "phase": outcome.phase, "checks": outcome.checks}
    return effective_level(result, case.level)


def _model_text(model: bytes) -> str:
    """Return a model in ONNX's textual form, or an empty text if onnx's printer does not support the model."""
    try:
        return str(onnx.printer.to_text(onnx.load_model_from_string(model)))
    except Exception:  # noqa: BLE001 - the printer can raise anything
        return ""
