"""Enclosures of DFT, STFT, MelWeightMatrix and Det.

A transform has sums of products with roots of unity. A fast algorithm has fewer roundings than the sums of the page, so
the bound of the sums contains it. A root of unity that a kernel computes has an error of a few units of roundoff of 1.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, format_of, is_computed
from conformance.exact.reference.formulas.elementwise import tensor
from conformance.exact.reference.formulas.linear import integers
from conformance.exact.reference.numbers import elementary, portable
from conformance.exact.reference.numbers.enclosure import Enclosure, is_strict, known_elements
from conformance.exact.reference.tolerances import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

MAX_TRANSFORM_LENGTH = 4096
"""Maximum length of a transform, whose roots of unity are one matrix."""


def _roots(length: int, rows: int, columns: int, sign: int) -> tuple[Array, Array]:
    """Return the real and imaginary parts of Exp(sign 2 pi j k n / length) for k < rows and n < columns."""
    angles = np.outer(np.arange(rows), np.arange(columns)) % length * (2 * np.pi / length)
    return elementary.cos(angles), sign * elementary.sin(angles)


def _transform(X: Enclosure, length: int, *, inverse: bool, onesided: bool) -> Enclosure:
    """Return the transform along the last axis but one of a tensor (…, length, 1 or 2)."""
    if length > MAX_TRANSFORM_LENGTH:
        raise Unsupported(f"a transform of more than {MAX_TRANSFORM_LENGTH} elements")
    X = X.moved(lambda x: _fitted(x, length // 2 + 1 if inverse and onesided else length))
    if inverse and onesided:
        X = X.moved(lambda x: _mirrored(x, length))
    rows = length if inverse or not onesided else length // 2 + 1
    cosines, sines = _roots(length, rows, X.shape[-2], 1 if inverse else -1)

    def apply(x: Array, c: Array, s: Array, sign: int) -> Array:
        real = portable.einsum("...n,kn->...k", x[..., 0], c)
        imaginary = portable.einsum("...n,kn->...k", x[..., 0], s)
        if x.shape[-1] == 2:
            real = real + sign * portable.einsum("...n,kn->...k", x[..., 1], s)
            imaginary = imaginary + portable.einsum("...n,kn->...k", x[..., 1], c)
        return np.stack([real, imaginary] if not (inverse and onesided) else [real], axis=-1)

    sizes = np.abs(cosines), np.abs(sines)
    value = apply(X.value, cosines, sines, -1)
    magnitudes = apply(X.magnitude, *sizes, 1)
    error = apply(X.error, *sizes, 1)
    ones = np.ones_like(cosines)
    u = float(format_of(X.dtype).unit_roundoff)
    error = error + ROUNDINGS["root of unity"] * u * apply(X.magnitude, ones, ones, 1)
    roundings = max(X.shape[-2] * X.shape[-1], ROUNDINGS["stage of a transform"] * ceil(log2(4 * length)))
    # a fast algorithm adds the terms of one frequency to those of others
    magnitudes = np.broadcast_to(magnitudes.max(axis=(-2, -1), keepdims=True, initial=0.0), value.shape)
    Y = X.from_terms(value, magnitudes, error, roundings)
    overflows = (magnitudes * 4 * length > float(format_of(X.dtype).largest)) & np.isfinite(value)
    Y = replace(Y, error=np.where(overflows, np.inf, Y.error))
    return Y / Y.constant(length) if inverse else Y


def _fitted(x: Array, length: int) -> Array:
    """Return the first elements along the last axis but one, or all with zeros after them."""
    x = x[..., :length, :]
    return np.pad(x, [*[(0, 0)] * (x.ndim - 2), (0, length - x.shape[-2]), (0, 0)])


def _mirrored(x: Array, length: int) -> Array:
    """Return all frequencies of a real signal, given the first half: the others are conjugates."""
    others = x[..., 1 : length - x.shape[-2] + 1, :][..., ::-1, :]
    factor = np.where(np.arange(x.shape[-1]) == 1, -1.0, 1.0)
    whole = np.concatenate([x, others * factor], axis=-2)
    ends = [0] if length % 2 else [0, length // 2]
    if x.shape[-1] == 2:  # the mean and the highest frequency of a real signal are real
        whole[..., ends, 1] = 0.0
    return whole


def _scalar(given: Tensor, default: int) -> int:
    return default if given is None else integers(given)[0]


def _dft(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    options = [*inputs[1:], None, None]
    inverse, onesided = (bool(node.attributes.get(name, 0)) for name in ("inverse", "onesided"))
    axis = node.attributes.get("axis", 1) if node.opset < 20 else _scalar(options[1], -2)
    if axis % len(X.shape) == len(X.shape) - 1 or (onesided and X.shape[-1] != 1 + inverse):
        raise Unsupported("DFT along the last axis, or with onesided of numbers of another kind")
    if inverse and onesided and node.opset < 20:
        raise Unsupported("DFT with inverse and onesided below opset 20")
    size = X.shape[axis]
    length = _scalar(options[0], 2 * (size - 1) if inverse and onesided else size)
    moved = X.moved(lambda x: np.moveaxis(x, axis, -2))
    Y = _transform(moved, length, inverse=inverse, onesided=onesided)
    return [Y.moved(lambda y: np.moveaxis(y, -2, axis))]


def _stft(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose STFT: the transforms of frames, each multiplied by the window."""
    X = tensor(inputs[0])
    step = _scalar(inputs[1], 1)
    options = [*inputs[2:], None, None]
    window = None if options[0] is None else tensor(options[0])
    length = _scalar(options[1], X.shape[1] if window is None else window.shape[0])
    is_onesided = bool(node.attributes.get("onesided", 1))
    if step < 1 or (is_onesided and X.shape[-1] == 2) or (window is not None and window.shape != (length,)):
        raise Unsupported("STFT with onesided of complex numbers, without a step, or with a window of another length")
    starts = np.arange(0, X.shape[1] - length + 1, step)
    frames = X.moved(lambda x: x[:, starts[:, np.newaxis] + np.arange(length)])
    if window is not None:
        frames = frames * window.moved(lambda w: w[:, np.newaxis])
    return [_transform(frames, length, inverse=False, onesided=is_onesided)]


