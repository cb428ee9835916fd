"""Run the main function of a program in a forked child, which saves the time of its imports.

A server forks the children. It is forked from this process before the first test, while this process is small: a fork
copies the page tables of its process, and later each page to which the process or the child writes.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import tempfile
import traceback
import warnings
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any, NamedTuple

import conformance.adapters.reference
import conformance.run.plugin  # noqa: F401 - children have the modules that the server has imported
from conformance.clauses import clauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path


class Ended(NamedTuple):
    """Exit status and output of a program, and the code of its error."""

    status: int
    out: str
    err: str
    code: str = ""


_servers: list[Connection] = []
"""The connection to the server of this process."""


def start_server() -> None:
    """Fork the server; it ends with this process."""
    clauses()  # children have what the server has read
    ours, theirs = Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the server uses none of the parent's
        server = os.fork()
    if not server:
        _serve(theirs)
    theirs.close()
    _servers[:] = [ours]


def _serve(connection: Connection) -> None:
    """Fork a child for each request until the other end of the connection is closed; never return."""
    gc.freeze()  # pytest collects garbage several times when it ends, and would visit all objects of the server
    faulthandler.disable()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.closerange(3, connection.fileno())
    os.closerange(connection.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    while True:
        try:
            request = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        child = os.fork()
        if not child:
            connection.close()
            signal.signal(signal.SIGINT, before)
            _be(*request)
        connection.send(os.waitpid(child, 0)[1])


def run_in_fork(
    main: Callable[[], Any], argv: Sequence[str], directory: Path, path: Sequence[str], environment: Mapping[str, str]
) -> Ended:
    """Call `main` in a forked child with these arguments, directory, environment and module path."""
    if not _servers:
        start_server()
    (server,) = _servers
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        server.send((main, argv, directory, path, environment, (out.name, err.name)))
        ending = server.recv()
        told = [file.read().decode(errors="replace") for file in (out, err)]
    return Ended(os.waitstatus_to_exitcode(ending), *told)


def _be(main, argv, directory, path, environment, outputs) -> None:
    """Run the program in the child; never return."""
    status = 70
    try:
        for place, name in enumerate(outputs, 1):
            file = os.open(name, os.O_RDWR)
            os.dup2(file, place)
            os.close(file)
        sys.stdout, sys.stderr = (open(place, "w", encoding="utf-8", closefd=False) for place in (1, 2))  # noqa: SIM115
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[:], sys.path[:0] = list(argv), list(path)
        status = int(main() or 0)
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, the child must not go on as its parent would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
