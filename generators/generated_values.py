"""Element types of cases, and numbers that are exact in all of them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from conformance.exact.models.model_building import pseudo_random_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


FLOAT_TYPE_NAMES: Mapping[Any, str] = {
    np.float32: "float",
    np.float64: "double",
    np.float16: "float16",
    bfloat16: "bfloat16",
}


def permuted_quarters(name: str, shape: Sequence[int], dtype: Any) -> Array:
    """Return the multiples 0.25, 0.5, 0.75, … of a quarter, in an order that depends only on `name`.

    Up to about 32 elements are distinct in bfloat16 and wider types, and so are their logarithms, exponentials and
    square roots.
    """
    order = np.argsort(np.argsort(pseudo_random_array(name, (prod(shape),), np.float64), kind="stable"), kind="stable")
    return np.asarray((order + 1) / 4).astype(dtype).reshape(tuple(shape))
