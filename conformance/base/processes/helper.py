"""Program between a process of the suite and a process that it starts, which must not outlive the suite.

Usage: python helper.py ROLE ARGUMENT…

The roles are `supervise`, `die_with` and `sweep`; each has a function of its name in this module. `start` starts them.
The program is run by an interpreter without packages, so that it starts fast; it must not import modules of this suite.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys

REPLACED_NAME = "old"
"""Name inside a temporary folder for the old version of a target that is being replaced."""

_DEATH_SIGNAL = 1
_SUBREAPER = 36
"""Options of prctl in Linux: PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER."""


def main(arguments: list[str]) -> None:
    """Execute a role."""
    role, *rest = arguments
    {"supervise": supervise, "die_with": exec_and_die_with, "sweep": sweep}[role](rest)


def supervise(arguments: list[str]) -> None:
    """Start a subject's program, kill all processes that it leaves behind, and remove its temporary folder.

    The arguments are CONTROL STATUS MEMORY SCRATCH PROGRAM [ARGUMENT…].

    CONTROL: file descriptor to read. The program is killed at its end of file, also if the suite was killed. STATUS:
    file descriptor to write. It gets how the program ended: `exec ERRNO`, `exit STATUS` or `signal NUMBER`. MEMORY:
    largest address space of the program in bytes; 0 for no limit. SCRATCH: folder that is removed in the end.
    """
    control, status, memory = (int(argument) for argument in arguments[:3])
    scratch = arguments[3]
    command = arguments[4:]
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    _prctl(_SUBREAPER, 1)
    wake = _child_exit_pipe()
    program = os.fork()
    if program == 0:
        _exec_program(command, memory, status)
    _release_streams()
    ended = _wait(program, control, wake)
    if ended:
        _write_status(status, ended)
    _kill_group(program)
    _kill_orphans()
    os.chdir("/")
    remove_tree(scratch)


def exec_and_die_with(arguments: list[str]) -> None:
    """Replace this process by a program that dies with the process that started it.

    The arguments are PARENT PROGRAM [ARGUMENT…]; PARENT is the id of the starting process.
    """
    parent, *command = arguments
    die_with(int(parent))
    _restore_signals()
    os.execvp(command[0], command)  # noqa: S606


def die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent dies; do nothing on other systems than Linux.

    Args:
        parent: the parent's process id; it may have died already.
    """
    _prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if sys.platform == "linux" and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def sweep(arguments: list[str]) -> None:
    """Remove a folder when standard input ends, which is when the process that started this process closes it or dies.

    The arguments are FOLDER [TARGET]. If TARGET is missing at that time, and FOLDER contains the replaced target under
    the name `REPLACED_NAME`, it is first moved back.
    """
    import shutil

    folder = arguments[0]
    while os.read(0, 4096):
        pass
    for target in arguments[1:]:
        old = os.path.join(folder, REPLACED_NAME)  # noqa: PTH118
        if os.path.lexists(old) and not os.path.lexists(target):
            os.rename(old, target)  # noqa: PTH104
    shutil.rmtree(folder, ignore_errors=True)


def _restore_signals() -> None:
    """Restore the signals that Python ignores; a program would inherit that. All others stay as they were inherited."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


_adopting: set[int] = set()
"""Process in which `adopt_orphans` was called; empty if it was not called, and in a forked child another process."""

_earlier_children: set[int] = set()
"""The children that the process had when `adopt_orphans` was called."""


def adopt_orphans() -> None:
    """Make this process the parent of processes whose own parent has ended, on Linux.

    A subject can kill its supervisor. `orphans` then finds the processes that it leaves, whatever their environment.
    Call this function only in a process that belongs to the suite: another program may start processes of its own.
    """
    _prctl(_SUBREAPER, 1)
    _earlier_children.update(_child_ids())
    _adopting.add(os.getpid())


def orphans(known: set[int]) -> list[int]:
    """Return the adopted children of this process that are in another session; empty without `adopt_orphans`.

    A process that the suite starts is in its session or in `known`. A subject cannot move a process to this session.

    Args:
        known: the children that the suite has started in other sessions.
    """
    if os.getpid() not in _adopting:
        return []
    return [child for child in _child_ids() if child not in known | _earlier_children and _is_elsewhere(child)]


def _is_elsewhere(process: int) -> bool:
    try:
        return os.getsid(process) != os.getsid(0)
    except ProcessLookupError:
        return False


def _prctl(option: int, value: int) -> None:
    """Call the system function prctl on Linux; do nothing on other systems.

    Without prctl, processes that leave the process group of the program are not found.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _child_exit_pipe() -> int:
    """Return a descriptor that becomes readable when a child process ends."""
    wake, alarm = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake


def _exec_program(command: list[str], memory: int, status: int) -> None:
    """Replace this process by the program, as the leader of a new session and process group."""
    try:
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        _restore_signals()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            memory = memory if most == resource.RLIM_INFINITY else min(memory, most)
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        _write_status(status, f"exec {error.errno}")
    finally:
        os._exit(127)


def _release_streams() -> None:
    """Close the inherited standard streams, so that the suite notices when the program closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _wait(program: int, control: int, wake: int) -> str:
    """Wait for the end of the program and return how it ended; empty if CONTROL was closed first."""
    while True:
        readable, _, _ = select.select([control, wake], [], [])
        if control in readable:
            return ""
        os.read(wake, 4096)
        ended = os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is not None:
            return f"{'exit' if ended.si_code == os.CLD_EXITED else 'signal'} {ended.si_status}"


def _write_status(status: int, text: str) -> None:
    try:
        os.write(status, f"{text}\n".encode())
    except OSError:
        return


def _kill_group(program: int) -> None:
    """Kill the process group of the program, and then reap the program.

    This order ensures that the number of the process group is not reused before the kill.
    """
    try:
        os.killpg(program, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the second: macOS, dead group leader
        _kill(program)
    os.waitpid(program, 0)


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _kill_orphans() -> None:
    """Kill processes that the program has started in other process groups.

    After the end of the program they are children of this process, which is a subreaper (prctl).
    """
    while True:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        children = _child_ids()
        if not children:
            return
        for child in children:
            _kill(child)
        os.waitpid(-1, 0)


def _child_ids() -> list[int]:
    """Return the ids of the child processes of this process; empty on systems without /proc."""
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


def remove_tree(directory: str) -> None:
    """Remove a folder and ignore errors; importing shutil would take longer than this function.

    A folder inside is not removed by recursion, because a subject can nest folders deeper than Python can call and than
    the system accepts as a path. Its own folders are moved up instead, until none contains another.
    """
    prefix = f"{directory}/{os.urandom(8).hex()}"
    count = 0
    try:
        while found := [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(directory)]:
            for path, is_folder in found:
                if not is_folder:
                    os.unlink(path)  # noqa: PTH108
                    continue
                os.chmod(path, 0o700)  # noqa: PTH101 - a subject can take away the permission to remove its files
                with os.scandir(path) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            os.chmod(entry.path, 0o700)  # noqa: PTH101
                            count += 1
                            os.rename(entry.path, f"{prefix}-{count}")  # noqa: PTH104
                        else:
                            os.unlink(entry.path)  # noqa: PTH108
                os.rmdir(path)  # noqa: PTH106
        os.rmdir(directory)  # noqa: PTH106
    except OSError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
