"""Create and check the locators of conformance/clauses/: positions of passages in the text of a specification.

python scripts/locate_clauses.py make DOCUMENT PART FIRST LAST [FILE]
python scripts/locate_clauses.py check DOCUMENT FILE
python scripts/locate_clauses.py installed

FIRST and LAST are the first and the last words of the passage. Give FILE for a document that no installed package
contains. For `onnx/onnx v1.22.0 docs/IR.md`, write it with `git -C CLONE show v1.22.0:docs/IR.md > IR.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.clauses import Passage, clauses, text_digest
from conformance.models.spec_text import (
    TEXT_PACKAGES,
    installed_version,
    quote_passage,
    specification_text,
    text_package,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
