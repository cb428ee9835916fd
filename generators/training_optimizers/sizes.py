"""Cases of the training optimizers by their tensors' sizes, as `conformance.dimensions.sizes` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.dimensions.building import numbered
from conformance.dimensions.fragments import Part, joined
from conformance.dimensions.long_tensors import OPSET, shown, tiled
from conformance.dimensions.sizes import BEYOND, BLOCKS, LONG_BLOCKS, PERIOD, RANKS, around, of_long
from conformance.generation.models import TYPES, declared, model
from conformance.models.constants import elements_of
from conformance.verdicts import Level
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLOATS = (np.float32, np.float64)

STORED = (BLOCKS[:2], *((block,) for block in BLOCKS[2:5]))
"""The blocks whose tensors are stored as they are, those of one case together."""

TILED = {block: around(block) for block in BLOCKS[5:]} | {block: of_long(block) for block in LONG_BLOCKS}
"""The blocks whose tensors are tiled, with their lengths."""


def sizes(operator: Operator) -> Iterator[Case]:
    """Every size in float and in double, but for the longest; every rank."""
    for dtype in FLOATS:
        for blocks in STORED:
            lengths = sorted({length for block in blocks for length in around(block)})
            name = f"sizes_around_{'_and_'.join(map(str, blocks))}"
            yield _stored(operator, name, f"of {_listed(lengths)} elements", [(length,) for length in lengths], dtype)
        for block, tiled_lengths in TILED.items():
            yield _tiled(operator, f"sizes_around_{block}", tiled_lengths, block, dtype)
        yield _stored(operator, "every_rank", f"of rank 0 to {len(RANKS) - 1}", RANKS, dtype)
    yield _tiled(operator, "sizes_beyond_2p20", (BEYOND,), LONG_BLOCKS[-1], np.float32)


def _stored(operator: Operator, name: str, text: str, shapes: Sequence[Sequence[int]], dtype: Any) -> Case:
    return optimizer_case(
        operator,
        f"{name}_{TYPES[dtype]}",
        f"{operator.name} updates every element of {TYPES[dtype]} tensors {text}",
        ("elementwise", "several_tensors"),
        operator.usual,
        OperatorSetting(dtype, shapes=shapes),
        tags=("size",),
    )


def _tiled(operator: Operator, name: str, lengths: Sequence[int], block: int, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_{name}_{TYPES[dtype]}"
    (inputs,) = OperatorSetting(dtype, shapes=((PERIOD,),)).data_sets(operator, id)
    names = ["R", "T", *(f"{operand}_period" for operand in operator.signature.operands)]
    count = len(lengths)
    operands, results = numbered(operator.signature.operands, count), numbered(operator.signature.results, count)
    before = (
        tiled(f"{operand[0]}_period", PERIOD, operand, [lengths[place % count]])
        for place, operand in enumerate(operands)
    )
    node = helper.make_node(
        operator.name, ["R", "T", *operands], results, domain=operator.signature.domain, **operator.usual
    )
    after = (shown(result, inputs[2], lengths[place % count], block) for place, result in enumerate(results))
    whole = joined([*before, Part([node]), *after])
    several = ("several_tensors",) if count > 1 else ()
    return Case(
        id=id,
        title=f"{operator.name} updates every element of {TYPES[dtype]} tensors of {_listed(lengths)} elements",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in ("elementwise", *several)),
        tags=(operator.prefix, TYPES[dtype], "size"),
        model=model(
            id,
            whole.nodes,
            [declared(given, array) for given, array in zip(names, inputs, strict=True)],
            [declared(result, array) for result, array in whole.given.items()],
            {"": OPSET, **operator.imports},
            {tensor.name: elements_of(tensor) for tensor in whole.initializers},
        ),
        data_sets=(inputs,),
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
