"""Write docs/reference/errors.md: the codes of all errors with their texts, from errors.toml and from the source.

python scripts/make_error_reference.py [--check]

The script also compares errors.toml with the source: each text is used, and each use gives the values of the text. With
--check nothing is written. The exit status is 1 if the page is out of date, or if errors.toml and the source differ.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from conformance.base import errors
from conformance.base.errors import ConformanceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "errors.md"

AREAS = {
    name: member.area
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, ConformanceError)
}
"""The area of each class of errors, by the name of the class."""
AREAS["Refused"] = ""  # of the harness, with the area in the name

PLACEHOLDER_NAMES = {
    "__name__": "error type",
    "strerror": "reason",
    "also": "",
    "of": "",
    "what": "",
    "how": "",
    "why": "reason",
    "prose": "kind of subject",
    "here": "value",
    "there": "value",
    "different": "property",
    "given": "value",
    "entry": "value",
    "header": "version",
    "found": "version",
    "sentence": "problem",
    "prefix": "rule",
    "text": "argument",
    "CaseKind": "kinds",
    "error_type": "error type",
}
"""Clear names of values whose variables have other names; an empty name is shown as `…`."""

HEAD = """# Error codes

This page lists the codes of the errors that end a command with exit status 2. Read it if a program or a test has to
react to an error. This page is for authors of scripts and of CI workflows.

Every error has a stable code, a sentence that states the problem, and a hint that states what to do. With `--verbose`,
a command prints the code: `error[corpus.file-missing]: …`. With `--json FILE`, a command also writes the error as JSON,
unless FILE exists already: `{"error": {"code": …, "problem": …, "hint": …}}`. In the harness protocol, the field `code`
of an `error` answer has the code.

An internal error of the suite ends a command with exit status 3. Its code is `fault.internal`. The code `fault.output`
means that all results are written, and that an explanation, the printed outcome or a report is missing.

The table has the sentences of `conformance/base/errors.toml` and of the source code. A name in braces, such as
`{path}`, stands for a value, and so does the character `…`. A slash separates alternative sentences. "(varies)" means
that there is no fixed sentence. `python scripts/make_error_reference.py` writes this page.
"""


def table_texts() -> dict[str, Mapping[str, str]]:
    """Return the entry of each text in errors.toml, by `AREA.NAME` or `AREA.NAME.VARIANT`."""
    table = tomllib.loads((ROOT / "conformance" / "base" / "errors.toml").read_text("utf-8"))
    return dict(_texts_below("", table))


def _texts_below(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    if not any(isinstance(value, dict) for value in table.values()):
        yield path.removeprefix("."), {"problem": "{problem}", "hint": "{hint}", **table}
        return
    for name, below in table.items():
        yield from _texts_below(f"{path}.{name}", below)


def _shown(text: str) -> str:
    """Return a text of errors.toml with clear names of the values, as the page shows them."""
    if text in {"{problem}", "{hint}"}:
        return "…"
    names = re.compile(r"\{(?:\w+\.)*(\w+)[^{}]*\}")
    shown = names.sub(lambda found: f"{{{PLACEHOLDER_NAMES.get(found[1], found[1])}}}", text)
    return shown.replace("{}", "…")


def differences(texts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a sentence for each difference between the texts of errors.toml and their uses in the source."""
    unused = set(texts)
    for path in sorted((ROOT / "conformance").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[text], keywords=given) if AREAS.get(name):
                    pattern = f"{AREAS[name]}.{_name_pattern(text)}"
                    found = [code for code in texts if fnmatchcase(code, pattern)]
                    unused.difference_update(found)
                    place, values = f"{path.relative_to(ROOT)}:{node.lineno}", {each.arg for each in given}
                    if not found:
                        yield f"{place}: errors.toml has no text {pattern}"
                    yield from (
                        f"{place}: {code} needs the values {_needed(texts[code])}, but gets {values}"
                        for code in found
                        if _needed(texts[code]) != values
                    )
    yield from (f"errors.toml: nothing uses {code}" for code in sorted(unused))


