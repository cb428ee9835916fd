"""Write docs/reference/errors.md: a table of the codes of all errors, made from the source by its syntax tree.

python scripts/make_error_reference.py [--check]

With --check nothing is written, and the exit status is 1 if the page is out of date. An error that is raised without a
literal name, problem and hint is not in the table.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

from conformance import errors
from conformance.errors import ConformanceError

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

The table has the sentences of the source code. A name in braces, such as `{path}`, stands for a value, and so does the
character `…`. A slash separates alternative sentences. "(varies)" means
that the source has no fixed sentence. `python scripts/make_error_reference.py` writes this page.
"""


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
        texts = {
            target.id: text
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and (text := template(node.value)) is not None
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(scope):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in AREAS):
                continue
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
    text = page()
    if "--check" in sys.argv[1:]:
        is_current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        if not is_current:
            sys.stderr.write(f"{PAGE.relative_to(ROOT)} is out of date: run python scripts/make_error_reference.py\n")
        return 0 if is_current else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
