"""Families about the graph around an optimizer: constants, several nodes, steps in a row, and open shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.dimensions.building import numbered
from conformance.generation.models import TYPES, declared, model
from conformance.generation.values import scattered
from conformance.verdicts import Level
from generators.training_optimizers.drafts import optimizer_draft
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.models.arrays import Array


def structures(operator: Operator) -> Iterator[Case]:
    """All of them."""
    for dtype in FLOATS:
        yield _constants(operator, dtype)
        yield _two_nodes(operator, dtype)
        yield _chained_steps(operator, dtype)
    yield _mixed_tensors(operator)
    yield from _open_shapes(operator)
    if len(operator.signature.results) > 1:
        yield _results_left_out(operator)


def _constants(operator: Operator, dtype: Any) -> Case:
    """R and T as initializers, as a runtime sees them that folds constants."""
    id = f"test_{operator.prefix}_r_and_t_initializers_{TYPES[dtype]}"
    ((R, T, *tensors),) = OperatorSetting(dtype, counts=(3,)).data_sets(operator, id)
    names, results = operator.signature.operands, operator.signature.results
    return _case(
        operator,
        id,
        f"{operator.name} takes R and T from initializers as it does from inputs",
        ("scalars",),
        model(
            id,
            [
                helper.make_node(
                    operator.name, ["R", "T", *names], results, domain=operator.signature.domain, **operator.usual
                )
            ],
            [declared(name, array) for name, array in zip(names, tensors, strict=True)],
            [declared(name, tensors[0]) for name in results],
            operator.imports,
            {"R": R, "T": T},
        ),
        tensors,
        dtype,
    )


def _two_nodes(operator: Operator, dtype: Any) -> Case:
    """Two optimizers side by side with attributes, R and T of their own."""
    id = f"test_{operator.prefix}_two_nodes_{TYPES[dtype]}"
    first, second = (
        OperatorSetting(dtype, shapes=(shape,), counts=(T,)).data_sets(operator, f"{id}{T}")[0]
        for shape, T in (((3,), 0), ((2, 2), 4))
    )
    half = {name: value / 2 if isinstance(value, float) else value for name, value in operator.usual.items()}
    nodes, inputs, outputs = [], [], []
    for number, (arrays, attributes) in enumerate(((first, operator.usual), (second, half)), 1):
        names = [f"{name}{number}" for name in ("R", "T", *operator.signature.operands)]
        results = numbered(operator.signature.results, 2)[number - 1 :: 2]
        nodes.append(helper.make_node(operator.name, names, results, domain=operator.signature.domain, **attributes))
        inputs += [declared(name, array) for name, array in zip(names, arrays, strict=True)]
        outputs += [declared(name, arrays[2]) for name in results]
    return _case(
        operator,
        id,
        f"Two {operator.name} nodes in one graph use their own attributes, R and T",
        ("pure", "several_tensors"),
        model(id, nodes, inputs, outputs, operator.imports),
        [*first, *second],
        dtype,
    )


def _chained_steps(operator: Operator, dtype: Any) -> Case:
    """Two steps in one graph: the second takes X and the state that the first gives, and a new gradient."""
    id = f"test_{operator.prefix}_chained_steps_{TYPES[dtype]}"
    ((R, T, *tensors),) = OperatorSetting(dtype, shapes=((4,),), counts=(1,)).data_sets(operator, id)
    G2 = scattered(f"{id}/G2", (4,), dtype)
    operands, results = operator.signature.operands, operator.signature.results
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
        f"{operator.name} goes on from the state of a step before it in the same graph",
        (operator.step, "results"),
        model(
            id,
            [first, second],
            [declared(name, array) for name, array in zip(names, inputs, strict=True)],
            [declared(name, tensors[0]) for name in results],
            operator.imports,
        ),
        inputs,
        dtype,
    )


def _mixed_tensors(operator: Operator) -> Case:
    """Float and double tensors in one node: the schema allows it, the prose does not say."""
    id = f"test_{operator.prefix}_mixed_tensor_types"
    count = 2
    inputs: tuple[Array, ...] = (
        np.array(operator.rate, dtype=np.float32),
        np.array(2, dtype=np.int64),
        *(
            scattered(f"{id}/{name}{number}", (3,), dtype, 0.25, 2.25)
            for name in operator.signature.operands
            for number, dtype in zip(range(count), FLOATS, strict=True)
        ),
    )
    return Case(
        id=id,
        title=f"{operator.name} gives each output the type of its own tensor where float and double are mixed",
        level=Level.SHOULD,
        clauses=(f"{operator.prefix}.tensor_type", f"{operator.prefix}.several_tensors"),
        tags=(operator.prefix, "float", "double", "types"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )


def _open_shapes(operator: Operator) -> Iterator[Case]:
    """R and T of shape [1], and state that broadcasts against X."""
    id = f"test_{operator.prefix}_r_and_t_of_shape_1"
    R, T, *tensors = OperatorSetting().data_sets(operator, id)[0]
    inputs = (R.reshape(1), T.reshape(1), *tensors)
    yield Case(
        id=id,
        title=f"{operator.name} with R and T of shape [1], which are no scalars, and of which the page says nothing",
        level=Level.SILENT,
        clauses=(f"{operator.prefix}.scalars",),
        tags=(operator.prefix, "float", "shape"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )
    id = f"test_{operator.prefix}_broadcast_g"
    R, T, X, _, *state = OperatorSetting(shapes=((2, 3),)).data_sets(operator, id)[0]
    inputs = (R, T, X, scattered(f"{id}/G", (3,), np.float32), *state)
    yield Case(
        id=id,
        title=f"{operator.name} with a G that broadcasts against X, which the page allows for its arithmetic only",
        level=Level.SILENT,
        clauses=(f"{operator.prefix}.elementwise",),
        tags=(operator.prefix, "float", "shape"),
        model=optimizer_model(operator, id, operator.usual, inputs),
        data_sets=(inputs,),
    )


def _results_left_out(operator: Operator) -> Case:
    """A node without a name for its last result: the schema allows any number of outputs, the prose lists all."""
    id, last = f"test_{operator.prefix}_last_output_left_out", operator.signature.results[-1]
    draft = optimizer_draft(operator).without_output(last)
    return Case(
        id=id,
        title=f"{operator.name} without an output {last}, which the schema allows and the page does not speak of",
        level=Level.SILENT,
        clauses=(f"{operator.prefix}.results",),
        tags=(operator.prefix, "float", "structure"),
        model=draft.serialised(id),
        data_sets=(tuple(draft.inputs.values()),),
    )


def _case(
    operator: Operator, id: str, title: str, clauses: Sequence[str], model: bytes, inputs: Sequence[Array], dtype: Any
) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
        tags=(operator.prefix, TYPES[dtype], "structure"),
        model=model,
        data_sets=(tuple(inputs),),
    )
