"""The page of the audits of public models tells on which day each row was made."""

from __future__ import annotations

from script_modules import script_module

DAY_TEXT = script_module("audit_models").day_text


def test_day_text_of_one_day_names_no_row() -> None:
    text = DAY_TEXT({"2026-11-27": ["cls on tract"]})
    assert "2026-11-27" in text
    assert "cls" not in text


def test_day_text_of_several_days_names_the_older_rows() -> None:
    older = ["det on tract", "rec on tract"]
    text = DAY_TEXT({"2026-11-27": ["cls on tract"], "2026-11-26": older})
    assert f"{', '.join(older)} (2026-11-26)" in text
    assert "cls" not in text
