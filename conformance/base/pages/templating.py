"""Rendering of the templates in `templates/`: pages as self-contained HTML files, and texts such as Markdown.

A page consists of `base.html.j2` with its style sheets and scripts. Text from files and subjects cannot become markup
or code. Templates of HTML escape the text. The JSON does not contain characters that could end its element. Scripts
create only text nodes. The content security policy of a page permits only its style sheet and its script, by hash.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec import to_builtins

from conformance.base.serialization.printable_text import escape_markdown, escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jinja2 import Environment

BASE_STYLE = "page.css"
"""Style sheet of all pages."""

_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@cache
def environment() -> Environment:
    """Return the Jinja environment of all templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("conformance.base.pages"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        finalize=_escape_controls,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        counted=count_text, number=number_text, breakable=breakable, markdown=escape_markdown, python=repr
    )
    return made


def _escape_controls(value: object) -> object:
    """Return a text of a template with escapes in place of control characters; other values as they are."""
    if isinstance(value, Markup):
        return Markup(escape_unprintable(str(value)))  # noqa: S704 - escapes add no markup
    return escape_unprintable(value) if isinstance(value, str) else value


def render_text(template: str, **content: Any) -> str:
    """Return a rendered template that is no page."""
    return environment().get_template(template).render(content)


def page_parts(
    template: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Iterable[tuple[str, Any]] = (),
    packed: Iterable[tuple[str, Any]] = (),
    **content: Any,
) -> Iterator[str]:
    """Yield the parts of a page; the same content gives the same bytes.

    Args:
        template: the file of the template, which extends `base.html.j2`.
        styles: the style sheets of the page besides that of all pages.
        scripts: the scripts of the page; they share one scope.
        data: the values that the scripts read as JSON, each with the id of its element.
        packed: the values that the scripts unpack when a page shows them, each with the id of its element.
        content: the variables of the template.
    """
    style = "".join(map(read_asset, (BASE_STYLE, *styles)))
    script = f'(function () {{\n"use strict";\n{"".join(map(read_asset, scripts))}}})();\n' if scripts else ""
    yield from (
        environment()
        .get_template(template)
        .generate(
            policy=content_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            data=((name, embed_json(value)) for name, value in data),
            packed=((name, pack_json(value)) for name, value in packed),
            **content,
        )
    )


def render_page(template: str, **content: Any) -> str:
    """Return a page as text; the arguments are those of `page_parts`."""
    return "".join(page_parts(template, **content))


def read_asset(name: str) -> str:
    """Return a style sheet or a script."""
    return resources.files("conformance.base.pages").joinpath("templates", name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return a content security policy that permits only this style sheet and this script."""
    sources = [f"style-src '{_hash(style)}'", *([f"script-src '{_hash(script)}'"] if script else [])]
    return "; ".join(("default-src 'none'", *sources, "img-src data:", "base-uri 'none'", "form-action 'none'"))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embed_json(value: object) -> Markup:
    """Return a value as ASCII JSON without characters that could end or start an HTML element."""
    return Markup(_to_json(value).translate(_UNSAFE))  # noqa: S704 - escaped above


def pack_json(value: object) -> str:
    """Return a value as JSON that is packed by gzip, in base64."""
    return base64.b64encode(gzip.compress(_to_json(value).encode(), mtime=0)).decode()


def _to_json(value: object) -> str:
    return json.dumps(to_builtins(value), separators=(",", ":"), allow_nan=False)


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 node`, `2,000 nodes`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def number_text(cell: object) -> str:
    """Return a number with separators, at most 5 significant digits of a fraction; empty for an empty cell."""
    if cell is None:
        return ""
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.5g}" if isinstance(cell, float) else str(cell)


def breakable(id: str) -> Markup:
    """Return an id with places at which a line can break."""
    return Markup("/<wbr>").join(id.split("/"))
