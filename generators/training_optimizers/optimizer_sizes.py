"""Cases of training optimizers for tensor sizes around block sizes, and for all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.connections import GraphPart, join_parts
from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.input_files import tensor_elements
from conformance.exact.models.model_building import array_value_info, build_model
from generators.declarations.size_dimensions import (
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
from generators.generated_values import FLOAT_TYPE_NAMES
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


LENGTHS_AT_COUNTS = (71, 1031, 4133, 65541)
"""Lengths of tensors by which vectors, blocks, a thread's part and 16-bit counters leave a rest."""

COUNTS = (0, 1, 3)
"""Values of T for tensors of these lengths."""


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
    yield _repeated(operator, "sizes_at_counts", LENGTHS_AT_COUNTS, BLOCKS[-1], np.float32, COUNTS)


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


def _repeated(
    operator: Operator, name: str, lengths: Sequence[int], block: int, dtype: Any, counts: Sequence[int] = ()
) -> Case:
    """Define a case with tensors of a repeated vector.

    Args:
        operator: the tested operator.
        name: part of the case's id.
        lengths: number of elements of each tensor.
        block: block size at whose borders elements are outputs.
        dtype: element type.
        counts: T of each data set; empty for the usual one. With `counts`, there is a node for each value of `mode`.
    """
    id = f"test_{operator.prefix}_{name}_{FLOAT_TYPE_NAMES[dtype]}"
    setting = OperatorSetting(dtype, shapes=((PERIOD,),), counts=counts or (operator.count_for(dtype),))
    data_sets = setting.data_sets(operator, id)
    inputs = data_sets[0]
    names = ["R", "T", *(f"{operand}_period" for operand in operator.signature.operands)]
    count = len(lengths)
    operands = tensor_names(operator.signature.operands, count)
    results = tensor_names(operator.signature.results, count)
    before = (
        tile_to_shape(f"{operand[0]}_period", PERIOD, operand, [lengths[place % count]])
        for place, operand in enumerate(operands)
    )
    modes = ("standard", "nesterov") if counts and "mode" in operator.usual else ("",)
    nodes = []
    after = []
    for mode in modes:
        own = [f"{result}_{mode}" if mode == "nesterov" else result for result in results]
        attributes = {**operator.usual, **({"mode": mode} if mode else {})}
        taken = ["R", "T", *operands]
        nodes.append(helper.make_node(operator.name, taken, own, domain=operator.signature.domain, **attributes))
        after += [summarize_long(one, inputs[2], lengths[place % count], block) for place, one in enumerate(own)]
    whole = join_parts([*before, GraphPart(nodes), *after])
    several = ("several_tensors",) if count > 1 else ()
    return Case(
        id=id,
        title=(
            f"{operator.name} updates every element of {FLOAT_TYPE_NAMES[dtype]} tensors of {_listed(lengths)} elements"
            + (f" at T = {_listed(counts)}" if counts else "")
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
        data_sets=data_sets,
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
