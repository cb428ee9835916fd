"""Cases whose model brings its optimizer along as a function, for runtimes without a kernel that then run the body.

Which of the two a runtime runs that has the operator is its own choice, so the oracle admits both. The body is the
pseudo-code in primitives, in the type of the case's tensors; its attributes have the schema's defaults.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.generation.models import TYPES, declared, model
from conformance.models.signatures import TRAINING
from conformance.reference.numbers.symbolic import INT64, Emission, Terms, traced
from conformance.reference.operators.training import FORMULAS
from conformance.verdicts import Level
from generators.adagrad import ADAGRAD
from generators.adam import ADAM
from generators.momentum import MOMENTUM
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.operator import Operator, OperatorSetting, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

OPSET = 13
IR_VERSION = 9
"""The first in which a function's attributes can have defaults."""

ONE, TWO = ((3,),), ((2,), (2, 2))
"""Shapes of one tensor and of two."""

NESTEROV = {**MOMENTUM.usual, "mode": "nesterov"}

CASES: Sequence[tuple[Operator, str, str, Sequence[str], Mapping[str, Any], Sequence[Sequence[int]]]] = (
    (ADAM, "defaults", "no attribute", ("alpha_default", "beta_default", "epsilon_default"), {}, ONE),
    (ADAM, "one_attribute", "beta only", ("h_new", "alpha_default", "epsilon_default"), {"beta": 0.5}, ONE),
    (ADAM, "attributes", "all attributes", ("x_final", "g_regularized"), ADAM.usual, ONE),
    (ADAM, "two_tensors", "two tensors", ("several_tensors", "operands", "results"), ADAM.usual, TWO),
    (MOMENTUM, "standard", "mode standard", ("x_new_standard", "mode"), MOMENTUM.usual, ONE),
    (MOMENTUM, "nesterov", "mode nesterov", ("x_new_nesterov", "mode"), NESTEROV, ONE),
    (MOMENTUM, "two_tensors", "two tensors", ("several_tensors", "operands", "results"), NESTEROV, TWO),
    (ADAGRAD, "defaults", "no attribute", ("decay_factor_default", "epsilon_default"), {}, ONE),
    (ADAGRAD, "one_attribute", "decay_factor only", ("r", "epsilon_default"), {"decay_factor": 0.25}, ONE),
    (ADAGRAD, "attributes", "all attributes", ("r", "g_regularized", "h_adaptive"), ADAGRAD.usual, ONE),
    (ADAGRAD, "two_tensors", "two tensors", ("several_tensors", "operands", "results"), ADAGRAD.usual, TWO),
)
"""Operator, the case's name, what it gives the function, clauses, attributes of the call, shapes of the tensors."""


def cases() -> Iterator[Case]:
    """All of them, in both types, at T = 0 and above."""
    for operator, name, given, clauses, attributes, shapes in CASES:
        for dtype in FLOATS:
            id = f"test_{operator.prefix}_function_{name}_{TYPES[dtype]}"
            setting = OperatorSetting(dtype, shapes=shapes, counts=(0, 1, 3))
            yield Case(
                id=id,
                title=f"{operator.name} as a function of the model, given {given}, computes as the operator does",
                level=Level.MUST,
                clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
                tags=(operator.prefix, TYPES[dtype], "function"),
                model=_model(operator, id, attributes, setting),
                data_sets=setting.data_sets(operator, id),
            )


def _model(operator: Operator, id: str, attributes: Mapping[str, Any], setting: OperatorSetting) -> bytes:
    arrays = setting.data_sets(operator, id)[0]
    tensors = len(setting.shapes)
    names = ["R", "T", *numbered(operator.signature.operands, tensors)]
    results = numbered(operator.signature.results, tensors)
    return model(
        id,
        [helper.make_node(operator.name, names, results, domain=TRAINING, **attributes)],
        [declared(name, array) for name, array in zip(names, arrays, strict=True)],
        [declared(name, arrays[2 + place % tensors]) for place, name in enumerate(results)],
        {"": OPSET, TRAINING: 1},
        functions=[_function(operator, names, results, attributes.get("mode"), np.dtype(setting.dtype))],
        ir_version=IR_VERSION,
    )


def _function(
    operator: Operator, names: Sequence[str], results: Sequence[str], mode: str | None, dtype: np.dtype[Any]
) -> onnx.FunctionProto:
    """The operator's pseudo-code as a function; a mode is fixed in its body, since it selects the nodes."""
    signature = operator.signature
    terms = Terms()
    numbers = [name for name in (*signature.required, *signature.defaults) if name != "mode"]
    attributes: dict[str, Any] = {name: terms.attribute(name, dtype) for name in numbers}
    attributes |= {"mode": mode} if mode else {}
    operands = [terms.named(name, dtype) for name in names[2:]]
    tensors = len(operands) // len(signature.operands)
    R, T = terms.named("R", dtype), terms.named("T", INT64)
    by_tensor = [traced(FORMULAS[operator.name], R, T, operands[i::tensors], attributes) for i in range(tensors)]
    ordered = [term for terms_of_a_kind in zip(*by_tensor, strict=True) for term in terms_of_a_kind]
    places = count(1)
    emission = Emission(lambda hint: f"{hint}_{next(places)}")
    emission.emit(dict(zip(results, ordered, strict=True)))
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in emission.constants]
    return helper.make_function(
        TRAINING,
        operator.name,
        names,
        results,
        [*constants, *emission.nodes],
        [helper.make_opsetid("", OPSET)],
        list(signature.required),
        [helper.make_attribute(name, value) for name, value in signature.defaults.items()],
    )
