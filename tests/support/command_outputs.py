"""Readers of the files that a command writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


def read_tree(directory: Path) -> dict[str, bytes]:
    """Return the content of every file below a directory, by relative path."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a results file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def results_by_key(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the results of a results file by subject and case."""
    return {(line["subject"], line["case"]): line for line in read_records(path) if line["record"] == "result"}


def comparable_records(path: Path) -> list[str]:
    """Return the records of a results file without order, times and command."""
    lines = read_records(path)
    for line in lines:
        for name in ("seconds", "command", "started"):
            line.pop(name, None)
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


def expectations_text(subject: str, *cases: str, verdict="fail", more="") -> str:
    """Return an expectations file of one entry with a line for each case."""
    patterns = "".join(f'  "{case}",\n' for case in cases)
    entry = f'[[expect]]\n{verdict} = [\n{patterns}]\nreason = "known"\n{more}'
    return f'subject = "{subject}"\n\n{entry}'


def has_only_old_corpus(directory: Path, before: dict[str, bytes]) -> bool:
    """Check that the parent of a directory contains the old corpus and nothing else."""
    return read_tree(directory) == before and [path.name for path in directory.parent.iterdir()] == [directory.name]
