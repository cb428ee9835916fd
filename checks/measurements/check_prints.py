"""Find output of the package that does not pass through `base.serialization.printable_text`, which escapes it.

python checks/measurements/check_prints.py

Prints each place, and exits with 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]

ALLOWED = {
    "subjects/adapters": "run in the process of a subject, whose output the suite captures",
    "run/diagnosis/reproduction/backend_script.py": "runs where the package is not installed",
    "run/diagnosis/reproduction/optimizer_script.py": "runs where the package is not installed",
    "studies/evidence/verify.py": "runs where the package is not installed",
    "base/files/atomic_write.py": "writes reports to standard output, byte by byte",
    "base/serialization/printable_text.py": "escapes what it prints",
    "subjects/calling/harness.py": "runs in the process of a subject, whose output the suite captures",
}
"""Modules and folders of the package that print otherwise, and why."""

FUNCTIONS = ("print", "pprint", "rprint", "secho")
STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
WRITERS = ("write", "writelines")


def prints(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each call that writes to the terminal."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        *owners, name = ast.unparse(node.func).split(".")
        is_write = name in WRITERS and any(owner in STREAMS for owner in owners)
        is_echo = name == "echo" and owners[-1:] in (["typer"], ["click"])
        is_descriptor = owners == ["os"] and name == "write" and ast.unparse(node.args[0]) in {"1", "2"}
        if name in FUNCTIONS or is_write or is_echo or is_descriptor:
            yield node.lineno, ast.unparse(node.func)


def main() -> int:
    """Print each place; return 1 if there is one."""
    found = 0
    for path in sorted((ROOT / "conformance").rglob("*.py")):
        place = path.relative_to(ROOT / "conformance")
        if not {place.as_posix(), place.parts[0]} & ALLOWED.keys():
            for line, text in prints(path.read_text(encoding="utf-8")):
                found += 1
                print(f"{path.relative_to(ROOT)}:{line}: {text}: use conformance.base.serialization.printable_text")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
