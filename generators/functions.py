"""Cases in which the optimizer is a model-local function, for runtimes that have no kernel and run the function's body.

A runtime with a kernel may run the kernel or the body, so the oracle accepts both. The body has the pseudo-code as
primitive operators in the type of the tensors, and its attributes have the defaults of the schema.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import FUNCTION_TAG, Case
from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.model_building import array_value_info, build_model
from conformance.exact.reference.numbers.symbolic import INT64, TermEmitter, TermFactory, trace
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import FunctionCase, Operator, OperatorSetting
from generators.training_optimizers.optimizer_families import FLOATS
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

OPSET = 13
IR_VERSION = 9
"""First IR version in which function attributes can have defaults."""

CUSTOM_DOMAIN = "acme"
"""Domain of a function that has no operator of the same name."""


def cases() -> Iterator[Case]:
    """Yield the function cases of all optimizers in float and double."""
    for operator in OPERATORS:
        for function in operator.functions:
            yield from (_case(operator, function, dtype) for dtype in FLOATS)
            if len(function.attributes) < len(operator.signature.defaults):  # the call uses default values
                yield _custom_name_case(operator, function)


def _case(operator: Operator, function: FunctionCase, dtype: Any) -> Case:
    id = f"test_{operator.prefix}_function_{function.name}_{FLOAT_TYPE_NAMES[dtype]}"
    setting = OperatorSetting(dtype, shapes=function.shapes, counts=(0, 1, 3))
    return Case(
        id=id,
        title=f"{operator.name} as a function of the model, given {function.given}, computes the same as the operator",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in function.clauses),
        tags=(operator.prefix, FLOAT_TYPE_NAMES[dtype], FUNCTION_TAG),
        model=_model(operator, id, function.attributes, setting),
        data_sets=setting.data_sets(operator, id),
    )


def _custom_name_case(operator: Operator, function: FunctionCase) -> Case:
    """Define a case whose function has a name that no operator has, so that every runtime must run the body."""
    id = f"test_{operator.prefix}_function_own_name_{function.name}_float"
    setting = OperatorSetting(shapes=function.shapes, counts=(0, 1, 3))
    return Case(
        id=id,
        title=(
            f"{operator.name}'s pseudo-code as a function with a new name, given {function.given}, uses the "
            "function's defaults"
        ),
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in ("function_attributes", operator.step)),
        tags=(operator.prefix, "float", FUNCTION_TAG),
        model=_model(operator, id, function.attributes, setting, CUSTOM_DOMAIN),
        data_sets=setting.data_sets(operator, id),
    )


def _model(
    operator: Operator, id: str, attributes: Mapping[str, Any], setting: OperatorSetting, domain: str = ""
) -> bytes:
    """Build a model that calls the function. The function has the operator's name unless `domain` is given."""
    arrays = setting.data_sets(operator, id)[0]
    tensors = len(setting.shapes)
    names = ["R", "T", *tensor_names(operator.signature.operands, tensors)]
    results = tensor_names(operator.signature.results, tensors)
    function = _function(operator, names, results, _text_attributes(operator, attributes), np.dtype(setting.dtype))
    if domain:
        function.domain = domain
        function.name = f"{operator.name}Step"
    return build_model(
        id,
        [helper.make_node(function.name, names, results, domain=function.domain, **attributes)],
        [array_value_info(name, array) for name, array in zip(names, arrays, strict=True)],
        [array_value_info(name, arrays[2 + place % tensors]) for place, name in enumerate(results)],
        {"": OPSET, **({domain: 1} if domain else operator.imports)},
        functions=[function],
        ir_version=IR_VERSION,
    )


def _text_attributes(operator: Operator, attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of type string, such as `mode`, which determine the nodes of the function's body."""
    return {name: attributes[name] for name in operator.signature.allowed_values if name in attributes}


def _function(
    operator: Operator,
    names: Sequence[str],
    results: Sequence[str],
    text_attributes: Mapping[str, str],
    dtype: np.dtype[Any],
) -> onnx.FunctionProto:
    """Return a function with the operator's pseudo-code as nodes, for fixed attributes of type string."""
    signature = operator.signature
    terms = TermFactory()
    numbers = [name for name in (*signature.required, *signature.defaults) if name not in signature.allowed_values]
    attributes: dict[str, Any] = {name: terms.attribute(name, dtype) for name in numbers}
    attributes |= text_attributes
    operands = [terms.named_value(name, dtype) for name in names[2:]]
    tensors = len(operands) // len(signature.operands)
    R = terms.named_value("R", dtype)
    T = terms.named_value("T", INT64)
    by_tensor = [trace(signature.formula, R, T, operands[i::tensors], attributes) for i in range(tensors)]
    ordered = [term for terms_of_a_kind in zip(*by_tensor, strict=True) for term in terms_of_a_kind]
    numbers_of_names = count(1)
    emission = TermEmitter(lambda hint: f"{hint}_{next(numbers_of_names)}")
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
