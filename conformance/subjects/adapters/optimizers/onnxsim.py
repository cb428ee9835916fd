"""onnxsim: constant folding, and the default passes of a copy of ONNX's optimizer."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import onnxsim

from . import LIST_PASSES, chosen_passes, declare_adapter, list_of_passes

if TYPE_CHECKING:
    import onnx


OWN_STEPS = ("shape_inference", "constant_folding")
"""Steps of onnxsim besides the passes of ONNX's optimizer."""


@declare_adapter(onnxsim.__version__.removeprefix("v"))
def optimize(model: onnx.ModelProto, *, passes: str = "", extra: str = "") -> onnx.ModelProto:
    """Return the simplified model.

    Args:
        model: the model.
        passes: the passes and the steps of `OWN_STEPS` to run, with `+` between them; `none`, or `list`.
        extra: the passes to run that are not among the default ones, with `+` between them.

    Raises:
        ValueError: onnxsim's own check of the simplified model fails.
    """
    arguments: dict[str, Any] = {}
    if passes:
        known = [*OWN_STEPS, *_pass_names()]
        if passes == LIST_PASSES:
            return list_of_passes(model, known)
        chosen = chosen_passes(passes, known)
        left_out = [name for name in known if name not in chosen]
        arguments = {f"skip_{name}": name in left_out for name in OWN_STEPS}
        arguments["skipped_optimizers"] = [name for name in left_out if name not in OWN_STEPS]
        arguments["perform_optimization"] = bool(set(chosen) - {*OWN_STEPS})
    if extra:
        arguments |= {"extra_optimizers": extra.split("+"), "perform_optimization": True}
    simplified: onnx.ModelProto
    simplified, valid = onnxsim.simplify(model, **arguments)
    if not valid:
        raise ValueError("onnxsim's own check fails on the simplified model")
    return simplified


@cache
def _pass_names() -> list[str]:
    """Return the names of the passes in the copy of ONNX's optimizer; older releases do not list them.

    onnxsim registers some passes, such as `eliminate_loop_with_const_trip_count`, in its first run only.
    """
    from onnx.parser import parse_model
    from onnxsim import onnxsim_cpp2py_export

    listed = getattr(onnxsim_cpp2py_export, "_list_optimizers", None)
    if listed is None:
        return []
    onnxsim.simplify(
        parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[1] X) => (float[1] Y) { Y = Neg(X) }')
    )
    return [str(name) for name in listed()]
