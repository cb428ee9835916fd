"""The evidence for a verdict as lines of text, for terminals, JUnit files, CTRF files and CI job pages.

Messages of a subject are quoted and shortened to a maximum length. The caller escapes the lines for its medium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.serialization.printable_text import plain_decimal, ratio_text, shorten_middle
from conformance.run.results.failure_groups import NEVER_STARTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.models.summaries import TensorPreview
    from conformance.run.results.records import (
        BadElement,
        CaseRecord,
        ClauseRecord,
        OutputEvidence,
        Result,
        RewriteCheck,
    )


MAX_QUOTED_LINES = 6
"""Number of lines of a subject's message that are quoted."""

MAX_LINE_LENGTH = 300
"""Characters of a quoted line."""

MAX_SHOWN_ULP = 1e6
"""Number of ULP from which on an error is only called large: nothing but the order of magnitude would be read."""

MAX_SHORT_OUTPUTS = 2
"""Number of wrong outputs whose first wrong element the short evidence shows."""


def short_evidence(result: Result, clause: str | None, clauses: Mapping[str, ClauseRecord]) -> Iterator[str]:
    """Yield a few lines of evidence: what is wrong, and the violated clause.

    Args:
        clause: id of the violated clause, or None.
        clauses: the clauses in the header of the results.
    """
    yield from _reason_lines(result, MAX_SHORT_OUTPUTS)
    if clause is not None:
        record = clauses.get(clause)
        yield f"clause {clause}" + (f" ({record.source}): {record.text}" if record else "")


def full_evidence(case: CaseRecord, result: Result) -> Iterator[str]:
    """Yield all evidence of a result as lines, with the content of the case's page in the HTML report."""
    verdict = result.verdict
    phase = f"; phase: {result.phase}" if result.phase else ""
    level = f"; at level {result.level}" if result.level != case.level else ""
    yield f"{verdict}: {verdict.meaning}{phase}{level}; {result.seconds * 1000:.3g} ms"
    if result.varies:
        yield f"the verdict varies: {', '.join(f'{count} times {name}' for name, count in result.repeats.items())}"
    if (was := result.baseline_text) not in {"", str(verdict)}:
        yield f"verdict in the baseline: {was}"
    if (expected := result.expected) is not None:
        issue = f"; issue {expected.issue}" if expected.issue else ""
        yield f"expected: {expected.verdict}, {expected.reason}{issue}; {expected.location}"
    yield from _reason_lines(result, len(result.outputs))
    yield from _other_check_lines(result)
    for change in result.hazards:
        values = f"{', '.join(change.before)} before, {', '.join(change.after)} after"
        yield f"hazard {change.hazard}, {change.run}, data set {change.data_set}: {values}"
    for output in result.outputs:
        yield from _output_lines(case, output)
    if stderr := result.stderr:
        yield "output on stderr:"
        yield from _quote_lines(stderr, last=True)


def _reason_lines(result: Result, most: int) -> Iterator[str]:
    """Yield the reasons for a verdict: the wrong elements, the violated checks, or else the message of the subject.

    Args:
        most: largest number of wrong outputs to show.
    """
    bad = [(output, output.first_bad) for output in result.outputs if output.first_bad is not None]
    for output, element in bad[:most]:
        yield _bad_element_line(output, element)
    if len(bad) > most:
        more = len(bad) - most
        yield f"and {more} more {'output is' if more == 1 else 'outputs are'} wrong"
    checks = [check for check in result.checks if check.violation is not None]
    yield from map(_violation_line, sorted(checks, key=lambda check: check.level.rank))
    if result.message and not bad and not checks:
        if result.phase == "start":
            yield f"{NEVER_STARTED}:"
        yield from _quote_lines(result.message)
        if result.phase == "start" and (stderr := result.stderr):
            yield from _quote_lines(stderr, last=True)


