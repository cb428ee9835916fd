"""What `judge` is handed in the place of a backend in a process of its own: the same interface, the same behaviour."""

from __future__ import annotations

import time
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.isolation.protocol import decoded, encoded, stand_in
from conformance.isolation.tensor_files import LARGE, put, taken
from conformance.models.feeds import fed_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.isolation.host import Host
    from conformance.isolation.process import SubjectProcess
    from conformance.models.arrays import Array


class BackendProxy:
    """A backend by ONNX's own interface.

    Attributes:
        tells_seconds: whether it said of the last model that it loaded how long that took.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tells_seconds = False
        self._loaded: dict[int, PreparedProxy] = {}
        self._handed_out: list[Sequence[Any]] = []
        self._ahead: tuple[onnx.ModelProto, PreparedProxy] | None = None
        self._ready: tuple[onnx.ModelProto, PreparedProxy] | None = None
        self._places = cycle(("next.onnx", "next_but_one.onnx"))

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> PreparedProxy:  # noqa: ARG002
        """Have the model loaded, as the only one.

        Raises:
            SubjectFailure: it is not; see `conformance.isolation.failures`.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] is model and self.host.is_asked_ahead:
            ahead[1].take_loaded()
            return ahead[1]
        self.host.begin_case()
        return self._prepared(model, 0)

    def make_ready(self, model: onnx.ModelProto, inputs: Sequence[Array] | None = None) -> None:
        """Have all ready that it takes to ask for the model while the subject may still load or run another.

        Args:
            inputs: what it will be run on first, where that is known: it is at once, if the subject takes that.
        """
        if self.host.has_child:
            self._ready = model, PreparedProxy(self, model.SerializeToString(), fed_names(model.graph), 0)
            self._ready[1].make_ready(next(self._places), inputs)

    def prepare_ahead(self, model: onnx.ModelProto, inputs: Sequence[Array] | None = None) -> None:
        """Have the model loaded, as the only one, while what came of the one before is still looked at.

        `prepare` then returns what has become of it. How long that took only the subject can say.

        Args:
            inputs: as `make_ready` says, which need not have been called.
        """
        if self.host.is_ready:
            if self._ready is None or self._ready[0] is not model or not self.host.is_running(self._ready[1].child):
                self.make_ready(model, inputs)
            self._ahead, self._ready = self._ready, None
            assert self._ahead is not None
            self._ahead[1].load_ahead()

    def prepare_beside(self, model: onnx.ModelProto, device: str = "CPU") -> PreparedProxy:  # noqa: ARG002
        """Have a second model loaded; where the harness keeps only one, the two take each other's place at every turn.

        Raises:
            SubjectFailure: it is not; see `conformance.isolation.failures`.
        """
        return self._prepared(model, 1 if self.host.introduced().models > 1 else 0)

    def _prepared(self, model: onnx.ModelProto, slot: int) -> PreparedProxy:
        prepared = PreparedProxy(self, model.SerializeToString(), fed_names(model.graph), slot)
        prepared.load()
        return prepared

    def is_loaded(self, prepared: PreparedProxy) -> bool:
        """Whether the process still has a model that it has loaded."""
        return self._loaded.get(prepared.slot) is prepared and self.host.is_running(prepared.child)

    def loads(self, prepared: PreparedProxy) -> None:
        """Take down that a model is loaded now; what is loaded as the only one leaves nothing of what was."""
        if prepared.slot == 0 or any(other.child is not prepared.child for other in self._loaded.values()):
            self._loaded.clear()
            self._handed_out.clear()
        self._loaded[prepared.slot] = prepared

    def hands_out(self, outputs: Sequence[Any], overwritten: Sequence[Sequence[int]]) -> None:
        """Keep a run's outputs, and change those of earlier runs that the subject has written into since.

        Args:
            outputs: None in the place of large ones, which the harness keeps no more than these.
            overwritten: pairs of a run, counted since the only model was loaded, and an output.

        Raises:
            SubjectFailure: there is no such output.
        """
        for run, place in overwritten:
            if run >= len(self._handed_out) or place >= len(self._handed_out[run]):
                raise self.host.nonsense(f"says that it has overwritten output {place} of run {run}")
            output = self._handed_out[run][place]
            if isinstance(output, np.ndarray):
                _spoil(output)
        self._handed_out.append(outputs)


