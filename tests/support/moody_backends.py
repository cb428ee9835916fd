"""Backends whose answers depend on more than the question: on the order, or on a setting of the environment."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, ClassVar

import numpy as np
from fake_backends import AlwaysRight

__version__ = "1.31.1"


class VariesOnArgMax(AlwaysRight):
    """Right on every model the first time; on one with ArgMax, wrong each second time."""

    prepared: ClassVar[Counter[bytes]] = Counter()

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        key = model.SerializeToString(deterministic=True)
        cls.prepared[key] += 1
        moody = cls(model)
        is_argmax = any(node.op_type == "ArgMax" for node in model.graph.node)
        moody.wrong = is_argmax and cls.prepared[key] % 2 == 0
        return moody

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.asarray(one + 1, dtype=one.dtype) for one in outputs] if self.wrong else outputs


class DoesAsTold(AlwaysRight):
    """Goes wrong as `MOODS` says: words such as `fail:Adam` or `error:ArgMax`, by an operator in the model."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        operators = {node.op_type for node in self.model.graph.node}
        for mood in os.environ.get("MOODS", "").split():
            what, _, operator = mood.partition(":")
            if operator in operators:
                return self._mood(what, outputs)
        return outputs

    def _mood(self, what: str, outputs: list[Any]) -> Any:
        if what == "fail":
            return [np.asarray(output + 1, dtype=output.dtype) for output in outputs]
        raise NotImplementedError(what) if what == "unsupported" else RuntimeError(what)
