"""The files of a reproduction folder: the case's files, `reproduce.py`, `subject.py` and the issue text `ISSUE.md`.

The folder is written completely or not at all, and never over existing files.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from conformance.base.pages.templating import render_text
from conformance.base.serialization.printable_text import escape_markdown, escape_unprintable, one_line
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.exact.clauses import clauses
from conformance.exact.models.graphs import all_nodes, onnx_op_type, subgraphs_of
from conformance.exact.models.spec_text import installed_version, quote_passage, text_package
from conformance.run.diagnosis.reproduction.subject_file import subject_files
from conformance.run.mutants import FAMILIES, FAMILY_OPERATORS, mutants_by_id
from conformance.run.results.evidence import short_evidence, truncate_line
from conformance.run.results.failure_groups import first_sentence, first_violation, violated_clauses
from conformance.run.results.known_faults import known_faults_in
from conformance.run.results.records import case_record
from conformance.run.results.violations import ViolationKind
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.exact.clauses import Clause, Passage
    from conformance.run.results.known_faults import KnownFault
    from conformance.run.results.records import CaseRecord, DiagnosisRecord, Result
    from conformance.subjects.calling.subject_names import SubjectName


_FENCE = "~~~~"

LONGEST_TITLE = 110
MOST_MODEL_LINES = 60
LONGEST_CASE_TITLE = 120
MOST_NAMED_OUTPUTS = 3
MOST_VALUES = 48

MAX_CAUSE_LENGTH = 1000
"""Maximum number of characters of the probable cause."""

_SHAPE_CLAUSES = {"argmax.keepdims", "argmax.keepdims_default"}
"""Clauses about the shape of an output."""

_CONVENTION = re.compile(r" \(the convention of [^()]*\)$")
"""End of a mistake's text that names the runtime which is known for it."""

PASS_DOCUMENT_PREFIX = "onnxoptimizer "  # noqa: S105 - not a password
"""Prefix of the documents that specify the pass. Clauses from them do not apply to backends."""

_ABOUT_A_REWRITE = re.compile(r"\b(?:pass|removed?|removing|stays?|unchanged)\b")
"""Words of a clause that demands something of a graph optimizer, not of a runtime."""

_CHECK_CLAUSES = {name: f"monotone.{name}" for name in ("interface", "preservation")} | {"checker": "monotone.valid"}
"""Clause that a check of a graph optimizer rests on, where it is the same for all cases."""

_MUTATION = "mutation"
"""Name of the check whether the caller's model object is left as it was."""

_CHECK_EXPECTATIONS = {
    _MUTATION: "The optimizer returns its result, and the model object of the caller is as it was.",
    "interface": "The optimized model has the inputs and outputs of the given one, in order, with their defaults.",
    "preservation": "The optimized model keeps what the given one says beside its computation.",
}
"""The demand of each check, in a sentence that needs no knowledge of the suite."""

_PLAIN_CHECKS = {*_CHECK_CLAUSES, _MUTATION}
"""Checks whose violations are sentences that a reader understands without the name of the check."""

_TITLES = {"onnx-reference": "onnx ReferenceEvaluator"}
"""Names of runtimes that differ from the names of their subjects."""

_LEADING_CLAUSES = re.compile(r"^`[a-z_0-9.]+`(?:(?:, | and )`[a-z_0-9.]+`)*[:;,.]?\s*")
_REFERENCE_BACK = re.compile(r"Cause: as (?:before|above)\b")
"""A point of a page of findings that refers to the section before."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NESTED_STATUS = re.compile(r"^(\w+): .*(?:Status Message: |\[ONNXRuntimeError\] : \d+ : \w+ : )", re.DOTALL)
"""Beginning of a message of ONNX Runtime: an exception, and the statuses of the nodes around the one that raised."""

_SOURCE_LOCATION = re.compile(r"(?<=: )/\S+:\d+:? ")
"""Place in a runtime's source."""


