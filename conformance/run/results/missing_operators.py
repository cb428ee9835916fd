"""Recognize subjects that end in an error where they lack an operator, instead of answering `unsupported`."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.serialization.printable_text import MAX_NAMES, count_cases, name_list, one_line, shorten_middle
from conformance.base.verdicts import Verdict
from conformance.run.results.violations import normalize_message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from conformance.run.results.records import CaseRecord, Result

_MISSING = r"^KeyError\b|\bnot\W{0,3}(?:yet )?(?:implemented|supported)|\bun(?:implemented|supported)|\bunknown op"
"""Messages of errors that state that something is missing."""

MIN_ERRORS = 2
"""Number of errors with an operator from which the operator counts as missing: one error can have any reason."""

_MAX_EXCEPTION_LENGTH = 60
_MAX_LINE_LENGTH = 1000
_MAX_REASON_LENGTH = 200


def missing_operator(message: str, operators: Collection[str]) -> tuple[str, str] | None:
    """Return the operator that an error names as missing, and the first line without its name; None if it names none.

    A table of kernels without the operator ends in KeyError with its name. The operator can be in a function or a
    subgraph, so it may also be another operator of ONNX.

    Args:
        message: the message of the error.
        operators: the operators of the case.
    """
    line = message.partition("\n")[0].strip()
    if found := re.fullmatch(r"KeyError: '(\w{1,100})'", line):
        name = found[1]
        return (name, "KeyError: '…'") if name in operators or is_onnx_operator(name) else None
    if len(line) > _MAX_LINE_LENGTH or not re.search(_MISSING, line, re.IGNORECASE):
        return None
    for name in sorted(operators):
        text, count = re.subn(rf"\b{re.escape(name)}\b", "…", line)
        if count:
            return name, text
    return None


def is_onnx_operator(name: str) -> bool:
    """Return whether the installed onnx has an operator of this name in one of its domains."""
    from onnx import defs  # late: a run without errors does not import onnx here

    from conformance.exact.models.graphs import TRAINING_DOMAIN

    return any(defs.has(name, domain) for domain in ("", "ai.onnx.ml", TRAINING_DOMAIN))


def other_operators_lines(subject: str, passing: Iterable[str], tested: Collection[str]) -> list[str]:
    """Return which operators of a backend have no case of their own in the corpus, and a line of commands for a shell.

    Args:
        subject: the name of the backend.
        passing: the operators of its passing cases.
        tested: the operators and passes that the corpus tests.
    """
    others = sorted({name for name in passing if name not in tested and is_onnx_operator(name)})
    options = [word for name in others for word in ("--operator", name)] if len(others) <= MAX_NAMES else []
    generate = shlex.join(["onnx-conformance", "generate", "--onnx", *options])
    run = shlex.join(["onnx-conformance", "run", "--data", "onnx-cases", "-b", subject])
    them = "it" if len(others) == 1 else "them"
    if others:
        which = f"{name_list(others)} occurred in cases that passed, but no case here is about {them}"
    else:
        which = f"the cases here are about {name_list(tested)} alone"
    return [f"{subject}: {which}. To test {them if options else 'all operators'}:", f"{generate} && {run}"]


@dataclass(frozen=True)
class UnsupportedReason:
    """A reason of unsupported cases: the message of the first case, the number of the cases, and the first case."""

    message: str
    cases: int
    first: str

    @property
    def line(self) -> str:
        """The first line of the message."""
        return one_line(shorten_middle(self.message.partition("\n")[0] or "no reason", _MAX_REASON_LENGTH))

    @property
    def text(self) -> str:
        """The first line of the message with the number of cases."""
        return f"{self.line} ({count_cases(self.cases)}, first {self.first})"


def unsupported_reasons(unsupported: Iterable[Result]) -> dict[str, list[UnsupportedReason]]:
    """Return the reasons of the unsupported cases of each subject, that of most cases first."""
    by_reason: dict[tuple[str, str], list[Result]] = {}
    for result in unsupported:
        by_reason.setdefault((result.subject, normalize_message(result.message)), []).append(result)
    found: dict[str, list[UnsupportedReason]] = {}
    for (subject, _), own in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        found.setdefault(subject, []).append(UnsupportedReason(own[0].message, len(own), own[0].case))
    return found


def unsupported_sentence(subject: str, reasons: Sequence[UnsupportedReason]) -> str:
    """Return how many cases of a subject are unsupported, and the reason of most of them."""
    count = sum(reason.cases for reason in reasons)
    begin = f"{subject}: {count_cases(count)} unsupported"
    if len(reasons) == 1:
        return f"{begin}, first {reasons[0].first}: {reasons[0].line}"
    return f"{begin}: {reasons[0].text}; {len(reasons) - 1} more reason{'s' * (len(reasons) > 2)}"


def missing_operator_sentences(
    errors: Iterable[Result], items: Collection[tuple[str, str]], operators_of: Callable[[str], Collection[str]]
) -> list[str]:
    """Return a sentence for each subject that seems to lack operators: most cases with them end in one exception.

    The message of the exception names the operator, or states that something is missing.

    Args:
        errors: the results that are errors of a started subject.
        items: subject and case of all results.
        operators_of: function that returns the operators of a case.
    """
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for error in errors:
        exception = error.message.partition(":")[0].strip()
        if not exception or len(exception) > _MAX_EXCEPTION_LENGTH or "\n" in exception:
            continue
        for operator in operators_of(error.case):
            if _names_missing(error.message, operator):
                counts[error.subject][exception, operator] += 1
    sentences = []
    for subject, own in counts.items():
        totals = Counter(operator for name, case in items if name == subject for operator in operators_of(case))
        found: dict[str, list[str]] = defaultdict(list)
        for (exception, operator), count in own.items():
            if count >= MIN_ERRORS and 2 * count > totals[operator]:
                found[exception].append(operator)
        if found:
            exception, operators = max(found.items(), key=lambda pair: len(pair[1]))
            sentences.append(_sentence(subject, exception, sorted(operators)))
    return sentences


def older_versions_sentences(
    unexpected: Iterable[tuple[str, str]],
    verdicts: Mapping[tuple[str, str], Verdict],
    record_of: Callable[[str], CaseRecord],
) -> list[str]:
    """Return a sentence for each subject and operator that fails in old versions only, and passes in the newest.

    Args:
        unexpected: subject and case of the unexpected failures.
        verdicts: all verdicts by subject and case.
        record_of: function that returns the record of a case.
    """
    failing: dict[tuple[str, str], set[tuple[int, int] | None]] = {}
    for subject, case in unexpected:
        record = record_of(case)
        failing.setdefault((subject, record.family), set()).add(_tested_versions(record))
    old = {
        key: {each[0]: each[1] for each in versions if each is not None}
        for key, versions in failing.items()
        if all(each is not None and each[0] < each[1] for each in versions)
    }
    waiting = set(old)
    subjects = {subject for subject, _ in old}
    for (subject, case), verdict in verdicts.items():
        if waiting and verdict is Verdict.PASS and subject in subjects:
            record = record_of(case)
            versions = _tested_versions(record) if (subject, record.family) in waiting else None
            waiting -= {(subject, record.family)} if versions is not None and len({*versions}) == 1 else set()
    return [
        _older_versions_sentence(subject, operator, versions, max(versions.values()))
        for (subject, operator), versions in old.items()
        if (subject, operator) not in waiting
    ]


def _tested_versions(case: CaseRecord) -> tuple[int, int] | None:
    """Return the version of the operator that a case tests, and its newest version; None if onnx has no schema of it.

    A case without a node of the operator in its main graph has no version either.
    """
    from onnx import defs  # late: a run without failures does not import onnx here

    from conformance.exact.models.graphs import normal_domain

    node = next((node for node in case.model.nodes if node.op_type == case.family), None)
    domain = normal_domain(node.domain) if node is not None else ""
    if node is None or not defs.has(node.op_type, domain):
        return None
    try:
        version = defs.get_schema(node.op_type, case.model.opset_imports.get(domain or "ai.onnx", 0), domain)
    except defs.SchemaError:
        return None
    return int(version.since_version), int(defs.get_schema(node.op_type, domain).since_version)


def _older_versions_sentence(subject: str, operator: str, failing: Collection[int], newest: int) -> str:
    """Return that an operator fails in older versions only, and how a runtime reports that it lacks them.

    Args:
        failing: the versions of the failing cases.
        newest: the newest version, whose cases pass.
    """
    names = name_list([f"{operator}-{version}" for version in failing])
    return (
        f"{subject}: {operator} fails in models of old opsets only ({names}), and cases of {operator}-{newest} pass."
        f" A runtime that has only {operator}-{newest} answers `unsupported` for the others."
    )


def _names_missing(message: str, operator: str) -> bool:
    """Return whether a message names an operator; a message that names no operator may state that one is missing."""
    line = message.splitlines()[0] if message else ""
    if re.search(rf"\b{re.escape(operator)}\b", line):
        return True
    return re.search(_MISSING, line, re.IGNORECASE) is not None and re.search(r"'[A-Z]\w*'", line) is None


def _sentence(subject: str, exception: str, operators: list[str]) -> str:
    return (
        f"{subject}: most cases of {name_list(operators)} end in {exception}. A missing operator is reported by"
        " NotImplementedError, or by the answer `unsupported` of a harness; its cases then fail no run."
    )
