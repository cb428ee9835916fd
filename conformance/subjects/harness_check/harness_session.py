"""A session with a harness under check: processes, commands and answers, and the outcome of each rule.

`HarnessProcess` exchanges raw lines with a time limit. `HarnessSession` sends commands and returns the answers, even if
they violate the protocol. It records the violations for the rules about the whole session.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.base.processes.start import start_in_session
from conformance.base.serialization.decoding import MalformedError, decode_json, read_own_toml, schema_violation
from conformance.subjects.isolation.protocol import PROTOCOL_VERSION
from conformance.subjects.isolation.proxies import encode_value
from conformance.subjects.isolation.subject_client import ScratchFolders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.subjects.harness_check.harness_probes import Probe


class RuleState(StrEnum):
    """Outcome of checking a rule."""

    HOLDS = "holds"
    FAILS = "fails"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class ProtocolRule:
    """A rule of the protocol, and the function that checks it.

    Attributes:
        name: stable identifier, in kebab case.
        text: the statement, as a sentence.
        hint: what to do if the rule is violated.
        check: function that raises `RuleViolation` if the rule is violated, and `RuleSkipped` if it cannot be checked.
    """

    name: str
    text: str
    hint: str
    check: Callable[[HarnessSession], None]


def rules_of(group: str, functions: Mapping[str, Any]) -> tuple[ProtocolRule, ...]:
    """Return the rules of a group in `rules.toml`.

    Args:
        functions: the functions of a module by name; `_check_data_length` checks the rule `data-length`.
    """
    texts = read_own_toml("conformance.subjects.harness_check", "rules.toml")[group]
    checks = {name: functions[f"_check_{name.replace('-', '_')}"] for name in texts}
    return tuple(ProtocolRule(name, **texts[name], check=check) for name, check in checks.items())


@dataclass(frozen=True)
class RuleOutcome:
    """The result of the check of one rule.

    Attributes:
        name: identifier of the rule.
        text: statement of the rule.
        state: whether the rule holds.
        why: how the harness violated the rule, or why the rule was skipped.
        sent: the last command; empty if the violation does not belong to a single command.
        received: the last answer; empty if `sent` is empty.
        hint: what to do.
    """

    name: str
    text: str
    state: RuleState
    why: str = ""
    sent: str = ""
    received: str = ""
    hint: str = ""


class RuleViolation(Exception):
    """The harness violates a rule.

    Args:
        problem: how the harness violates the rule.
        hint: what to do; by default the hint of the rule.
    """

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


class RuleSkipped(Exception):
    """A rule cannot be checked; the message is the reason."""


class AnswerTimeout(Exception):
    """The harness wrote no line within the time limit."""


class OutputEnded(Exception):
    """The harness has exited, or has closed its output."""


STDERR_LIMIT_BYTES = 600
_MAX_LINE_BYTES = 2**24
"""Longest line of the output; a longer line is read in parts of this length, which are not answers."""

_WAITING_LINES = 16
"""Number of lines that are read before the session wants them; then the harness must wait."""

_READ_BYTES = 2**16
_READER_GRACE_SECONDS = 2.0
"""Time for the end of the pipes after that of a harness: a process of another group may keep them open."""

_ORPHAN_GRACE_SECONDS = 2.0
"""Time, after the exit of a harness, within which the processes that it started must end."""


class HarnessProcess:
    """A process of the harness, in the same environment as in a run.

    Threads read its output and its standard error, so that neither grows without limit.

    Args:
        argv: the command.
        timeout: limit of each wait, in seconds.
        folder: folder in which the temporary folders of the process are created.

    Raises:
        OSError: the command cannot be started.
    """

    def __init__(self, argv: Sequence[str], timeout: float, folder: Path) -> None:
        self._timeout = timeout
        self._scratch = ScratchFolders.create(folder)
        self._stderr = b""
        self._lines: queue.Queue[bytes | None] = queue.Queue(_WAITING_LINES)
        try:
            self._process = start_in_session(argv, self._scratch.work, self._scratch.environment())
        except OSError:
            self._remove_scratch()
            raise
        self._threads: list[threading.Thread] = []
        self._start_thread(self._read)
        self._stderr_reader = self._start_thread(self._read_stderr)

    def send(self, line: bytes) -> None:
        """Start to write a line without waiting for the harness: a faulty harness may never read a long line."""
        self._start_thread(self._write, line)

    def close_input(self) -> None:
        """Start to close the input of the harness, without waiting for the harness to read it."""
        self._start_thread(self._close)

    def read_line(self, deadline: float) -> bytes:
        """Return the next line of standard output.

        Args:
            deadline: time until which to wait, by the monotonic clock.

        Raises:
            AnswerTimeout: no line came until the deadline.
            OutputEnded: no line will come.
        """
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise AnswerTimeout  # also if there are lines: a harness may write them without end
        try:
            line = self._lines.get(timeout=rest)
        except queue.Empty:
            raise AnswerTimeout from None
        if line is None:
            self._lines.put(None)
            raise OutputEnded
        return line

    def deadline(self) -> float:
        """Return the end of the time limit for a wait that begins now, by the monotonic clock."""
        return time.monotonic() + self._timeout

    def wait_for_exit(self) -> int | None:
        """Wait for the exit; return the exit status, or minus the number of the signal that ended the process.

        Return None if the process still runs after the time limit.
        """
        with suppress(TimeoutExpired):
            return self._process.wait(self._timeout)
        return None

    def describe_exit(self) -> str:
        """Return in words how the process ended, with the last part of its standard error."""
        status = self.wait_for_exit()
        if status is None:
            how = "it closed its standard output and still runs"
        elif status < 0:
            how = f"it was killed by {signal.Signals(-status).name}"
        else:
            how = f"it exited with status {status}"
        self._stderr_reader.join(0 if status is None else _READER_GRACE_SECONDS)
        tail = self._stderr.decode(errors="replace").strip()
        return how + (f"; standard error: {tail}" if tail else "")

    def has_orphans(self) -> bool:
        """Return whether processes started by the harness still run `_ORPHAN_GRACE_SECONDS` after its exit."""
        deadline = time.monotonic() + _ORPHAN_GRACE_SECONDS
        while (is_alive := self._signal_group(0)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return is_alive

    def kill(self) -> None:
        """Kill the process and all processes that it started, and close the pipes."""
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + _READER_GRACE_SECONDS
        while (is_alive := any(thread.is_alive() for thread in self._threads)) and time.monotonic() < deadline:
            with suppress(queue.Empty):
                self._lines.get(timeout=0.01)  # the reader may wait until a line is taken
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                if stream is not None and not is_alive:  # a reader would make `close` wait
                    stream.close()
        self._remove_scratch()

    def _remove_scratch(self) -> None:
        shutil.rmtree(self._scratch.root, ignore_errors=True)

    def _signal_group(self, number: int) -> bool:
        """Send a signal to the process group; return whether the group exists."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _start_thread(self, work: Callable[..., None], *arguments: bytes) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def _close(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(_MAX_LINE_BYTES):
            self._lines.put(line.removesuffix(b"\n"))
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while text := os.read(self._process.stderr.fileno(), _READ_BYTES):
            self._stderr = (self._stderr + text)[-STDERR_LIMIT_BYTES:]


