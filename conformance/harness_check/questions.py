"""How a fact asks: a command goes out, its answer comes back, and what is amiss with any answer is kept for later.

A harness that ended or was silent is started again for the next fact, so that one fault hides no other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.harness_check.conversation import Conversation, Ended, Silence
from conformance.isolation.protocol import PROTOCOL, encoded
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.harness_check.probes import Probe
    from conformance.models.arrays import Array

FIRST_SEQ = 101
"""Neither 0 nor 1, so that an answer with a fixed number shows."""

SEQ_STEP = 7
LONGEST_SHOWN = 240
MESSAGES = ("loaded", "outputs", "optimized", "returned", "unsupported", "error")
"""The field by which each kind of answer is known, but for that to `start`."""

_DEFINITIONS = {"outputs": "ran"}

AnswerMessage: TypeAlias = dict[str, Any]


class Complaint(Exception):
    """A fact does not hold.

    Args:
        problem: what came instead.
        mend: what to do, if not what the fact says.
    """

    def __init__(self, problem: str, mend: str = "") -> None:
        super().__init__(problem)
        self.problem, self.mend = problem, mend


class Skip(Exception):
    """A fact cannot be looked at, and why."""


@dataclass
class Kept:
    """What was amiss with answers of the whole conversation: the first of each, for facts of their own."""

    stray: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    schema: list[str] = field(default_factory=list)


class Questions:
    """The harness under check, one process after another.

    Args:
        argv: its command.
        timeout: seconds that an answer may take.
        folder: an empty directory, for models.
    """

    def __init__(self, argv: Sequence[str], timeout: float, folder: Path) -> None:
        self._argv, self.timeout, self.folder = tuple(argv), timeout, folder
        self.kept = Kept()
        self.started: AnswerMessage = {}
        self.sent, self.came = "", ""
        self._conversation: Conversation | None = None
        self._seq = FIRST_SEQ
        self._asked: set[int] = set()

    def start(self) -> AnswerMessage:
        """Start a process and ask it to start; its answer."""
        self.sent, self.came = "", ""
        try:
            self._conversation = Conversation(self._argv, self.timeout)
        except OSError as error:
            raise Complaint(f"the command cannot be started: {error.strerror}", "Name a program that exists.") from None
        self.started = self.ask("start", version=PROTOCOL)
        return self.started

    def ask(self, cmd: str, **fields: Any) -> AnswerMessage:
        """The answer to a command.

        Raises:
            Complaint: none came.
        """
        if self._conversation is None:
            self.start()
        seq = self._send(cmd, fields)
        answer = self._answer(seq)
        self._look_at(cmd, seq, answer)
        return answer

    def load(self, model: onnx.ModelProto | bytes, name: str = "model") -> AnswerMessage:
        """The answer to loading a model."""
        return self.ask("load", model=str(self.file(model, name)))

    def run(self, inputs: Mapping[str, Array]) -> AnswerMessage:
        """The answer to a run on these inputs."""
        return self.ask("run", inputs=[encoded(name, array) for name, array in inputs.items()])

    def load_and_run(
        self, model: onnx.ModelProto | bytes, inputs: Mapping[str, Array]
    ) -> tuple[AnswerMessage, AnswerMessage | None]:
        """The answers to a `load` that carries a `run`; there is no second one where the first says that it failed."""
        if self._conversation is None:
            self.start()
        self._seq += SEQ_STEP
        self._asked.add(seq := self._seq)
        run = {"cmd": "run", "seq": seq, "inputs": [encoded(name, array) for name, array in inputs.items()]}
        loaded = self.ask("load", model=str(self.file(model)), then=run)
        if "loaded" not in loaded:
            return loaded, None
        ran = self._answer(seq)
        self._look_at("run", seq, ran)
        return loaded, ran

    def outputs_of(self, probe: Probe) -> list[AnswerMessage]:
        """The outputs of a probe that is loaded and run.

        Raises:
            Complaint: it is not.
            Skip: the harness says that it is unsupported.
        """
        self.expect("loaded", self.load(probe.model))
        return self.ran(probe)

    def ran(self, probe: Probe) -> list[AnswerMessage]:
        """The outputs of the loaded model on a probe's inputs; see `outputs_of`."""
        outputs = self.expect("outputs", self.run(probe.inputs))
        if not (isinstance(outputs, list) and all(isinstance(output, dict) for output in outputs)):
            raise Complaint("`outputs` is not a list of objects")
        return outputs

    def expect(self, key: str, answer: AnswerMessage) -> Any:
        """The field of an answer by which it is known.

        Raises:
            Complaint: the answer is another.
            Skip: it says `unsupported`.
        """
        if key in answer:
            return answer[key]
        if "unsupported" in answer:
            raise Skip(f"the harness says that it is unsupported: {in_short(answer['unsupported'])}")
        raise Complaint(f"the answer has no `{key}`")

    def expect_error(self, answer: AnswerMessage) -> None:
        """Look whether an answer is an error.

        Raises:
            Complaint: it is not.
        """
        if "error" not in answer:
            raise Complaint("the answer has no `error`")

    def expect_refusal(self, answer: AnswerMessage) -> None:
        """Look whether an answer is an error or `unsupported`.

        Raises:
            Complaint: it is not.
        """
        if "unsupported" not in answer:
            self.expect_error(answer)

    def stop(self) -> Conversation:
        """Ask the harness to stop; the conversation with it, which is at its end."""
        if self._conversation is None:
            self.start()
        self._send("stop", {})
        return self._handed_over()

    def close(self) -> Conversation:
        """Close the harness's input instead; likewise."""
        if self._conversation is None:
            self.start()
        conversation = self._handed_over()
        conversation.close()
        self.sent = "the end of the input"
        return conversation

    def abandon(self) -> None:
        """End the process, if there is one."""
        if self._conversation is not None:
            self._conversation.kill()
            self._conversation = None

    def file(self, model: onnx.ModelProto | bytes, name: str = "model") -> Path:
        """A file with a model, or with other bytes."""
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString(deterministic=True))
        return path

    def stray(self, line: bytes) -> None:
        """Keep a line that is no answer."""
        self.kept.stray.append(in_short(line.decode(errors="replace")))

    def _handed_over(self) -> Conversation:
        assert self._conversation is not None
        conversation, self._conversation, self.came = self._conversation, None, ""
        return conversation

    def _send(self, cmd: str, fields: Mapping[str, Any]) -> int:
        assert self._conversation is not None
        self._seq += SEQ_STEP
        self._asked.add(self._seq)
        line = json.dumps({"cmd": cmd, "seq": self._seq, **fields}, separators=(",", ":"))
        self.sent, self.came = in_short(line), ""
        self._conversation.send(line.encode())
        return self._seq

    def _answer(self, seq: int) -> AnswerMessage:
        """The next line that is an answer to that command, or to none."""
        assert self._conversation is not None
        deadline = self._conversation.deadline()
        while True:
            try:
                line = self._conversation.line(deadline)
            except Silence:
                self.abandon()
                raise Complaint(f"no answer came within {self.timeout:g} s, and the harness was killed") from None
            except Ended:
                how = self._conversation.ending()
                self.abandon()
                raise Complaint(f"no answer came: {how}", "Catch what goes wrong, answer it, and go on.") from None
            answer = _object(line)
            if answer is None or (answer.get("seq") != seq and answer.get("seq") in self._asked):
                self.stray(line)
                continue
            self.came = in_short(line.decode(errors="replace"))
            return answer

    def _look_at(self, cmd: str, seq: int, answer: AnswerMessage) -> None:
        """Keep what is amiss with an answer, whatever it says."""
        if answer.get("seq") != seq or isinstance(answer.get("seq"), bool):
            self.kept.numbers.append(f"{in_short(answer)} in answer to {self.sent}")
        key = next((key for key in MESSAGES if key in answer), None)
        part = _DEFINITIONS.get(key, key) if key else "started" if cmd == "start" else "error"
        if departure := complaint("protocol", answer, part):
            self.kept.schema.append(f"{departure}: {in_short(answer)}")


def _object(line: bytes) -> AnswerMessage | None:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def in_short(thing: object) -> str:
    """Something in one short line."""
    text = thing if isinstance(thing, str) else json.dumps(thing)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}… ({len(text)} characters)"
