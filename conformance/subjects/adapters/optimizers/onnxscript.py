"""Optimizer of ONNX Script: constant folding, function inlining and rewrite rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnxscript
import onnxscript.optimizer

from . import LIST_PASSES, chosen_passes, declare_adapter, list_of_passes

if TYPE_CHECKING:
    import onnx


@declare_adapter(onnxscript.__version__)
def optimize(model: onnx.ModelProto, *, passes: str = "") -> onnx.ModelProto:
    """Return the optimized model.

    Args:
        model: the model.
        passes: the passes and rewrite rules to run, with `+` between them; `none`, or `list`.
    """
    if passes:
        return _optimize_by(model, passes)
    optimized: onnx.ModelProto = onnxscript.optimizer.optimize(model)
    return optimized


def _optimize_by(model: onnx.ModelProto, passes: str) -> onnx.ModelProto:
    """Run some of the passes of `onnxscript.optimizer.optimize`, in its order."""
    import onnx_ir
    from onnx_ir.passes import common
    from onnxscript import rewriter
    from onnxscript.optimizer import _constant_folding

    rules: dict[str, Any] = {}
    for number, rule in enumerate(rewriter._DEFAULT_REWRITE_RULES):  # noqa: SLF001 - not public in any release
        rules[f"{rule.name or 'rewrite_rule'}_{number}"] = rule
    repeated = {"fold_constants": None, **rules, "remove_unused_nodes": common.RemoveUnusedNodesPass}
    repeated |= {
        "remove_unused_functions": common.RemoveUnusedFunctionsPass,
        "remove_unused_opsets": common.RemoveUnusedOpsetsPass,
    }
    last = {
        "lift_constants": lambda: common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        "lift_subgraph_initializers": common.LiftSubgraphInitializersToMainGraphPass,
        "deduplicate_initializers": common.DeduplicateInitializersPass,
        "eliminate_common_subexpressions": common.CommonSubexpressionEliminationPass,
        "fix_outputs": common.OutputFixPass,
        "fix_names": common.NameFixPass,
    }
    known = ["inline", *repeated, *last]
    if passes == LIST_PASSES:
        return list_of_passes(model, known)
    chosen = chosen_passes(passes, known)
    inner: list[Any] = []
    if "fold_constants" in chosen:
        limits = {
            "input_size_limit": _constant_folding.DEFAULT_CONSTANT_FOLD_INPUT_SIZE_LIMIT,
            "output_size_limit": _constant_folding.DEFAULT_CONSTANT_FOLD_OUTPUT_SIZE_LIMIT,
        }
        inner.append(_constant_folding.FoldConstantsPass(shape_inference=True, should_fold=lambda _: None, **limits))
    if used := [rules[name] for name in chosen if name in rules]:
        inner.append(rewriter.RewritePass(used))
    inner += [make() for name, make in repeated.items() if name in chosen and name not in rules and make is not None]
    every: list[Any] = [common.InlinePass()] if "inline" in chosen else []
    if inner:
        every.append(onnx_ir.passes.PassManager(inner, steps=2, early_stop=True))
    every += [make() for name, make in last.items() if name in chosen]
    read = onnx_ir.serde.deserialize_model(model)
    if every:
        onnx_ir.passes.Sequential(*every)(read)
    written: onnx.ModelProto = onnx_ir.serde.serialize_model(read)
    return written
