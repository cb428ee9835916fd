"""Create and check the locators of conformance/exact/clauses/, and write docs/reference/clauses.md.

A locator is the position of a passage in the text of a specification.

python checks/measurements/locate_clauses.py make DOCUMENT PART FIRST LAST [FILE]
python checks/measurements/locate_clauses.py check DOCUMENT FILE
python checks/measurements/locate_clauses.py installed
python checks/measurements/locate_clauses.py page [--check]

With `page --check` nothing is written, and the exit status is 1 if the page is out of date.
FIRST and LAST are the first and the last words of the passage. Give FILE for a document that no installed package
contains. For `onnx/onnx v1.22.0 docs/IR.md`, write it with `git -C CLONE show v1.22.0:docs/IR.md > IR.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.exact.clauses import Clause, Passage, clauses, family_titles, text_digest
from conformance.exact.models.spec_text import (
    TEXT_PACKAGES,
    installed_version,
    quote_passage,
    specification_text,
    text_package,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "clauses.md"

HEAD = """# Clauses

This page lists every clause: a statement of the specification in the words of the suite, the passages that support it,
and a conclusion. Read it before you dispute the level of a case. This page is for authors of runtimes and of cases.
`python checks/measurements/locate_clauses.py page` writes it from `conformance/exact/clauses/*.toml`.

| conclusion | meaning | strongest level of a case that rests on the clause |
| --- | --- | --- |
| stated | the passages state it | must |
| follows | it follows from the passages, for the given reason | must |
| interpretation | another interpretation of the passages can be defended | should |
| not in ONNX | no document of ONNX contains it | should |

A case rests on its first clause. `onnx-conformance explain CASE` prints the clauses of a case with the words of their
passages.
An operator's `signature` is its list of attributes, inputs, outputs and type constraints in the schema.
"""
"""Beginning of the page, before the tables."""


def clauses_page() -> str:
    """Return the text of docs/reference/clauses.md: a table of clauses for each operator, and for the pass."""
    families: dict[str, list[Clause]] = {}
    for clause in clauses().values():
        families.setdefault(clause.id.partition(".")[0], []).append(clause)
    parts = [HEAD]
    for family, members in families.items():
        rows = [f"| {' | '.join(_cells(clause))} |" for clause in members]
        head = ["| clause | statement | passages | conclusion |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([f"## {family_titles()[family]}", "", *head, *rows, ""]))
    return "\n".join(parts)


def _cells(clause: Clause) -> tuple[str, ...]:
    """Return the cells of a clause's row, with a passage as its document and part."""
    cited = dict.fromkeys(f"{passage.document}, {passage.part}" for passage in clause.passages)
    cells = (clause.text, "; ".join(cited) or "none", f"{clause.conclusion}: {clause.reason}")
    return f"`{clause.id}`", *(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells)


def locate_passage(document: str, part: str, text: str, first: str, last: str) -> Passage:
    """Return the passage from the first occurrence of some words to the end of the next occurrence of others.

    Raises:
        SystemExit: the text does not contain the words.
    """
    start = text.find(first)
    end = text.find(last, start + max(0, len(first) - len(last)))
    if start < 0 or end < 0:
        raise SystemExit(f'{document}, {part}: "{first if start < 0 else last}" was not found.')
    end += len(last)
    return Passage(document, part, start, end, text_digest(text[start:end]))


def to_toml(passage: Passage) -> str:
    """Return a passage as one line of the files of clauses."""
    fields = ", ".join(
        f"{name} = {value if isinstance(value, int) else chr(34) + value + chr(34)}"
        for name, value in vars(passage).items()
    )
    return f"{{ {fields} }}"


def missing_clauses(document: str, text: str) -> list[str]:
    """Return the ids of clauses with a passage that the text of their document does not contain."""
    pointing = ((id, passage) for id, passage in _passages() if passage.document == document)
    return [id for id, passage in pointing if passage.found_in(text) is None]


def missing_installed_clauses() -> tuple[int, list[str]]:
    """Return the number of passages in installed packages, and the ids of clauses whose passage was not found."""
    carried = [(id, passage) for id, passage in _passages() if installed_version(text_package(passage.document) or "")]
    return len(carried), [id for id, passage in carried if quote_passage(passage) is None]


def _passages() -> Iterator[tuple[str, Passage]]:
    """Yield every passage with the id of its clause."""
    return ((id, passage) for id, clause in clauses().items() for passage in clause.passages)


def main(arguments: Sequence[str]) -> int:
    """Print a locator or the missing passages; return 1 if a passage is missing."""
    match arguments:
        case ["make", document, part, first, last, *file]:
            text = Path(file[0]).read_text(encoding="utf-8") if file else specification_text(document, part)
            if text is None:
                raise SystemExit(f"No installed package contains {document}, {part}. Give a FILE.")
            print(to_toml(locate_passage(document, part, text, first, last)))
            return 0
        case ["check", document, file]:
            lacking = missing_clauses(document, Path(file).read_text(encoding="utf-8"))
            print(f"{document}: {', '.join(lacking) or 'every passage was found'}")
            return int(bool(lacking))
        case ["installed"]:
            count, lacking = missing_installed_clauses()
            versions = ", ".join(f"{name} {installed_version(name)}" for name in sorted({*TEXT_PACKAGES.values()}))
            print(f"{versions}: {count - len(lacking)} of {count} passages found", *lacking)
            return int(bool(lacking) or not count)
        case ["page"]:
            PAGE.write_text(clauses_page(), encoding="utf-8")
            return 0
        case ["page", "--check"]:
            return int(PAGE.read_text(encoding="utf-8") != clauses_page())
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
