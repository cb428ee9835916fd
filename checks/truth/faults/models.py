"""Faults in the middle of models: a chain of blocks, its type, the planted fault and the correct variant around it.

Every node of the faulty operator computes the fault, as in a runtime with a wrong kernel. A wrong fusion appears where
the two operators follow each other and nothing else reads the value between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checks.truth.chains.blocks import build

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Planted:
    """A fault in the middle of a model.

    Attributes:
        scale: the standard deviation of the realistic inputs.
        variant: the correct variant that computes all other nodes. `region` keeps float16 values in float.
    """

    fault: str
    dtype: str
    family: str
    blocks: str
    variant: str = "plain"
    scale: float = 1.0
    seed: int = 0

    @property
    def name(self) -> str:
        """The name of the fault in the model."""
        return f"{self.fault}-{self.dtype}-{self.variant}-{'-'.join(self.blocks.split())}"

    def build(self) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
        """Return the model and its realistic data."""
        return build(self.family, self.blocks.split(), self.dtype, self.seed, self.scale)


PLANTED = [
    # Perceptrons.
    Planted("gelu-tanh-constant", "float", "rows", "dense gelu_tanh matmul"),
    Planted("gelu-sigmoid", "float", "rows", "dense gelu dense"),
    Planted("gemm-bias-lost-wide", "float", "rows", "gemm_plain relu dense sigmoid"),
    Planted("gemm-beta", "double", "rows", "tanh gemm_scaled relu"),
    Planted("gemm-transb-square", "float", "rows", "tanh gemm_square sigmoid"),
    Planted("matmul-transposed", "float", "rows", "square_matmul tanh square_matmul sigmoid"),
    Planted("matmul-tail", "double", "rows", "relu concatenated matmul tanh matmul", seed=6),
    Planted("tanh-saturates", "float", "rows", "dense tanh matmul", scale=3),
    Planted("sigmoid-table", "float", "rows", "matmul sigmoid silu", scale=2),
    Planted("clip-max-ignored", "float", "rows", "matmul clip matmul"),
    Planted("erf-polynomial", "float", "rows", "dense erf_gelu matmul"),
    Planted("exp-float-in-double", "double", "rows", "dense primitive_softmax matmul"),
    Planted("elu-alpha-ignored", "double", "rows", "dense elu dense"),
    Planted("celu-alpha-outside", "float", "rows", "dense celu matmul"),
    Planted("leakyrelu-alpha-ignored", "bfloat16", "rows", "dense leakyrelu matmul", "region"),
    Planted("hardswish-sigmoid", "bfloat16", "rows", "dense hardswish dense"),
    Planted("softplus-threshold", "float", "rows", "dense softplus matmul", scale=5),
    Planted("gather-negative", "float", "rows", "dense gathered tanh"),
    Planted("concat-order", "float", "rows", "matmul concatenated relu"),
    Planted("where-swapped", "double", "rows", "matmul selected dense"),
    Planted("cumsum-exclusive", "double", "rows", "abs cumulated tanh"),
    Planted("argmax-starts-at-zero", "float", "rows", "abs neg largest_index tanh"),
    Planted("quantizelinear-wraps", "float", "rows", "dense quantized tanh", scale=12),
    Planted("fusion-matmul-bias-lost", "float", "rows", "dense tanh dense"),
    Planted("fusion-matmul-bias-twice", "double", "rows", "dense relu dense"),
    Planted("fusion-silu-constant", "float", "rows", "dense silu matmul"),
    # Attention and normalization.
    Planted("softmax-axis", "float", "sequence", "attention"),
    Planted("softmax-one-percent", "double", "sequence", "attention relu"),
    Planted("fusion-divided-softmax", "float", "sequence", "attention", seed=3),
    Planted("fusion-scaled-softmax", "float", "rows", "dense scaled_softmax matmul"),
    Planted("layernormalization-epsilon-missing", "float", "rows", "biased layer_norm_of_sum relu matmul"),
    Planted("layernormalization-epsilon-outside", "double", "rows", "biased layer_norm_of_sum relu matmul"),
    Planted("layernormalization-unbiased", "bfloat16", "rows", "biased layer_norm_of_sum matmul", "region"),
    Planted("fusion-skip-lost", "float", "rows", "dense layer_norm_of_sum matmul"),
    Planted("reducemean-unbiased", "double", "rows", "dense primitive_layer_norm tanh"),
    Planted("reducemean-unbiased", "float", "rows", "dense rms_norm tanh"),
    Planted("logsoftmax-of-softmax", "float", "rows", "matmul log_softmax", scale=60),
    # Convolution blocks.
    Planted("conv-dilations", "float", "image", "relu conv_dilated relu"),
    Planted("conv-pads-swapped", "float", "image", "relu conv_shifted sigmoid"),
    Planted("conv-bias-lost", "float", "image", "conv_biased batch_norm relu"),
    Planted("conv-last-column", "float", "image", "conv_biased relu max_pool"),
    Planted("batchnormalization-no-root", "float", "image", "conv_biased batch_norm relu average_pool"),
    Planted("batchnormalization-epsilon-outside", "float", "image", "conv_biased batch_norm relu", seed=3),
    Planted("averagepool-counts-pads", "float", "image", "sigmoid average_pool relu"),
    Planted("maxpool-zero-pads", "float", "image", "conv_biased sigmoid neg max_pool tanh"),
    Planted("instancenormalization-unbiased", "float", "image", "conv_biased instance_norm relu"),
    Planted("groupnormalization-unbiased", "float", "image", "conv_biased group_norm silu"),
    Planted("globalaveragepool-one-axis", "float", "image", "conv_biased squeeze_excite"),
    Planted("resize-half-pixel", "float", "image", "relu resized_half_pixel tanh"),
    Planted("pad-reflect-repeats", "float", "image", "conv_biased padded relu"),
    Planted("fusion-conv-batchnormalization-epsilon", "float", "image", "conv_biased batch_norm relu", seed=3),
    Planted("fusion-mul-add-swapped", "float", "image", "conv_biased channel_scale relu"),
    # Recurrent operators and control flow.
    Planted("lstm-gates", "float", "time", "tanh lstm relu"),
    Planted("lstm-lengths", "float", "time", "tanh lstm tanh", seed=4),
    Planted("gru-gates", "float", "time", "tanh gru tanh"),
    Planted("gru-recurrent-bias", "float", "time", "gru sigmoid"),
    Planted("rnn-reverse", "float", "time", "rnn tanh"),
    Planted("sigmoid-table", "float", "rows", "tanh scan relu"),
    Planted("tanh-pade", "float", "rows", "tanh loop relu"),
    Planted("matmul-transposed", "double", "rows", "relu loop relu"),
    Planted("sigmoid-table", "float", "rows", "abs branch tanh"),
    Planted("tanh-saturates", "double", "rows", "abs neg branch matmul", scale=6),
    # float16 chains, of runtimes that round each value and of runtimes that keep float between nodes.
    Planted("gelu-sigmoid", "float16", "rows", "dense gelu dense", "region"),
    Planted("gelu-sigmoid", "float16", "rows", "dense gelu matmul"),
    Planted("gelu-tanh-constant", "float16", "rows", "dense gelu_tanh matmul", "region", scale=3),
    Planted("gelu-tanh-constant", "float16", "rows", "dense gelu_tanh dense", scale=3),
    Planted("gemm-bias-lost-wide", "float16", "rows", "gemm_plain relu dense sigmoid", "region"),
    Planted("gemm-bias-lost-wide", "float16", "rows", "gemm_plain tanh dense"),
    Planted("gemm-beta", "float16", "rows", "tanh gemm_scaled relu", "region"),
    Planted("gemm-alpha-on-c", "float16", "rows", "tanh gemm_scaled sigmoid", "region"),
    Planted("matmul-half-accumulator", "float16", "rows", "relu long_matmul tanh", "region"),
    Planted("matmul-half-accumulator", "float16", "rows", "sigmoid long_matmul sigmoid", "region", seed=8),
    Planted("matmul-transposed", "float16", "rows", "square_matmul tanh square_matmul", "region"),
    Planted("matmul-tail", "float16", "rows", "relu concatenated matmul tanh matmul", "region", seed=6),
    Planted("softmax-one-percent", "float16", "rows", "dense softmax matmul", "region"),
    Planted("softmax-axis", "float16", "sequence", "attention", "region"),
    Planted("softmax-overflow", "float16", "rows", "matmul softmax matmul", scale=12),
    Planted("softmax-fast-exp", "float16", "rows", "dense softmax matmul"),
    Planted("layernormalization-epsilon-missing", "float16", "rows", "biased layer_norm_of_sum relu matmul", "region"),
    Planted("layernormalization-unbiased", "float16", "rows", "biased layer_norm_of_sum matmul"),
    Planted("layernormalization-bias-lost", "float16", "rows", "dense layer_norm matmul", "region"),
    Planted("tanh-pade", "float16", "rows", "dense tanh dense", "region", scale=2),
    Planted("tanh-saturates", "float16", "rows", "dense tanh matmul", scale=6),
    Planted("sigmoid-table", "float16", "rows", "matmul sigmoid silu", "region", scale=2),
    Planted("erf-polynomial", "float16", "rows", "dense erf_gelu matmul", "region"),
    Planted("exp-fast", "float16", "rows", "dense primitive_softmax matmul", "region"),
    Planted("reducemean-unbiased", "float16", "rows", "dense rms_norm matmul", "region"),
    Planted("elu-alpha-ignored", "float16", "rows", "dense elu dense", "region"),
    Planted("hardswish-sigmoid", "float16", "rows", "dense hardswish matmul", "region", scale=2),
    Planted("softplus-threshold", "float16", "rows", "dense softplus matmul", "region", scale=6),
    Planted("conv-bias-lost", "float16", "image", "conv_biased relu max_pool", "region"),
    Planted("conv-dilations", "float16", "image", "relu conv_dilated relu", "region"),
    Planted("batchnormalization-no-root", "float16", "image", "conv_biased batch_norm relu", "region"),
    Planted("averagepool-counts-pads", "float16", "image", "sigmoid average_pool relu"),
    Planted("fusion-matmul-bias-lost", "float16", "rows", "dense tanh dense", "region"),
    Planted("fusion-skip-lost", "float16", "rows", "dense layer_norm_of_sum matmul", "region"),
    Planted("fusion-mul-add-swapped", "float16", "image", "conv_biased channel_scale relu", "region"),
]
