"""Results of drawn nodes by arithmetic of another kind, and sentences of pages that only a few nodes need."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import onnx
import pytest
from one_node_models import enclose_operator, f32

from checks.truth.exact import FORMULAS, evaluate_exactly
from checks.truth.exact_node import NoFormula, rounded
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.declarations.drawing import DrawnNode, InvalidNodeError, draw_node, element_count
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import admissible_mask
from conformance.exact.reference.oracle import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def judged_nodes(operator: str) -> Iterator[tuple[DrawnNode, list[Any]]]:
    """Yield small nodes of an operator with their enclosures."""
    for seed in range(60):
        with suppress(InvalidNodeError, Unsupported), np.errstate(all="ignore"):
            node = draw_node(operator, str(seed))
            if element_count(node) <= 100:
                yield node, enclose(NodeScope.of(node.model), node.proto, node.operands)


def nearest(exact: Any, dtype: np.dtype[Any]) -> Any:
    """Return the element of a type that is nearest to an exact number, or a string; a number that is open is 0."""
    if isinstance(exact, str):
        return exact
    if exact is None or dtype.kind in "biu":
        return int(exact or 0)
    return float(rounded(mpmath.nan if isinstance(exact, mpmath.mpc) else mpmath.mpf(exact), dtype))


@pytest.mark.parametrize("operator", sorted({*FORMULAS} & {*declarations()}))
def test_drawn_node_admits_the_exact_values_of_the_page(operator: str) -> None:
    for node, tensors in judged_nodes(operator):
        try:
            outputs = evaluate_exactly(node.model, node.operands)
        except (NoFormula, *EVALUATION_ERRORS):
            continue
        for exact, tensor in zip(outputs, tensors, strict=False):
            elements = np.asarray(exact, object).reshape(-1)
            array = np.array([nearest(each, tensor.dtype) for each in elements]).astype(tensor.dtype)
            is_open = np.array([each is None for each in elements], bool)
            assert (admissible_mask(array.reshape(tensor.shape), tensor).reshape(-1) | is_open).all()
        return
    pytest.fail("no node has an exact value")


def center(X: Any, shape: Any, axes: Any = None) -> Any:
    for axis, size in zip(range(X.ndim) if axes is None else axes, shape.tolist(), strict=True):
        rows, surplus = np.moveaxis(X, axis, 0), X.shape[axis] - size
        start = surplus // 2 if surplus > 0 else -(-surplus // 2)
        zero = np.zeros_like(rows, shape=rows.shape[1:])
        moved = [rows[start + k] if 0 <= start + k < len(rows) else zero for k in range(size)]
        X = np.moveaxis(np.stack(moved), 0, axis)
    return X


def convolve(X: Any, W: Any, x_zero: Any = 0, w_zero: Any = 0, **attributes: Any) -> Any:
    feeds = {"X": X.astype(float) - x_zero, "W": W.astype(float) - np.reshape(w_zero, (-1, *[1] * (W.ndim - 1)))}
    values = [onnx.helper.make_tensor_value_info(name, 11, array.shape) for name, array in feeds.items()]
    node = onnx.helper.make_node("Conv", [*feeds], ["Y"], **attributes)
    graph = onnx.helper.make_graph([node], "g", values, [onnx.helper.make_tensor_value_info("Y", 11, None)])
    return evaluate_exactly(onnx.helper.make_model(graph), feeds)[0].astype(int)


def scatter(X: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    Y = X.copy()
    for place in np.ndindex(indices.shape):
        target = [*place]
        target[axis] = indices[place]
        Y[tuple(target)] = updates[place]
    return Y


def blocks(X: Any, blocksize: int, mode: str = "DCR", *, to_depth: bool = False) -> Any:
    n, c, h, w = X.shape
    b = blocksize
    Y = np.zeros((n, c * b * b, h // b, w // b) if to_depth else (n, c // (b * b), h * b, w * b), X.dtype)
    wide, deep = (X, Y) if to_depth else (Y, X)
    for channel, y, x in np.ndindex(wide.shape[1:]):
        place = y % b * b + x % b
        depth = place * wide.shape[1] + channel if mode == "DCR" else channel * b * b + place
        if to_depth:
            deep[:, depth, y // b, x // b] = wide[:, channel, y, x]
        else:
            wide[:, channel, y, x] = deep[:, depth, y // b, x // b]
    return Y


def write(cache: Any, update: Any, starts: Any = None, mode: str = "linear", axis: int = -2) -> Any:
    present, size = cache.copy(), cache.shape[axis]
    for *before, token in np.ndindex(update.shape[: axis % cache.ndim + 1]):
        place = token + (0 if starts is None else starts[before[0]])
        present[(*before, place % size if mode == "circular" else place)] = update[(*before, token)]
    return present


NUMPY: Mapping[str, Callable[..., Any]] = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseNot": np.invert,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "CenterCropPad": center,
    "ConstantOfShape": lambda shape, value=(0,): np.full(shape, value[0]),
    "ConvInteger": convolve,
    "DepthToSpace": blocks,
    "IsInf": lambda X, detect_negative=1, detect_positive=1: np.isin(
        X.astype(float), [np.inf] * detect_positive + [-np.inf] * detect_negative
    ),
    "IsNaN": np.isnan,
    "NonZero": lambda X: np.argwhere(X).T,
    "Scatter": scatter,
    "Size": np.size,
    "SpaceToDepth": partial(blocks, to_depth=True),
    "TensorScatter": write,
}


@pytest.mark.parametrize("operator", NUMPY)
def test_drawn_node_admits_the_result_of_numpy_alone(operator: str) -> None:
    for node, (tensor, *_) in islice(judged_nodes(operator), 6):
        given = ((each.name, onnx.helper.get_attribute_value(each)) for each in node.proto.attribute)
        attributes = {
            name: onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
            for name, value in given
        }
        attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        wanted = np.asarray(NUMPY[operator](*(node.operands.get(name) for name in node.proto.input), **attributes))
        assert admissible_mask(wanted.astype(tensor.dtype), tensor).all()
        if wanted.size and wanted.dtype.kind in "biu" and getattr(tensor, "unspecified", None) is None:
            assert not admissible_mask((1 - wanted).astype(tensor.dtype), tensor).all()


def standardize(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


RANDOM = np.random.default_rng(2).standard_normal((2, 4, 3, 5))
SCALE = np.linspace(0.5, 2, 4)
IN_DOUBLE: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "GroupNormalization": (
        [SCALE, SCALE],
        {"num_groups": 2},
        standardize(RANDOM.reshape(2, 2, 2, 3, 5), (2, 3, 4), 1e-5).reshape(2, 4, 3, 5) * SCALE[:, None, None]
        + SCALE[:, None, None],
    ),
    "MeanVarianceNormalization": ([], {"axes": [0, 2, 3]}, standardize(RANDOM, (0, 2, 3), 0)),
    "SimplifiedLayerNormalization": (
        [SCALE[:1].repeat(5)],
        {"epsilon": 0.5},
        RANDOM / np.sqrt((RANDOM**2).mean(-1, keepdims=True) + 0.5) * SCALE[0],
    ),
    "Swish": ([], {"alpha": 0.5}, RANDOM / (1 + np.exp(-0.5 * RANDOM))),
}


@pytest.mark.parametrize("operator", IN_DOUBLE)
def test_formula_in_double_is_admissible_and_a_changed_result_is_not(operator: str) -> None:
    inputs, attributes, wanted = IN_DOUBLE[operator]
    arrays = (array.astype(np.float32) for array in (RANDOM, *inputs))
    tensor = enclose_operator(operator, *arrays, opset=24, **attributes)[0]
    assert admissible_mask(wanted.astype(np.float32), tensor).all()
    assert not admissible_mask((wanted * 1.001).astype(np.float32), tensor).any()


# Sentences of pages


def scalar(value: Any) -> Any:
    return np.array(value)


NO_RESULT: list[tuple[str, int, list[Any], dict[str, Any]]] = [
    ("CenterCropPad", 18, [f32(1, 2), scalar([2, 3])], {"axes": [0, 0]}),
    ("Pad", 19, [f32(1), scalar([1, 1, 0, 0]), f32(0), scalar([0, 0])], {}),
    ("Resize", 19, [f32(1, 2), None, f32(2, 2)], {"axes": [0, 0]}),
    ("Resize", 19, [f32(1, 2), None, f32(2), scalar([3])], {}),
    ("Slice", 13, [f32(1, 2), *map(scalar, ([0, 0], [1, 1], [0, 0]))], {}),
    ("TensorScatter", 24, [f32([1, 2]), f32([3])], {}),
    ("GatherElements", 13, [f32(1, 2), scalar([-3])], {}),
    ("RoiAlign", 16, [np.ones((1, 1, 2, 2), np.float32), f32([0, 0, 1, 1]), scalar([0])], {"sampling_ratio": -1}),
    ("DFT", 20, [np.ones((1, 2, 2), np.float32), None, scalar(-1)], {}),
    ("DFT", 20, [np.ones((1, 2, 1), np.float32)], {"inverse": 1, "onesided": 1}),
    ("STFT", 17, [np.ones((1, 4, 2), np.float32), scalar(2), None, scalar(2)], {}),
    ("STFT", 17, [np.ones((1, 4, 1), np.float32), scalar(2), f32(1), scalar(2)], {}),
    ("NonMaxSuppression", 11, [np.ones((1, 1, 4), np.float32), f32([[1]]), scalar([-1])], {}),
    ("NonMaxSuppression", 11, [np.ones((1, 1, 4), np.float32), f32([[1]]), scalar([1]), f32(2)], {}),
    ("AffineGrid", 20, [np.ones((1, 2, 3), np.float32), scalar([2, 1, 2, 2])], {}),
    ("LpNormalization", 22, [f32(1, 2)], {"p": 3}),
    ("StringNormalizer", 10, [np.array([["a"], ["b"]], object)], {}),
    ("StringSplit", 20, [np.array(["a", ""], object)], {"delimiter": ","}),
    ("StringSplit", 20, [np.array(["a b "], object)], {"maxsplit": 1}),
    ("Trilu", 14, [np.array([["a", "b"], ["c", "d"]], object)], {}),
]


@pytest.mark.parametrize(("operator", "opset", "inputs", "attributes"), NO_RESULT)
def test_node_for_which_the_page_states_no_result_is_not_judged(
    operator: str, opset: int, inputs: list[Any], attributes: dict[str, Any]
) -> None:
    with pytest.raises(Unsupported):
        enclose_operator(operator, *inputs, opset=opset, **attributes)


def test_bins_of_roi_align_without_samples_are_open() -> None:
    (Y,) = enclose_operator("RoiAlign", np.ones((1, 1, 2, 2), np.float32), f32([1, 1, 1, 1]), scalar([0]), opset=16)
    assert Y.unspecified.all()


INTEGERS = np.array([[1, 2, 3], [0, -1, 7]], np.int32)
CASES: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    ("NonZero", 13, [scalar(3)], {}, np.zeros((0, 1), np.int64)),
    ("OneHot", 11, [f32(1.5, -0.5, -1.5), scalar(3), f32(0, 1)], {}, f32([0, 1, 0], [1, 0, 0], [0, 0, 1])),
    ("OneHot", 11, [scalar([1]), scalar(2), np.array(["a", "b"], object)], {}, np.array([["a", "b"]], object)),
    ("Pad", 19, [np.array(["a"], object), scalar([1, 0])], {}, np.array(["", "a"], object)),
    ("ReduceLogSumExp", 18, [INTEGERS, scalar([1])], {}, np.int32([[3], [7]])),
    ("ReduceLogSum", 18, [INTEGERS, scalar([1])], {}, np.int32([[1], [2]])),  # of 1.79 both integers are admissible
    *(
        (name, 18, [f32(-2, 3)], {"noop_with_empty_axes": 1}, f32(*wanted))
        for name, wanted in (("ReduceL1", (2, 3)), ("ReduceSumSquare", (4, 9)), ("ReduceLogSumExp", (-2, 3)))
    ),
    ("Erf", 9, [np.int8([0, 1, -1])], {}, np.int8([0, 1, -1])),
    ("Resize", 19, [np.uint8([0, 10]), None, f32(2)], {"mode": "linear"}, np.uint8([0, 2, 8, 10])),
    ("GridSample", 22, [np.int8([[[[1, 4]]]]), np.float32([[[[0.5, 0]]]])], {"align_corners": 1}, np.int8([[[[3]]]])),
]


@pytest.mark.parametrize(("operator", "opset", "inputs", "attributes", "wanted"), CASES)
def test_result_that_the_page_states_for_other_types_and_shapes_is_admissible(
    operator: str, opset: int, inputs: list[Any], attributes: dict[str, Any], wanted: Any
) -> None:
    (Y,) = enclose_operator(operator, *inputs, opset=opset, **attributes)
    assert (Y.dtype, Y.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype == object:
        assert Y.tolist() == wanted.tolist()
    elif wanted.size:
        assert admissible_mask(wanted, Y).all()
        assert not admissible_mask(wanted + wanted.dtype.type(3), Y).any()


def test_cast_of_strings_reads_numbers_and_leaves_other_strings_open() -> None:
    texts = np.array(["3", "-1e-5", "+INF", "-inf", "NaN", "x", "3.5"], object)
    (Y,) = enclose_operator("Cast", texts, opset=19, to=onnx.TensorProto.FLOAT)
    assert admissible_mask(f32(3, -1e-5, np.inf, -np.inf, np.nan, 8, 3.5), Y).all()
    assert admissible_mask(f32(4, -2e-5, 0, 0, 0, 8, 3.6), Y).tolist() == [False] * 5 + [True, False]
    (Z,) = enclose_operator("Cast", texts, opset=19, to=onnx.TensorProto.INT64)
    assert Z.unspecified.tolist() == [False] + [True] * 6
    assert Z.value[0] == 3
