"""What `judge` is handed in the place of a graph optimizer in a process of its own: the same interface."""

from __future__ import annotations

import os
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import onnx

from conformance.isolation.protocol import stand_in

if TYPE_CHECKING:
    from conformance.isolation.host import Host


class OptimizerProxy:
    """A graph optimizer: called with a model, it returns the rewritten one."""

    def __init__(self, host: Host, passes: tuple[str, ...], *, fixed_point: bool) -> None:
        self.host = host
        self.passes = passes
        known = {"model": Parameter.empty} | ({"fixed_point": False} if fixed_point else {})
        self.__signature__ = Signature(
            [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default) for name, default in known.items()]
        )

    def __call__(self, model: onnx.ModelProto, fixed_point: bool = False) -> Any:
        """What the graph optimizer returns.

        Raises:
            SubjectFailure: it returns nothing; see `conformance.isolation.failures`.
        """
        self.host.begin_case()
        child = self.host.child
        output = f"{child.scratch.work}/rewritten.onnx"
        answer = self.host.ask(
            "optimize",
            model=child.given("model.onnx", model.SerializeToString()),
            output=output,
            fixed_point=fixed_point,
        )
        if "returned" in answer:
            return stand_in(answer["returned"])
        if answer.get("changed_input"):
            model.CopyFrom(self._given(f"{output}.given"))
        return self._rewritten(output)

    def _given(self, path: str) -> onnx.ModelProto:
        """The model that the subject was given, as it is now; where its harness does not tell, one that says so."""
        if os.path.lexists(path):
            return self._rewritten(path)
        return onnx.ModelProto(doc_string="changed by the graph optimizer, whose harness does not tell how")

    def _rewritten(self, path: str) -> onnx.ModelProto:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                content = stream.read(self.host.limits.line + 1)
            os.unlink(path)  # noqa: PTH108
        except OSError as error:
            raise self.host.nonsense(f"wrote no model where it was asked to: {error.strerror}") from None
        if len(content) > self.host.limits.line:
            raise self.host.nonsense(f"wrote a model of more than {self.host.limits.line} bytes")
        try:
            rewritten: onnx.ModelProto = onnx.ModelProto.FromString(content)
        except Exception as error:  # noqa: BLE001 - protobuf's own class differs by its implementation
            raise self.host.nonsense(f"wrote what is no model: {type(error).__name__}: {error}") from None
        return rewritten
