"""What a backend has handed out, held against what it was once the backend has run again.

ONNX's backend interface does not say for how long outputs are the caller's. A buffer that the next run writes into is
therefore reported, and no `must`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.models.arrays import Array
    from conformance.results.records import RewriteCheck

NAME = "kept_outputs"
"""The check's name in results, and in a profile that asks for it at another level."""

LEVEL = Level.SHOULD


class KeptOutputs:
    """The outputs of a prepared model's runs so far.

    Args:
        names: of the outputs, in the graph's order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._kept: list[tuple[int, str, Array, bytes]] = []

    def keep(self, data_set: int, outputs: Sequence[Any]) -> None:
        """Remember what has come of a data set; what is no array is not looked at again."""
        self._kept += [
            (data_set, name, output, output.tobytes())
            for name, output in zip(self._names, outputs, strict=False)
            if isinstance(output, np.ndarray)
        ]

    def complaint(self) -> str | None:
        """Which output is no longer what it was when it was handed out, or None."""
        changed = [(number, name) for number, name, output, before in self._kept if output.tobytes() != before]
        if not changed:
            return None
        number, name = changed[0]
        more = f" (and {len(changed) - 1} more outputs)" if len(changed) > 1 else ""
        return f"{name} of data set {number} has been overwritten by a later run{more}"

    def check(self, level: Level) -> RewriteCheck | None:
        """The complaint as a result carries it, or None.

        Args:
            level: that at which it counts.
        """
        complaint = self.complaint()
        return None if complaint is None else {"name": NAME, "level": str(level), "complaint": complaint}
