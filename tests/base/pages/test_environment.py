"""Rendering of pages: text is escaped, JSON cannot end its element, and the policy permits only the page's own code."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from jinja2 import UndefinedError

from conformance.base.pages.templating import count_text, embed_json, environment, number_text, render_page

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028"


def census_page(**changed):
    content = {
        "out_of_order": 0,
        "judged": HOSTILE,
        "compared": 0,
        "wrong": 0,
        "not_measured": 0,
        "facts": {HOSTILE: HOSTILE},
        "columns": [HOSTILE],
        "lines": [([HOSTILE, HOSTILE], HOSTILE)],
        "effects": [HOSTILE],
        "effect_lines": [[HOSTILE]],
        "cells": [],
        "assumption": HOSTILE,
        "explained": HOSTILE,
        "height": 1,
    }
    return render_page("census.html.j2", **{"styles": ["census.css"], **content, **changed})


def test_texts_of_a_page_are_escaped():
    page = census_page()
    assert page.count("&lt;/script&gt;&lt;script&gt;alert(1)") > 5
    assert "<script" not in page


def test_control_characters_of_a_page_are_escaped():
    page = census_page(judged="\x1b[2J\u202e", columns=["\x07"])
    assert "\\x1b[2J\\u202e" in page
    assert not set("\x1b\u202e\x07") & set(page)


def test_embedded_json_has_the_value_and_cannot_end_its_element():
    found = embed_json({"text": HOSTILE})
    assert json.loads(found) == {"text": HOSTILE}
    assert not set("<>&") & set(found)
    assert found.isascii()


def test_policy_permits_only_the_style_sheet_and_the_script_of_the_page():
    page = census_page(scripts=["dom.js"])
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} &#39;sha256-{digest}&#39;" in page
    assert "script-src" not in census_page()


def test_missing_variable_is_an_error():
    with pytest.raises(UndefinedError):
        render_page("blame.html.j2")


def test_only_templates_of_pages_escape():
    names = environment().list_templates(extensions=["j2"])
    autoescape = environment().autoescape
    assert {name for name in names if not autoescape(name)} == {
        *("ISSUE.md.j2", "badge.svg.j2", "subject.py.j2", "summary.md.j2")
    }


@pytest.mark.parametrize(("cell", "text"), [(None, ""), (12345, "12,345"), (0.1234567, "0.12346"), ("a", "a")])
def test_number_text_has_separators_and_five_digits(cell, text):
    assert number_text(cell) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 cases"), (1, "1 case"), (2000, "2,000 cases")])
def test_count_text_has_the_noun_in_its_number(count, text):
    assert count_text(count, "case") == text
