"""Backends whose outputs also depend on the number of earlier runs or on an environment variable."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, ClassVar

import numpy as np
from fake_backends import AlwaysRight

__version__ = "1.31.1"


class VariesOnArgMax(AlwaysRight):
    """Correct, except every second time that a model with ArgMax is prepared."""

    prepared: ClassVar[Counter[bytes]] = Counter()

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        key = model.SerializeToString(deterministic=True)
        cls.prepared[key] += 1
        backend = cls(model)
        is_argmax = any(node.op_type == "ArgMax" for node in model.graph.node)
        backend.wrong = is_argmax and cls.prepared[key] % 2 == 0
        return backend

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.asarray(one + 1, dtype=one.dtype) for one in outputs] if self.wrong else outputs


class FollowsEnvironment(AlwaysRight):
    """Fails on models with an operator as the variable `FAULTS` demands: `fail:Adam`, `error:ArgMax`."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        operators = {node.op_type for node in self.model.graph.node}
        for fault in os.environ.get("FAULTS", "").split():
            kind, _, operator = fault.partition(":")
            if operator in operators:
                return self._fail(kind, outputs)
        return outputs

    def _fail(self, kind: str, outputs: list[Any]) -> Any:
        if kind == "fail":
            return [np.asarray(output + 1, dtype=output.dtype) for output in outputs]
        raise NotImplementedError(kind) if kind == "unsupported" else RuntimeError(kind)
