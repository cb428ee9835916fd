"""Puts the bodies of functions that optimizers are in in place of their calls, where tensors have types."""

from __future__ import annotations

from itertools import chain

import onnx
from onnx import inliner

from conformance.errors import ModelError
from conformance.models.graphs import all_nodes, nodes_of
from conformance.reference.operators.training import TRAINING_OPTIMIZERS


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every function that an optimizer is in, or that stands for one, put in place of its calls.

    Raises:
        ModelError: there is training information too, or `onnx.inliner` refuses the functions.
    """
    names = _functions_to_inline(model)
    if not names:
        return model
    if model.training_info:
        raise ModelError(
            "The model has functions with optimizers and training information.", "Inline the functions first."
        )
    _import_for(model, names)
    _spell_out_defaults(model, names)
    try:
        inlined: onnx.ModelProto = inliner.inline_selected_functions(model, sorted(names), exclude=False)
    except (RuntimeError, ValueError) as error:
        problem = " ".join(str(error).split()).rstrip(".")
        raise ModelError(f"The model's functions cannot be inlined: {problem}.", "Mend the model.") from None
    if left := names & {(function.domain, function.name) for function in inlined.functions}:
        domain, name = min(left)
        raise ModelError(
            f"The function {domain}.{name} cannot be inlined: it imports other opsets than the model.",
            "Give both the same opset imports.",
        )
    return inlined


def _import_for(model: onnx.ModelProto, names: set[tuple[str, str]]) -> None:
    """Import what only these functions import so far."""
    present = {entry.domain or "ai.onnx" for entry in model.opset_import}
    functions = (function for function in model.functions if (function.domain, function.name) in names)
    for entry in chain.from_iterable(function.opset_import for function in functions):
        if (entry.domain or "ai.onnx") not in present:
            present.add(entry.domain or "ai.onnx")
            model.opset_import.append(entry)


def _spell_out_defaults(model: onnx.ModelProto, names: set[tuple[str, str]]) -> None:
    """Give every call the defaults of its function's attributes, which the inliner does not know of."""
    functions = {(function.domain, function.name): function for function in model.functions}
    for node in all_nodes(model):
        if (name := (node.domain, node.op_type)) in names:
            given = {attribute.name for attribute in node.attribute}
            defaults = functions[name].attribute_proto
            node.attribute.extend(default for default in defaults if default.name not in given)


def _functions_to_inline(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """Functions that hold an optimizer, that call such a function, or that bear an optimizer's name."""
    calls = {
        (function.domain, function.name): {(node.domain, node.op_type) for node in nodes_of(function)}
        for function in model.functions
    }
    optimizers = {(optimizer.domain, name) for name, optimizer in TRAINING_OPTIMIZERS.items()}
    found = optimizers & calls.keys()
    while more := {name for name, called in calls.items() if called & (optimizers | found)} - found:
        found |= more
    return found
