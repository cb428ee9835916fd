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
from conformance.dimensions.building import numbered
from conformance.generation.models import TYPES, declared, model
from conformance.reference.numbers.symbolic import INT64, Emission, Terms, traced
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.operator import FunctionCase, Operator, OperatorSetting
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

OPSET = 13
IR_VERSION = 9
"""The first in which a function's attributes can have defaults."""


ACME = "acme"
"""A domain that no runtime has operators of."""


def cases() -> Iterator[Case]:
    """All of them, in both types, at T = 0 and above."""
    for operator in OPERATORS:
        for function in operator.functions:
            yield from (_case(operator, function, dtype) for dtype in FLOATS)
            if len(function.attributes) < len(operator.signature.defaults):  # the call leaves some to what is declared
                yield _under_another_name(operator, function)


def _case(operator: Operator, function: FunctionCase, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_function_{function.name}_{TYPES[dtype]}"
    setting = OperatorSetting(dtype, shapes=function.shapes, counts=(0, 1, 3))
    return Case(
        id=id,
        title=f"{operator.name} as a function of the model, given {function.given}, computes as the operator does",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in function.clauses),
        tags=(operator.prefix, TYPES[dtype], "function"),
        model=_model(operator, id, function.attributes, setting),
        data_sets=setting.data_sets(operator, id),
    )


def _under_another_name(operator: Operator, function: FunctionCase) -> Case:
    """No runtime has an operator of this name, so the body is run, with the defaults that the function declares."""
    id = f"test_{operator.prefix}_function_own_name_{function.name}_float"
    setting = OperatorSetting(shapes=function.shapes, counts=(0, 1, 3))
    return Case(
        id=id,
        title=f"{operator.name}'s pseudo-code as a function of its own name, given {function.given}, has its defaults",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in ("function_attributes", operator.step)),
        tags=(operator.prefix, "float", "function"),
        model=_model(operator, id, function.attributes, setting, ACME),
        data_sets=setting.data_sets(operator, id),
    )


def _model(
    operator: Operator, id: str, attributes: Mapping[str, Any], setting: OperatorSetting, domain: str = ""
) -> bytes:
    """A model of one node that calls the function, which has the operator's name unless a domain is named."""
    arrays = setting.data_sets(operator, id)[0]
    tensors = len(setting.shapes)
    names = ["R", "T", *numbered(operator.signature.operands, tensors)]
    results = numbered(operator.signature.results, tensors)
    function = _function(operator, names, results, _chosen(operator, attributes), np.dtype(setting.dtype))
    if domain:
        function.domain, function.name = domain, f"{operator.name}Step"
    return model(
        id,
        [helper.make_node(function.name, names, results, domain=function.domain, **attributes)],
        [declared(name, array) for name, array in zip(names, arrays, strict=True)],
        [declared(name, arrays[2 + place % tensors]) for place, name in enumerate(results)],
        {"": OPSET, **({domain: 1} if domain else operator.imports)},
        functions=[function],
        ir_version=IR_VERSION,
    )


def _chosen(operator: Operator, attributes: Mapping[str, Any]) -> dict[str, str]:
    """Those of the attributes that are a text: they select nodes."""
    return {name: attributes[name] for name in operator.signature.choices if name in attributes}


def _function(
    operator: Operator, names: Sequence[str], results: Sequence[str], chosen: Mapping[str, str], dtype: np.dtype[Any]
) -> onnx.FunctionProto:
    """The operator's pseudo-code as a function; what selects its nodes is fixed in its body."""
    signature = operator.signature
    terms = Terms()
    numbers = [name for name in (*signature.required, *signature.defaults) if name not in signature.choices]
    attributes: dict[str, Any] = {name: terms.attribute(name, dtype) for name in numbers}
    attributes |= chosen
    operands = [terms.named(name, dtype) for name in names[2:]]
    tensors = len(operands) // len(signature.operands)
    R, T = terms.named("R", dtype), terms.named("T", INT64)
    by_tensor = [traced(signature.formula, R, T, operands[i::tensors], attributes) for i in range(tensors)]
    ordered = [term for terms_of_a_kind in zip(*by_tensor, strict=True) for term in terms_of_a_kind]
    places = count(1)
    emission = Emission(lambda hint: f"{hint}_{next(places)}")
    emission.emit(dict(zip(results, ordered, strict=True)))
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in emission.constants]
    return helper.make_function(
        signature.domain,
        operator.name,
        names,
        results,
        [*constants, *emission.nodes],
        [helper.make_opsetid("", OPSET)],
        list(signature.required),
        [helper.make_attribute(name, value) for name, value in signature.defaults.items()],
    )
