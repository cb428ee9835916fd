"""The packages of the subjects with findings."""

from __future__ import annotations

PACKAGES = {
    "aidge": "aidge-core",
    "emx-onnx-cgen": "emx-onnx-cgen",
    "iree": "iree-base-compiler",
    "jaxonnxruntime": "jaxonnxruntime",
    "nxrt": "nxrt",
    "onnx-reference": "onnx",
    "onnx2torch": "onnx2torch",
    "onnxoptimizer": "onnxoptimizer",
    "onnxoptimizer-defaults": "onnxoptimizer",
    "onnxruntime": "onnxruntime",
    "onnxruntime[level=basic]": "onnxruntime",
    "onnxruntime[provider=OpenVINOExecutionProvider]": "onnxruntime-openvino",
    "onnxscript": "onnxscript",
    "onnxsim": "onnxsim",
    "opencv": "opencv-python-headless",
    "openvino": "openvino",
    "tinygrad": "tinygrad",
    "tract": "tract",
    "tvm": "apache-tvm",
}
