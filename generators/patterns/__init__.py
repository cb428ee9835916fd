"""Patterns that graph optimizers rewrite, as cases of their own corpus: `onnx-conformance generate --passes`.

`patterns.txt` declares the families in the form of `case_texts`. The cases do not say what an optimizer must do with a
pattern: a rewrite is optional, and the checks of graph optimizers judge its result.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from generators.eliminate_nop_monotone_argmax.case_texts import read_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case


def cases() -> Iterator[Case]:
    """Yield the cases of all families."""
    for case in read_cases(Path(__file__).with_name("patterns.txt")):
        yield replace(case, tags=("pattern", *case.tags[1:]))