def _name_pattern(node: ast.expr) -> str:
    """Return the name of an error, with an asterisk for each part that is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
    return "*"


def _needed(texts: Mapping[str, str]) -> set[str]:
    """Return the names of the values that the texts of an error contain or compare."""
    names = [name for key in ("problem", "hint") for _, name, _, _ in Formatter().parse(texts[key]) if name]
    names += [texts["near"], "known"] if "near" in texts else []
    return {name.partition(".")[0] for name in names}


def template(node: ast.expr) -> str | None:
    """Return the text of a string expression with a placeholder for each value; None for another expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else _placeholder(part) for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (template(left) or "…") + (template(right) or "…")
        case ast.IfExp(body=body, orelse=other):
            return " / ".join(template(each) or "…" for each in (body, other))
    return None


def _placeholder(part: ast.expr) -> str:
    """Return `{name}` for an inserted value with a clear name (that of its variable or attribute), otherwise `…`."""
    name = _value_name(part.value) if isinstance(part, ast.FormattedValue) else ""
    name = PLACEHOLDER_NAMES.get(name, name.strip("_").lower())
    return f"{{{name}}}" if name else "…"


def _value_name(node: ast.expr) -> str:
    """Return the name in an expression that best describes its value, or an empty string."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _value_name(value)
        case ast.Call(func=ast.Name(id="len")):
            return "number"
        case ast.Call(func=ast.Attribute(attr="join"), args=[ast.Name() | ast.Attribute() as values]):
            return _value_name(values)
    return ""


def found_errors(source: str) -> list[tuple[str, str, str]]:
    """Return the code, problem and hint of every error that a module constructs."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = []
    for scope in [tree, *functions]:
        nodes = list(ast.walk(scope))
        calls = [
            node
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in AREAS
        ]
        if not calls:
            continue
        texts = {
            target.id: text
            for node in nodes
            if isinstance(node, ast.Assign) and (text := template(node.value)) is not None
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in calls:
            if len(node.args) < 2:
                continue
            name, *rest = node.args
            if not isinstance(name, ast.Constant) or not isinstance(name.value, str) or " " in name.value:
                continue
            words = [template(each) or texts.get(getattr(each, "id", ""), "…") for each in rest]
            found.append(
                (f"{AREAS[node.func.id]}.{name.value}".removeprefix("."), words[0], words[1] if len(words) > 1 else "…")
            )
    return found


def page() -> str:
    """Return the text of the page."""
    rows: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for name, texts in table_texts().items():
        hint = f"Did you mean …? / {texts['hint']}" if "near" in texts else texts["hint"]
        rows[".".join(name.split(".")[:2])].add((_shown(texts["problem"]), _shown(hint)))
    for path in sorted((ROOT / "conformance").rglob("*.py")):
        for code, problem, hint in found_errors(path.read_text(encoding="utf-8")):
            rows[code].add((problem, hint))
    lines = [HEAD, "| code | problem | hint |", "| --- | --- | --- |"]
    for code in sorted(rows):
        known = sorted(row for row in rows[code] if not any(_is_more_complete(other, row) for other in rows[code]))
        lines += [f"| `{code}` | {_cell(problem)} | {_cell(hint)} |" for problem, hint in known]
    return "\n".join(lines) + "\n"


def _is_more_complete(other: tuple[str, str], row: tuple[str, str]) -> bool:
    """Return whether another row has the texts of a row, and a text where the row has only `…`."""
    return other != row and all(mine in {"…", theirs} for mine, theirs in zip(row, other, strict=True))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) if text.strip("…./ ") else "(varies)"


def main() -> int:
    """Write the page, or check it."""
    found = list(differences(table_texts()))
    sys.stderr.writelines(f"{difference}\n" for difference in found)
    text = page()
    if "--check" in sys.argv[1:]:
        is_current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        if not is_current:
            sys.stderr.write(f"{PAGE.relative_to(ROOT)} is out of date: run python scripts/make_error_reference.py\n")
        return 0 if is_current and not found else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