def issue_text(
    case: CaseRecord,
    result: Result,
    subject: str,
    kind: str,
    versions: Mapping[str, str],
    command: str,
    model: onnx.ModelProto,
    fault: KnownFault | None = None,
    diagnoses: Sequence[DiagnosisRecord] = (),
) -> str:
    """Return the text of an issue as Markdown, to be reviewed and filed.

    Args:
        case: the record of the case.
        result: the record of the subject's result.
        subject: the name and version of the subject.
        kind: `backend` or `optimizer`.
        versions: the versions of everything that can affect the result, by name.
        command: the command of this suite that gives the same verdict.
        model: the model of the case.
        fault: the documented fault of the runtime that this case shows, or None.
        diagnoses: the mistakes of a whole run that explain this failure, all together; empty if none is known.
    """
    name = one_line(subject)
    check = first_violation(result)
    expected = _expected(case, kind, check.name if check is not None else "")
    ids: Sequence[str] = violated_clauses(case, result.outputs)
    if kind == SubjectKind.BACKEND:
        ids = _contradicted_clauses(case, result)
        if result.verdict != Verdict.FAIL:
            expected = "The model runs, and gives the outputs in `test_data_set_*`."
    if check is not None and check.name in _PLAIN_CHECKS:
        ids = [_CHECK_CLAUSES[check.name]] if check.name in _CHECK_CLAUSES else []
    has_lead = False
    mutants = (mutants_by_id().get(one.mutant) for one in diagnoses)
    violated = [mutant.clause for mutant in mutants if mutant is not None and mutant.clause]
    if fault is None and violated:
        ids = violated
    if fault is not None:
        ids = re.findall(r"`([a-z_0-9.]+)`", fault.lead)
        lead = _LEADING_CLAUSES.sub("", fault.lead)
        has_lead = bool(lead)
        expected = f"{lead[:1].upper()}{lead[1:]}" if has_lead else expected
    if fault is not None:
        title = fault.title
    elif diagnoses:
        title = escape_markdown(_short(_mistake(diagnoses)))
    else:
        title = escape_markdown(_headline(case, result, kind, model))
    named = [clauses()[id] for id in ids if id in clauses()]
    if kind == SubjectKind.BACKEND and (has_lead or result.verdict != Verdict.FAIL):
        named = [one for one in named if not _is_of_a_rewrite(one.id)]  # what ArgMax gives is beside the point
    named = [one for one in named if kind == SubjectKind.OPTIMIZER or not _is_about_a_rewrite(one)]
    shown = list(dict.fromkeys(named))[: len(diagnoses) if fault is None and violated else 1]
    is_the_pass = name.startswith(PASS_DOCUMENT_PREFIX)
    return render_text(
        "ISSUE.md.j2",
        code_block=_code_block,
        title=f"{fault.runtime if fault is not None else escape_markdown(name)}: {title}",
        fault=fault,
        points=[point for point in fault.points if not _REFERENCE_BACK.match(point)] if fault is not None else [],
        is_smallest=fault is not None and fault.case == case.case,
        upstream=_mentioned_issues(fault.upstream) if fault is not None else "",
        cause=escape_markdown(_probable_cause(diagnoses), MAX_CAUSE_LENGTH) if diagnoses else "",
        evidence=[truncate_line(one_line(line).removeprefix("> ")) for line in short_evidence(result, None, {})],
        expected=expected,
        level=Level.MUST if check is not None and check.name == _MUTATION else result.level,
        authority=_authority(next(iter(shown), None)),
        demands=[
            (
                clause,
                _demand(clause, is_the_pass=is_the_pass),
                [_passage_view(one) for one in clause.passages if is_the_pass or not _is_of_the_pass(one)],
            )
            for clause in shown
        ],
        model=_model_lines(printed_model(model)),
        inputs=_input_lines(case, result),
        command=command,
        subject=escape_markdown(name),
        versions=[(escape_markdown(name), escape_markdown(version)) for name, version in sorted(versions.items())],
    )


