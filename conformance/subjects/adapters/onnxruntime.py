"""ONNX Runtime, with any execution provider, built in or loaded as a plugin, and any optimization level."""

from __future__ import annotations

import ctypes
import json
import math
import os
import tempfile
from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from .server import Adapter, Unsupported, ml_dtype, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .server import Array


os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


_CPU = "CPUExecutionProvider"

_OPTIMIZATION_LEVELS = {
    "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}

_UNSUPPORTED_TEXTS = (
    "is not a registered function/op",
    "Could not find an implementation for",
    "type inference failed, inferred types: index=",  # for a function with an unsupported operator
    "Unsupported model IR version: ",
    "Current official support for domain ai.onnx is till opset",  # for an opset after the release's last
)

_UNSUPPORTED_TYPE_TEXTS = ("can't be converted to MLDataType", "No corresponding Numpy type for Tensor Type")

_PASSED_MAPS = ",tensor(float))"
"""End of the types of maps that ONNX Runtime's interface for Python passes, whatever the session declares."""

_RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"

_REPORTS_ASSIGNMENT = hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info")
"""Whether sessions report which provider runs which node; for older releases, the first run is profiled."""

_PROFILE_NUMBERS = count()


_WRAPPED_TYPES = {
    "bfloat16": ("bfloat16", 16, 16),
    "float8e4m3fn": ("float8_e4m3fn", 17, 8),
    "float8e4m3fnuz": ("float8_e4m3fnuz", 18, 8),
    "float8e5m2": ("float8_e5m2", 19, 8),
    "float8e5m2fnuz": ("float8_e5m2fnuz", 20, 8),
    "uint4": ("uint4", 21, 4),
    "int4": ("int4", 22, 4),
    "float4e2m1": ("float4_e2m1fn", 23, 4),
    "float8e8m0": ("float8_e8m0fnu", 24, 8),
    "uint2": ("uint2", 25, 2),
    "int2": ("int2", 26, 2),
}
"""Types that ONNX Runtime passes only as OrtValue: for each name, the name in ml_dtypes, ONNX's number and the bits."""

_WRAPPED_DTYPES = {dtype: (number, bits) for dtype, number, bits in _WRAPPED_TYPES.values()}


def _wrapped_type(name: str) -> tuple[str, int, int] | None:
    """Return the entry of a type such as `tensor(bfloat16)`; None if NumPy and ONNX Runtime share the type."""
    return _WRAPPED_TYPES.get(name.removeprefix("tensor(").removesuffix(")"))


def _ort_values(feeds: Mapping[str, Array]) -> dict[str, Any]:
    """Return inputs as OrtValue, also of types that NumPy and the Python interface do not share."""
    values: dict[str, Any] = {}
    for name, array in feeds.items():
        if array.dtype.name not in _WRAPPED_DTYPES:
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
            continue
        number, bits = _WRAPPED_DTYPES[array.dtype.name]
        try:
            value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(array.shape, number)
        except Exception as error:  # noqa: BLE001 - each kind of failure has its own class
            raise Unsupported(f"this release takes no {array.dtype.name} from Python: {error}") from None
        content = packed(array, bits)
        ctypes.memmove(value.data_ptr(), content, len(content))
        values[name] = value
    return values


def _array_of(value: Any) -> Array:
    """Return an output as an array."""
    wrapped = _wrapped_type(value.data_type())
    if wrapped is None:
        return np.asarray(value.numpy())
    name, _, bits = wrapped
    dtype, shape = ml_dtype(name), tuple(value.shape())
    return unpacked(ctypes.string_at(value.data_ptr(), -(-math.prod(shape) * bits // 8)), dtype, shape, bits)


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.name in _WRAPPED_DTYPES


class PreparedOnnxRuntimeSession:
    """The session of one model.

    Attributes:
        placement: number of nodes by provider and operator; None if no provider was requested. Older releases report it
            only after the first run; it is None before.
    """

    def __init__(self, session: onnxruntime.InferenceSession, *, is_profiled: bool) -> None:
        self._session = session
        self._is_profiled = is_profiled
        self._wrapped_outputs = any(_wrapped_type(value.type) for value in session.get_outputs())
        self.placement: Mapping[str, Mapping[str, int]] | None = None

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: ONNX Runtime's interface for Python cannot pass a type.
        """
        has_maps = any(isinstance(each, dict) for each in feeds.values())
        for value in self._session.get_inputs() if has_maps else ():
            if value.type.startswith("map(") and not value.type.endswith(_PASSED_MAPS):
                raise Unsupported(f"ONNX Runtime's interface for Python passes no {value.type} (input {value.name})")
        try:
            if any(map(_is_wrapped, feeds.values())) or self._wrapped_outputs:
                outputs = tuple(map(_array_of, self._session.run_with_ort_values(None, _ort_values(feeds))))
            else:
                outputs = tuple(self._session.run(None, dict(feeds)))
        except RuntimeError as error:
            if any(text in str(error) for text in _UNSUPPORTED_TYPE_TEXTS):
                raise Unsupported(str(error)) from None
            raise
        if self._is_profiled and self.placement is None:
            self.placement = _placement_of_profile(Path(self._session.end_profiling()))
        return outputs


class OnnxRuntimeBackend(Adapter):
    """Backend that runs models with ONNX Runtime; by default on the CPU provider, with all graph optimizations."""

    __version__ = onnxruntime.__version__
    input_kinds = ("string", "sequence", "map", "optional")

    @classmethod
    def check_options(
        cls,
        provider: str = "",
        library: str = "",
        optimization: str = "all",
        fallback: str = "",
        disabled_optimizers: str = "",  # unknown names have no effect
        **options: str,
    ) -> None:
        """Check the options before any model is loaded.

        Raises:
            ValueError: this ONNX Runtime lacks the execution provider, the optimization level or an option.
        """
        if optimization not in _OPTIMIZATION_LEVELS:
            raise ValueError(
                f"onnxruntime has no optimization level {optimization}.", f"Use {', '.join(_OPTIMIZATION_LEVELS)}."
            )
        if fallback not in {"", "allow"}:
            raise ValueError(f"onnxruntime has no fallback={fallback}.", "Write fallback=allow, or leave it out.")
        if not provider:
            if unknown := [*options, *(["library"] if library else []), *(["fallback"] if fallback else [])]:
                hint = (
                    "Its options: device, optimization, disabled_optimizers, provider; with a provider also library, "
                    "fallback and its own."
                )
                raise ValueError(f"Backend onnxruntime has no option {unknown[0]} without a provider.", hint)
        elif library:
            _load_plugin_devices(library, provider)
        elif provider not in (providers := onnxruntime.get_available_providers()):
            raise ValueError(
                f"This onnxruntime has no execution provider {provider}.",
                f"It has {', '.join(providers)}. For a plugin, give library=PATH.",
            )

    @classmethod
    def required_provider(cls, provider: str = "", fallback: str = "", **_: str) -> str | None:
        """Return the requested provider; None with the option `fallback`, which permits the CPU provider."""
        return None if fallback else provider or None

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether `device` is a known device type.

        `check_options` checks whether this machine has a device of this type.
        """
        return device in {"CPU", "GPU", "NPU"}

    @classmethod
    def prepare(
        cls,
        model: bytes,
        device: str = "CPU",
        provider: str = "",
        library: str = "",
        optimization: str = "all",
        fallback: str = "",
        disabled_optimizers: str = "",
        **options: Any,
    ) -> PreparedOnnxRuntimeSession:
        """Start a session.

        Args:
            model: the serialised model.
            device: kind of device for a plugin provider with several devices: `CPU`, `GPU` or `NPU`.
            provider: preferred execution provider; the CPU provider runs the nodes that this provider does not support.
            library: file of a plugin provider.
            optimization: level of graph optimizations: `disabled`, `basic`, `extended` or `all`.
            fallback: `allow` to accept results in which the CPU provider ran some nodes.
            disabled_optimizers: names of graph optimizations that do not run, with `+` between them.
            options: options of the provider.

        Raises:
            Unsupported: ONNX Runtime has no kernel for an operator or type of the model,
                or its IR version or opset is too new.
        """
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.graph_optimization_level = _OPTIMIZATION_LEVELS[optimization]
        if provider:
            _enable_placement(settings)
        providers: Sequence[Any] | None = [(provider, options), _CPU] if provider not in {"", _CPU} else [_CPU]
        if library:
            found = _load_plugin_devices(library, provider)
            of_kind = [each for each in found if each.device.type.name == device]
            settings.add_provider_for_devices(of_kind or found, options)
            providers = None
        try:
            disabled = {"disabled_optimizers": disabled_optimizers.split("+")} if disabled_optimizers else {}
            session = onnxruntime.InferenceSession(model, settings, providers, **disabled)
        except Exception as error:
            if any(text in str(error) for text in _UNSUPPORTED_TEXTS):
                raise Unsupported(str(error)) from None
            raise
        prepared = PreparedOnnxRuntimeSession(session, is_profiled=bool(provider) and not _REPORTS_ASSIGNMENT)
        if provider and _REPORTS_ASSIGNMENT:
            prepared.placement = _placement_of_parts(session.get_provider_graph_assignment_info())
        return prepared


@cache
def _load_plugin_devices(library: str, provider: str) -> list[Any]:
    """Load the library of a plugin provider, once per process, and return the provider's devices.

    Raises:
        ValueError: the library cannot be loaded, or has no device of the provider on this machine.
    """
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} does not support plugin providers.", "Use 1.23 or a later release."
        )
    if not Path(library).is_file():
        raise ValueError(f"{library} is not a file.", "Name the provider's shared library.")
    before = {each.ep_name for each in onnxruntime.get_ep_devices()}
    try:
        onnxruntime.register_execution_provider_library(provider, str(Path(library).absolute()))
    except Exception as error:  # noqa: BLE001 - each kind of failure has its own class
        raise ValueError(f"onnxruntime cannot load {library}: {error}.", "Name the provider's library.") from None
    devices = onnxruntime.get_ep_devices()
    found = [each for each in devices if each.ep_name == provider]
    if not found:
        offered = sorted({each.ep_name for each in devices} - before)
        hint = f"It has {', '.join(offered)}." if offered else "It has no device on this machine."
        raise ValueError(f"{Path(library).name} has no device of provider {provider} on this machine.", hint)
    return found


def _enable_placement(settings: onnxruntime.SessionOptions) -> None:
    """Make a session record which provider runs which node."""
    if _REPORTS_ASSIGNMENT:
        settings.add_session_config_entry(_RECORD_ASSIGNMENT, "1")
        return
    settings.enable_profiling = True
    settings.profile_file_prefix = f"{tempfile.gettempdir()}/onnxruntime-{os.getpid()}-{next(_PROFILE_NUMBERS)}"


def _placement_of_parts(parts: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Return the placement (number of nodes by provider and operator) from the node assignment of a session.

    Nodes of subgraphs and of compiled parts are included.
    """
    return _count_placement((part.ep_name, node.op_type) for part in parts for node in part.get_nodes())


def _placement_of_profile(profile: Path) -> dict[str, dict[str, int]]:
    """Return the placement from the profile of the first run, and delete the profile."""
    events = json.loads(profile.read_bytes())
    profile.unlink()
    ran = {
        (event["name"], event["args"]["provider"], event["args"]["op_name"])
        for event in events
        if event.get("cat") == "Node" and event.get("args", {}).get("provider")
    }
    return _count_placement((provider, operator) for _, provider, operator in ran)


def _count_placement(nodes: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Count nodes by provider and operator."""
    placement: dict[str, dict[str, int]] = {}
    for (provider, operator), number in sorted(Counter(nodes).items()):
        placement.setdefault(provider, {})[operator] = number
    return placement
