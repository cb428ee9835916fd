"""Patterns that graph optimizers rewrite, as cases of their own corpus: `onnx-conformance generate --passes`.

The texts declare the families in the form of `case_texts`; `common.txt` has what all of them use. With the first level
of each factor, the usual rewrite is right. A family has rows with all pairs of levels that leave a rewrite possible,
and rows in which one level alone is another. The cases do not say what an optimizer must do with a pattern: a rewrite
is optional, and the checks of graph optimizers judge its result.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.node_enclosures import answer_of, enclose, outputs_of_model
from conformance.exact.reference.oracle import answers, quiet_evaluation
from generators.eliminate_nop_monotone_argmax.case_texts import read_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

FOLDER = Path(__file__).parent
TEXTS = ("patterns", "moves", "arithmetic", "fusions", "scopes", "forms")
"""The texts with the families, in order."""


def cases() -> Iterator[Case]:
    """Yield the cases of all families."""
    common = (FOLDER / "common.txt").read_text(encoding="utf-8") + "\n"
    for name in TEXTS:
        for case in read_cases(FOLDER / f"{name}.txt", beginning=common, around_first=True):
            yield _with_answers(replace(case, tags=("pattern", *case.tags[1:])))


def _with_answers(case: Case) -> Case:
    """Return a case with the answers of enclosures of its nodes, if the oracle has none or none of level `must`."""
    try:
        found = [answers(case.model, inputs, case.level) for inputs in case.data_sets]
        if case.level is not Level.MUST or not any(each.indeterminacy for outputs in found for each in outputs):
            return case
    except Unsupported:
        pass
    model = onnx.load_model_from_string(case.model)
    with quiet_evaluation():
        enclosed = [outputs_of_model(enclose, model, inputs) for inputs in case.data_sets]
    return replace(case, answers=tuple(tuple(map(answer_of, outputs)) for outputs in enclosed))
