"""Cases of kind `invalid`: models that a backend must reject. Each is a valid model with a single fault.

The title names the fault. The tag `checker` marks faults that violate the schema, so that onnx's checker rejects them
with `full_check`. The tag `prose` marks faults that only the text of the specification forbids, so that the checker
accepts them; onnx's shape inference finds some of these. No specification obliges a runtime to reject invalid models,
so the level is always `should`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case, CaseKind
from conformance.corpus.factors.training_factors import tensor_names
from conformance.exact.models.arrays import type_name
from generators.training_optimizers.single_node_model import SingleNodeModel, valid_argmax_model, valid_optimizer_model
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generators.training_optimizers.operator import Operator

CHECKER = "checker"
PROSE = "prose"

MODES = {"capitalised": "Nesterov", "sgd": "sgd", "empty": ""}
"""Invalid values of Momentum's attribute `mode`."""


def cases() -> Iterator[Case]:
    """Yield all invalid models of the optimizers and of ArgMax."""
    for operator in OPERATORS:
        yield from _attributes(operator)
        yield from _types(operator)
        yield from _operand_counts(operator)
        yield from _shapes(operator)
        yield from _results(operator)
        yield from _domains(operator)
        yield from _modes(operator)
    yield from _argmax()


def _attributes(operator: Operator) -> Iterator[Case]:
    valid = valid_optimizer_model(operator)
    unknown = operator.lookalikes[1]
    for name in operator.signature.required:
        faulty = valid.without_attribute(name)
        yield _case(faulty, f"without_{name}", f"without the required attribute {name}", CHECKER, "attributes")
    faulty = valid.with_attributes(**{unknown: 0.5})
    yield _case(faulty, "attribute_unknown", f"with the attribute {unknown}", CHECKER, "attributes")
    first = next(iter(valid.attributes))
    for type, value in (("string", "0.5"), ("int", 1), ("list", [0.5])):
        faulty = valid.with_attributes(**{first: value})
        title = f"with {first} as {'an int' if type == 'int' else f'a {type}'}"
        yield _case(faulty, f"{first}_{type}", title, CHECKER, "attributes", "attribute_type")


def _types(operator: Operator) -> Iterator[Case]:
    valid = valid_optimizer_model(operator)
    group = "types"
    for name, dtype, clause in (
        ("R", np.int64, "learning_rate_type"),
        ("R", np.float16, "learning_rate_type"),
        ("T", np.int32, "update_count_type"),
        ("T", np.float32, "update_count_type"),
    ):
        value = np.array(1 if name == "R" else 2, dtype=dtype)
        type = type_name(value.dtype)
        faulty = valid.with_inputs(**{name: value})
        yield _case(faulty, f"{name.lower()}_{type}", f"with {name} of type {type}", CHECKER, clause, group=group)
    for dtype in (np.int32, np.float16):
        faulty = valid_optimizer_model(operator, dtype)
        type = type_name(np.dtype(dtype))
        yield _case(faulty, f"tensors_{type}", f"with tensors of type {type}", CHECKER, "tensor_type", group=group)


def _operand_counts(operator: Operator) -> Iterator[Case]:
    operands = operator.signature.operands
    one = valid_optimizer_model(operator)
    two = valid_optimizer_model(operator, shapes=((4,), (4,)))
    last = operands[-1]
    extra = one.inputs[operands[-1]]
    second = f"{last}2"
    for faulty, name, title, tag in (
        (one.without_inputs("T", *operands), "only_r", "with R as its only input", CHECKER),
        (one.without_inputs(*operands), "only_r_and_t", "with R and T as its only inputs", CHECKER),
        (one.without_inputs(last), "one_operand_too_few", f"without {last}", PROSE),
        (one.with_inputs(S=extra), "one_operand_too_many", f"with an operand after {last}", PROSE),
        (two.without_inputs(second), "two_tensors_one_operand_too_few", f"of two tensors without {second}", PROSE),
    ):
        yield _case(faulty, name, title, tag, "operands", group="operands")


