"""The HTML report: one self-contained document that is computed from results files alone.

The Jinja template renders the overview. The script of the document draws every other page in the browser, from JSON
that the document contains.

Text from results files cannot become markup or code. The template escapes the text. The JSON does not contain
characters that could end its element. The script creates only text nodes. The content security policy of the document
permits only the style sheet and the script of the report, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from conformance.report.html.data import (
    ResultSurvey,
    ValuePool,
    case_archives,
    case_details,
    case_index,
    failure_texts,
    survey_results,
)
from conformance.report.html.groups import groups, known_fault_cases
from conformance.report.html.overview import overview
from conformance.report.html.subjects import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.html.groups import Group, KnownFaultCases
    from conformance.report.html.subjects import Column
    from conformance.results.file import Results

STYLES = ("page.css", "matrix.css", "case.css", "plots.css")
SCRIPTS = (
    "dom.js",
    "data.js",
    "address.js",
    "groups.js",
    "filters.js",
    "lists.js",
    "matrix.js",
    "plots.js",
    "graph.js",
    "tensors.js",
    "evidence.js",
    "case.js",
    "subject.js",
    "clauses.js",
    "scores.js",
    "errors.js",
    "silent.js",
    "hazards.js",
    "compare.js",
    "report.js",
)


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the parts of the HTML document; the same runs give the same bytes.

    Several runs of one subject are shown in adjacent columns. The report warns about runs of different corpora. Without
    runs, the report has neither subjects nor cases.
    """
    shown = columns(runs)
    survey = survey_results(runs, shown)
    found = groups(runs, shown)
    faults = known_fault_cases(shown)
    style = "".join(read_asset(name) for name in STYLES)
    script = '(function () {\n"use strict";\n' + "".join(read_asset(name) for name in SCRIPTS) + "})();\n"
    yield from _template().generate(
        policy=content_policy(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=((name, embed_json(value)) for name, value in _data(runs, shown, survey, found, faults)),
        archives=case_archives(runs),
        **overview(runs, shown, survey, found, faults),
    )


def _data(
    runs: Sequence[Results],
    shown: Sequence[Column],
    survey: ResultSurvey,
    found: Sequence[Group],
    faults: Sequence[KnownFaultCases],
) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values that the script reads, each with the id of the HTML element that contains it."""
    pool = ValuePool()
    yield "index", case_index(runs, shown, found, faults)
    yield "errors", survey.errors
    yield "hazards", survey.hazards
    yield from ((f"subject-{number}", page) for number, page in enumerate(survey.pages))
    yield from ((f"detail-{number}", detail) for number, detail in enumerate(case_details(runs, shown, pool)))
    yield "failure-texts", failure_texts(runs, shown, pool)
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


def read_asset(name: str) -> str:
    """Return a style sheet or a script of the report."""
    return resources.files("conformance.report.html").joinpath("templates", name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return a content security policy that permits only this style sheet and this script."""
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


def embed_json(value: object) -> Markup:
    """Return a value as ASCII JSON without characters that could end or start an HTML element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_UNSAFE))  # noqa: S704 - escaped above
