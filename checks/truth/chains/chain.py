"""Random chains: the family, the blocks and the type follow from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import IMAGE, MORE_IMAGE, MORE_ROWS, ROWS, SEQUENCE, build

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

FAMILIES = {"rows": ROWS, "sequence": SEQUENCE, "time": SEQUENCE, "image": IMAGE}
RARE = {"branch", "loop", "scan"}
CORES = {
    "rows": ("dense", "gemm", "matmul", "residual", "rms_norm", "layer_norm", "branch", "loop", "scan"),
    "sequence": ("attention", "attention", "layer_norm", "loop", "scan", "branch"),
    "time": ("lstm", "gru", "rnn", "scan"),
    "image": ("conv", "conv", "image_residual", "squeeze_excite", "conv_transposed"),
}
"""Blocks of which each chain has at least one."""

WIDER_FROM = 1500
"""Chains from this seed on also have larger inputs, other data and more kinds of blocks."""

TYPES = ("float", "float", "double", "float16", "float16", "bfloat16")


@dataclass(frozen=True)
class Chain:
    """The description of a random model."""

    seed: int
    family: str
    dtype: str
    blocks: tuple[str, ...]
    scale: float
    is_large: bool = False
    kind: str = "normal"

    @property
    def name(self) -> str:
        """The name of the chain, without its seed."""
        return f"{self.dtype} {self.family}: {' '.join(self.blocks)}"

    def build(self) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
        """Return the model and its data."""
        return build(
            self.family, self.blocks, self.dtype, self.seed, self.scale, is_large=self.is_large, kind=self.kind
        )


def draw_chain(seed: int) -> Chain:
    """Return the chain of a seed."""
    random = np.random.default_rng([seed, 77])
    family = str(random.choice(list(FAMILIES), p=[0.4, 0.2, 0.12, 0.28]))
    is_wider = seed >= WIDER_FROM
    more = (MORE_IMAGE if family == "image" else MORE_ROWS) if is_wider else {}
    names = sorted({*FAMILIES[family], *more} - RARE)
    blocks = [str(random.choice(names)) for _ in range(random.integers(1, 6))]
    blocks.insert(int(random.integers(len(blocks) + 1)), str(random.choice(CORES[family])))
    if family == "time":  # attention needs the batch first
        blocks = [name if name != "attention" else "residual" for name in blocks]
    dtype = str(random.choice(TYPES))
    if dtype == "double" and not {"lstm", "gru", "rnn"}.isdisjoint(blocks):  # no kernels in ONNX Runtime
        dtype = "float"
    scale = float(random.choice([0.5, 1.0, 3.0]))
    is_large = is_wider and bool(random.random() < 0.4)
    kind = str(random.choice(["normal", "halves", "outliers"])) if is_wider else "normal"
    return Chain(seed, family, dtype, tuple(blocks), scale, is_large, kind)
