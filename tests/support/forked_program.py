"""Run the main function of a program in a forked child, which saves the time of its imports."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import traceback
import warnings
from typing import TYPE_CHECKING, NamedTuple

from conformance.exact.clauses import clauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class Ended(NamedTuple):
    """Exit status and output of a program, and the code of its error."""

    status: int
    out: str
    err: str
    code: str = ""


def run_in_fork(
    main: Callable[[], int], argv: Sequence[str], directory: Path, path: Sequence[str], environment: Mapping[str, str]
) -> Ended:
    """Call `main` in a forked child with these arguments, directory, environment and module path."""
    clauses()  # children have what this process has read
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child uses none of the parent's
            child = os.fork()
        if not child:
            _be(main, argv, directory, path, environment, (out.fileno(), err.fileno()))
        _, ending = os.waitpid(child, 0)
        told = [file.seek(0) or file.read().decode(errors="replace") for file in (out, err)]
    return Ended(os.waitstatus_to_exitcode(ending), *told)


def _be(main, argv, directory, path, environment, outputs) -> None:
    """Run the program in the child; never return."""
    gc.freeze()  # pytest collects garbage several times when it ends, and would visit all objects of the parent
    status = 70
    try:
        for place, file in enumerate(outputs, 1):
            os.dup2(file, place)
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
