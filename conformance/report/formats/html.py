"""The HTML report: one self-contained document, a pure function of results files.

The overview is written here, by the template; every other page is drawn in the browser, when it is opened, from the
JSON that the document carries. Whatever a results file says arrives as text: the template escapes it, the JSON
contains no character that could end its element, the scripts build nodes and never markup, and the document's own
policy admits exactly the one style sheet and the one script whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from conformance.report.html.columns import columns
from conformance.report.html.data import archives, complaints, details, index
from conformance.report.html.groups import groups
from conformance.report.html.known import known
from conformance.report.html.overview import overview
from conformance.report.html.pool import Pool
from conformance.report.html.survey import Survey, surveyed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.report.html.groups import Group
    from conformance.report.html.known import Known
    from conformance.results.file import Results

STYLES = ("page.css", "matrix.css", "case.css", "plots.css")
SCRIPTS = (
    "scrolling.js",
    "dom.js",
    "data.js",
    "details.js",
    "address.js",
    "groups.js",
    "unknown.js",
    "filter.js",
    "links.js",
    "known.js",
    "copy.js",
    "matrix.js",
    "toolbar.js",
    "empty.js",
    "plots.js",
    "graph.js",
    "tensors.js",
    "evidence.js",
    "rewriting.js",
    "rerun.js",
    "case.js",
    "lists.js",
    "subject.js",
    "clauses.js",
    "scores.js",
    "errors.js",
    "silent.js",
    "hazards.js",
    "differences.js",
    "compare.js",
    "help.js",
    "report.js",
)


def render(runs: Sequence[Results]) -> Iterator[str]:
    """One HTML document that shows every subject and every case of the runs, piece by piece.

    The same runs give the same bytes. Runs of one subject stand side by side; runs of several corpora do so under a
    banner that says it. No run at all gives a report of nothing, which says so.
    """
    shown = columns(runs)
    survey = surveyed(runs, shown)
    found = groups(runs, shown)
    faults = known(shown)
    style = "".join(_asset(name) for name in STYLES)
    script = '(function () {\n"use strict";\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    yield from _template().generate(
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=((name, _embedded(value)) for name, value in _data(runs, shown, survey, found, faults)),
        archives=archives(runs),
        **overview(runs, shown, survey, found, faults),
    )


def _data(
    runs: Sequence[Results], shown: Sequence[Column], survey: Survey, found: Sequence[Group], faults: Sequence[Known]
) -> Iterator[tuple[str, Any]]:
    """What the scripts read, by the id of the element that carries it."""
    pool = Pool()
    yield "index", index(runs, shown, found, faults)
    yield "errors", survey.errors
    yield "hazards", survey.hazards
    yield from ((f"subject-{number}", profile) for number, profile in enumerate(survey.profiles))
    yield from ((f"detail-{number}", detail) for number, detail in enumerate(details(runs, shown, pool)))
    yield "complaints", complaints(runs, shown, pool)
    yield "pool", pool.values


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("conformance.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def _asset(name: str) -> str:
    return resources.files("conformance.report.html").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def _embedded(value: object) -> Markup:
    """A value as JSON in ASCII, in which no character can end, open or escape from a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_UNSAFE))  # noqa: S704 - escaped above
