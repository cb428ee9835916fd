"""Cases of training optimizers about the graph around the node: constants, several nodes, chained steps, shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_model
from generators.training_optimizers.optimizer_families import FLOATS
from generators.training_optimizers.single_node_model import valid_optimizer_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.exact.models.arrays import Array


def graph_cases(operator: Operator) -> Iterator[Case]:
    """Yield the cases of an operator about constants, several nodes, chained steps and shapes."""
    for dtype in FLOATS:
        yield _constants(operator, dtype)
        yield _two_nodes(operator, dtype)
        yield _chained_steps(operator, dtype)
    yield _mixed_tensors(operator)
    yield from _open_shapes(operator)
    if len(operator.signature.results) > 1:
        yield _results_left_out(operator)


def _constants(operator: Operator, dtype: Any) -> Case:
    """Define a case with R and T as initializers, which a runtime may fold."""
    id = f"test_{operator.prefix}_r_and_t_initializers_{FLOAT_TYPE_NAMES[dtype]}"
    ((R, T, *tensors),) = OperatorSetting(dtype, counts=(3,)).data_sets(operator, id)
    names = operator.signature.operands
    results = operator.signature.results
    return _case(
        operator,
        id,
        f"{operator.name} uses R and T from initializers",
        ("scalars",),
        build_model(
            id,
            [
                helper.make_node(
                    operator.name, ["R", "T", *names], results, domain=operator.signature.domain, **operator.usual
                )
            ],
            [array_value_info(name, array) for name, array in zip(names, tensors, strict=True)],
            [array_value_info(name, tensors[0]) for name in results],
            operator.imports,
            {"R": R, "T": T},
        ),
        tensors,
        dtype,
    )


def _two_nodes(operator: Operator, dtype: Any) -> Case:
    """Define a case with two independent optimizer nodes that have different attributes, R and T."""
    id = f"test_{operator.prefix}_two_nodes_{FLOAT_TYPE_NAMES[dtype]}"
    first, second = (
        OperatorSetting(dtype, shapes=(shape,), counts=(T,)).data_sets(operator, f"{id}{T}")[0]
        for shape, T in (((3,), 0), ((2, 2), 4))
    )
    half = {name: value / 2 if isinstance(value, float) else value for name, value in operator.usual.items()}
    nodes = []
    inputs = []
    outputs = []
    for number, (arrays, attributes) in enumerate(((first, operator.usual), (second, half)), 1):
        names = [f"{name}{number}" for name in ("R", "T", *operator.signature.operands)]
        results = tensor_names(operator.signature.results, 2)[number - 1 :: 2]
        nodes.append(helper.make_node(operator.name, names, results, domain=operator.signature.domain, **attributes))
        inputs += [array_value_info(name, array) for name, array in zip(names, arrays, strict=True)]
        outputs += [array_value_info(name, arrays[2]) for name in results]
    return _case(
        operator,
        id,
        f"Two {operator.name} nodes in one graph use their own attributes, R and T",
        ("pure", "several_tensors"),
        build_model(id, nodes, inputs, outputs, operator.imports),
        [*first, *second],
        dtype,
    )


def _chained_steps(operator: Operator, dtype: Any) -> Case:
    """Define a case with two steps in one graph. The second step uses the results of the first."""
    id = f"test_{operator.prefix}_chained_steps_{FLOAT_TYPE_NAMES[dtype]}"
    ((R, T, *tensors),) = OperatorSetting(dtype, shapes=((4,),), counts=(1,)).data_sets(operator, id)
    G2 = pseudo_random_array(f"{id}/G2", (4,), dtype)
    operands = operator.signature.operands
    results = operator.signature.results
    state = {operand: f"{operand}_1" for operand in operands if operand != "G"}
    first = helper.make_node(
        operator.name, ["R", "T", *operands], list(state.values()), domain=operator.signature.domain, **operator.usual
    )
    taken = ["R", "T2", *(state.get(operand, "G2") for operand in operands)]
    second = helper.make_node(operator.name, taken, results, domain=operator.signature.domain, **operator.usual)
    inputs = [R, T, *tensors, np.array(2, dtype=np.int64), G2]
    names = ["R", "T", *operands, "T2", "G2"]
    return _case(
        operator,
        id,
        f"{operator.name} continues from the state of a previous step in the same graph",
        (operator.step, "results"),
        build_model(
            id,
            [first, second],
            [array_value_info(name, array) for name, array in zip(names, inputs, strict=True)],
            [array_value_info(name, tensors[0]) for name in results],
            operator.imports,
        ),
        inputs,
        dtype,
    )


def _mixed_tensors(operator: Operator) -> Case:
    """Define a case with float and double tensors in one node. The schema allows this; the text does not mention it."""
    id = f"test_{operator.prefix}_mixed_tensor_types"
    count = 2
    inputs: tuple[Array, ...] = (
        np.array(operator.rate, dtype=np.float32),
        np.array(2, dtype=np.int64),
        *(
            pseudo_random_array(f"{id}/{name}{number}", (3,), dtype, 0.25, 2.25)
            for name in operator.signature.operands
            for number, dtype in zip(range(count), FLOATS, strict=True)
        ),
    )
    return Case(
        id=id,
        title=f"{operator.name} gives each output the type of its own tensor if float and double tensors are mixed",
        level=Level.SHOULD,
        clauses=(f"{operator.prefix}.tensor_type", f"{operator.prefix}.several_tensors"),
        tags=(operator.prefix, "float", "double", "types"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )


def _open_shapes(operator: Operator) -> Iterator[Case]:
    """Yield cases with R and T of shape [1], and with a G that broadcasts against X."""
    id = f"test_{operator.prefix}_r_and_t_of_shape_1"
    R, T, *tensors = OperatorSetting().data_sets(operator, id)[0]
    inputs = (R.reshape(1), T.reshape(1), *tensors)
    yield Case(
        id=id,
        title=f"{operator.name} with R and T of shape [1], which the specification does not mention",
        level=Level.SILENT,
        clauses=(f"{operator.prefix}.scalars",),
        tags=(operator.prefix, "float", "shape"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )
    id = f"test_{operator.prefix}_broadcast_g"
    R, T, X, _, *state = OperatorSetting(shapes=((2, 3),)).data_sets(operator, id)[0]
    inputs = (R, T, X, pseudo_random_array(f"{id}/G", (3,), np.float32), *state)
    yield Case(
        id=id,
        title=(
            f"{operator.name} with a G that broadcasts against X, which the specification allows only for "
            "its arithmetic"
        ),
        level=Level.SHOULD,
        clauses=(f"{operator.prefix}.elementwise",),
        tags=(operator.prefix, "float", "shape"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )


def _results_left_out(operator: Operator) -> Case:
    """Define a case whose node omits the last result.

    The schema allows any number of outputs; the text of the specification lists all results.
    """
    id = f"test_{operator.prefix}_last_output_left_out"
    last = operator.signature.results[-1]
    incomplete = valid_optimizer_model(operator).without_output(last)
    return Case(
        id=id,
        title=f"{operator.name} without an output {last}, which the schema allows and the text does not mention",
        level=Level.SILENT,
        clauses=(f"{operator.prefix}.results",),
        tags=(operator.prefix, "float", "structure"),
        model=incomplete.serialise(id),
        data_sets=(tuple(incomplete.inputs.values()),),
        full_check_exception="shape inference sets all outputs, also an omitted one",
    )


def _case(
    operator: Operator, id: str, title: str, clauses: Sequence[str], model: bytes, inputs: Sequence[Array], dtype: Any
) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
        tags=(operator.prefix, FLOAT_TYPE_NAMES[dtype], "structure"),
        model=model,
        data_sets=(tuple(inputs),),
    )
