"""What a result may depend on besides the subject."""

from __future__ import annotations

import platform

import numpy as np
import onnx


def environment() -> dict[str, str]:
    """What a result may depend on, besides the subject: interpreter, platform and libraries."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "onnx": onnx.__version__,
        "numpy": np.__version__,
    }
