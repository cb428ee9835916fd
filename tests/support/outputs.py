"""What a command leaves behind: files, results, and expectations of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, hidden ones too, by its relative path."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def results_of(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """A results file's results by subject and case."""
    return {(line["subject"], line["case"]): line for line in records(path) if line["record"] == "result"}


def comparable(path: Path) -> list[str]:
    """The lines of a results file but for their order, its times and its command."""
    lines = records(path)
    for line in lines:
        for name in ("seconds", "command", "started"):
            line.pop(name, None)
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


def expecting(subject: str, *cases: str, verdict="fail", more="") -> str:
    """An expectations file of one entry with a line for each case."""
    patterns = "".join(f'  "{case}",\n' for case in cases)
    entry = f'[[expect]]\ncases = [\n{patterns}]\nverdict = "{verdict}"\nreason = "known"\n{more}'
    return f'subject = "{subject}"\n\n{entry}'


def only_the_old(directory: Path, before: dict[str, bytes]) -> bool:
    """Whether a directory's parent holds the corpus as it was, and nothing else."""
    return tree(directory) == before and [path.name for path in directory.parent.iterdir()] == [directory.name]
