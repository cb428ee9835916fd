"""Recognize subjects that end in an error where they lack an operator, instead of answering `unsupported`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from conformance.run.results.records import Result

_MISSING = r"^KeyError\b|\bnot\W{0,3}(?:yet )?(?:implemented|supported)|\bun(?:implemented|supported)|\bunknown op"
"""Messages of errors that state that something is missing."""

MIN_ERRORS = 2
"""Number of errors with an operator from which the operator counts as missing: one error can have any reason."""

MAX_NAMED_OPERATORS = 3
"""Number of operators that a sentence names."""

_MAX_EXCEPTION_LENGTH = 60


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


def _names_missing(message: str, operator: str) -> bool:
    """Return whether a message names an operator; a message that names no operator may state that one is missing."""
    line = message.splitlines()[0] if message else ""
    if re.search(rf"\b{re.escape(operator)}\b", line):
        return True
    return re.search(_MISSING, line, re.IGNORECASE) is not None and re.search(r"'[A-Z]\w*'", line) is None


def _sentence(subject: str, exception: str, operators: list[str]) -> str:
    named = ", ".join(operators[:MAX_NAMED_OPERATORS])
    more = f" and {len(operators) - MAX_NAMED_OPERATORS} more operators" if operators[MAX_NAMED_OPERATORS:] else ""
    return (
        f"{subject}: most cases of {named}{more} end in {exception}. A missing operator is reported by"
        " NotImplementedError, or by the answer `unsupported` of a harness; its cases then fail no run."
    )