def _shapes(operator: Operator) -> Iterator[Case]:
    valid = valid_optimizer_model(operator)
    operands = operator.signature.operands
    for name in operands[1:]:
        faulty = valid.with_inputs(**{name: valid.inputs[name][:3]})
        title = f"with {name} of shape [3] and X of shape [4]"
        yield _case(faulty, f"{name.lower()}_of_another_shape", title, PROSE, "elementwise", "operands", group="shapes")
    for name in ("R", "T"):
        faulty = valid.with_inputs(**{name: np.repeat(valid.inputs[name], 4)})
        title = f"with {name} of shape [4]"
        yield _case(faulty, f"{name.lower()}_vector", title, PROSE, "scalars", group="shapes")
    two = valid_optimizer_model(operator, shapes=((3,), (2, 2)))
    by_tensor = [tensor_names(operands, 2)[place::2] for place in (0, 1)]
    faulty = two.reorder_inputs(["R", "T", *by_tensor[0], *by_tensor[1]])
    title = "with operands grouped by tensor instead of by operand"
    yield _case(faulty, "grouped_by_tensor", title, PROSE, "operands", "elementwise", group="shapes")


def _results(operator: Operator) -> Iterator[Case]:
    """Yield a case whose node has one output too many. The schema allows fewer outputs."""
    faulty = valid_optimizer_model(operator).with_output("S_new")
    last = operator.signature.results[-1]
    title = f"with an output after {last}"
    yield _case(faulty, "one_output_too_many", title, PROSE, "results", group="results")


def _domains(operator: Operator) -> Iterator[Case]:
    valid = valid_optimizer_model(operator)
    lookalike = operator.lookalikes[0]
    imports = dict.fromkeys(valid.opsets)
    for faulty, name, title, tag in (
        (replace(valid, opsets=dict.fromkeys(imports, 2)), "version_2", "of version 2 of its domain", PROSE),
        (replace(valid, opsets=dict.fromkeys(imports, 999)), "version_999", "of version 999 of its domain", PROSE),
        (replace(valid, opsets={"": 13}), "domain_not_imported", "of a domain that the model does not import", CHECKER),
        (replace(valid, domain="", opsets={"": 13}), "main_domain", "of the domain ai.onnx", CHECKER),
        (replace(valid, op_type=lookalike), "name_unknown", f"under the name {lookalike}", PROSE),
    ):
        yield _case(faulty, name, title, tag, "version", group="domain", named=operator.name)


def _modes(operator: Operator) -> Iterator[Case]:
    for name, mode in MODES.items() if "mode" in operator.signature.allowed_values else ():
        faulty = valid_optimizer_model(operator).with_attributes(mode=mode)
        yield _case(faulty, f"mode_{name}", f'with the mode "{mode}"', PROSE, "mode", group="attributes")


def _argmax() -> Iterator[Case]:
    valid = valid_argmax_model()
    X = valid.inputs["X"]
    axis = np.array(1, dtype=np.int64)
    late = replace(valid.with_attributes(select_last_index=1), opsets={"": 11})
    for faulty, name, title, group, *clauses in (
        (valid.with_attributes(axis=2), "axis_2", "with axis 2 of a matrix", "attributes", "axis"),
        (valid.with_attributes(axis=-3), "axis_minus_3", "with axis -3 of a matrix", "attributes", "negative_axis"),
        (valid.with_attributes(axis=1.0), "axis_float", "with axis as a float", "attributes", "attributes"),
        (valid.with_attributes(axes=1), "attribute_unknown", "with the attribute axes", "attributes", "attributes"),
        (late, "select_last_index_opset_11", "of opset 11 with select_last_index", "attributes", "attributes"),
        (valid.with_inputs(axis=axis), "axis_as_input", "with the axis as its second input", "operands", "arity"),
        (valid.with_output("values"), "two_outputs", "with a second output", "results", "arity"),
        (valid.with_inputs(X=X > 0), "type_bool", "of bool elements", "types", "data_type"),
    ):
        yield _case(faulty, name, title, CHECKER, *clauses, group=group)


def _case(
    faulty: SingleNodeModel,
    name: str,
    title: str,
    tag: str,
    *clauses: str,
    group: str = "attributes",
    named: str | None = None,
) -> Case:
    """Define a case with one fault.

    Args:
        faulty: the model with the fault.
        name: the case's id without `test_invalid_` and the operator.
        title: the part of the title after the operator's name.
        tag: `checker` or `prose`.
        clauses: tested clauses without the operator's prefix, the main one first.
        group: tag of the group of faults.
        named: name of the tested operator, if the node has another op_type.
    """
    operator = named or faulty.op_type
    prefix = operator.lower()
    id = f"test_invalid_{prefix}_{name}"
    return Case(
        id=id,
        title=f"{operator} {title} is invalid",
        level=Level.SHOULD,
        clauses=tuple(f"{prefix}.{clause}" for clause in clauses),
        tags=(prefix, CaseKind.INVALID, tag, group),
        model=faulty.serialise(id),
        data_sets=(tuple(faulty.inputs.values()),),
        kind=CaseKind.INVALID,
    )
