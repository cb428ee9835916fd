"""Models that must be rejected: each is a valid one with a single fault that its title names.

Tagged `checker` is what the schema forbids, so that onnx's checker refuses it when it looks at types too
(`full_check`); tagged `prose` is what only the page forbids, so that the checker on its own accepts it. Some of the
latter onnx's shape inference finds, for one operator and not for the next. No specification obliges a runtime to
reject either, so all are `should`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.corpus.case import Case, CaseKind
from conformance.dimensions.building import numbered
from conformance.models.arrays import type_name
from conformance.verdicts import Level
from generators.training_optimizers.drafts import Draft, argmax_draft, optimizer_draft
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generators.training_optimizers.operator import Operator

CHECKER, PROSE = "checker", "prose"

MODES = {"capitalised": "Nesterov", "sgd": "sgd", "empty": ""}
"""What a mode cannot be."""


def cases() -> Iterator[Case]:
    """All models that must be rejected."""
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
    draft, unknown = optimizer_draft(operator), operator.lookalikes[1]
    for name in operator.signature.required:
        spoilt = draft.without_attribute(name)
        yield _case(spoilt, f"without_{name}", f"without the required attribute {name}", CHECKER, "attributes")
    spoilt = draft.with_attributes(**{unknown: 0.5})
    yield _case(spoilt, "attribute_unknown", f"with the attribute {unknown}", CHECKER, "attributes")
    first = next(iter(draft.attributes))
    for type, value in (("string", "0.5"), ("int", 1), ("list", [0.5])):
        spoilt = draft.with_attributes(**{first: value})
        title = f"with {first} as {'an int' if type == 'int' else f'a {type}'}"
        yield _case(spoilt, f"{first}_{type}", title, CHECKER, "attributes", "attribute_type")


def _types(operator: Operator) -> Iterator[Case]:
    draft, group = optimizer_draft(operator), "types"
    for name, dtype, clause in (
        ("R", np.int64, "learning_rate_type"),
        ("R", np.float16, "learning_rate_type"),
        ("T", np.int32, "update_count_type"),
        ("T", np.float32, "update_count_type"),
    ):
        value = np.array(1 if name == "R" else 2, dtype=dtype)
        type = type_name(value.dtype)
        spoilt = draft.with_inputs(**{name: value})
        yield _case(spoilt, f"{name.lower()}_{type}", f"with {name} of type {type}", CHECKER, clause, group=group)
    for dtype in (np.int32, np.float16):
        spoilt, type = optimizer_draft(operator, dtype), type_name(np.dtype(dtype))
        yield _case(spoilt, f"tensors_{type}", f"with tensors of type {type}", CHECKER, "tensor_type", group=group)


def _operand_counts(operator: Operator) -> Iterator[Case]:
    operands = operator.signature.operands
    one, two = optimizer_draft(operator), optimizer_draft(operator, shapes=((4,), (4,)))
    last, extra = operands[-1], one.inputs[operands[-1]]
    second = f"{last}2"
    for spoilt, name, title, tag in (
        (one.without_inputs("T", *operands), "only_r", "with no input but R", CHECKER),
        (one.without_inputs(*operands), "only_r_and_t", "with no inputs but R and T", CHECKER),
        (one.without_inputs(last), "one_operand_too_few", f"without {last}", PROSE),
        (one.with_inputs(S=extra), "one_operand_too_many", f"with an operand after {last}", PROSE),
        (two.without_inputs(second), "two_tensors_one_operand_too_few", f"of two tensors without {second}", PROSE),
    ):
        yield _case(spoilt, name, title, tag, "operands", group="operands")


def _shapes(operator: Operator) -> Iterator[Case]:
    draft, operands = optimizer_draft(operator), operator.signature.operands
    for name in operands[1:]:
        spoilt = draft.with_inputs(**{name: draft.inputs[name][:3]})
        title = f"with {name} of shape [3] beside X of shape [4]"
        yield _case(spoilt, f"{name.lower()}_of_another_shape", title, PROSE, "elementwise", "operands", group="shapes")
    for name in ("R", "T"):
        spoilt = draft.with_inputs(**{name: np.repeat(draft.inputs[name], 4)})
        title = f"with {name} of shape [4]"
        yield _case(spoilt, f"{name.lower()}_vector", title, PROSE, "scalars", group="shapes")
    two = optimizer_draft(operator, shapes=((3,), (2, 2)))
    by_tensor = [numbered(operands, 2)[place::2] for place in (0, 1)]
    spoilt = two.in_order(["R", "T", *by_tensor[0], *by_tensor[1]])
    title = "with operands grouped by tensor, where they do not fit together,"
    yield _case(spoilt, "grouped_by_tensor", title, PROSE, "operands", "elementwise", group="shapes")


def _results(operator: Operator) -> Iterator[Case]:
    """An output more than there are results; that a node names fewer the schema allows, from one on."""
    spoilt, last = optimizer_draft(operator).with_output("S_new"), operator.signature.results[-1]
    title = f"with an output after {last}"
    yield _case(spoilt, "one_output_too_many", title, PROSE, "results", group="results")


def _domains(operator: Operator) -> Iterator[Case]:
    draft, lookalike = optimizer_draft(operator), operator.lookalikes[0]
    imports = dict.fromkeys(draft.opsets)
    for spoilt, name, title, tag in (
        (replace(draft, opsets=dict.fromkeys(imports, 2)), "version_2", "of version 2 of its domain", PROSE),
        (replace(draft, opsets=dict.fromkeys(imports, 999)), "version_999", "of version 999 of its domain", PROSE),
        (replace(draft, opsets={"": 13}), "domain_not_imported", "of a domain that the model does not import", CHECKER),
        (replace(draft, domain="", opsets={"": 13}), "main_domain", "of the domain ai.onnx", CHECKER),
        (replace(draft, op_type=lookalike), "name_unknown", f"under the name {lookalike}", PROSE),
    ):
        yield _case(spoilt, name, title, tag, "version", group="domain", named=operator.name)


def _modes(operator: Operator) -> Iterator[Case]:
    for name, mode in MODES.items() if "mode" in operator.signature.choices else ():
        spoilt = optimizer_draft(operator).with_attributes(mode=mode)
        yield _case(spoilt, f"mode_{name}", f'with the mode "{mode}"', PROSE, "mode", group="attributes")


def _argmax() -> Iterator[Case]:
    draft = argmax_draft()
    X, axis = draft.inputs["X"], np.array(1, dtype=np.int64)
    late = replace(draft.with_attributes(select_last_index=1), opsets={"": 11})
    for spoilt, name, title, group, *clauses in (
        (draft.with_attributes(axis=2), "axis_2", "with axis 2 of a matrix", "attributes", "axis"),
        (draft.with_attributes(axis=-3), "axis_minus_3", "with axis -3 of a matrix", "attributes", "negative_axis"),
        (draft.with_attributes(axis=1.0), "axis_float", "with axis as a float", "attributes", "attributes"),
        (draft.with_attributes(axes=1), "attribute_unknown", "with the attribute axes", "attributes", "attributes"),
        (late, "select_last_index_opset_11", "of opset 11 with select_last_index", "attributes", "attributes"),
        (draft.with_inputs(axis=axis), "axis_as_input", "with the axis as its second input", "operands", "arity"),
        (draft.with_output("values"), "two_outputs", "with a second output", "results", "arity"),
        (draft.with_inputs(X=X > 0), "type_bool", "of bool elements", "types", "data_type"),
    ):
        yield _case(spoilt, name, title, CHECKER, *clauses, group=group)


def _case(
    spoilt: Draft, name: str, title: str, tag: str, *clauses: str, group: str = "attributes", named: str | None = None
) -> Case:
    """A case of one fault.

    Args:
        name: the case's id without `test_invalid_` and the operator.
        title: what follows the operator's name in the title.
        tag: `checker` or `prose`.
        clauses: without the operator's prefix, the chief one first.
        named: the operator that it is a case of, where the node is of another name.
    """
    operator = named or spoilt.op_type
    prefix = operator.lower()
    id = f"test_invalid_{prefix}_{name}"
    return Case(
        id=id,
        title=f"{operator} {title} is invalid",
        level=Level.SHOULD,
        clauses=tuple(f"{prefix}.{clause}" for clause in clauses),
        tags=(prefix, CaseKind.INVALID, tag, group),
        model=spoilt.serialised(id),
        data_sets=(tuple(spoilt.inputs.values()),),
        kind=CaseKind.INVALID,
    )
