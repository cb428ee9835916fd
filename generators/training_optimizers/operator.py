"""Parts of the cases of training optimizers: descriptions of the operators, operands, nodes and models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS, TrainingOptimizer
from generators.declarations.training_dimensions import OPERAND_RANGES, usual_count
from generators.generated_values import FLOAT_TYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class FunctionCase:
    """A case in which an optimizer is a model-local function.

    Attributes:
        name: part of the case's id.
        given: phrase for the title on the attributes of the call.
        clauses: tested clauses, without the operator's prefix.
        attributes: attributes of the call.
        shapes: shapes of the optimized tensors.
    """

    name: str
    given: str
    clauses: Sequence[str]
    attributes: Mapping[str, Any]
    shapes: Sequence[Sequence[int]] = ((3,),)


@dataclass(frozen=True)
class TrainingRun:
    """Parameters of an optimizer for a sequence of training steps.

    Attributes:
        name: part of the case's id.
        attributes: attributes of the node.
        rate: learning rate R.
        clauses: tested clauses, without the operator's prefix.
    """

    name: str
    attributes: Mapping[str, Any]
    rate: float
    clauses: Sequence[str]


@dataclass(frozen=True)
class Operator:
    """Data about a training optimizer from which its cases are built.

    Attributes:
        name: op_type of the operator.
        usual: default attributes of cases. All affect the result and are exact in float32, so that bounds in double are
            small.
        step: id of the clause about X_new, without the operator's prefix.
        state: ids of the clauses about all results, without the operator's prefix.
        lookalikes: two wrong names for invalid models, known from other libraries: an op_type and an attribute.
        functions: cases in which the operator is a model-local function.
        runs: parameters of training runs.
        rate: default learning rate of cases.
        averages: operands that are moving averages. An infinite value may become NaN in some admissible evaluations.
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
        """First part of the operator's clause ids, and of its case ids after `test_`."""
        return self.name.lower()

    def count_for(self, dtype: Any) -> int:
        """Return T of `must` cases in an element type, for which the bounds in double are small."""
        return usual_count(self.name, dtype)

    @property
    def signature(self) -> TrainingOptimizer:
        """Operands, results and attributes of the operator."""
        return TRAINING_OPTIMIZERS[self.name]

    @property
    def imports(self) -> dict[str, int]:
        """Opset imports of a model with this operator, as version by domain."""
        return {self.signature.domain: self.signature.version}


@dataclass(frozen=True)
class OperatorSetting:
    """Types, shapes and values of a case's data sets; a data set has R, T and the operands of all tensors.

    Attributes:
        dtype: element type of the tensors.
        rate_dtype: element type of R. None: the type of the tensors.
        shapes: one shape for each tensor.
        counts: update count T of each data set.
        rates: learning rate R of each data set. Empty: the operator's default rate.
        operands: fixed values of operands by name, for every tensor. Other operands are pseudo-random.
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
        """Return the inputs of all data sets, in the order of the graph inputs."""
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
        return pseudo_random_array(seed, shape, self.dtype, *OPERAND_RANGES[name])


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
    """Define a case with a single optimizer node whose operands are graph inputs.

    Args:
        operator: the tested operator.
        name: the case's id without `test_` and the operator.
        title: the fact that the case tests, as a sentence without a full stop.
        clauses: tested clauses without the operator's prefix, the main one first.
        attributes: all attributes of the node.
        setting: parameters of the data sets.
        level: level of the case.
        tags: additional tags. Tags for the operator and types are added automatically.
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
    """Build a model with one optimizer node for inputs of these types and shapes."""
    signature = operator.signature
    count = (len(inputs) - 2) // len(signature.operands)
    names = ["R", "T", *tensor_names(signature.operands, count)]
    results = tensor_names(signature.results, count)
    node = helper.make_node(operator.name, names, results, domain=signature.domain, **attributes)
    return build_model(
        id,
        [node],
        [array_value_info(name, array) for name, array in zip(names, inputs, strict=True)],
        [array_value_info(name, inputs[2 + place % count]) for place, name in enumerate(results)],
        operator.imports,
    )


def _types(setting: OperatorSetting) -> tuple[str, ...]:
    own = FLOAT_TYPE_NAMES[setting.dtype]
    rate = FLOAT_TYPE_NAMES[setting.rate_dtype or setting.dtype]
    return (own,) if own == rate else (own, f"r_{rate}")


def upstream_case(
    operator: Operator,
    id: str,
    title: str,
    clauses: Sequence[str],
    attributes: Mapping[str, Any],
    operands: Mapping[str, Sequence[Sequence[float]]],
) -> Case:
    """Define a case for an example of the specification: float32, R = 0.1 and T = 0.

    Args:
        operator: the tested operator.
        id: id of the case.
        title: the fact that the case tests.
        clauses: tested clauses without the operator's prefix.
        attributes: attributes of the node.
        operands: values of all tensors by operand.
    """
    tensors: list[Array] = [
        np.array(values, dtype=np.float32) for name in operator.signature.operands for values in operands[name]
    ]
    inputs: tuple[Array, ...] = (np.array(0.1, dtype=np.float32), np.array(0, dtype=np.int64), *tensors)
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
        tags=(operator.prefix, "float", "upstream"),
        model=optimizer_model(operator, id, attributes, inputs),
        data_sets=(inputs,),
    )
