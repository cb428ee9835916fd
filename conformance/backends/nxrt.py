"""nxrt: a runtime of its own with the interface of ONNX Runtime's sessions, on the CPU."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import nxrt

from .host import Adapter, saying_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


_SAYS_UNSUPPORTED = ("no available execution provider has a kernel",)


class PreparedSession:
    """A session of one model."""

    def __init__(self, session: nxrt.InferenceSession) -> None:
        self._session = session

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order.

        Raises:
            Unsupported: nxrt has no kernel for what stands in a subgraph, or has sizes that are known only now.
        """
        with saying_unsupported(_SAYS_UNSUPPORTED, ValueError):
            return tuple(self._session.run(None, dict(feeds)))


class NxrtBackend(Adapter):
    """Runs models by nxrt."""

    __version__ = version("nxrt")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedSession:
        """Start a session.

        Raises:
            Unsupported: nxrt has no kernel for an operator or type of the model.
        """
        with saying_unsupported(_SAYS_UNSUPPORTED, ValueError):
            return PreparedSession(nxrt.InferenceSession(model))
