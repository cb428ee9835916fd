"""Convolutions by Winograd's and by Fourier transforms are admissible, and one with a lost product is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance import judge

F = np.float32

TILE_OF_4 = {
    "inputs": [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    "weights": [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ],
    "outputs": [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
}

TILE_OF_2 = {
    "inputs": [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
    "weights": [[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]],
    "outputs": [[1, 1, 1, 0], [0, 1, -1, -1]],
}


def convolve_by_tiles(x: Any, w: Any, tile: dict[str, list[list[float]]]) -> Any:
    """Return the convolution of (C, H, W) with (M, C, 3, 3), by Winograd's algorithm in float."""
    of_inputs, of_weights, of_outputs = (np.array(tile[name], F) for name in ("inputs", "weights", "outputs"))
    size = len(of_outputs)
    transformed = of_weights @ w @ of_weights.T
    height, width = (each - 2 for each in x.shape[1:])
    padded = np.pad(x, ((0, 0), (0, size), (0, size)))
    y = np.zeros((len(w), height + size, width + size), F)
    for row in range(0, height, size):
        for column in range(0, width, size):
            part = padded[:, row : row + size + 2, column : column + size + 2]
            products = (transformed * (of_inputs @ part @ of_inputs.T)).sum(axis=1)
            y[:, row : row + size, column : column + size] = of_outputs @ products @ of_outputs.T
    return y[:, :height, :width]


def operands(kind: str) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    shapes = ((16, 13, 11), (4, 16, 3, 3))
    if kind == "normal":
        return tuple(random.standard_normal(shape).astype(F) for shape in shapes)  # type: ignore[return-value]
    x, w = (random.integers(-3, 4, shape).astype(F) for shape in shapes)
    return (x, w) if kind == "integers" else (x * (random.random(shapes[0]) < 0.02).astype(F), w)


@pytest.mark.parametrize("kind", ["normal", "integers", "sparse"])
@pytest.mark.parametrize("tile", [TILE_OF_2, TILE_OF_4], ids=["2x2", "4x4"])
class TestWinograd:
    def test_convolution_by_tiles_is_admissible(self, kind, tile):
        x, w = operands(kind)
        judgement = judge("Conv", [x[np.newaxis], w], [convolve_by_tiles(x, w, tile)[np.newaxis]])
        assert judgement, str(judgement)

    def test_convolution_without_the_products_of_a_channel_is_wrong(self, kind, tile):
        x, w = operands(kind)
        whole = convolve_by_tiles(x, w, tile)
        lost = convolve_by_tiles(x[:-1], w[:, :-1], tile)
        assert np.any(whole != lost)
        assert not judge("Conv", [x[np.newaxis], w], [lost[np.newaxis]])


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
class TestSpecialInput:
    def test_convolution_by_tiles_is_admissible(self, special):
        x, w = operands("normal")
        x[3, 6, 5] = special
        with np.errstate(all="ignore"):
            y = convolve_by_tiles(x, w, TILE_OF_2)[np.newaxis]
        assert not judge("Conv", [x[np.newaxis], w], [y]).is_wrong
        assert judge("Conv", [x[np.newaxis], w], [y], level="should").is_wrong

    def test_lost_nan_and_wrong_outputs_of_other_images_are_wrong(self, special):
        x = np.zeros((2, 1, 30, 30), F)
        x[0, 0, 6, 5] = special
        w = np.ones((1, 1, 3, 3), F)
        y = np.zeros((2, 1, 28, 28), F)
        y[0, 0, 4:7, 3:6] = special
        assert judge("Conv", [x, w], [y])
        assert bool(judge("Conv", [x, w], [np.zeros_like(y)])) != np.isnan(special)
        y[1, 0, 20, 20] = 1e-3
        assert judge("Conv", [x, w], [y]).wrong == 1


def test_sum_that_overflows_may_be_nan_by_tiles_but_not_at_should():
    x, w = operands("normal")
    x[3, 6, 5] = 3e38
    w[:, 3] = 1e10
    with np.errstate(all="ignore"):
        y = convolve_by_tiles(x, w, TILE_OF_2)[np.newaxis]
    assert np.isnan(y).any()
    assert not judge("Conv", [x[np.newaxis], w], [y]).is_wrong
    assert judge("Conv", [x[np.newaxis], w], [y], level="should").is_wrong


def convolve_by_fourier_transforms(x: Any, w: Any, *, is_transposed: bool = False) -> Any:
    """Return the convolution of (N, C, H, W) with filters, by transforms in the type of the input."""
    size = [image + kernel - 1 for image, kernel in zip(x.shape[2:], w.shape[2:], strict=True)]
    filters = np.fft.rfft2(w, size)
    if not is_transposed:
        filters = np.conj(filters.swapaxes(0, 1))
    y = np.fft.irfft2((np.fft.rfft2(x, size)[:, :, np.newaxis] * filters).sum(axis=1), size).astype(x.dtype)
    kept = [a - k + 1 for a, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    return y if is_transposed else y[..., : kept[0], : kept[1]]


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
class TestFourierTransforms:
    def operands(self, operator):
        random = np.random.default_rng(4)
        shape = (4, 3, 5, 5) if operator == "Conv" else (3, 4, 5, 5)
        return random.standard_normal((2, 3, 20, 24)).astype(F), random.standard_normal(shape).astype(F)

    def test_convolution_by_transforms_is_admissible_also_with_one_large_input(self, operator):
        x, w = self.operands(operator)
        assert judge(operator, [x, w], [convolve_by_fourier_transforms(x, w, is_transposed=operator != "Conv")])
        x[0, 1, 3, 4] = 1e20
        y = convolve_by_fourier_transforms(x, w, is_transposed=operator != "Conv")
        assert judge(operator, [x, w], [y])
        assert judge(operator, [x, w], [y], level="should").is_wrong

    @pytest.mark.parametrize("special", [np.nan, -np.inf, 3e38])
    def test_input_that_is_not_finite_or_nearly_is_admissible_in_all_outputs_of_its_image(self, operator, special):
        x, w = self.operands(operator)
        x[0, 1, 3, 4] = special
        with np.errstate(all="ignore"):
            y = convolve_by_fourier_transforms(x, w, is_transposed=operator != "Conv")
        assert not judge(operator, [x, w], [y]).is_wrong
        y[1, 0, 0, 0] += 0.01
        assert judge(operator, [x, w], [y]).wrong == 1

    def test_one_lost_product_or_an_error_of_a_hundredth_is_wrong(self, operator):
        x, w = self.operands(operator)
        whole = convolve_by_fourier_transforms(x, w, is_transposed=operator != "Conv")
        assert judge(operator, [x, w], [whole * F(1.01)]).wrong > whole.size * 0.97
        w[0, 0, 2, 2] = 0
        lost = convolve_by_fourier_transforms(x, w, is_transposed=operator != "Conv")
        assert judge(operator, [x, self.operands(operator)[1]], [lost]).is_wrong


def test_transform_of_an_image_may_overflow_although_no_product_does():
    x = np.ones((1, 1, 4, 4), F)
    x[0, 0, 0, :2] = 3e38
    w = np.full((1, 1, 1, 1), 1e-30, F)
    with np.errstate(all="ignore"):
        y = convolve_by_fourier_transforms(x, w)
    assert not np.isfinite(y).any()
    assert not judge("Conv", [x, w], [y]).is_wrong
    x[0, 0, 0, :2] = 3e37
    assert judge("Conv", [x, w], [convolve_by_fourier_transforms(x, w)])
