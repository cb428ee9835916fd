"""PyTorch as a correct variant of nodes: its own kernels, by operator. `sweep.py` uses it if PyTorch is installed.

    uv pip install torch

Each function computes the outputs of a node in the types of its operands, and returns None for a form it lacks.
The functions run on a GPU with CUDA if there is one, without TensorFloat-32, which rounds operands to 10 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import type_name

try:
    import torch
except ModuleNotFoundError:
    torch = None

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.declarations.drawing import DrawnNode

    Function = Callable[[Sequence[Any], Mapping[str, Any]], Any]

NOT_INSTALLED = "PyTorch is not installed: the variant of PyTorch is left out (uv pip install torch)"

is_installed = torch is not None
DEVICE = "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
if torch is not None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def run_torch(node: DrawnNode, attributes: Mapping[str, Any]) -> list[Any] | None:
    """Return the outputs of a node by PyTorch; None if it has no function for it, or refuses the operands."""
    function = FUNCTIONS.get(node.operator)
    is_flattened = node.operator in {"Softmax", "LogSoftmax"} and node.model.opset_import[0].version < 13
    if torch is None or function is None or is_flattened:
        return None
    try:
        with torch.no_grad():
            results = function([_tensor(array) for array in node.operands.values()], attributes)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        if "CUDA error" in str(error):  # the process cannot use the GPU again
            raise
        return None
    if results is None:
        return None
    return [_array(each) for each in (results if isinstance(results, tuple) else (results,))]


def _tensor(array: Any) -> Any:
    if type_name(array.dtype) == "bfloat16":
        return torch.from_numpy(np.array(array.view(np.int16))).view(torch.bfloat16).to(DEVICE)
    return torch.from_numpy(np.array(array)).to(DEVICE)


def _array(tensor: Any) -> Any:
    tensor = tensor.contiguous().cpu()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _spatial(given: Mapping[str, Any], rank: int) -> dict[str, Any] | None:
    """Return the strides, pads and dilations of a convolution; None for pads that differ at the two ends."""
    pads = list(given.get("pads", [0] * 2 * rank))
    if given.get("auto_pad", "NOTSET") != "NOTSET" or pads[:rank] != pads[rank:]:
        return None
    return {
        "stride": list(given.get("strides", [1] * rank)),
        "padding": pads[:rank],
        "dilation": list(given.get("dilations", [1] * rank)),
    }


def _conv(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    X, W, *bias = operands
    rank = X.ndim - 2
    options = _spatial(given, rank)
    if options is None or not 1 <= rank <= 3:
        return None
    functions = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)
    return functions[rank - 1](X, W, bias[0] if bias else None, groups=given.get("group", 1), **options)


def _pool(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    (X,) = operands
    rank = X.ndim - 2
    options = _spatial(given, rank)
    if options is None or not 1 <= rank <= 3 or given.get("ceil_mode", 0) or {*options["dilation"]} != {1}:
        return None
    functions = (torch.nn.functional.avg_pool1d, torch.nn.functional.avg_pool2d, torch.nn.functional.avg_pool3d)
    counts = bool(given.get("count_include_pad", 0))
    size = list(given["kernel_shape"])
    return functions[rank - 1](X, size, options["stride"], options["padding"], count_include_pad=counts)


def _layer_normalization(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    X, scale, *bias = operands
    axis = given.get("axis", -1) % X.ndim
    shape = X.shape[axis:]
    if tuple(scale.shape) != tuple(shape) or (bias and tuple(bias[0].shape) != tuple(shape)):
        return None
    return torch.nn.functional.layer_norm(X, shape, scale, bias[0] if bias else None, _epsilon(given))


def _batch_normalization(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    X, scale, bias, mean, variance = operands
    if given.get("training_mode", 0) or not given.get("spatial", 1):
        return None
    return torch.nn.functional.batch_norm(X, mean, variance, scale, bias, eps=_epsilon(given))


def _instance_normalization(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    X, scale, bias = operands
    return torch.nn.functional.instance_norm(X, weight=scale, bias=bias, eps=_epsilon(given))


def _epsilon(given: Mapping[str, Any]) -> float:
    return float(given.get("epsilon", np.float32(1e-5)))


def _gemm(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
    A, B, *C = operands
    A, B = (X.T if given.get(name, 0) else X for X, name in ((A, "transA"), (B, "transB")))
    alpha, beta = given.get("alpha", 1.0), given.get("beta", 1.0)
    if not A.is_floating_point():
        return None
    return torch.addmm(C[0], A, B, beta=beta, alpha=alpha) if C else alpha * torch.mm(A, B)


def _reduced(function: Callable[..., Any]) -> Function:
    """Return a reduction of floats, from a function of a tensor, its axes and `keepdim`."""

    def reduce(operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        X, *axes = operands
        chosen = axes[0].tolist() if axes else given.get("axes")
        if not X.is_floating_point() or (not chosen and given.get("noop_with_empty_axes", 0)):
            return None
        dims = tuple(range(X.ndim)) if not chosen else tuple(int(axis) for axis in chosen)
        return function(X, dims, bool(given.get("keepdims", 1)))

    return reduce


def _softmax(function: Any) -> Function:
    return lambda operands, given: function(operands[0], dim=given.get("axis", -1))


def _unary(function: Callable[[Any], Any]) -> Function:
    return lambda operands, _: function(operands[0]) if operands[0].is_floating_point() else None


def _binary(function: Callable[[Any, Any], Any]) -> Function:

    def compute(operands: Sequence[Any], _: Mapping[str, Any]) -> Any:
        if len(operands) != 2 or operands[0].dtype != operands[1].dtype or not operands[0].is_floating_point():
            return None
        return function(*operands)

    return compute


FUNCTIONS: Mapping[str, Function] = (
    {}
    if torch is None
    else {
        **{
            name: _unary(getattr(torch, name.lower()))
            for name in (
                "Abs",
                "Ceil",
                "Cos",
                "Cosh",
                "Erf",
                "Exp",
                "Floor",
                "Log",
                "Neg",
                "Reciprocal",
                "Round",
                "Sigmoid",
                "Sin",
                "Sinh",
                "Sqrt",
                "Tan",
                "Tanh",
                "Acos",
                "Acosh",
                "Asin",
                "Asinh",
                "Atan",
                "Atanh",
            )
        },
        "Softsign": _unary(torch.nn.functional.softsign),
        "Mish": _unary(torch.nn.functional.mish),
        "HardSwish": _unary(torch.nn.functional.hardswish),
        "Gelu": lambda operands, given: torch.nn.functional.gelu(
            operands[0], approximate=given.get("approximate", "none")
        ),
        "Elu": lambda operands, given: torch.nn.functional.elu(operands[0], alpha=given.get("alpha", 1.0)),
        "Celu": lambda operands, given: torch.nn.functional.celu(operands[0], alpha=given.get("alpha", 1.0)),
        "LeakyRelu": lambda operands, given: torch.nn.functional.leaky_relu(
            operands[0], given.get("alpha", float(np.float32(0.01)))
        ),
        "Add": _binary(torch.add),
        "Sub": _binary(torch.sub),
        "Mul": _binary(torch.mul),
        "Div": _binary(torch.div),
        "Pow": _binary(torch.pow),
        "MatMul": _binary(torch.matmul),
        "Gemm": _gemm,
        "Conv": _conv,
        "AveragePool": _pool,
        "GlobalAveragePool": _unary(lambda X: X.mean(dim=tuple(range(2, X.ndim)), keepdim=True)),
        "ReduceSum": _reduced(lambda X, dims, keeps: X.sum(dim=dims, keepdim=keeps)),
        "ReduceMean": _reduced(lambda X, dims, keeps: X.mean(dim=dims, keepdim=keeps)),
        "ReduceL1": _reduced(lambda X, dims, keeps: torch.linalg.vector_norm(X, 1, dims, keeps)),
        "ReduceL2": _reduced(lambda X, dims, keeps: torch.linalg.vector_norm(X, 2, dims, keeps)),
        "ReduceLogSumExp": _reduced(torch.logsumexp),
        "Softmax": _softmax(torch.softmax),
        "LogSoftmax": _softmax(torch.log_softmax),
        "LayerNormalization": _layer_normalization,
        "BatchNormalization": _batch_normalization,
        "InstanceNormalization": _instance_normalization,
        "CumSum": lambda operands, given: (
            torch.cumsum(operands[0], int(operands[1]))
            if operands[0].is_floating_point() and not given.get("exclusive", 0) and not given.get("reverse", 0)
            else None
        ),
    }
)
"""The function of PyTorch for each operator, of the operands and the attributes of a node."""