def _contradicted_clauses(case: CaseRecord, result: Result) -> list[str]:
    """Return the clauses that a backend's result contradicts.

    A wrong type or shape contradicts a clause about types or shapes alone, and no error contradicts a clause about
    values.
    """
    if result.verdict != Verdict.FAIL:
        return []
    wrong = next((output for output in result.outputs if output.violation is not None), None)
    found = wrong.violation.kind if wrong is not None and wrong.violation is not None else None
    if found is ViolationKind.OUTPUT_SHAPE:
        return [id for id in case.clauses if id in _SHAPE_CLAUSES]
    if found is not ViolationKind.OUTPUT_TYPE:
        return list(violated_clauses(case, result.outputs))
    family = case.clauses[0].partition(".")[0] if case.clauses else ""
    return [f"{family}.{name}" for name in ("output_type", "tensor_type") if f"{family}.{name}" in clauses()]


def _mistake(diagnoses: Sequence[DiagnosisRecord]) -> str:
    """Return the diagnosed mistakes as a sentence without its full stop: `Adam adds epsilon to H_new`."""
    texts = (f"{one.operator} {_CONVENTION.sub('', one_line(one.text))}" for one in diagnoses)
    return ", and ".join(texts)


def _probable_cause(diagnoses: Sequence[DiagnosisRecord]) -> str:
    """Return the mistakes that explain a case, and the number of failing cases that they explain, in sentences."""
    first = diagnoses[0]
    joint = set.intersection(*(set(one.jointly_explained) for one in diagnoses))
    partners = {partner for one in diagnoses for partner in one.partners}
    cause = f"{_mistake(diagnoses)}."
    wrong = f"Of the {first.failing} models with a wrong {first.operator},"
    if len(diagnoses) > 1:  # a mistake with several partners can explain some of the cases only with all of them
        is_the_only_pair = len(partners) == len(diagnoses)
        count = f" {wrong} {len(joint)} have exactly the outputs that both mistakes give together."
        return f"two mistakes together: {cause}{count if is_the_only_pair else ''}"
    alone = f"{wrong} {first.explained - len(joint)} have exactly the outputs that this mistake gives"
    others = f", and {len(joint)} have those that it gives together with another mistake"
    names = f" ({first.operator} {', or '.join(map(one_line, first.partners))})" if first.partners else ""
    return f"{cause} {alone}{f'{others}{names}' if joint else ''}."


def _authority(clause: Clause | None) -> str:
    """Return a sentence on what determines an answer that the ONNX specification leaves open."""
    if clause is not None and "IEEE 754" in clause.source:
        return "The text of the ONNX specification alone does not settle this; IEEE 754 does."
    return "The text of the ONNX specification does not demand this, but users can expect it."


def _input_lines(case: CaseRecord, result: Result) -> list[str]:
    """Return the inputs of the data set that shows the failure; nothing if their values are too many to print."""
    wrong = next((output for output in result.outputs if output.violation is not None), None)
    number = wrong.data_set if wrong is not None else 0
    inputs = case.data_sets[number].inputs if number < len(case.data_sets) else []
    if any(tensor.elided for tensor in inputs) or sum(len(tensor.values) for tensor in inputs) > MOST_VALUES:
        return []
    return [f"{tensor.name}: {tensor.type}{tensor.shape} = {', '.join(tensor.values)}" for tensor in inputs]


def _expected(case: CaseRecord, kind: str, check: str) -> str:
    """Return what the subject has to do, in a sentence that needs no knowledge of the suite."""
    if check in _CHECK_EXPECTATIONS:
        return _CHECK_EXPECTATIONS[check]
    if kind == SubjectKind.BACKEND and any(map(_is_of_a_rewrite, case.clauses)) and case.kind != CaseKind.INVALID:
        return "The outputs in `test_data_set_*`, which follow from the specification of each operator of the model."
    title = one_line(case.title)
    return f"{escape_markdown(title.partition(' (')[0] if len(title) > LONGEST_CASE_TITLE else title)}."


def _is_of_a_rewrite(clause: str) -> bool:
    return clause.startswith("monotone.")


def _demand(clause: Clause, *, is_the_pass: bool) -> str:
    """Return the text of a clause; for other optimizers than the pass's own, what it says of the pass is general."""
    return clause.text if is_the_pass else clause.text.replace("The pass", "A rewrite")


