"""The evidence for a verdict as lines of text: what terminals, JUnit, CTRF and job pages show of a case.

What a subject said is quoted in bounded length; whoever shows the lines makes them fit for their medium.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.results.causes import NEVER_STARTED
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.models.preview import Preview
    from conformance.results.records import (
        BadElement,
        CaseRecord,
        ClauseRecord,
        OutputEvidence,
        ResultRecord,
        RewriteCheck,
    )

MOST_LINES, LONGEST_LINE = 6, 300
"""Of what a subject said."""

FEW_OUTPUTS = 2
"""Of how many wrong outputs the first bad element is told where the evidence is to be short."""


def shortly(result: ResultRecord, clause: str | None, clauses: Mapping[str, ClauseRecord]) -> Iterator[str]:
    """What is wrong, with the clause: a few lines.

    Args:
        clause: that which the answer breaks, if it breaks one.
        clauses: as the header of the results has them.
    """
    yield from _reasons(result, FEW_OUTPUTS)
    if clause is not None:
        told = clauses.get(clause)
        yield f"clause {clause}" + (f" ({told['source']}): {told['text']}" if told else "")


def in_full(case: CaseRecord, result: ResultRecord) -> Iterator[str]:
    """All that the results have of a verdict, as the case's page in the HTML report shows it."""
    verdict = Verdict(result["verdict"])
    phase = f"; phase: {result['phase']}" if result["phase"] else ""
    level = f"; at level {result['level']}" if result["level"] != case["level"] else ""
    yield f"{verdict}: {verdict.meaning}{phase}{level}; {result['seconds'] * 1000:.3g} ms"
    if len(repeats := result.get("repeats", {})) > 1:
        yield f"the verdict varies: {', '.join(f'{count} times {name}' for name, count in repeats.items())}"
    if (was := result.get("baseline")) is not None and was != verdict:
        yield f"in the run that is the baseline: {was}"
    if (expected := result["expected"]) is not None:
        issue = f"; issue {expected['issue']}" if "issue" in expected else ""
        yield f"expected: {expected['verdict']}, {expected['reason']}{issue}; {expected.get('place', '')}"
    yield from _reasons(result, len(result["outputs"]))
    if deviations := result.get("agrees_with"):
        yield f"agrees with the deviations {', '.join(deviations)}"
    yield from _other_checks(result)
    for change in result.get("hazards", ()):
        values = f"{', '.join(change['before'])} before, {', '.join(change['after'])} after"
        yield f"hazard {change['class']}, {change['run']}, data set {change['data_set']}: {values}"
    for output in result["outputs"]:
        yield from _measured(case, output)
    if stderr := result.get("stderr"):
        yield "what it wrote to stderr:"
        yield from _quoted(stderr, last=True)


def _reasons(result: ResultRecord, most: int) -> Iterator[str]:
    """Why a verdict is what it is: bad elements, complaints of checks, or else what was said."""
    bad = [output for output in result["outputs"] if "first_bad" in output]
    for output in bad[:most]:
        yield _bad(output, output["first_bad"])
    if len(bad) > most:
        yield f"and {len(bad) - most} more outputs are wrong"
    checks = [check for check in result.get("checks", ()) if "complaint" in check]
    yield from map(_complaint, sorted(checks, key=lambda check: Level(check.get("level", result["level"])).rank))
    if result["message"] and not bad and not checks:
        if result["phase"] == "start":
            yield f"{NEVER_STARTED}:"
        yield from _quoted(result["message"])
        if result["phase"] == "start" and (stderr := result.get("stderr")):
            yield from _quoted(stderr, last=True)


def _complaint(check: RewriteCheck) -> str:
    run = "to a fixed point" if check["run"] == "fixed_point" else "run once"
    return f"{check['name']} ({run}): {bounded(check.get('complaint', ''))}"


def _other_checks(result: ResultRecord) -> Iterator[str]:
    """The checks of a graph optimizer that did not complain."""
    held = dict.fromkeys(
        check["name"] for check in result.get("checks", ()) if not {"complaint", "not_judged"} & check.keys()
    )
    if held:
        yield f"kept to: {', '.join(held)}"
    for check in result.get("checks", ()):
        if "not_judged" in check:
            yield f"not judged: {check['name']} ({check['not_judged']})"


def _bad(output: OutputEvidence, bad: BadElement) -> str:
    """The first bad element: got and expected, in bits where there are any, how far apart and how far beyond."""
    data_set = f" of data set {output['data_set']}" if output["data_set"] else ""
    place = f"{output['name']}{bad['index']}{data_set}"
    expected = _value(bad["expected"], bad.get("expected_hex"))
    values = f"got {_value(bad['actual'], bad.get('actual_hex'))}, expected {expected}"
    parts = [f"{bad['ulp']:g} ULP apart"] if "ulp" in bad else []
    if (times := _times_bound(bad)) is not None:
        parts.append(f"{times:.3g} times its bound (± {bad['bound']})")
    parts += [f"{output['wrong']} wrong in all"] if output.get("wrong", 1) > 1 else []
    return "; ".join([f"{place}: {values}", ", ".join(parts)] if parts else [f"{place}: {values}"])


def _value(decimal: str, hex: str | None) -> str:
    return f"{decimal} ({hex})" if hex else decimal


def _times_bound(bad: BadElement) -> float | None:
    """How many times its bound the element is off; None where that is no number."""
    try:
        times = abs(float(bad["actual"]) - float(bad["expected"])) / float(bad["bound"])
    except (KeyError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return times if math.isfinite(times) else None


def _measured(case: CaseRecord, output: OutputEvidence) -> Iterator[str]:
    """An output's errors, and what came beside what was expected where it is told."""
    name = f"{output['name']}, data set {output['data_set']}, {output['check']}"
    errors = [f"max {output['max_ulp']:g} ULP"] if "max_ulp" in output else []
    if "error_over_bound" in output:
        errors.append(f"error {output['error_over_bound']:g} of the bound")
    if errors and "worst_index" in output:
        errors.append(f"worst at {output['worst_index']}")
    yield f"{name}: {', '.join([output.get('complaint', 'acceptable'), *errors])}"
    if "actual" in output:
        if (wanted := _wanted(case, output)) is not None:
            yield f"    expected {_tensor(wanted)}"
        yield f"    got      {_tensor(output['actual'])}"


def _wanted(case: CaseRecord, output: OutputEvidence) -> Preview | None:
    data_sets = case["data_sets"][output["data_set"] : output["data_set"] + 1]
    outputs = (wanted for data_set in data_sets for wanted in data_set["outputs"])
    return next((wanted for wanted in outputs if wanted["name"] == output["name"]), None)


def _tensor(tensor: Preview) -> str:
    more = f", … {tensor['elided']} more" if tensor["elided"] else ""
    return f"{tensor['type']}{tensor['shape']} = {', '.join(tensor['values'])}{more}"


def _quoted(text: str, *, last: bool = False) -> Iterator[str]:
    """What a subject said, in a bounded number of lines.

    Args:
        last: whether it is the last lines that matter.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    shown: Sequence[str] = lines[-MOST_LINES:] if last else lines[:MOST_LINES]
    left_out = len(lines) - len(shown)
    if left_out and last:
        yield f"> … {left_out} lines before"
    yield from (f"> {bounded(line)}" for line in shown)
    if left_out and not last:
        yield f"> … {left_out} more lines"


def bounded(line: str) -> str:
    """A line of bounded length."""
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"
