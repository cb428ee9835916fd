"""Backends with the provider Acme that report different placements of nodes; their outputs are correct."""

from __future__ import annotations

from typing import Any, ClassVar

from fake_backends import AlwaysRight


class RunsAll(AlwaysRight):
    placement: ClassVar[Any] = {"Acme": {"ArgMax": 1, "Exp": 2}}

    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        return "Acme"


class RunsNothing(RunsAll):
    placement: ClassVar[Any] = {"CPU": {"ArgMax": 1, "Exp": 2}}


class RunsSome(RunsAll):
    placement: ClassVar[Any] = {"CPU": {"ArgMax": 1, "Cast": 1}, "Acme": {"Exp": 2}}


class LeavesCasts(RunsAll):
    placement: ClassVar[Any] = {"CPU": {"Cast": 4, "Identity": 1, "MemcpyToHost": 2}, "Acme": {"Exp": 2}}


class HasNothingToRun(RunsAll):
    placement: ClassVar[Any] = {"CPU": {"Cast": 1}}


class TellsNothing(RunsAll):
    placement: ClassVar[Any] = None


class TellsNonsense(RunsAll):
    placement: ClassVar[Any] = {"Acme": "all of it"}


class TellsLate(RunsAll):
    """Reports the placement after the first run."""

    @property
    def placement(self) -> Any:  # type: ignore[override]
        return RunsNothing.placement if self.runs else None


class MayFallBack(RunsNothing):
    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        return None


class RefusesAll(RunsAll):
    """Rejects every model before it places a node."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        raise ValueError("this is no model")


class RefusesWhenRun(RunsAll):
    """Reports the placement, then rejects the model at run."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        return _Refusing(cls.placement)


class _Refusing:
    def __init__(self, placement: Any) -> None:
        self.placement = placement

    def run(self, inputs: Any) -> Any:
        raise ValueError("this is no input")


class CannotTell(AlwaysRight):
    """Accepts a device, but cannot report placements."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        return cls(model)
