"""Stands between the suite and a subject's program: starts it within its limits, and leaves nothing of it behind.

Usage: python guard.py CONTROL STATUS MEMORY SCRATCH PROGRAM [ARGUMENT…]

CONTROL is a descriptor whose end of file, also by the death of whoever holds the other end, ends the program. STATUS is
one on which the program's own end is told: `exec ERRNO`, `exit STATUS` or `signal NUMBER`. MEMORY is the largest
address space in bytes, or 0. SCRATCH is a directory to remove in the end.

It is run as a file by an interpreter without packages, so that it starts in no time; it may import nothing of ours.
"""

import os
import resource
import select
import signal
import sys

_DEATH_SIGNAL, _SUBREAPER = 1, 36
"""Options of Linux's prctl."""


def main(arguments: list[str]) -> None:
    """Start the program and wait until it ends or is to end."""
    control, status, memory = (int(argument) for argument in arguments[:3])
    scratch, command = arguments[3], arguments[4:]
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    _prctl(_SUBREAPER, 1)
    wake = _wakes_when_a_child_ends()
    program = os.fork()
    if program == 0:
        _become(command, memory, status)
    _let_go_of_streams()
    ended = _wait(program, control, wake)
    if ended:
        _tell(status, ended)
    _end_group(program)
    _end_orphans()
    _remove(scratch)


def _prctl(option: int, value: int) -> None:
    """On Linux alone: elsewhere, processes that leave the program's group are not found."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wakes_when_a_child_ends() -> int:
    """A descriptor that can be read once a child has ended."""
    wake, alarm = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake


def _become(command: list[str], memory: int, status: int) -> None:
    """Turn this process into the program, leader of a session and group of its own."""
    try:
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        _tell(status, f"exec {error.errno}")
    finally:
        os._exit(127)


def _let_go_of_streams() -> None:
    """The program's streams are its own, so that the suite sees when it closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _wait(program: int, control: int, wake: int) -> str:
    """How the program ended; empty if it was to end."""
    while True:
        readable, _, _ = select.select([control, wake], [], [])
        if control in readable:
            return ""
        os.read(wake, 4096)
        ended = os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is not None:
            return f"{'exit' if ended.si_code == os.CLD_EXITED else 'signal'} {ended.si_status}"


def _tell(status: int, text: str) -> None:
    try:
        os.write(status, f"{text}\n".encode())
    except OSError:
        return


def _end_group(program: int) -> None:
    """Kill the program's group, before its number is given to anybody else."""
    try:
        os.killpg(program, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the second is macOS's, of a group that has only a dead leader
        _kill(program)
    os.waitpid(program, 0)


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _end_orphans() -> None:
    """Kill what the program left behind in other groups: it is ours since its parents died."""
    while True:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        children = _children()
        if not children:
            return
        for child in children:
            _kill(child)
        os.waitpid(-1, 0)


def _children() -> list[int]:
    """The processes that are children of this one, as far as the system has a /proc."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():  # noqa: PTH112, PTH208
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:  # noqa: PTH123
                parent = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == os.getpid():
            found.append(int(name))
    return found


def _remove(directory: str) -> None:
    """Remove a directory as far as it goes; shutil takes longer to import than this takes to run."""
    os.chdir("/")
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                (_remove if entry.is_dir(follow_symlinks=False) else os.unlink)(entry.path)
        os.rmdir(directory)  # noqa: PTH106
    except (OSError, RecursionError):
        return


if __name__ == "__main__":
    main(sys.argv[1:])