FIRST_SEQ = 101
"""Number of the first command: neither 0 nor 1, to detect a harness that counts by itself."""

SEQ_STEP = 7
EXCERPT_LIMIT = 240
"""Characters of a message that an outcome shows."""

ANSWER_KEYS = ("loaded", "outputs", "optimized", "invalid_return", "unsupported", "error")
"""Key that identifies each kind of answer, except the answer to `start`."""

_SCHEMA_NAMES = {"outputs": "ran"}

AnswerMessage: TypeAlias = dict[str, Any]


@dataclass
class Violations:
    """Violations of one kind: the first, shortened, and their number."""

    first: str = ""
    count: int = 0

    def add(self, describe: Callable[[], str]) -> None:
        """Count a violation; it is described only if it is the first."""
        if not self.count:
            self.first = describe()
        self.count += 1


@dataclass
class IrregularAnswers:
    """Violations in the output of the whole session, for the rules in `check.WHOLE_SESSION_RULES`.

    Attributes:
        stray: lines that are not answers to a pending command.
        numbers: answers whose number (`seq`) differs from the number of the command.
        schema: answers that violate their schema.
    """

    stray: Violations = field(default_factory=Violations)
    numbers: Violations = field(default_factory=Violations)
    schema: Violations = field(default_factory=Violations)