def _mel_weight_matrix(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return triangles over the bins of a spectrum, with the edges that the mel scale gives.

    The page states neither the distance of the edges on the mel scale nor how an edge becomes a bin: both are those of
    onnx's reference evaluator. An edge that rounding can move to another bin is not judged.
    """
    bands, length, rate, low, high = (float(known_elements(each).reshape(-1)[0]) for each in inputs)
    dtype = dtype_of(node.attributes.get("output_datatype", 1))
    count = int(bands)
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mels = ends[0] + np.arange(count + 2) * ((ends[1] - ends[0]) / (count + 2))
    edges = (length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate
    if not np.isfinite(edges).all() or (np.abs(edges - np.rint(edges)) < 1e-4)[1:].any():
        raise Unsupported("rounding decides a bin of MelWeightMatrix")
    bins = np.floor(edges + 1e-9).astype(int)
    j = np.arange(int(length) // 2 + 1)
    weights = np.zeros((int(length) // 2 + 1, count))
    for band, (first, centre, last) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        rising = (j - first) / (centre - first) if centre > first else (j == centre).astype(float)
        falling = (last - j) / (last - centre) if last > centre else (j == centre).astype(float)
        weights[:, band] = np.where(
            (j >= first) & (j <= centre) & ((j < centre) | (last <= centre)),
            rising,
            np.where((j >= centre) & (j < last), falling, 0.0),
        )
    if not is_computed(dtype):
        raise Unsupported(f"MelWeightMatrix of the type {dtype}")
    exact = np.isin(weights, (0.0, 1.0))
    return [Enclosure.exact(weights, dtype).with_roundings(np.ones_like(weights), exact)]


# Determinants


def _det(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Det by elimination with pivots.

    The computed determinant is the exact one of A + E with Abs(E) <= n u Abs(L) Abs(U) (Higham, section 9.3). It
    changes by E times the cofactors. Level `must` has a factor for other orders of pivots.
    """
    X = tensor(inputs[0])
    if not np.isfinite(X.value).all():
        raise Unsupported("Det of numbers that are not finite")
    n = X.shape[-1]
    flat = X.value.reshape(-1, n, n)
    value = np.ones(len(flat))
    cofactors = np.empty_like(flat)
    products = np.empty_like(flat)
    for number, matrix in enumerate(flat):
        value[number], products[number] = _eliminate(matrix)
        cofactors[number] = _cofactors(matrix)
    u = float(format_of(X.dtype).unit_roundoff)
    spread = X.error.reshape(flat.shape) + n * (u + 2.0**-52) * products * (1 if is_strict() else 4)
    # of second order in the error: the cofactors change, too
    error = 1.01 * np.sum(spread * np.abs(cofactors), axis=(1, 2)) + n * (n - 1) * (spread.max(initial=0) ** 2) * max(
        1.0, np.abs(flat).max(initial=0) ** max(0, n - 2)
    )
    shape = X.shape[:-2]
    result = Enclosure(value.reshape(shape), error.reshape(shape), X.dtype)
    result = result.with_roundings(np.full(shape, float(n)), np.full(shape, n == 1))
    return [replace(result, error=np.where(np.isfinite(result.value), result.error, np.inf))]


def _eliminate(matrix: Array) -> tuple[float, Array]:
    """Return the determinant of a matrix, and the product Abs(L) Abs(U) of its factors in the order of the matrix."""
    U = matrix.copy()
    n = len(matrix)
    sign = 1.0
    L = np.eye(n)
    order = np.arange(n)
    for k in range(n):
        pivot = k + int(np.abs(U[k:, k]).argmax()) if n else k
        if pivot != k:
            U[[k, pivot]], order[[k, pivot]], sign = U[[pivot, k]], order[[pivot, k]], -sign
            L[[k, pivot], :k] = L[[pivot, k], :k]
        if U[k, k]:
            L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
            U[k + 1 :, k:] -= np.outer(L[k + 1 :, k], U[k, k:])
            U[k + 1 :, k] = 0.0
    products = np.empty_like(matrix)
    products[order] = np.abs(L) @ np.abs(U)
    return sign * float(np.prod(np.diag(U))), products


def _cofactors(matrix: Array) -> Array:
    n = len(matrix)
    rows = [np.delete(matrix, row, 0) for row in range(n)]
    minors: list[Any] = [[np.linalg.det(np.delete(part, column, 1)) for column in range(n)] for part in rows]
    return np.array(minors, dtype=np.float64).reshape(n, n)


SIGNAL_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "DFT": _dft,
    "STFT": _stft,
    "MelWeightMatrix": _mel_weight_matrix,
    "Det": _det,
}
