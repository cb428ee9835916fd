"""Start of processes. No other module of the suite starts a process, and none of these processes outlives the suite.

| function | for | when the suite is killed |
| --- | --- | --- |
| `run_program` | installers, compilers, one answer of a harness | the kernel kills the program (Linux) |
| `start_program` | other programs of the suite | the kernel kills the program (Linux) |
| `start_in_session` | a harness that is checked | its process group stays; it sees the end of its input |
| `start_supervised` | subjects | the supervisor kills the subject and all that it started |
| `start_sweeper` | temporary folders | the sweeper removes the folder |
| `start_worker` | parts of a job | the worker ends itself |
| `fork_process` | a run without isolation | the kernel kills the child (Linux) |

In a run without isolation, a subject that ends the process must not make the run pass. Example: a runtime calls
`exit(0)`, and the command would end with the exit status of a passed run. So `run_in_child` continues the run in a
child process, which is forked before large modules are imported. The child reports the exit status through a pipe. If
the child ends without a report, a subject or a signal has ended it.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from conformance.base.errors import ExitStatus, SuiteFault
from conformance.base.processes import helper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess


_INTERPRETER = (sys.executable, "-I", "-S", helper.__file__)

_SAFE_PATH = "PYTHONSAFEPATH"
_OF_WORKER = "worker"
"""Environment variable with which Python does not import from the current directory, and its value for a worker."""

_START_ATTEMPTS = 3
"""Number of workers that may be killed at their start."""

_MAX_KILL_ROUNDS = 100
_ROUND_PAUSE_SECONDS = 0.02

_supervisors: set[int] = set()
_sweepers: set[int] = set()
"""Process ids of the running helpers of this process."""


def available_processors() -> int:
    """Return the number of processors that this process may use; on macOS, the number of all processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_program(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, and return its exit status and its output.

    Args:
        command: the program and its arguments.
        options: options of `subprocess.run`, such as `input`, `env`, `cwd` and `timeout`.

    Raises:
        OSError: the program cannot be executed.
        TimeoutExpired: the program does not end within `timeout` seconds.
    """
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run(_with_this_process(command), capture_output=True, check=False, **options)


def start_program(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program without input, whose standard error goes to its standard output, which is a pipe.

    Args:
        command: the program and its arguments.
        options: options of `subprocess.Popen`, such as `env` and `pass_fds`.
    """
    return subprocess.Popen(
        _with_this_process(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def start_in_session(command: Sequence[str], folder: str, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a new session, with pipes for its input, output and standard error.

    Args:
        command: the program and its arguments.
        folder: its working directory.
        variables: its environment.

    Raises:
        OSError: the program cannot be executed.
    """
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(variables),
        start_new_session=True,
    )


def _with_this_process(command: Sequence[str]) -> list[str]:
    """Return a command that runs `command` in a process that dies with this process."""
    return [*_INTERPRETER, "die_with", str(os.getpid()), *command]


def start_supervised(
    command: Sequence[str], control: int, status: int, memory: int, scratch: str, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a supervisor that runs a subject's program; see `helper.supervise`. `end_supervisor` ends it.

    Args:
        command: the program and its arguments.
        control: file descriptor whose end of file makes the supervisor kill the program.
        status: file descriptor to which the supervisor writes how the program ended.
        memory: largest address space of the program in bytes; 0 for no limit.
        scratch: folder that the supervisor removes in the end.
        options: options of `subprocess.Popen`, such as `env` and `cwd`.
    """
    process = subprocess.Popen(
        [*_INTERPRETER, "supervise", str(control), str(status), str(memory), scratch, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=(control, status),
        start_new_session=True,
        **options,
    )
    _supervisors.add(process.pid)
    return process


def end_supervisor(process: subprocess.Popen[bytes], scratch: str, seconds: float) -> None:
    """Wait for the end of a supervisor whose control descriptor is closed, and clean up what it could not clean up.

    Args:
        process: the supervisor.
        scratch: the folder of its program.
        seconds: time after which the supervisor is killed.
    """
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _supervisors.discard(process.pid)
    if process.returncode:  # the subject or the kernel killed the supervisor
        _kill_leftovers(scratch)


def start_sweeper(folder: str, target: str | None = None) -> subprocess.Popen[bytes]:
    """Start a process that removes a folder when its input is closed or this process dies; see `helper.sweep`.

    `end_sweeper` closes the input.
    """
    process = subprocess.Popen(
        [*_INTERPRETER, "sweep", folder, *([target] if target else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    _sweepers.add(process.pid)
    return process


def end_sweeper(process: subprocess.Popen[bytes]) -> None:
    """Make a sweeper remove its folder, and wait for its end."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    _sweepers.discard(process.pid)


def start_worker(function: Callable[[Connection], None]) -> tuple[Connection, SpawnProcess]:
    """Start a process that calls `function(connection)`, and return the other end of the connection.

    The process is spawned, not forked. `function` must call `begin_worker` first. A process that is killed before it
    has read what it needs is started again.

    Raises:
        SuiteFault: `_START_ATTEMPTS` processes are killed at their start.
    """
    import multiprocessing  # few commands need it
    from multiprocessing import resource_tracker

    context = multiprocessing.get_context("spawn")
    own, theirs = context.Pipe()
    safe_path = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = safe_path or _OF_WORKER  # a `struct.py` in the current directory is not the module
    try:
        resource_tracker.ensure_running()  # its start, which the first start of a process causes, unblocks SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until `begin_worker` ignores it
        try:
            process = _start_spawned(lambda: context.Process(target=function, args=(theirs,), daemon=False))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        if safe_path is None:
            del os.environ[_SAFE_PATH]
    theirs.close()
    return own, process


def _start_spawned(create: Callable[[], SpawnProcess]) -> SpawnProcess:
    """Start a process; if it is killed before it has read its arguments, start another."""
    for _ in range(_START_ATTEMPTS):
        process = create()
        with suppress(BrokenPipeError):  # the command would end as if the reader of its output had ended
            process.start()
            return process
    raise SuiteFault(f"{_START_ATTEMPTS} workers were killed at their start")


def begin_worker() -> None:
    """Make this worker ignore Ctrl-C, which reaches all processes of a terminal, and end when its parent ends."""
    import multiprocessing
    from multiprocessing.connection import wait

    if os.environ.get(_SAFE_PATH) == _OF_WORKER:  # subjects get the variables of the command
        del os.environ[_SAFE_PATH]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def fork_process() -> int:
    """Fork this process; return the id of the child in this process, and 0 in the child, which dies with its parent."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        helper.die_with(parent)
    return child


def _kill_leftovers(scratch: str) -> None:
    """Kill the processes that a subject left behind when its supervisor was killed, and remove its folder.

    The processes are recognised by `TMPDIR` in their environment. The command's own process has adopted the others,
    which have cleared their environment. On systems without /proc none is found.
    """
    mark = f"TMPDIR={scratch}/tmp".encode()  # noqa: S108
    for _ in range(_MAX_KILL_ROUNDS):
        adopted = helper.orphans(_supervisors | _sweepers)
        found = [*adopted, *(process for process in _process_ids() if mark in _environment_of(process))]
        if not found:
            break
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_ROUND_PAUSE_SECONDS)
        for process in adopted:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
    helper.remove_tree(scratch)


def _process_ids() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()] if proc.is_dir() else []


def _environment_of(process: int) -> list[bytes]:
    """Return the environment that a process was started with; empty if it has ended or belongs to another user."""
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


_FORWARDED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_status_pipe: list[tuple[int, str]] = []
"""File descriptor to which a supervised child writes its exit status, and the secret text that proves its origin.

A subject in the same process may write to any descriptor. The list is empty in any other process.
"""


class ChildDied(Exception):
    """The child process ended without reporting an exit status; the message states the cause, such as a signal."""


def run_in_child() -> ExitStatus | None:
    """Fork this process. Return None in the child; in the parent, wait for the child and return its exit status.

    Raises:
        ChildDied: the child ended without reporting an exit status.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # a subject that fills the pipe must not make the end of the run wait
    token = secrets.token_hex(16)
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED_SIGNALS)
    child = fork_process()
    if child == 0:
        os.close(reader)
        _status_pipe[:] = [(writer, token)]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    os.close(writer)
    handlers = {
        number: signal.signal(number, lambda received, _: _send(child, received)) for number in _FORWARDED_SIGNALS
    }
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        _, ended = os.waitpid(child, 0)
        os.set_blocking(reader, False)
        return _read_status(reader, ended, token)
    finally:
        os.close(reader)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def report_status_and_exit(status: int) -> None:
    """If this process is a supervised child, report the exit status to the parent and end the process.

    The process ends without clean-up, because a runtime may crash in its clean-up, and that is not tested.
    """
    if _status_pipe:
        _end(*_status_pipe[0], status)


def _end(writer: int, token: str, status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with suppress(OSError):  # a subject has closed or filled the pipe: the parent then gets no status
        os.write(writer, f"{token}{status}\n".encode())
    os._exit(status)


def _read_status(reader: int, ended: int, token: str) -> ExitStatus:
    text = b""
    with suppress(BlockingIOError):  # a process of the subject may still have the other end
        while part := os.read(reader, 2**16):
            text += part
    _, proof, status = text.rpartition(token.encode())
    if proof and status.rstrip(b"\n").isdigit():
        return ExitStatus(int(status))
    code = os.waitstatus_to_exitcode(ended)
    raise ChildDied(f"exited with status {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}")


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)