def _violation_line(check: RewriteCheck) -> str:
    run = {"once": " (run once)", "fixed_point": " (to a fixed point)"}.get(check.run or "", "")
    witness = f"; {check.effect}, smallest input: {check.witness}" if check.witness else ""
    return f"{check.name}{run}: {truncate_line(f'{check.violation}{witness}')}"


def _other_check_lines(result: Result) -> Iterator[str]:
    """Yield lines on the satisfied checks of a graph optimizer, and on the checks that could not be evaluated."""
    satisfied = dict.fromkeys(check.name for check in result.checks if check.is_satisfied)
    if satisfied:
        yield f"satisfied: {', '.join(satisfied)}"
    for check in result.checks:
        if check.not_judged is not None:
            yield f"not judged: {check.name} ({check.not_judged})"


def _bad_element_line(output: OutputEvidence, bad: BadElement) -> str:
    """Return a line on the first wrong element: actual and expected value, their bits, and the error over bound."""
    data_set = f" of data set {output.data_set}" if output.data_set else ""
    element = f"{output.name}{bad.index}{data_set}"
    expected = _format_value(bad.expected, bad.expected_hex)
    values = f"got {_format_value(bad.actual, bad.actual_hex)}, expected {expected}"
    parts = [f"off by {_ulp_text(bad.ulp)}"] if bad.ulp is not None else []
    if bad.error_over_bound is not None:
        parts.append(f"{ratio_text(bad.error_over_bound, 3)} times its bound (± {bad.bound})")
    parts += [f"{output.wrong} wrong in all"] if (output.wrong or 1) > 1 else []
    return "; ".join([f"{element}: {values}", ", ".join(parts)] if parts else [f"{element}: {values}"])


def _ulp_text(ulp: float) -> str:
    return f"{ulp:g} ULP" if ulp < MAX_SHOWN_ULP else "more than a million ULP"


def _format_value(decimal: str, hex: str | None) -> str:
    return f"{plain_decimal(decimal)} ({hex})" if hex else plain_decimal(decimal)


def _output_lines(case: CaseRecord, output: OutputEvidence) -> Iterator[str]:
    """Yield lines on the errors of an output, with the expected and the actual tensor if the result has them."""
    name = f"{output.name}, data set {output.data_set}, {output.check}"
    errors = [f"max {_ulp_text(output.max_ulp)}"] if output.max_ulp is not None else []
    if output.error_over_bound is not None:
        errors.append(f"error {output.error_over_bound:g} of the bound")
    if errors and output.worst_index is not None:
        errors.append(f"worst at {output.worst_index}")
    yield f"{name}: {', '.join([str(output.violation or 'acceptable'), *errors])}"
    if output.actual is not None:
        if (wanted := case.expected_output(output.data_set, output.name)) is not None:
            yield f"    expected {format_tensor(wanted)}"
        yield f"    got      {format_tensor(output.actual)}"


def format_tensor(tensor: TensorPreview) -> str:
    """Return type, shape and first elements of a tensor as text."""
    more = f", … {tensor.elided} more" if tensor.elided else ""
    return f"{tensor.type}{tensor.shape} = {', '.join(map(plain_decimal, tensor.values))}{more}"


def _quote_lines(text: str, *, last: bool = False) -> Iterator[str]:
    """Yield at most `MAX_QUOTED_LINES` lines of a subject's text, each quoted and shortened.

    Args:
        last: quote the last lines, not the first.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    shown: Sequence[str] = lines[-MAX_QUOTED_LINES:] if last else lines[:MAX_QUOTED_LINES]
    left_out = len(lines) - len(shown)
    if left_out and last:
        yield f"> … {left_out} lines before"
    yield from (f"> {truncate_line(line)}" for line in shown)
    if left_out and not last:
        yield f"> … {left_out} more lines"


def truncate_line(line: str) -> str:
    """Return a line, shortened in its middle to `MAX_LINE_LENGTH` characters."""
    return shorten_middle(line, MAX_LINE_LENGTH)