def _mentioned_issues(text: str) -> str:
    """Return the sentences that mention an issue or a pull request."""
    return " ".join(sentence for sentence in _SENTENCE.split(one_line(text)) if "#" in sentence)


def _headline(case: CaseRecord, result: Result, kind: str, model: onnx.ModelProto) -> str:
    """Return the title of the issue: the operator at fault and the fault in a few words."""
    verdict = result.verdict
    if (check := first_violation(result)) is not None:
        violation = one_line(str(check.violation))
        return _short(violation if check.name in _PLAIN_CHECKS else f"{check.name}: {violation}")
    if verdict is not Verdict.FAIL:
        said = _NESTED_STATUS.sub(r"\1: ", result.message) if verdict is Verdict.ERROR else ""
        said = one_line(_SOURCE_LOCATION.sub("", said))
        operator = _mentioned_operator(result.message, model)
        if not operator and kind == SubjectKind.BACKEND:
            operator = _judged_operator(case, result, model)
        return _short(": ".join(part for part in (operator, said or verdict.meaning) if part))
    if case.kind == CaseKind.INVALID:
        return _short(f"accepts an invalid model: {one_line(case.title)}")
    wrong = {output.name: output.violation for output in result.outputs if output.violation is not None}
    first = next(iter(wrong.values()), None)
    what = ""
    if first is not None and first.kind in {ViolationKind.OUTPUT_TYPE, ViolationKind.OUTPUT_SHAPE}:
        what = first_sentence(result)
    elif wrong:
        more = len(wrong) - MOST_NAMED_OUTPUTS
        what = f"wrong {', '.join([*wrong][:MOST_NAMED_OUTPUTS])}{f' and {more} more' if more > 0 else ''}"
    return _short(f"{_judged_operator(case, result, model)}: {one_line(what or result.message)}")


def _mentioned_operator(message: str, model: onnx.ModelProto) -> str:
    """Return the operator of the model that a message names last, which is the innermost one; empty if there is none.

    Runtimes name the node that raised after the nodes around it.
    """
    types = {node.op_type for node in all_nodes(model)}
    words = re.findall(r"(?<![\w.])\w+", message)
    return next((word for word in reversed(words) if word in types), "")


def _judged_operator(case: CaseRecord, result: Result, model: onnx.ModelProto) -> str:
    """Return the operator that the violated clause is about, and the operator whose body it is in.

    Examples: `Adam`, `Adagrad in a Loop`, `ArgMax of Softmax`, `Adam as primitive operators`.
    """
    families = {family.lower(): family for family in FAMILIES} | {"monotone": "ArgMax"}
    family = next(iter(violated_clauses(case, result.outputs)), "").partition(".")[0]
    operator = families.get(family, "")
    nodes = list(all_nodes(model))
    if not any(onnx_op_type(node) == operator for node in nodes):
        return f"{operator} as primitive operators" if operator else nodes[-1].op_type if nodes else ""
    place = "".join(f" in a{'n' if one[0] in 'AEIOU' else ''} {one}" for one in _places(model, operator))
    operands = {name for node in nodes if onnx_op_type(node) == operator for name in node.input[:1]}
    made = {onnx_op_type(node) for node in nodes if operands.intersection(node.output)}
    operand = next(iter(made & {*FAMILY_OPERATORS["ArgMax"]}), "") if operator == "ArgMax" and len(made) == 1 else ""
    return f"{operator}{f' of {operand}' if operand not in {'', operator} else ''}{place}"


def _places(model: onnx.ModelProto, operator: str) -> list[str]:
    """Return the operators whose bodies contain the last node of an operator, the innermost first."""

    def search(graph: onnx.GraphProto) -> list[str] | None:
        found: list[str] | None = [] if any(onnx_op_type(node) == operator for node in graph.node) else None
        for node in graph.node:
            for body in subgraphs_of(node):
                if (inner := search(body)) is not None:
                    found = [*inner, node.op_type]
        return found

    places = search(model.graph)
    return ["function"] if places is None else places


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE].rstrip() + "…"


def _is_about_a_rewrite(clause: Clause) -> bool:
    return any(map(_is_of_the_pass, clause.passages)) or _ABOUT_A_REWRITE.search(clause.text) is not None


