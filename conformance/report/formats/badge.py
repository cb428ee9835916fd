"""A flat badge, an SVG that needs nothing else: how many `must` cases passed, or how many subjects there are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from conformance.boundary.text import one_line
from conformance.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.summary import Summary
    from conformance.results.file import Results

LABEL = "onnx conformance"
ALL, KNOWN, PARTIAL, SHUT = "#2f7d32", "#5a7d1f", "#8a6100", "#b3261e"
"""The gate holds and all passed; it holds and some did not; it holds on a part of the corpus; it does not hold."""

PADDING, HEIGHT = 6, 20
NARROW, WIDE, USUAL = 4.0, 10.5, 7.0
_WIDTHS = {**dict.fromkeys("fijlrt .,:;|!'()[]/", NARROW), **dict.fromkeys("mwMW%@", WIDE)}
"""How wide the characters of an 11 px sans-serif face are about, in pixels; the text is fitted to it."""

_TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{title}">
 <title>{title}</title>
 <clipPath id="r"><rect width="{width}" height="{height}" rx="3"/></clipPath>
 <g clip-path="url(#r)">
  <rect width="{left}" height="{height}" fill="#444"/>
  <rect x="{left}" width="{right}" height="{height}" fill="{colour}"/>
 </g>
 <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
  <text x="{padding}" y="14" textLength="{label_length}">{label}</text>
  <text x="{at}" y="14" textLength="{length}">{message}</text>
 </g>
</svg>
"""


def render(runs: Sequence[Results]) -> Iterator[str]:
    """The image; the same runs give the same bytes."""
    told = summary(runs)
    message = one_line(_message(told))
    left, right = width(LABEL) + 2 * PADDING, width(message) + 2 * PADDING
    yield _TEMPLATE.format(
        width=left + right,
        height=HEIGHT,
        left=left,
        right=right,
        padding=PADDING,
        at=left + PADDING,
        label_length=width(LABEL),
        length=width(message),
        colour=_colour(told),
        label=LABEL,
        message=escape(message),
        title=escape(f"{LABEL}: {message}", {'"': "&quot;"}),
    )


def width(text: str) -> int:
    """How many pixels a text takes."""
    return round(sum(_WIDTHS.get(character, USUAL) for character in text))


def _message(told: Summary) -> str:
    gate = "" if told["gate"] == "pass" else ", gate shut"
    if len(told["subjects"]) != 1:
        return f"{len(told['subjects'])} subjects{gate or ', gate holds'}"
    counts = told["subjects"][0]["levels"].get("must", {"cases": 0})
    return f"{counts.get('pass', 0)} of {counts['cases']} must{' (a part)' if told['partial'] else ''}{gate}"


def _colour(told: Summary) -> str:
    if told["gate"] == "fail":
        return SHUT
    if told["partial"]:
        return PARTIAL
    counts = [subject["levels"].get("must", {"cases": 0}) for subject in told["subjects"]]
    return ALL if all(levels.get("pass", 0) == levels["cases"] > 0 for levels in counts) else KNOWN