class PreparedProxy:
    """A model that the subject has loaded; it is loaded again where another one has taken its place.

    Attributes:
        placement: how many nodes of which operators ran where, as the subject last said; None where it did not say.
        seconds_ahead: how long the subject was at what was asked of it last before that was asked for.
    """

    def __init__(self, backend: BackendProxy, model: bytes, names: Sequence[str], slot: int) -> None:
        self._backend = backend
        self._model = model
        self._names = names
        self.slot = slot
        self.child: SubjectProcess | None = None
        self.placement: dict[str, dict[str, int]] | None = None
        self.seconds_ahead = 0.0
        self._ready: tuple[dict[str, Any], tuple[str, dict[str, Any]] | None] | None = None

    def load(self) -> None:
        """Have the model loaded."""
        told = self._told(f"model{self.slot or ''}.onnx")
        self._backend.loads(self)
        self._is_loaded(self._backend.host.ask("load", **told))

    def make_ready(self, file: str, inputs: Sequence[Array] | None) -> None:
        """Write the model to a file, and put in words what to do with it."""
        host = self._backend.host
        can_run = inputs is not None and host.introduced().then and all(array.nbytes < LARGE for array in inputs)
        self._ready = self._told(file), ("run", self._fed(inputs)) if inputs is not None and can_run else None

    def load_ahead(self) -> None:
        """Have the model loaded, and run if that can be, without waiting for it."""
        assert self._ready is not None
        self._backend.loads(self)
        self._backend.host.ask_ahead("load", *self._ready)
        self._ready = None

    def take_loaded(self) -> None:
        """Wait until what was begun ahead is done."""
        began = time.perf_counter()
        answer = self._backend.host.answer_ahead()
        self._took(answer, began)
        self._is_loaded(answer)

    def _took(self, answer: Mapping[str, Any], began: float) -> None:
        """Take down how long the subject was at it before its answer was waited for."""
        self.seconds_ahead = max(0.0, answer.get("seconds", 0.0) - (time.perf_counter() - began))

    def _told(self, file: str) -> dict[str, Any]:
        """What a command to load it from a file says."""
        self.child = self._backend.host.child
        return {"model": self.child.given(file, self._model), **self._which()}

    def _is_loaded(self, answer: Mapping[str, Any]) -> None:
        self.placement = answer.get("placement")
        self._backend.tells_seconds = "seconds" in answer

    def run(self, inputs: Sequence[Array]) -> Any:
        """What the subject returns for what it is fed, in the graph's order; what it changed is changed here too.

        Raises:
            SubjectFailure: it returns nothing; see `conformance.isolation.failures`.
        """
        host = self._backend.host
        if not self._backend.is_loaded(self):
            host.begin_case()
            self.load()
        began = time.perf_counter()
        answer = host.ask("run", **self._fed(inputs))
        self._took(answer, began)
        if "returned" in answer:
            return stand_in(answer["returned"])
        self.placement = answer.get("placement", self.placement)
        for number in answer.get("changed", ()):
            if number >= len(inputs):
                raise host.nonsense(f"says that it changed input {number} of {len(inputs)}")
            _spoil(inputs[number])
        outputs = [self._output(host, number, message) for number, message in enumerate(answer["outputs"])]
        kept = [
            output if "file" not in message else None
            for output, message in zip(outputs, answer["outputs"], strict=True)
        ]
        self._backend.hands_out(kept, answer.get("overwritten", ()))
        return outputs

    def _fed(self, inputs: Sequence[Array]) -> dict[str, Any]:
        """What a command to run it says."""
        host = self._backend.host
        names = [*self._names, *(str(number) for number in range(len(self._names), len(inputs)))]
        in_files = host.introduced().files
        messages = [
            _message(host, number, name, array) if in_files and array.nbytes >= LARGE else encoded(name, array)
            for number, (name, array) in enumerate(zip(names, inputs, strict=False))
        ]
        return {"inputs": messages, **self._which(), **({"files": _outputs(host)} if in_files else {})}

    def _which(self) -> dict[str, int]:
        """How a command says that it is about the second model; about the first, or the only one, it says nothing."""
        return {"slot": self.slot} if self.slot else {}

    def _output(self, host: Host, number: int, message: dict[str, Any]) -> Any:
        if "returned" in message:
            return stand_in(message["returned"])
        try:
            if "file" not in message:
                return decoded(message)
            return taken(message, f"{_outputs(host)}{number}", host.limits.file)
        except ValueError as error:
            raise host.nonsense(f"answered `run` with output {number} that {error}") from None


def _message(host: Host, number: int, name: str, array: Array) -> dict[str, Any]:
    """A large input's message; its elements are in a file."""
    return put(f"{host.child.scratch.models}/input_{number}", name, array)


def _outputs(host: Host) -> str:
    """What the names of the files begin with that large outputs go to; their numbers follow."""
    return f"{host.child.scratch.work}/output_"


def _spoil(array: Array) -> None:
    """Make an input another than it was."""
    if array.size:
        flat = array.reshape(-1)[:1].copy()
        array.reshape(-1)[:1] = (flat.view("u1") ^ 1).view(array.dtype)
