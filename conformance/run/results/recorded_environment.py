"""The environment of a run and the command line that repeats it.

Results depend on more than the subject: interpreter, platform, libraries, processor instructions, and environment
variables. `describe_environment` returns them for the header of the results. `rerun_command` returns the command that
repeats a run, or some cases of it.

The identity of a subject has everything besides version, options and corpus on which its results depend.
`identity_changes` returns how two identities differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.base.processes.start import available_processors
from conformance.run.results.records import SubjectIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.run.results.records import Header, SubjectRecord


CPU_FEATURES = frozenset(
    {
        "sse4_2",
        "avx",
        "avx2",
        "avx_vnni",
        "fma",
        "f16c",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx512_vnni",
        "avx512_bf16",
        "avx512_fp16",
        "amx_tile",
        "amx_bf16",
        "amx_fp16",
        "amx_int8",
        "asimd",
        "asimdhp",
        "asimddp",
        "asimdfhm",
        "fphp",
        "bf16",
        "i8mm",
        "sve",
        "sve2",
        "svebf16",
        "sme",
    }
)
"""Instruction sets by which libraries select kernels, with the names that Linux uses on x86 and on Arm."""

LIBRARY_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TVM_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "NPY_DISABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "CC",
    "CFLAGS",
    "DEV",
    "NOOPT",
    "BEAM",
    "CUDA_VISIBLE_DEVICES",
)
"""Environment variables that change how the libraries of known runtimes compute."""

_CPU_INFO = Path("/proc/cpuinfo")


def describe_environment() -> dict[str, str]:
    """Return interpreter, platform, libraries, processor, and the environment variables `LIBRARY_VARIABLES` by name."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "onnx": onnx.__version__,
        "numpy": np.__version__,
        "cpus": str(available_processors()),
        **cpu_features(),
        **{name: os.environ[name] for name in LIBRARY_VARIABLES if name in os.environ},
    }


def processor() -> str:
    """Return the machine and its instruction sets: `x86_64: avx avx2 fma`."""
    features = cpu_features().get("cpu features", "")
    return f"{platform.machine() or 'unknown'}{f': {features}' if features else ''}"


def cpu_features(source: Path = _CPU_INFO) -> dict[str, str]:
    """Return the processor's instruction sets in `CPU_FEATURES`, sorted; an empty dict if they are unknown.

    Args:
        source: file in the format of /proc/cpuinfo.
    """
    found = sorted(CPU_FEATURES.intersection(_cpu_property(source, "flags", "Features").split()))
    return {"cpu features": " ".join(found)} if found else {}


def cpu_name(source: Path = _CPU_INFO) -> dict[str, str]:
    """Return the processor's model name; an empty dict if it is unknown.

    Args:
        source: file in the format of /proc/cpuinfo.
    """
    name = _cpu_property(source, "model name")
    return {"cpu": name} if name else {}


def _cpu_property(source: Path, *names: str) -> str:
    """Return the first property with one of these names in a file like /proc/cpuinfo; empty if there is none."""
    try:
        lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    properties = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in properties if name.strip() in names), "")


def rerun_command(subject: SubjectRecord, options: Iterable[str], *cases: str) -> str:
    """Return the command line that repeats the run of a subject, quoted for a shell.

    Args:
        options: the options of the run, see `rerun_options`.
        cases: ids of the only cases to run. Without ids, the caller appends options that select cases.
    """
    selection = [word for case in cases for word in ("--case", case)]
    return shlex.join(["onnx-conformance", "run", subject.kind.flag, subject.id, *options, *selection])


def rerun_options(header: Header, subject: SubjectRecord) -> Sequence[str]:
    """Return the command-line options with which the run of a subject is repeated."""
    return header.options.get(subject.id, [])


def without_data(options: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the options of each subject without `--data`, because the digest identifies the corpus."""
    return {
        subject: [word for word, last in zip(words, ["", *words], strict=False) if "--data" not in (word, last)]
        for subject, words in options.items()
    }


def script_options(words: Iterable[str]) -> dict[str, object]:
    """Return the options of a run, see `rerun_options`, as keyword arguments of `judging.run_one.judge_one`."""
    pairs = list(pairwise(words))
    implements = [value for word, value in pairs if word == "--implements"]
    profiles = [value for word, value in pairs if word == "--profile"]
    return ({"implements": implements} if implements else {}) | ({"profile": profiles[0]} if profiles else {})


DIGEST_LENGTH = 8
"""Hexadecimal digits of the digest of an identity, which reports show beside every verdict."""

_SEPARATOR = " | "
"""Separator of the values of several runs."""


def subject_identity(
    processor: str, python: str = "", packages: Sequence[str] = (), adapter: str | None = None
) -> SubjectIdentity:
    """Return an identity with its digest.

    Args:
        processor: machine and instruction sets.
        python: version of the Python that runs the subject; empty if the subject is not written in Python.
        packages: packages of this Python, as `name==version`.
        adapter: digest of the adapter's files; None if the subject has no adapter of this suite.
    """
    content = json.dumps([processor, python, sorted(packages), adapter])
    digest = hashlib.sha256(content.encode()).hexdigest()[:DIGEST_LENGTH]
    return SubjectIdentity(digest, processor, python, sorted(packages) if python else [], adapter or "")


def join_identities(identities: Iterable[SubjectIdentity]) -> SubjectIdentity:
    """Return the identity of results from several runs of one subject; different values are joined by ` | `."""
    own = list(identities)
    if all(each == own[0] for each in own):
        return own[0]
    values = [{getattr(each, key) for each in own} - {""} for key in ("processor", "python", "adapter")]
    processor, python, adapter = (_SEPARATOR.join(sorted(map(str, found))) for found in values)
    packages = {package for each in own for package in each.packages}
    return subject_identity(processor, python, sorted(packages), adapter or None)


def identity_changes(before: SubjectIdentity, after: SubjectIdentity) -> Iterator[str]:
    """Yield a line for each difference of two identities: "numpy 1.26.4 before, 2.4.6 now"."""
    yield from package_changes(before.packages, after.packages)
    for name, key in (("Python", "python"), ("processor", "processor"), ("adapter", "adapter")):
        old = getattr(before, key) or "none"
        new = getattr(after, key) or "none"
        if old != new:
            yield f"{name} {old} before, {new} now"


def package_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield a line for each package whose version differs, or that only one of two environments has."""
    old, new = (dict(_name_and_version(each) for each in packages) for packages in (before, after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'absent')} before, {new.get(name, 'absent')} now"


def _name_and_version(package: str) -> tuple[str, str]:
    name, _, version = package.partition("==")
    return name.lower().replace("_", "-"), version


def format_date(started: float) -> str:
    """Return the start of a run as a date and time in UTC: `2026-11-23 19:05 UTC`; empty if it is unknown."""
    try:
        return datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d %H:%M UTC") if started else ""
    except (OverflowError, ValueError, OSError):  # the file states a time that no calendar has
        return ""
