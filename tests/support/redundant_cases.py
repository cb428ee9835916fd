"""Find optimizer cases that could go: those that cover no combination of their own and are nobody's first killer.

A combination is two features of a case together. Features are the factors of the pairwise table (types, T, tensors,
every attribute, values, data sets), read from the case's model and inputs, and its level, its clauses and the make of
its graph. Where values hide what others do, only combinations that contain all of them count, as in `pairwise`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from checks.mutation.operators import ONNX_CASES
from conformance.exact.models.arrays import type_name
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators import adagrad, adam, momentum
from generators.declarations.families import TENSOR_SHAPES, UPDATE_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array

MATRICES = {"Adam": adam.MATRIX, "Momentum": momentum.MATRIX, "Adagrad": adagrad.MATRIX}


def redundant_case_ids(cases: Iterable[Case], first_killers: set[str]) -> list[str]:
    """The ids of the cases that can go, one after the other: what an earlier one leaves is the later one's own."""
    covered = {case.id: case_combinations(case) for case in cases}
    rows = {case.id for matrix in MATRICES.values() for case in matrix.cases()}
    count = Counter(one for combinations in covered.values() for one in combinations)
    found = []
    for id, combined in covered.items():
        if id in rows:
            continue
        own = any(count[one] == 1 for one in combined)
        if not (own or id in first_killers or id in ONNX_CASES):
            found.append(id)
            count.subtract(combined)
    return found


def case_combinations(case: Case) -> set[Any]:
    """The combinations that a case covers."""
    model = _model(case.model)
    node = model.graph.node[0]
    matrix = MATRICES[node.op_type]
    covered: set[Any] = set()
    for inputs in case.data_sets:
        row = {**_row(model, inputs), "data_sets": _runs(case), "level": str(case.level), "graph": _graph(model)}
        row |= dict(tag.split("=", 1) for tag in case.tags if "=" in tag)
        positive = row["T"] not in {"0", "negative", "least"}
        hiding = {
            factor
            for combination in matrix.declaration.masking
            if combination.is_in({**row, "T": "2" if positive else row["T"]})
            for factor in combination.levels
        }
        pairs = combinations(sorted(row.items()), 2)
        covered |= {(node.op_type, *pair) for pair in pairs if hiding <= {pair[0][0], pair[1][0]}}
        if "pairwise" not in case.tags:
            covered.add(("directed", case.clauses[0]))
        covered |= {(clause, name, row[name]) for clause in case.clauses for name in ("types", "level")}
    return covered


@cache
def _model(model: bytes) -> onnx.ModelProto:
    return onnx.load_model_from_string(model)


def _row(model: onnx.ModelProto, inputs: Sequence[Array]) -> dict[str, str]:
    node = model.graph.node[0]
    signature = TRAINING_OPTIMIZERS[node.op_type]
    arrays = {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}
    arrays |= {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    R, T, *tensors = (arrays[name] for name in node.input)
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    number = len(tensors) // len(signature.operands)
    operands = {name: tensors[number * i] for i, name in enumerate(signature.operands)}
    return {
        "types": _types(R, tensors),
        "T": _count(int(T.reshape(-1)[0])),
        "tensors": _tensors([array.shape for array in tensors[:number]]),
        "values": _pole(given, int(T.reshape(-1)[0]), tensors[-1]) or _values(operands),
        **{name: _attribute(given.get(name)) for name in (*signature.defaults, *signature.required)},
    }


def _types(R: Array, tensors: Sequence[Array]) -> str:
    types = {type_name(array.dtype) for array in tensors}
    own, rate = types.pop() if len(types) == 1 else "mixed", type_name(R.dtype)
    return own if own == rate else f"{own}_r_{rate}"


def _count(T: int) -> str:
    """The class of T: as in the tables, and what else a branch or a narrower type would treat apart."""
    named = {value: name for name, value in UPDATE_COUNTS.items()}
    if T in named or 0 < T < 1000:
        return named.get(T, "2")
    return "least" if T < -(2**62) else "negative" if T < 0 else str(T)


def _tensors(shapes: Sequence[Sequence[int]]) -> str:
    named = {tuple(map(tuple, value)): name for name, value in TENSOR_SHAPES.items()}
    if tuple(map(tuple, shapes)) in named:
        return named[tuple(map(tuple, shapes))]
    if len(shapes) > 1:
        return {2: "two", 3: "three", 8: "eight"}.get(len(shapes), str(len(shapes)))
    (shape,) = shapes
    return "vector" if len(shape) == 1 and 1 < shape[0] < 3000 else str(shape)


def _pole(given: Mapping[str, Any], T: int, H: Array) -> str:
    """The divisor of the formula, where it is zero."""
    if given.get("epsilon") == 0 and (H == 0).any():
        return "H_adaptive = 0"
    if T > 0 and given.get("alpha") == 1 and "mode" not in given:
        return "1 - alpha**T = 0"
    return "1 + T * decay_factor = 0" if 1 + T * given.get("decay_factor", 0) == 0 else ""


def _values(operands: Mapping[str, Array]) -> str:
    """The regime of the tables, or what is special about which operand."""
    special = sorted({f"{word} {name}" for name, array in operands.items() for word in _special(name, array)})
    if special:
        return ", ".join(special)
    if any((array == 0).any() for array in operands.values()):
        return "zeros"
    largest = max((float(np.abs(array).max(initial=0)) for array in operands.values()), default=1)
    if largest > 2.0**30:
        return "huge"
    return "tiny" if 0 < largest < 2.0**-30 else "ordinary"


def _special(name: str, array: Array) -> Iterable[str]:
    with np.errstate(all="ignore"):
        magnitudes = np.abs(array)
        tests = {
            "NaN": np.isnan(array).any(),
            "infinite": np.isinf(array).any(),
            "subnormal": ((magnitudes > 0) & (magnitudes < np.finfo(array.dtype).tiny)).any(),
            "overflowing": name == "G" and np.isfinite(array).all() and np.isinf(array * array).any(),
            "negative": name == "H" and (array < 0).any(),
            "signed zero": ((array == 0) & np.signbit(array)).any(),
        }
    return [word for word, holds in tests.items() if holds]


def _attribute(value: Any) -> str:
    if value is None or isinstance(value, bytes):
        return "default" if value is None else value.decode()
    if value in {0.0, 1.0}:
        return "one" if value else "zero"
    if not 2.0**-10 <= value <= 0.97:
        return "extreme"
    return "usual" if np.float32(value * 2.0**12) % 1 == 0 else "decimal"


def _runs(case: Case) -> str:
    if len(case.data_sets) == 1:
        return "one"
    first = case.data_sets[0]
    repeated = all(np.array_equal(a, b) for other in case.data_sets for a, b in zip(first, other, strict=True))
    return "repeated" if repeated else str(len(case.data_sets))


def _graph(model: onnx.ModelProto) -> str:
    nodes, constants = len(model.graph.node), len(model.graph.initializer)
    return (
        "plain" if nodes == 1 and not constants else f"{nodes} nodes, {constants} constants, {len(model.graph.input)}"
    )
