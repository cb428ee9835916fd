"""nxrt on the CPU: a runtime with the session interface of ONNX Runtime."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import nxrt

from .server import Adapter, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = ("no available execution provider has a kernel",)


class PreparedNxrtSession:
    """A session of one model."""

    def __init__(self, session: nxrt.InferenceSession) -> None:
        self._session = session

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: nxrt has no kernel for an operator of a subgraph, or for sizes that are known only now.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, ValueError):
            return tuple(self._session.run(None, dict(feeds)))


class NxrtBackend(Adapter):
    """Backend that runs models with nxrt."""

    __version__ = version("nxrt")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedNxrtSession:
        """Start a session.

        Raises:
            Unsupported: nxrt has no kernel for an operator or type of the model.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, ValueError):
            return PreparedNxrtSession(nxrt.InferenceSession(model))
