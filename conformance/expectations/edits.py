"""Edits of an expectations file's text that leave every other byte as it is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.expectations.conditions import Condition
    from conformance.expectations.places import EntryPlace, Literal

WIDEST = 110
"""How long a line with a list may be; a longer list has a line for each string."""


@dataclass
class Edits:
    """Replacements in a text, made all at once."""

    text: str
    _made: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, by: str) -> None:
        """Put something in place of a part."""
        self._made.append((start, end, by))

    def result(self) -> str:
        """The text with all replacements made; of two that overlap the wider one."""
        text, made = self.text, sorted(set(self._made), key=lambda edit: (edit[0], -edit[1]))
        kept: list[tuple[int, int, str]] = []
        for edit in made:
            if not kept or edit[0] >= kept[-1][1]:
                kept.append(edit)
        for start, end, by in reversed(kept):
            text = text[:start] + by + text[end:]
        return text

    def remove_entry(self, place: EntryPlace, by: str = "") -> None:
        """Put other entries in place of one, or nothing and no empty lines; comments between entries stay."""
        end = place.end
        while not by and (blank := re.compile(r"[ \t]*\r?\n").match(self.text, end)):
            end = blank.end()
        self.replace(place.start, end, by)

    def add_entries(self, place: EntryPlace, entries: str) -> None:
        """Put entries behind one."""
        ended = self.text[: place.end].endswith("\n")
        self.replace(place.end, place.end, f"\n{entries}" if ended else f"\n\n{entries}")

    def replace_string(self, place: EntryPlace, number: int, by: Sequence[str]) -> None:
        """Put several patterns in place of one."""
        literal = place.strings["cases"][number]
        told = self._separator(literal).join(map(quoted, by))
        is_list = "]" in self.text[literal.end : place.ends["cases"]]
        self.replace(literal.start, literal.end, told if is_list else f"[{told}]")

    def remove_strings(self, strings: Sequence[Literal], lost: Sequence[int]) -> None:
        """Take some strings out of a list, but not all; a line that holds nothing else goes with its comment."""
        for number in lost:
            self.replace(*self._extent(strings, number, set(lost)), "")

    def _extent(self, strings: Sequence[Literal], number: int, lost: set[int]) -> tuple[int, int]:
        """Where a string of a list begins and ends with its comma."""
        literal = strings[number]
        line_start = self.text.rfind("\n", 0, literal.start) + 1
        rest = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)").match(self.text, literal.end)
        if rest and not self.text[line_start : literal.start].strip():
            return line_start, rest.end()
        comma = re.compile(r"[ \t]*,[ \t]*").match(self.text, literal.end)
        if comma:
            return literal.start, comma.end()
        before = next((n for n in reversed(range(number)) if n not in lost), None)
        return (strings[before].end if before is not None else literal.start), literal.end

    def add_exceptions(self, place: EntryPlace, cases: Sequence[str]) -> None:
        """Name more cases in an entry's `except`, which it may not have yet."""
        known = place.strings.get("except", [])
        if not known:
            end = place.ends["cases"]
            line_end = self.text.find("\n", end)
            at = len(self.text) if line_end < 0 else line_end
            self.replace(at, at, f"\nexcept = {string_list(cases, 'except')}")
        elif not self.text[known[-1].end : place.ends["except"]].strip():
            told = string_list([known[0].value, *cases], "except")
            self.replace(known[0].start, known[0].end, told)
        else:
            self._add_to_list(known[-1], cases)

    def _add_to_list(self, last: Literal, cases: Sequence[str]) -> None:
        between = self._separator(last)
        self.replace(last.end, last.end, "".join(between + quoted(case) for case in cases))

    def _separator(self, literal: Literal) -> str:
        """What stands between the strings of the list that one is in."""
        indent = self.text[self.text.rfind("\n", 0, literal.start) + 1 : literal.start]
        return ", " if indent.strip() or not indent else f",\n{indent}"


def entry_text(
    cases: Sequence[str],
    verdict: str,
    reason: str,
    issue: str = "",
    condition: Condition | None = None,
    checks: Sequence[str] = (),
) -> str:
    """A new entry."""
    lines = ["[[expect]]", f"cases = {string_list(cases, 'cases')}", f"verdict = {quoted(verdict)}"]
    lines += [f"checks = {string_list(checks, 'checks')}"] if checks else []
    lines.append(f"reason = {quoted(reason)}")
    lines += [f"issue = {quoted(issue)}"] if issue else []
    lines += [f"when = {_condition_text(condition)}"] if condition else []
    return "\n".join(lines) + "\n"


def _condition_text(condition: Condition) -> str:
    told = {"version": condition.version, "python": condition.python}
    parts = [f"{name} = {quoted(text)}" for name, text in told.items() if text]
    parts += [f"platform = {string_list(condition.platforms)}"] if condition.platforms else []
    return f"{{ {', '.join(parts)} }}"


def string_list(strings: Sequence[str], key: str = "") -> str:
    """A list, in one line if it is short; behind `key` it must fit into a line."""
    line = f"[{', '.join(map(quoted, strings))}]"
    if not key or len(key) + len(line) <= WIDEST:
        return line
    return "[\n" + "".join(f"  {quoted(string)},\n" for string in strings) + "]"


def quoted(text: str) -> str:
    """A string in TOML: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
