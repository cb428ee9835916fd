"""Makes the locator of a passage, for conformance/clauses/, and holds a text against the locators that point into it.

python scripts/locate.py make DOCUMENT PART FIRST LAST [FILE]
python scripts/locate.py check DOCUMENT FILE
python scripts/locate.py installed

FIRST and LAST are the words that the passage begins and ends with. A document that no package carries is read from a
FILE: `git -C CLONE show v1.22.0:docs/IR.md > IR.md` for `onnx/onnx v1.22.0 docs/IR.md`, or the text of a page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.clauses import Passage, clauses, digest
from conformance.models.passages import CARRIERS, carrier, quoted, text_of, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def located(document: str, part: str, text: str, first: str, last: str) -> Passage:
    """The stretch of a text from the first place of some words to the end of the next place of others.

    Raises:
        SystemExit: the words are not there.
    """
    start = text.find(first)
    end = text.find(last, start + max(0, len(first) - len(last)))
    if start < 0 or end < 0:
        raise SystemExit(f'{document}, {part}: "{first if start < 0 else last}" is not there.')
    end += len(last)
    return Passage(document, part, start, end, digest(text[start:end]))


def as_toml(passage: Passage) -> str:
    """A passage as the clauses' files have it, on a line."""
    fields = ", ".join(
        f"{name} = {value if isinstance(value, int) else chr(34) + value + chr(34)}"
        for name, value in vars(passage).items()
    )
    return f"{{ {fields} }}"


def missing(document: str, text: str) -> list[str]:
    """The clauses with a passage in a document that its text has not."""
    pointing = ((id, passage) for id, passage in _passages() if passage.document == document)
    return [id for id, passage in pointing if passage.found_in(text) is None]


def missing_here() -> tuple[int, list[str]]:
    """How many passages the installed packages ought to have, and the clauses with one that they have not."""
    carried = [(id, passage) for id, passage in _passages() if version_of(carrier(passage.document) or "")]
    return len(carried), [id for id, passage in carried if quoted(passage) is None]


def _passages() -> Iterator[tuple[str, Passage]]:
    """Every passage with its clause's id."""
    return ((id, passage) for id, clause in clauses().items() for passage in clause.passages)


def main(arguments: Sequence[str]) -> int:
    """Print a locator, or what a text lacks; 1 where it lacks something."""
    match arguments:
        case ["make", document, part, first, last, *file]:
            text = Path(file[0]).read_text(encoding="utf-8") if file else text_of(document, part)
            if text is None:
                raise SystemExit(f"Nothing installed here carries {document}, {part}: name a FILE.")
            print(as_toml(located(document, part, text, first, last)))
            return 0
        case ["check", document, file]:
            lacking = missing(document, Path(file).read_text(encoding="utf-8"))
            print(f"{document}: {', '.join(lacking) or 'every passage is there'}")
            return int(bool(lacking))
        case ["installed"]:
            count, lacking = missing_here()
            versions = ", ".join(f"{name} {version_of(name)}" for name in sorted({*CARRIERS.values()}))
            print(f"{versions}: {count - len(lacking)} of {count} passages found", *lacking)
            return int(bool(lacking) or not count)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