def _is_of_the_pass(passage: Passage) -> bool:
    return passage.document.startswith(PASS_DOCUMENT_PREFIX)


def _passage_view(passage: Passage) -> tuple[str, list[str]]:
    """Return the location of a passage, and the lines of its text if an installed package contains it."""
    package = text_package(passage.document)
    words = quote_passage(passage)
    version = f"{package} {installed_version(package)}: " if package and words is not None else ""
    return f"{version}{passage.document}, {passage.part}", (words or "").splitlines()


def _model_lines(text: str) -> list[str]:
    lines = text.rstrip().splitlines()
    more = [f"… {len(lines) - MOST_MODEL_LINES} more lines"] if len(lines) > MOST_MODEL_LINES else []
    return [*map(truncate_line, lines[:MOST_MODEL_LINES]), *more]


def _code_block(lines: Sequence[str]) -> str:
    """Return lines as a block of code in Markdown; a line end inside of a line is replaced by an escape."""
    shown = (escape_unprintable(line).replace("\n", "\\n").replace(_FENCE, "~ ~ ~ ~") for line in lines)
    return "\n".join([_FENCE, *shown, _FENCE])


_STRUCTURE = "structure"
"""Name of the check that compares which nodes were removed."""


def reproduction_files(
    corpus: Corpus,
    case: CorpusCase,
    named: SubjectName,
    version: str,
    result: Result,
    versions: Mapping[str, str],
    command: str,
    diagnoses: Sequence[DiagnosisRecord] = (),
) -> dict[str, bytes]:
    """Return the contents of the folder's files by relative path.

    Args:
        version: the version of the subject.
        result: the result of the case, which is a defect, with what the subject wrote to standard error.
        versions: the versions of everything that can affect the result, by name.
        command: the command of this suite that gives the same verdict.
        diagnoses: the mistakes of a whole run that explain this failure, all together; empty if none is known.
    """
    files = {name: corpus.read(case, name) for name in case.files if name != "case.json"}
    known = known_faults_in(named.text, str(named.kind), case.id)
    record = case_record(corpus, case)
    issue = issue_text(
        record,
        result,
        _described_subject(named, version),
        str(named.kind),
        versions,
        command,
        onnx.load_model_from_string(files["model.onnx"]),
        _shown_fault(known, version, result),
        diagnoses,
    )
    is_structural = any(check.name == _STRUCTURE and check.violation is not None for check in result.checks)
    if is_structural and record.rewrite is not None:
        files["rewrite.json"] = json.dumps(record.rewrite.once).encode()
    files |= {name: source.encode() for name, source in subject_files(named, str(Path.cwd())).items()}
    script = resources.files(__package__).joinpath(f"{named.kind}_script.py")
    return {**files, "reproduce.py": script.read_bytes(), "ISSUE.md": issue.encode()}


def _shown_fault(known: Sequence[KnownFault], version: str, result: Result) -> KnownFault | None:
    """Return the documented fault that a result shows; None if there is none, or if it may be one of several.

    A fault that ends one model in an error can make another model's outputs wrong, so the verdicts may differ.
    """
    fitting = [fault for fault in known if fault.fits(version, result)]
    exact = [fault for fault in fitting if fault.case == result.case]
    named = fitting or [fault for fault in known if fault.version == version.partition(" ")[0]]
    return next(iter(exact), named[0] if len(named) == 1 else None)


def _described_subject(named: SubjectName, version: str) -> str:
    """Return the name, the version that ran, and the options of a subject."""
    name = named.text if named.is_command else _TITLES.get(named.name, named.name)
    options = ", ".join(f"{key}={value}" for key, value in named.options.items())
    return f"{name} {version}{f' ({options})' if options and not named.is_command else ''}"


def printed_model(model: onnx.ModelProto) -> str:
    """Return a model in ONNX's textual form, or an empty text if onnx's printer does not support the model."""
    try:
        return str(onnx.printer.to_text(model))
    except Exception:  # noqa: BLE001 - the printer can raise anything
        return ""