class HarnessSession:
    """A session with the harness under check; it can start several processes, one after another.

    The numbers (`seq`) of commands are continuous over all processes.

    Args:
        argv: command of the harness.
        timeout: time limit of an answer, in seconds.
        folder: an empty folder, for models and temporary files.

    Attributes:
        irregular: violations so far.
        started: the last answer to `start`.
        sent: the last command, shortened.
        received: the answer to the last command, shortened; empty if there is none.
    """

    def __init__(self, argv: Sequence[str], timeout: float, folder: Path) -> None:
        self._argv = tuple(argv)
        self.timeout = timeout
        self.folder = folder
        self.irregular = IrregularAnswers()
        self.started: AnswerMessage = {}
        self.sent = ""
        self.received = ""
        self._process: HarnessProcess | None = None
        self._seq = FIRST_SEQ
        self._used_seqs: set[int] = set()

    def start(self) -> AnswerMessage:
        """Start a process, send `start`, and return the answer."""
        self.sent = ""
        self.received = ""
        try:
            self._process = HarnessProcess(self._argv, self.timeout, self.folder)
        except OSError as error:
            raise RuleViolation(
                f"the command cannot be started: {error.strerror}", "Name a program that exists."
            ) from None
        self.started = self.ask("start", version=PROTOCOL_VERSION)
        return self.started

    def ask(self, command: str, **fields: Any) -> AnswerMessage:
        """Send a command and return its answer; start a process first if none runs.

        Raises:
            RuleViolation: no answer came.
        """
        seq = self._send(command, fields)
        answer = self._receive(seq)
        self._record_irregular(command, seq, answer)
        return answer

    def load(self, model: onnx.ModelProto | bytes, name: str = "model") -> AnswerMessage:
        """Send `load`, and return the answer."""
        return self.ask("load", model=str(self.write_model(model, name)))

    def run(self, inputs: Mapping[str, Array]) -> AnswerMessage:
        """Send `run`, and return the answer."""
        return self.ask("run", inputs=[encode_value(name, array) for name, array in inputs.items()])

    def load_and_run_probe(self, probe: Probe) -> list[AnswerMessage]:
        """Load and run a probe, and return the messages of its outputs.

        Raises:
            RuleViolation: the load or the run fails.
            RuleSkipped: the harness reports that the model is unsupported.
        """
        self.expect("loaded", self.load(probe.model))
        return self.run_probe(probe)

    def run_probe(self, probe: Probe) -> list[AnswerMessage]:
        """Run the loaded model on a probe's inputs, and return the messages of the outputs.

        Raises:
            RuleViolation: the run fails.
            RuleSkipped: the harness reports that the model is unsupported.
        """
        outputs = self.expect("outputs", self.run(probe.inputs))
        if not (isinstance(outputs, list) and all(isinstance(output, dict) for output in outputs)):
            raise RuleViolation("`outputs` is not a list of objects")
        return outputs

    def expect(self, key: str, answer: AnswerMessage) -> Any:
        """Return the value of an answer's key.

        Raises:
            RuleViolation: the answer lacks the key.
            RuleSkipped: the answer is `unsupported`.
        """
        if key in answer:
            return answer[key]
        if "unsupported" in answer:
            raise RuleSkipped(f"the harness answers `unsupported`: {excerpt(answer['unsupported'])}")
        raise RuleViolation(f"the answer has no `{key}`")

    def expect_error(self, answer: AnswerMessage) -> None:
        """Check that an answer is an error.

        Raises:
            RuleViolation: the answer is not an error.
        """
        if "error" not in answer:
            raise RuleViolation("the answer has no `error`")

    def expect_refusal(self, answer: AnswerMessage) -> None:
        """Check that an answer is an error or `unsupported`.

        Raises:
            RuleViolation: the answer is neither.
        """
        if "unsupported" not in answer:
            self.expect_error(answer)

    def stop(self) -> HarnessProcess:
        """Send `stop`, and return the process; the next command starts a new process."""
        self._send("stop", {})
        return self._release_process()

    def close_input(self) -> HarnessProcess:
        """Close the input of the harness, and return the process; the next command starts a new process."""
        process = self._release_process()
        process.close_input()
        self.sent = "the end of the input"
        return process

    def kill(self) -> None:
        """Kill the process, if one runs."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def write_model(self, model: onnx.ModelProto | bytes, name: str = "model") -> Path:
        """Write a model, or other bytes, to a file, and return its path."""
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString(deterministic=True))
        return path

    def record_stray(self, line: bytes) -> None:
        """Record a line that is not an answer."""
        self.irregular.stray.add(lambda: excerpt(line.decode(errors="replace")))

    def _running_process(self) -> HarnessProcess:
        """Return the process; start one if none runs."""
        if self._process is None:
            self.start()
        assert self._process is not None
        return self._process

    def _release_process(self) -> HarnessProcess:
        process = self._running_process()
        self._process = None
        self.received = ""
        return process

    def _send(self, command: str, fields: Mapping[str, Any]) -> int:
        process = self._running_process()
        self._seq += SEQ_STEP
        self._used_seqs.add(self._seq)
        line = json.dumps({"cmd": command, "seq": self._seq, **fields}, separators=(",", ":"))
        self.sent = excerpt(line)
        self.received = ""
        process.send(line.encode())
        return self._seq

    def _receive(self, seq: int) -> AnswerMessage:
        """Return the answer to the command with the number `seq`.

        Answers to earlier commands, and lines that are not JSON objects, are skipped and recorded as violations.
        """
        assert self._process is not None
        deadline = self._process.deadline()
        while True:
            try:
                line = self._process.read_line(deadline)
            except AnswerTimeout:
                self.kill()
                raise RuleViolation(f"no answer came within {self.timeout:g} s, and the harness was killed") from None
            except OutputEnded:
                how = self._process.describe_exit()
                self.kill()
                raise RuleViolation(f"no answer came: {how}", "Catch the failure, answer it, and continue.") from None
            answer = _parse_object(line)
            if answer is None or (answer.get("seq") != seq and answer.get("seq") in self._used_seqs):
                self.record_stray(line)
                continue
            self.received = excerpt(line.decode(errors="replace"))
            return answer

    def _record_irregular(self, command: str, seq: int, answer: AnswerMessage) -> None:
        """Record a wrong number or a schema violation in an answer."""
        if answer.get("seq") != seq or isinstance(answer.get("seq"), bool):
            self.irregular.numbers.add(lambda: f"{excerpt(answer)} in answer to {self.sent}")
        key = next((key for key in ANSWER_KEYS if key in answer), None)
        definition = _SCHEMA_NAMES.get(key, key) if key else "started" if command == "start" else "error"
        if violation := schema_violation("protocol", answer, definition):
            self.irregular.schema.add(lambda: f"{violation}: {excerpt(answer)}")


def _parse_object(line: bytes) -> AnswerMessage | None:
    try:
        answer = decode_json(line)
    except MalformedError:
        return None
    return answer if isinstance(answer, dict) else None


def excerpt(value: object) -> str:
    """Return a text or JSON value in one line of limited length."""
    text = value if isinstance(value, str) else json.dumps(value)
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT_LIMIT else f"{text[:EXCERPT_LIMIT]}… ({len(text)} characters)"
