"""What a result may depend on besides the subject."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import onnx

CPU_FEATURES = frozenset(
    {
        *("sse4_2", "avx", "avx2", "avx_vnni", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni"),
        *("avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_fp16", "amx_int8"),
        *("asimd", "asimdhp", "asimddp", "asimdfhm", "fphp", "bf16", "i8mm", "sve", "sve2", "svebf16", "sme"),
    }
)
"""Instructions by which libraries choose between kernels, as Linux calls them on x86 and on Arm."""

SWITCHES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"),
    *("ONEDNN_DEFAULT_FPMATH_MODE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES", "XLA_FLAGS", "JAX_PLATFORMS"),
    *("JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "CC", "CFLAGS", "DEV", "NOOPT", "BEAM", "CUDA_VISIBLE_DEVICES"),
)
"""Variables of the environment by which the libraries of known runtimes compute otherwise."""

_CPU_INFO = Path("/proc/cpuinfo")


def environment() -> dict[str, str]:
    """What a result may depend on, besides the subject: interpreter, platform, libraries, processor and switches."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "onnx": onnx.__version__,
        "numpy": np.__version__,
        "cpus": str(_cpus()),
        **cpu_features(),
        **{name: os.environ[name] for name in SWITCHES if name in os.environ},
    }


def cpu_features(source: Path = _CPU_INFO) -> dict[str, str]:
    """The processor's instructions that matter, in the order of their names; nothing where the system does not tell."""
    try:
        lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    told = next((line for line in lines if line.partition(":")[0].strip() in {"flags", "Features"}), "")
    found = sorted(CPU_FEATURES.intersection(told.partition(":")[2].split()))
    return {"cpu features": " ".join(found)} if found else {}


def cpu_name(source: Path = _CPU_INFO) -> dict[str, str]:
    """What the processor calls itself; nothing where the system does not tell."""
    try:
        lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    told = next((line for line in lines if line.partition(":")[0].strip() == "model name"), "")
    return {"cpu": told.partition(":")[2].strip()} if told else {}


def _cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
