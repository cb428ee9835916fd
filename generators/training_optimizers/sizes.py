"""Cases of training optimizers for tensor sizes around block sizes, and for all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.factors.connections import GraphPart, join_parts
from conformance.factors.training import tensor_names
from conformance.generation.models import FLOAT_TYPE_NAMES, array_value_info, build_model
from conformance.models.inputs import tensor_elements
from conformance.verdicts import Level
from generators.declarations.sizes import (
    BEYOND_CACHE,
    BLOCKS,
    HIGH_RANKS,
    LONG_BLOCKS,
    OPSET,
    PERIOD,
    RANKS,
    lengths_around,
    lengths_around_long,
    summarize_long,
    tile_to_shape,
)
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLOATS = (np.float32, np.float64)

STORED = (BLOCKS[:2], *((block,) for block in BLOCKS[2:5]))
"""Block sizes whose tensors are stored completely, grouped by case."""

TILED = {block: lengths_around(block) for block in BLOCKS[5:]} | {
    block: lengths_around_long(block) for block in LONG_BLOCKS
}
"""Lengths by block size for tensors that the model builds by repeating a short vector."""


def size_cases(operator: Operator) -> Iterator[Case]:
    """Yield cases for all sizes in float and double (the longest size in float only), and for all ranks."""
    for dtype in FLOATS:
        for blocks in STORED:
            lengths = sorted({length for block in blocks for length in lengths_around(block)})
            name = f"sizes_around_{'_and_'.join(map(str, blocks))}"
            yield _stored(operator, name, f"of {_listed(lengths)} elements", [(length,) for length in lengths], dtype)
        for block, tiled_lengths in TILED.items():
            yield _repeated(operator, f"sizes_around_{block}", tiled_lengths, block, dtype)
        yield _stored(operator, "every_rank", f"of rank 0 to {len(RANKS) - 1}", RANKS, dtype)
        ranks = _listed([len(shape) for shape in HIGH_RANKS])
        yield _stored(operator, "high_ranks", f"of rank {ranks}", HIGH_RANKS, dtype)
    yield _repeated(operator, "sizes_beyond_2p20", (BEYOND_CACHE,), LONG_BLOCKS[-1], np.float32)


def _stored(operator: Operator, name: str, text: str, shapes: Sequence[Sequence[int]], dtype: Any) -> Case:
    return optimizer_case(
        operator,
        f"{name}_{FLOAT_TYPE_NAMES[dtype]}",
        f"{operator.name} updates every element of {FLOAT_TYPE_NAMES[dtype]} tensors {text}",
        ("elementwise", "several_tensors"),
        operator.usual,
        OperatorSetting(dtype, shapes=shapes, counts=(operator.count_for(dtype),)),
        tags=("size",),
    )


def _repeated(operator: Operator, name: str, lengths: Sequence[int], block: int, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_{name}_{FLOAT_TYPE_NAMES[dtype]}"
    (inputs,) = OperatorSetting(dtype, shapes=((PERIOD,),), counts=(operator.count_for(dtype),)).data_sets(operator, id)
    names = ["R", "T", *(f"{operand}_period" for operand in operator.signature.operands)]
    count = len(lengths)
    operands, results = (
        tensor_names(operator.signature.operands, count),
        tensor_names(operator.signature.results, count),
    )
    before = (
        tile_to_shape(f"{operand[0]}_period", PERIOD, operand, [lengths[place % count]])
        for place, operand in enumerate(operands)
    )
    node = helper.make_node(
        operator.name, ["R", "T", *operands], results, domain=operator.signature.domain, **operator.usual
    )
    after = (summarize_long(result, inputs[2], lengths[place % count], block) for place, result in enumerate(results))
    whole = join_parts([*before, GraphPart([node]), *after])
    several = ("several_tensors",) if count > 1 else ()
    return Case(
        id=id,
        title=(
            f"{operator.name} updates every element of {FLOAT_TYPE_NAMES[dtype]} tensors of {_listed(lengths)} elements"
        ),
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in ("elementwise", *several)),
        tags=(operator.prefix, FLOAT_TYPE_NAMES[dtype], "size"),
        model=build_model(
            id,
            whole.nodes,
            [array_value_info(given, array) for given, array in zip(names, inputs, strict=True)],
            [array_value_info(result, array) for result, array in whole.given.items()],
            {"": OPSET, **operator.imports},
            {tensor.name: tensor_elements(tensor) for tensor in whole.initializers},
        ),
        data_sets=(inputs,),
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
