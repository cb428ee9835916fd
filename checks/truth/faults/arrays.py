"""Faults of operators that move, select or reduce elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fault import Fault, array, const, node, normal, positive, scalar, whole

if TYPE_CHECKING:
    from checks.truth.evaluate import Call


F4 = np.float32
INF = float("inf")
TIES = whole(0, 3, 4, 9).astype(F4)


def last_index(c: Call, function: Any) -> Any:
    """Return the last of several equal indices."""
    axis, keeps = c.attributes.get("axis", 0), c.attributes.get("keepdims", 1)
    x = c.inputs[0]
    found = x.shape[axis] - 1 - function(np.flip(x, axis), axis=axis)
    return np.expand_dims(found, axis) if keeps else found


def axes_of(c: Call) -> Any:
    """Return the axes of a reduction, which are an input or all axes."""
    axes = c.input(1)
    return tuple(range(c.inputs[0].ndim)) if axes is None else tuple(int(a) for a in axes)


def keeps(c: Call) -> Any:
    """Return whether a reduction keeps its axes."""
    return bool(c.attributes.get("keepdims", 1))


def top_k(c: Call, *, last_ties: bool = False, largest: bool = True) -> Any:
    """Return TopK with another order."""
    x, axis = c.inputs[0], c.attributes.get("axis", -1)
    count, size = int(c.inputs[1][0]), x.shape[axis]
    key = -x if largest else x
    order = (
        np.argsort(np.flip(key, axis), axis=axis, kind="stable")
        if last_ties
        else np.argsort(key, axis=axis, kind="stable")
    )
    order = np.take(size - 1 - order if last_ties else order, np.arange(count), axis)
    return [np.take_along_axis(x, order, axis), order]


def windows_of_ones(c: Call, drop: int) -> Any:
    """Return a trilinear selection whose limit is shifted."""
    x, k = c.inputs[0], int(c.inputs[1]) if c.input(1) is not None else 0
    return np.triu(x, k + drop) if c.attributes.get("upper", 1) else np.tril(x, k - drop)


def scatter_last(c: Call) -> Any:
    """Return ScatterElements with reduction=add in which only the last of equal indices counts."""
    x, i, u = c.inputs
    y = x.copy()
    axis = c.attributes.get("axis", 0)
    np.put_along_axis(y, i, np.take_along_axis(x, i, axis) + u, axis)
    return y


FAULTS = [
    Fault(
        "argmax-last-tie",
        "ArgMax",
        "The last of equal elements is chosen.",
        lambda c: last_index(c, np.argmax),
        node("ArgMax", TIES, axis=1),
    ),
    Fault(
        "argmax-select-last-ignored",
        "ArgMax",
        "select_last_index is ignored.",
        lambda c: c(select_last_index=0),
        node("ArgMax", TIES, axis=1, select_last_index=1),
    ),
    Fault(
        "argmax-negative-axis",
        "ArgMax",
        "A negative axis is axis 0.",
        lambda c: c(axis=max(c.attributes.get("axis", 0), 0)),
        node("ArgMax", normal(6, 6), axis=-1, keepdims=0),
    ),
    Fault(
        "argmax-starts-at-zero",
        "ArgMax",
        "The search begins with the value 0.",
        lambda c: c.one(np.maximum(c.inputs[0], 0)),
        node("ArgMax", normal(5, 4, shift=-1), axis=1),
    ),
    Fault(
        "argmin-last-tie",
        "ArgMin",
        "The last of equal elements is chosen.",
        lambda c: last_index(c, np.argmin),
        node("ArgMin", TIES, axis=1),
    ),
    Fault(
        "compress-axis",
        "Compress",
        "The axis is ignored.",
        lambda c: c(axis=0),
        node("Compress", normal(6, 6), array(1, 0, 1, 1, 0, 0, dtype="bool"), axis=1),
    ),
    Fault(
        "concat-order",
        "Concat",
        "The inputs are reversed.",
        lambda c: c(*c.inputs[::-1]),
        node("Concat", normal(3, 4), normal(3, 4, scale=2), axis=1),
    ),
    Fault(
        "cumsum-exclusive",
        "CumSum",
        "exclusive is ignored.",
        lambda c: c(exclusive=0),
        node("CumSum", normal(5, 8), scalar(1, "i8"), exclusive=1),
    ),
    Fault(
        "cumsum-reverse",
        "CumSum",
        "reverse is ignored.",
        lambda c: c(reverse=0),
        node("CumSum", normal(5, 8), scalar(1, "i8"), reverse=1),
    ),
    Fault(
        "cumsum-axis",
        "CumSum",
        "A negative axis is axis 0.",
        lambda c: c.one(c.inputs[0], np.maximum(c.inputs[1], 0)),
        node("CumSum", normal(5, 8), scalar(-1, "i8")),
    ),
    Fault(
        "depthtospace-mode",
        "DepthToSpace",
        "The mode CRD is ignored.",
        lambda c: c(mode="DCR"),
        node("DepthToSpace", normal(1, 8, 2, 2), blocksize=2, mode="CRD"),
    ),
    Fault(
        "spacetodepth-order",
        "SpaceToDepth",
        "The order is that of channels first.",
        lambda c: (
            lambda x, b: (
                x.reshape(x.shape[0], x.shape[1], x.shape[2] // b, b, x.shape[3] // b, b)
                .transpose(0, 1, 3, 5, 2, 4)
                .reshape(x.shape[0], -1, x.shape[2] // b, x.shape[3] // b)
            )
        )(c.inputs[0], c.attributes["blocksize"]),
        node("SpaceToDepth", normal(1, 3, 4, 4), blocksize=2),
    ),
    Fault(
        "expand-left",
        "Expand",
        "Shapes are aligned at their first axes.",
        lambda c: np.broadcast_to(c.inputs[0][:, None], c.one().shape),
        node("Expand", normal(4), const(4, 4)),
    ),
    Fault(
        "eyelike-offset",
        "EyeLike",
        "k has the other sign.",
        lambda c: c(k=-c.attributes.get("k", 0)),
        node("EyeLike", normal(4, 5), k=1),
    ),
    Fault(
        "gather-negative",
        "Gather",
        "An index -k is taken as k.",
        lambda c: c.one(c.inputs[0], np.abs(c.inputs[1]) % c.inputs[0].shape[c.attributes.get("axis", 0)]),
        node("Gather", normal(7, 6), array(-1, 2, -3, -7, dtype="i8")),
    ),
    Fault(
        "gather-clamps",
        "Gather",
        "A negative index is 0.",
        lambda c: c.one(c.inputs[0], np.maximum(c.inputs[1], 0)),
        node("Gather", normal(7, 6), array(-1, 2, -3, -6, dtype="i8")),
    ),
    Fault(
        "gatherelements-axis",
        "GatherElements",
        "The axis is ignored.",
        lambda c: c(axis=0),
        node("GatherElements", normal(4, 4), whole(0, 4, 4, 4), axis=1),
    ),
    Fault(
        "gathernd-negative",
        "GatherND",
        "A negative index is 0.",
        lambda c: c.one(c.inputs[0], np.maximum(c.inputs[1], 0)),
        node("GatherND", normal(4, 4), whole(-4, 0, 5, 2)),
    ),
    Fault(
        "gathernd-batch",
        "GatherND",
        "batch_dims is ignored.",
        lambda c: np.stack([c.inputs[0][0][tuple(i)] for i in c.inputs[1]]),
        node("GatherND", normal(3, 4, 5), whole(0, 4, 3, 1), batch_dims=1),
    ),
    Fault(
        "hardmax-all-ties",
        "Hardmax",
        "Each of equal elements is 1.",
        lambda c: c.inputs[0] == c.inputs[0].max(c.attributes.get("axis", -1), keepdims=True),
        node("Hardmax", TIES),
    ),
    Fault(
        "hardmax-axis",
        "Hardmax",
        "The last axis is always used.",
        lambda c: c(axis=-1),
        node("Hardmax", normal(5, 6), axis=0),
    ),
    Fault(
        "nonmaxsuppression-center",
        "NonMaxSuppression",
        "center_point_box is ignored.",
        lambda c: c(center_point_box=0),
        node(
            "NonMaxSuppression",
            array([[1, 1, 1, 1], [1.1, 1.1, 1, 1], [3, 3, 2, 2], [0.2, 0.2, 1, 1]]).reshape(1, 4, 4),
            positive(1, 1, 4),
            const(4),
            const(0.3, dtype="f4"),
            center_point_box=1,
        ),
    ),
    Fault(
        "nonzero-order",
        "NonZero",
        "The indices are in the order of columns.",
        lambda c: np.stack(np.nonzero(c.inputs[0].T)[::-1]),
        node("NonZero", whole(0, 2, 4, 5).astype(F4)),
    ),
    Fault(
        "onehot-negative",
        "OneHot",
        "A negative index selects nothing.",
        lambda c: c.one(np.where(c.inputs[0] < 0, 10**6, c.inputs[0]), *c.inputs[1:]),
        node("OneHot", whole(-5, 5, 6), const(5), const(0.0, 1.0, dtype="f4")),
    ),
    Fault(
        "onehot-values-swapped",
        "OneHot",
        "The values are in the order on, off.",
        lambda c: c.one(*c.inputs[:2], c.inputs[2][::-1]),
        node("OneHot", whole(0, 5, 6), const(5), const(0.25, 1.0, dtype="f4")),
    ),
    Fault(
        "pad-reflect-repeats",
        "Pad",
        "reflect repeats the border.",
        lambda c: np.pad(
            c.inputs[0],
            (lambda p: list(zip(p[: len(p) // 2], p[len(p) // 2 :], strict=True)))(c.inputs[1].tolist()),
            mode="symmetric",
        ),
        node("Pad", normal(4, 5), const(1, 2, 2, 1), mode="reflect"),
    ),
    Fault(
        "pad-value-ignored",
        "Pad",
        "The value is 0.",
        lambda c: c.one(*c.inputs[:2]),
        node("Pad", normal(4, 5), const(1, 0, 0, 2), scalar(-1.5)),
    ),
    Fault(
        "pad-order",
        "Pad",
        "The pads of begin and end are swapped.",
        lambda c: c.one(c.inputs[0], np.flip(c.inputs[1].reshape(2, -1), 0).reshape(-1), *c.inputs[2:]),
        node("Pad", normal(4, 5), const(2, 1, 1, 2), scalar(0.0)),
    ),
    Fault(
        "reducel1-signs",
        "ReduceL1",
        "The sum has no absolute values.",
        lambda c: np.abs(c.inputs[0].sum(axes_of(c), keepdims=keeps(c))),
        node("ReduceL1", normal(5, 8), const(1)),
    ),
    Fault(
        "reducel2-no-root",
        "ReduceL2",
        "The root is missing.",
        lambda c: c(operator="ReduceSumSquare"),
        node("ReduceL2", normal(5, 8), const(1)),
    ),
    Fault(
        "reducelogsum-base",
        "ReduceLogSum",
        "The logarithm has base 2.",
        lambda c: c.one() / np.log(F4(2)),
        node("ReduceLogSum", positive(5, 8), const(1)),
    ),
    Fault(
        "reducelogsumexp-overflow",
        "ReduceLogSumExp",
        "The maximum is not subtracted.",
        lambda c: np.log(np.exp(c.inputs[0]).sum(axes_of(c), keepdims=keeps(c))),
        node("ReduceLogSumExp", normal(5, 8, scale=20, shift=90), const(1)),
    ),
    Fault(
        "reducemax-starts-at-zero",
        "ReduceMax",
        "The maximum begins with 0.",
        lambda c: np.maximum(c.one(), 0),
        node("ReduceMax", normal(5, 8, shift=-4), const(1)),
    ),
    Fault(
        "reducemin-starts-at-zero",
        "ReduceMin",
        "The minimum begins with 0.",
        lambda c: np.minimum(c.one(), 0),
        node("ReduceMin", positive(5, 8), const(1)),
    ),
    Fault(
        "reducemean-unbiased",
        "ReduceMean",
        "The sum is divided by n - 1.",
        lambda c: (lambda n: c.one() * F4(n / (n - 1)))(np.prod([c.inputs[0].shape[a] for a in axes_of(c)])),
        node("ReduceMean", normal(5, 8), const(1)),
    ),
    Fault(
        "reducemean-mean-of-first-axis",
        "ReduceMean",
        "Only the first axis is divided.",
        lambda c: (lambda n: c.one() * F4(n))(np.prod([c.inputs[0].shape[a] for a in axes_of(c)[1:]])),
        node("ReduceMean", normal(3, 4, 5), const(1, 2)),
    ),
    Fault(
        "reduceprod-drops-last",
        "ReduceProd",
        "The last factor is lost.",
        lambda c: np.prod(
            np.take(c.inputs[0], np.arange(c.inputs[0].shape[axes_of(c)[0]] - 1), axes_of(c)[0]),
            axes_of(c),
            keepdims=keeps(c),
        ),
        node("ReduceProd", normal(5, 4), const(1)),
    ),
    Fault(
        "reducesum-tail",
        "ReduceSum",
        "The tail that does not fill a vector of four is lost.",
        lambda c: (
            lambda a: np.take(c.inputs[0], np.arange(c.inputs[0].shape[a] // 4 * 4), a).sum(
                axes_of(c), keepdims=keeps(c)
            )
        )(axes_of(c)[-1]),
        node("ReduceSum", normal(5, 11), const(1)),
    ),
    Fault(
        "reducesum-half-accumulator",
        "ReduceSum",
        "The sum is accumulated in float16.",
        lambda c: c.inputs[0].astype(np.float16).cumsum(axes_of(c)[0], dtype=np.float16).take([-1], axes_of(c)[0]),
        node("ReduceSum", positive(3, 300, dtype="f2"), const(1)),
    ),
    Fault(
        "reducesumsquare-square-of-sum",
        "ReduceSumSquare",
        "The sum is squared.",
        lambda c: c.inputs[0].sum(axes_of(c), keepdims=keeps(c)) ** 2,
        node("ReduceSumSquare", normal(5, 8), const(1)),
    ),
    Fault(
        "reshape-zero-copies",
        "Reshape",
        "The elements are in the order of columns.",
        lambda c: np.reshape(c.inputs[0], c.one().shape, order="F"),
        node("Reshape", normal(4, 6), const(3, -1)),
    ),
    Fault(
        "reversesequence-lengths",
        "ReverseSequence",
        "The lengths are ignored.",
        lambda c: np.flip(c.inputs[0], c.attributes.get("time_axis", 0)),
        node("ReverseSequence", normal(5, 3), array(2, 5, 3, dtype="i8"), time_axis=0, batch_axis=1),
    ),
    Fault(
        "scatterelements-add-last",
        "ScatterElements",
        "Only the last of equal indices is added.",
        scatter_last,
        node("ScatterElements", normal(4, 4), whole(0, 3, 4, 4), normal(4, 4, scale=2), axis=1, reduction="add"),
    ),
    Fault(
        "scatterelements-reduction",
        "ScatterElements",
        "The reduction mul is ignored.",
        lambda c: c(reduction="none"),
        node(
            "ScatterElements",
            normal(4, 4),
            array([0, 1, 2, 3], [1, 2, 3, 0], dtype="i8"),
            normal(2, 4),
            reduction="mul",
        ),
    ),
    Fault(
        "scatternd-negative",
        "ScatterND",
        "A negative index is 0.",
        lambda c: c.one(c.inputs[0], np.maximum(c.inputs[1], 0), c.inputs[2]),
        node("ScatterND", normal(5, 4), array([-1], [1], [-3], dtype="i8"), normal(3, 4)),
    ),
    Fault(
        "slice-negative-step",
        "Slice",
        "A negative step begins one element too early.",
        lambda c: (
            np.roll(c.one(), 1, int(c.inputs[3][0])) if c.input(4) is not None and (c.inputs[4] < 0).any() else c()
        ),
        node("Slice", normal(8, 5), const(7), const(0), const(0), const(-2)),
    ),
    Fault(
        "slice-axes-ignored",
        "Slice",
        "The axes are the first axes.",
        lambda c: c.one(*c.inputs[:3], np.arange(len(c.inputs[3])), *c.inputs[4:]),
        node("Slice", normal(6, 6), const(1), const(4), const(1)),
    ),
    Fault(
        "slice-step-ignored",
        "Slice",
        "The step only shortens the output.",
        lambda c: (
            lambda y: np.take(c.one(*c.inputs[:4]), np.arange(y.shape[int(c.inputs[3][0])]), int(c.inputs[3][0]))
        )(c.one()),
        node("Slice", normal(8, 5), const(0), const(8), const(0), const(2)),
    ),
    Fault(
        "split-equal-parts",
        "Split",
        "Each part begins at a multiple of the first size.",
        lambda c: [
            np.take(
                c.inputs[0],
                (np.arange(y.shape[c.attributes.get("axis", 0)]) + i * int(c.inputs[1][0]))
                % c.inputs[0].shape[c.attributes.get("axis", 0)],
                c.attributes.get("axis", 0),
            )
            for i, y in enumerate(c())
        ],
        node("Split", normal(7, 3), const(2, 4, 1), outputs=3),
    ),
    Fault(
        "tile-repeats-elements",
        "Tile",
        "Each element is repeated.",
        lambda c: (lambda x: [x := np.repeat(x, int(n), a) for a, n in enumerate(c.inputs[1])][-1])(c.inputs[0]),
        node("Tile", normal(3, 4), const(2, 2)),
    ),
    Fault(
        "topk-ties-last",
        "TopK",
        "The larger index comes first among equal elements.",
        lambda c: top_k(c, last_ties=True),
        node("TopK", TIES, const(4), outputs=2, axis=1),
    ),
    Fault(
        "topk-largest-ignored",
        "TopK",
        "largest is ignored.",
        lambda c: c(largest=1),
        node("TopK", normal(4, 9), const(4), outputs=2, largest=0),
    ),
    Fault(
        "topk-axis",
        "TopK",
        "The last axis is always used.",
        lambda c: c(axis=-1),
        node("TopK", normal(6, 6), const(6), outputs=2, axis=0),
    ),
    Fault(
        "transpose-inverse",
        "Transpose",
        "The inverse permutation is used.",
        lambda c: c(perm=np.argsort(c.attributes["perm"]).tolist()),
        node("Transpose", normal(3, 3, 3), perm=[1, 2, 0]),
    ),
    Fault(
        "trilu-diagonal",
        "Trilu",
        "The diagonal is left out.",
        lambda c: windows_of_ones(c, 1),
        node("Trilu", normal(5, 5)),
    ),
    Fault(
        "trilu-k-sign",
        "Trilu",
        "k has the other sign.",
        lambda c: c.one(c.inputs[0], -c.inputs[1]),
        node("Trilu", normal(5, 5), scalar(1, "i8"), upper=0),
    ),
    Fault(
        "unique-sorted-ignored",
        "Unique",
        "The elements are always sorted.",
        lambda c: c(sorted=1),
        node("Unique", array(3, 1, 3, 2, 1), outputs=1, sorted=0),
    ),
    Fault(
        "centercroppad-odd",
        "CenterCropPad",
        "An odd rest is cut at the beginning.",
        lambda c: np.flip(c.one(np.flip(c.inputs[0]), c.inputs[1])),
        node("CenterCropPad", normal(7, 6), const(4, 3)),
    ),
    Fault(
        "windows-hann-periodic",
        "HannWindow",
        "periodic is ignored.",
        lambda c: c(periodic=1),
        node("HannWindow", scalar(9, "i8"), periodic=0),
    ),
    Fault(
        "windows-hamming-constants",
        "HammingWindow",
        "The constants are 0.54 and 0.46.",
        lambda c: F4(0.54) - F4(0.46) * np.cos(2 * np.pi * np.arange(int(c.inputs[0])) / int(c.inputs[0])),
        node("HammingWindow", scalar(9, "i8")),
    ),
    Fault(
        "windows-blackman-periodic",
        "BlackmanWindow",
        "periodic is ignored.",
        lambda c: c(periodic=0),
        node("BlackmanWindow", scalar(9, "i8"), periodic=1),
    ),
    Fault(
        "shape-of-transposed",
        "Shape",
        "The axes are in reverse order.",
        lambda c: c.one()[::-1],
        node("Shape", normal(3, 4, 5)),
    ),
    Fault(
        "det-sign",
        "Det",
        "The sign of odd permutations is lost.",
        lambda c: np.abs(c.one()),
        node("Det", normal(4, 3, 3)),
    ),
]
