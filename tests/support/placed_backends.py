"""Backends that were given a provider called Acme, each with another story of what ran where; all answer rightly."""

from __future__ import annotations

from typing import Any, ClassVar

from fake_backends import AlwaysRight


class RunsAll(AlwaysRight):
    placement: ClassVar[Any] = {"Acme": {"ArgMax": 1, "Exp": 2}}

    @classmethod
    def asked_provider(cls, **_: str) -> str | None:
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
    """Knows only after the first run."""

    @property
    def placement(self) -> Any:  # type: ignore[override]
        return RunsNothing.placement if self.runs else None


class MayFallBack(RunsNothing):
    @classmethod
    def asked_provider(cls, **_: str) -> str | None:
        return None


class RefusesAll(RunsAll):
    """Its runtime refuses every model before it gives a node to anybody."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        raise ValueError("this is no model")


class RefusesWhenRun(RunsAll):
    """Says where each node is, then refuses at run."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        return _Refusing(cls.placement)


class _Refusing:
    def __init__(self, placement: Any) -> None:
        self.placement = placement

    def run(self, inputs: Any) -> Any:
        raise ValueError("this is no input")


class CannotTell(AlwaysRight):
    """Takes a device, and has no way to say what ran there."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU") -> Any:
        return cls(model)
