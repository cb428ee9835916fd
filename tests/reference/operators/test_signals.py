"""Transforms agree with NumPy's fast transforms, and weights of the mel scale with their triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.reference.enclosures import enclose_node
from conformance.reference.nodes import Node
from conformance.reference.numbers.enclosure import admissible_mask


def enclose(op_type: str, *inputs: Any, opset: int = 20, **attributes: Any) -> Any:
    node = Node(op_type, tuple(f"i{k}" for k in range(len(inputs))), ("o0",), attributes, opset)
    return enclose_node(node, list(inputs))[0]


def assert_close(tensor: Any, wanted: Any) -> None:
    """Assert that a tensor contains numbers in double, and not the numbers times 1.01."""
    assert tensor.shape == wanted.shape
    assert (np.abs(tensor.value - wanted) <= tensor.error).all()
    visible = np.abs(wanted) > 0.05 * np.abs(wanted).max()
    assert not admissible_mask((wanted * 1.01).astype(tensor.dtype), tensor)[visible].any()


def parts(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], -1)


@pytest.mark.parametrize("length", [5, 8, 11])
def test_dft_along_an_axis_is_the_fast_transform(length: int) -> None:
    X = np.random.default_rng(0).standard_normal((2, 8, 3, 2)).astype(np.float32)
    numbers = X[..., 0].astype(float) + 1j * X[..., 1]
    given = np.array(length), np.array(1)
    assert_close(enclose("DFT", X, *given), parts(np.fft.fft(numbers, length, axis=1)))
    assert_close(enclose("DFT", X, *given, inverse=1), parts(np.fft.ifft(numbers, length, axis=1)))
    assert_close(enclose("DFT", X, np.array(length), opset=17, axis=1), parts(np.fft.fft(numbers, length, axis=1)))


def test_dft_of_real_numbers_has_one_side() -> None:
    X = np.random.default_rng(1).standard_normal((2, 9, 1)).astype(np.float32)
    half = np.fft.rfft(X[..., 0].astype(float), axis=1)
    assert_close(enclose("DFT", X, onesided=1), parts(half))
    spectrum = parts(half).astype(np.float32)
    whole = np.fft.irfft(spectrum[..., 0].astype(float) + 1j * spectrum[..., 1], 9, axis=1)
    assert_close(enclose("DFT", spectrum, np.array(9), inverse=1, onesided=1), whole[..., np.newaxis])


def test_stft_transforms_weighted_frames() -> None:
    random = np.random.default_rng(2)
    X, window = random.standard_normal((2, 21, 1)).astype(np.float32), np.hanning(8).astype(np.float32)
    frames = np.stack([X[:, start : start + 8, 0].astype(float) * window for start in range(0, 14, 3)], axis=1)
    assert_close(enclose("STFT", X, np.array(3), window), parts(np.fft.rfft(frames, axis=-1)))
    assert_close(enclose("STFT", X, np.array(3), window, onesided=0), parts(np.fft.fft(frames, axis=-1)))


def test_mel_weights_are_triangles_over_bins() -> None:
    given = [np.array(each) for each in (4, 64, 8000)]
    weights = enclose("MelWeightMatrix", *given, np.float32(0), np.float32(4000))
    assert weights.shape == (33, 4)
    assert weights.value.max(axis=0).tolist() == [1.0] * 4
    rises = np.diff(np.sign(np.diff(weights.value, axis=0)), axis=0)
    assert (np.abs(rises).sum(axis=0) <= 8).all()


def test_dft_of_another_length_than_a_power_of_two_admits_the_chirp_transform() -> None:
    X = np.random.default_rng(3).standard_normal((1, 17, 1)).astype(np.float32)
    n = np.arange(17)
    chirp = np.exp(-1j * np.pi * n**2 / 17).astype(np.complex64)
    filter_ = np.zeros(64, np.complex64)
    filter_[:17], filter_[-16:] = chirp.conj(), chirp.conj()[:0:-1]
    padded = np.zeros(64, np.complex64)
    padded[:17] = X[0, :, 0] * chirp
    convolved = np.fft.ifft(np.fft.fft(padded) * np.fft.fft(filter_)).astype(np.complex64)
    assert admissible_mask(parts(convolved[:17] * chirp)[np.newaxis].astype(np.float32), enclose("DFT", X)).all()
