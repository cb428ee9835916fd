"""ONNX Runtime, by any of its execution providers, built in or plugged in, and any level of its optimizations."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .host import Array


_CPU = "CPUExecutionProvider"

_LEVELS = {
    "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}

_SAYS_UNSUPPORTED = (
    "is not a registered function/op",
    "Could not find an implementation for",
    "type inference failed, inferred types: index=",  # of a function in which there is an operator that it has not
)

_RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"

_TELLS_ASSIGNMENT = hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info")
"""Whether sessions tell which node they gave to which provider; those of older releases profile what they run."""

_NUMBERS = count()


class PreparedSession:
    """A session of one model.

    Attributes:
        placement: how many nodes of which operators ran on which provider, where one was asked for. Of older releases
            it is known after the first run, by its profile.
    """

    def __init__(self, session: onnxruntime.InferenceSession, *, is_profiled: bool) -> None:
        self._session = session
        self._is_profiled = is_profiled
        self.placement: Mapping[str, Mapping[str, int]] | None = None

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order."""
        outputs = tuple(self._session.run(None, dict(feeds)))
        if self._is_profiled and self.placement is None:
            self.placement = _profiled(Path(self._session.end_profiling()))
        return outputs


class OnnxRuntimeBackend(Adapter):
    """Runs models by one of ONNX Runtime's execution providers; by default the CPU's, with all graph optimizations."""

    __version__ = onnxruntime.__version__

    @classmethod
    def check_options(
        cls, provider: str = "", library: str = "", optimization: str = "all", fallback: str = "", **options: str
    ) -> None:
        """Check options before anything is run.

        Raises:
            ValueError: this ONNX Runtime lacks the execution provider, or there is no such option or level of
                optimizations.
        """
        if optimization not in _LEVELS:
            raise ValueError(f"onnxruntime has no optimization level {optimization}.", f"Use {', '.join(_LEVELS)}.")
        if fallback not in {"", "allow"}:
            raise ValueError(f"onnxruntime has no fallback={fallback}.", "Write fallback=allow, or leave it out.")
        if not provider:
            if unknown := [*options, *(["library"] if library else []), *(["fallback"] if fallback else [])]:
                mend = "It takes device, optimization, provider; with a provider also library, fallback and its own."
                raise ValueError(f"Backend onnxruntime has no option {unknown[0]} without a provider.", mend)
        elif library:
            _devices(library, provider)
        elif provider not in (providers := onnxruntime.get_available_providers()):
            raise ValueError(
                f"This onnxruntime has no execution provider {provider}.",
                f"It has {', '.join(providers)}; name a plugin's file by library=PATH.",
            )

    @classmethod
    def asked_provider(cls, provider: str = "", fallback: str = "", **_: str) -> str | None:
        """The provider that is named, unless the CPU's may run what it leaves."""
        return None if fallback else provider or None

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether it is a kind of device; which of them a provider has, `check_options` finds out."""
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
        **options: Any,
    ) -> PreparedSession:
        """Start a session.

        Args:
            device: of a plugin provider with several, the kind of device: `CPU`, `GPU` or `NPU`.
            provider: which execution provider comes first; what it has no kernel for runs on the CPU's.
            library: the file of a plugin provider.
            optimization: the level of graph optimizations: `disabled`, `basic`, `extended` or `all`.
            fallback: `allow` where the CPU's provider may run what the one that is named leaves.
            options: the provider's own.

        Raises:
            Unsupported: ONNX Runtime has no kernel for an operator or type of the model.
        """
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.graph_optimization_level = _LEVELS[optimization]
        if provider:
            _record(settings)
        providers: Sequence[Any] | None = [(provider, options), _CPU] if provider not in {"", _CPU} else [_CPU]
        if library:
            found = _devices(library, provider)
            of_kind = [each for each in found if each.device.type.name == device]
            settings.add_provider_for_devices(of_kind or found, options)
            providers = None
        try:
            session = onnxruntime.InferenceSession(model, settings, providers)
        except Exception as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        prepared = PreparedSession(session, is_profiled=bool(provider) and not _TELLS_ASSIGNMENT)
        if provider and _TELLS_ASSIGNMENT:
            prepared.placement = _assigned(session.get_provider_graph_assignment_info())
        return prepared


@cache
def _devices(library: str, provider: str) -> list[Any]:
    """The devices of a plugin provider, whose library this process loads once.

    Raises:
        ValueError: it cannot be loaded, or offers no device of the provider here.
    """
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} loads no plugin providers.", "Use 1.23 or a later release."
        )
    if not Path(library).is_file():
        raise ValueError(f"{library} is no file.", "Name the provider's shared library.")
    before = {each.ep_name for each in onnxruntime.get_ep_devices()}
    try:
        onnxruntime.register_execution_provider_library(provider, str(Path(library).absolute()))
    except Exception as error:  # noqa: BLE001 - each kind of failure has a class of its own
        raise ValueError(f"onnxruntime does not load {library}: {error}.", "Name the provider's library.") from None
    devices = onnxruntime.get_ep_devices()
    found = [each for each in devices if each.ep_name == provider]
    if not found:
        offered = sorted({each.ep_name for each in devices} - before)
        there = f"It offers {', '.join(offered)}." if offered else "It offers no device of this machine at all."
        raise ValueError(f"{Path(library).name} offers no device of provider {provider} here.", there)
    return found


def _record(settings: onnxruntime.SessionOptions) -> None:
    """Have a session tell where its nodes go."""
    if _TELLS_ASSIGNMENT:
        settings.add_session_config_entry(_RECORD_ASSIGNMENT, "1")
        return
    settings.enable_profiling = True
    settings.profile_file_prefix = f"{tempfile.gettempdir()}/onnxruntime-{os.getpid()}-{next(_NUMBERS)}"


def _assigned(parts: Iterable[Any]) -> dict[str, dict[str, int]]:
    """The nodes that a session gave to each provider, those of subgraphs and of compiled parts among them."""
    return _counted((part.ep_name, node.op_type) for part in parts for node in part.get_nodes())


def _profiled(profile: Path) -> dict[str, dict[str, int]]:
    """The nodes that the first run ran on each provider."""
    events = json.loads(profile.read_bytes())
    profile.unlink()
    ran = {
        (event["name"], event["args"]["provider"], event["args"]["op_name"])
        for event in events
        if event.get("cat") == "Node" and event.get("args", {}).get("provider")
    }
    return _counted((provider, operator) for _, provider, operator in ran)


def _counted(nodes: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Nodes, each by its provider and operator, as a placement."""
    placement: dict[str, dict[str, int]] = {}
    for (provider, operator), number in sorted(Counter(nodes).items()):
        placement.setdefault(provider, {})[operator] = number
    return placement
