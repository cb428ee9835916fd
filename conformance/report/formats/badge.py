"""A flat SVG badge: PASSED or FAILED, with counts of the `must` cases, or with the number of subjects.

The counts are the passed, the unsupported and the known failing cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from conformance.pages.environment import render_text
from conformance.report.summary import summary
from conformance.serialization.text import one_line
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.summary import Summary
    from conformance.results.file import Results

LABEL = "onnx conformance"
ALL_PASSED, SOME_NOT_PASSED, PARTIAL, FAILED = "#2f7d32", "#5a7d1f", "#8a6100", "#b3261e"
"""Colours of a badge, by outcome: the run passes with all `must` cases; it passes with known failures; it passes on a
part of the corpus; it fails.
"""

PADDING, HEIGHT = 6, 20
NARROW, WIDE, USUAL = 4.0, 10.5, 7.0
_WIDTHS = {**dict.fromkeys("fijlrt .,:;|!'()[]/", NARROW), **dict.fromkeys("mwMW%@", WIDE)}
"""Approximate widths of characters of an 11 px sans-serif font, in pixels; `textLength` fits the text to the sum."""


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the image; the same runs give the same bytes."""
    document = summary(runs)
    message = one_line(_badge_text(document))
    left, right = text_width(LABEL) + 2 * PADDING, text_width(message) + 2 * PADDING
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
