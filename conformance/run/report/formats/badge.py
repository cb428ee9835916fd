"""A flat SVG badge: PASSED or FAILED, with counts of the `must` cases, or with the number of subjects.

The counts are the passed, the unsupported and the known failing cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from conformance.base.pages.templating import render_text
from conformance.base.serialization.printable_text import one_line
from conformance.base.verdicts import Level
from conformance.run.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.report.summary import Summary
    from conformance.run.results.results_file import Results

LABEL = "onnx conformance"
ALL_PASSED = "#2f7d32"
SOME_NOT_PASSED = "#5a7d1f"
PARTIAL = "#8a6100"
FAILED = "#b3261e"
"""Colours of a badge, by outcome: the run passes with all `must` cases; it passes with known failures; it passes on a
part of the corpus; it fails.
"""

PADDING = 6
HEIGHT = 20
NARROW = 4.0
WIDE = 10.5
USUAL = 7.0
_WIDTHS = {**dict.fromkeys("fijlrt .,:;|!'()[]/", NARROW), **dict.fromkeys("mwMW%@", WIDE)}
"""Approximate widths of characters of an 11 px sans-serif font, in pixels; `textLength` fits the text to the sum."""


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the image; the same runs give the same bytes."""
    document = summary(runs)
    message = one_line(_badge_text(document))
    left = text_width(LABEL) + 2 * PADDING
    right = text_width(message) + 2 * PADDING
    yield render_text(
        "badge.svg.j2",
        width=left + right,
        height=HEIGHT,
        left=left,
        right=right,
        padding=PADDING,
        at=left + PADDING,
        label_length=text_width(LABEL),
        length=text_width(message),
        colour=_colour(document),
        label=LABEL,
        message=escape(message),
        title=escape(f"{LABEL}: {message}", {'"': "&quot;"}),
    )


def text_width(text: str) -> int:
    """Return the approximate width of a text, in pixels."""
    return round(sum(_WIDTHS.get(character, USUAL) for character in text))


def _badge_text(document: Summary) -> str:
    outcome = "PASSED" if document.outcome == "pass" else "FAILED"
    if len(document.subjects) != 1:
        return f"{outcome}, {len(document.subjects)} subjects, {document.counts.sentence}"
    counts = document.subjects[0].levels.get(Level.MUST, {"cases": 0})
    parts = [f"{outcome}, {counts.get('pass', 0)} of {counts['cases']} must"]
    if unsupported := counts.get("unsupported", 0):
        parts.append(f"{unsupported} unsupported")
    if known := counts.get("known_failures", 0):
        parts.append(f"{known} known failure{'s' * (known != 1)}")
    return ", ".join(parts) + (" (partial run)" if document.partial else "")


def _colour(document: Summary) -> str:
    if document.outcome == "fail":
        return FAILED
    if document.partial:
        return PARTIAL
    counts = [subject.levels.get(Level.MUST, {"cases": 0}) for subject in document.subjects]
    return ALL_PASSED if all(levels.get("pass", 0) == levels["cases"] > 0 for levels in counts) else SOME_NOT_PASSED
