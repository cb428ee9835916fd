"""How a case of a training optimizer is put together: its operands, its node and its model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.dimensions.building import RANGES, numbered
from conformance.generation.models import TYPES, declared, model
from conformance.generation.values import scattered
from conformance.reference.operators.training import TRAINING_OPTIMIZERS, TrainingOptimizer
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.models.arrays import Array


@dataclass(frozen=True)
class FunctionCase:
    """A case in which an optimizer is a model-local function.

    Attributes:
        name: the case's word for it.
        given: what it gives the function, in prose.
        clauses: without the operator's prefix.
        attributes: those of the call.
        shapes: of the tensors.
    """

    name: str
    given: str
    clauses: Sequence[str]
    attributes: Mapping[str, Any]
    shapes: Sequence[Sequence[int]] = ((3,),)


@dataclass(frozen=True)
class TrainingRun:
    """How an optimizer is set to go from a start to an optimum.

    Attributes:
        name: the cases' word for it.
        attributes: what its node carries.
        rate: R.
        clauses: without the operator's prefix.
    """

    name: str
    attributes: Mapping[str, Any]
    rate: float
    clauses: Sequence[str]


@dataclass(frozen=True)
class Operator:
    """An optimizer as its cases see it.

    Attributes:
        name: its op_type.
        usual: attributes that all matter and are exact in float32, and so keep bounds sharp in double.
        step: the clause of X_new, without the operator's prefix.
        state: the clauses of all results.
        lookalikes: a name that its domain does not have, and an attribute that libraries have and the operator has not.
        functions: its cases as a model-local function.
        runs: its training runs.
        rate: its learning rate in cases that are not about it.
        averages: the operands that are moving averages: moved by a share of a difference, an infinite one becomes NaN.
    """

    name: str
    usual: Mapping[str, Any]
    step: str
    state: tuple[str, ...]
    lookalikes: tuple[str, str]
    functions: Sequence[FunctionCase] = ()
    runs: Sequence[TrainingRun] = ()
    rate: float = 0.125
    averages: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The first word of its clauses, and of its cases' names after `test_`."""
        return self.name.lower()

    @property
    def signature(self) -> TrainingOptimizer:
        """Its operands, results and attributes."""
        return TRAINING_OPTIMIZERS[self.name]

    @property
    def imports(self) -> dict[str, int]:
        """What a model of it imports."""
        return {self.signature.domain: self.signature.version}


@dataclass(frozen=True)
class OperatorSetting:
    """The data sets of a case: one R, T and list of tensors each.

    Attributes:
        dtype: the tensors' type.
        rate_dtype: the type of R; the tensors' own where None.
        shapes: one shape per tensor.
        counts: T, one per data set.
        rates: R, one per data set; the operator's usual one where empty.
        operands: values of operands that are not scattered, by name and for every tensor.
        same_data: whether all data sets have the same tensors.
    """

    dtype: Any = np.float32
    rate_dtype: Any = None
    shapes: Sequence[Sequence[int]] = ((4,),)
    counts: Sequence[int] = (2,)
    rates: Sequence[float] = ()
    operands: Mapping[str, Any] = field(default_factory=dict)
    same_data: bool = False

    def data_sets(self, operator: Operator, id: str) -> tuple[tuple[Array, ...], ...]:
        """Every data set's inputs, in the order of the graph's."""
        rates = self.rates or [operator.rate] * len(self.counts)
        return tuple(
            (
                np.array(R, dtype=self.rate_dtype or self.dtype),
                np.array(T, dtype=np.int64),
                *self._tensors(operator, id if self.same_data or not number else f"{id}/{number}"),
            )
            for number, (T, R) in enumerate(zip(self.counts, rates, strict=True))
        )

    def _tensors(self, operator: Operator, seed: str) -> list[Array]:
        return [
            self._tensor(name, f"{seed}/{name}{number}", shape)
            for name in operator.signature.operands
            for number, shape in enumerate(self.shapes)
        ]

    def _tensor(self, name: str, seed: str, shape: Sequence[int]) -> Array:
        if name in self.operands:
            return np.broadcast_to(np.array(self.operands[name], dtype=self.dtype), tuple(shape)).copy()
        return scattered(seed, shape, self.dtype, *RANGES[name])


def optimizer_case(
    operator: Operator,
    name: str,
    title: str,
    clauses: Sequence[str],
    attributes: Mapping[str, Any],
    setting: OperatorSetting,
    level: Level = Level.MUST,
    tags: Sequence[str] = (),
) -> Case:
    """A case of one optimizer node whose inputs are the graph's.

    Args:
        name: the case's id without `test_` and the operator.
        clauses: without the operator's prefix, the chief one first.
        attributes: exactly what the node carries.
        tags: further tags; operator and types come by themselves.
    """
    id = f"test_{operator.prefix}_{name}"
    data_sets = setting.data_sets(operator, id)
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
        tags=(operator.prefix, *_types(setting), *tags),
        model=optimizer_model(operator, id, attributes, data_sets[0]),
        data_sets=data_sets,
    )


def optimizer_model(operator: Operator, id: str, attributes: Mapping[str, Any], inputs: Sequence[Array]) -> bytes:
    """A model of one optimizer node for inputs of these types and shapes."""
    signature = operator.signature
    count = (len(inputs) - 2) // len(signature.operands)
    names = ["R", "T", *numbered(signature.operands, count)]
    results = numbered(signature.results, count)
    node = helper.make_node(operator.name, names, results, domain=signature.domain, **attributes)
    return model(
        id,
        [node],
        [declared(name, array) for name, array in zip(names, inputs, strict=True)],
        [declared(name, inputs[2 + place % count]) for place, name in enumerate(results)],
        operator.imports,
    )


def _types(setting: OperatorSetting) -> tuple[str, ...]:
    own = TYPES[setting.dtype]
    rate = TYPES[setting.rate_dtype or setting.dtype]
    return (own,) if own == rate else (own, f"r_{rate}")
