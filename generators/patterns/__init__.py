"""Patterns that graph optimizers rewrite, as cases of their own corpus: `onnx-conformance generate --passes`.

The texts declare the families in the form of `case_texts`; `common.txt` has what all of them use. With the first level
of each factor, the usual rewrite is right. A family has rows in which one level alone is another, and rows with pairs
of the first levels that leave a rewrite possible. `situations` changes these models in ways that do not depend on the
pattern. The cases do not say what an optimizer must do with a pattern: a rewrite is optional, and the checks of graph
optimizers judge its result.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.base.verdicts import Level
from conformance.corpus.factors.wrapping import BuiltModel
from conformance.corpus.generation.expected_outputs import with_answers
from conformance.exact.models.model_validity import is_fully_valid
from generators.eliminate_nop_monotone_argmax.case_texts import CONDITION, VALUES, read_templates
from generators.patterns.chains import chain_cases, chains
from generators.patterns.declared import declared_chains
from generators.patterns.side_by_side import side_by_side
from generators.patterns.situations import SITUATIONS, situated_cases, situations
from generators.patterns.variations import Pattern

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case
    from generators.eliminate_nop_monotone_argmax.case_texts import CaseTemplate

FOLDER = Path(__file__).parent
TEXTS = (
    "patterns",
    "moves",
    "arithmetic",
    "fusions",
    "scopes",
    "forms",
    "sizes",
    "names",
    "folding",
    "versions",
    "operators",
    "rewrites",
)
"""The texts with the families, in order."""


FAMILY_PARTS = 6
SITUATED_PARTS = 24
"""The most models that become one case: of families, in rows that vary the pattern, and of models in a situation."""

FIRST_SHARE = 0.5
"""Probability that a drawn pattern has the first condition: the pattern alone, which its surroundings can change."""

OTHER_TYPES = ("double", "float16")
"""Types that a drawn pattern can have in place of float."""

SITUATIONS_OF_DRAW = 2
SITUATED_SHARE = 0.4
"""The most situations of a drawn pattern, and the probability of each one, if the situation exists for it."""


def cases() -> Iterator[Case]:
    """Yield the cases of all families."""
    plain: list[Case] = []
    conditions: list[Case] = []
    rows: dict[int, list[Case]] = {}
    for template in templates():
        for number, (row, case) in enumerate(template.cases()):
            made = replace(case, tags=("pattern", *case.tags[1:]))
            varied = {factor for factor, levels in template.factors.items() if row[factor] != levels[0]}
            most = {next(iter(template.factors))} if template.is_paired else {*template.factors} - {CONDITION, VALUES}
            is_plain = len(varied) < 2 and varied <= most
            (plain if is_plain else conditions).append(made)
            if varied and CONDITION not in varied:
                rows.setdefault(number, []).append(with_answers(made))
            else:
                yield with_answers(made)
    yield from side_by_side((case for number in sorted(rows) for case in rows[number]), FAMILY_PARTS)
    yield from side_by_side(situated_cases(plain, conditions), SITUATED_PARTS)
    yield from chain_cases((*chains(), *declared_chains()))


def _common() -> str:
    return (FOLDER / "common.txt").read_text(encoding="utf-8") + "\n"


@cache
def templates() -> Sequence[CaseTemplate]:
    """Return the paragraphs of cases of all texts."""
    return [
        template
        for name in TEXTS
        for template in read_templates(FOLDER / f"{name}.txt", beginning=_common(), around_first=True)
    ]


def draw_pattern(chance: random.Random) -> BuiltModel | None:
    """Return the model and the data of any combination of levels; None if they make no valid case of level `must`."""
    template = chance.choice(templates())
    row = {"number": "000"}
    for factor, levels in template.factors.items():
        row[factor] = levels[0] if factor == CONDITION and chance.random() < FIRST_SHARE else chance.choice(levels)
    for table in template.table_names:
        if table not in template.tables.arrays:
            row |= chance.choice(template.tables[table])
    other = {"float[": f"{chance.choice(OTHER_TYPES)}["} if chance.random() < 1 / 6 else {}
    try:
        with np.errstate(all="ignore"):
            case = template.case(row, {}, other)
    except (ValueError, KeyError, AssertionError, onnx.parser.ParseError):
        return None  # the levels exclude each other
    is_usable = case.level is Level.MUST and len(case.data_sets) > 0 and is_fully_valid(case.model)
    if not is_usable:
        return None
    model = onnx.load_model_from_string(case.model)
    inputs = case.data_sets[0]
    for _ in range(SITUATIONS_OF_DRAW):
        pattern = Pattern.of(model, inputs)
        if pattern is not None and chance.random() < SITUATED_SHARE:
            name = chance.choice([*SITUATIONS])
            found = next(situations(pattern, name, str(chance.random())), None)
            if found is not None and is_fully_valid(found.model.SerializeToString(deterministic=True)):
                model = found.model
                inputs = found.inputs
    return BuiltModel(model.SerializeToString(deterministic=True), (inputs,))
