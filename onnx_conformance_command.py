"""The entry point of the command `onnx-conformance`: it handles an interruption before anything else is imported.

The import of the command line takes a tenth of a second. An interruption in this time ends the process at once, with
the status of an interruption and without a traceback. The module is outside of the package, and imports nothing that
Python has not loaded already, so that the handler is set as early as possible.
"""

from __future__ import annotations

import atexit
import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

_INTERRUPTED = 130
"""The exit status `ExitStatus.INTERRUPTED`, which is not imported yet."""


def _end(*_: object) -> None:
    os._exit(_INTERRUPTED)


_is_handled = getsignal(SIGINT) is default_int_handler
if _is_handled:
    signal(SIGINT, _end)


def main() -> None:
    """Import the command line, and run it."""
    os.environ.pop("PYTHONINSPECT", None)  # the processes of subjects and workers would not end either
    try:
        from conformance.commands.cli import main as run
    except Exception:
        _report_wrong_dependency()
        raise

    if _is_handled:
        signal(SIGINT, default_int_handler)
    try:
        run()
    except KeyboardInterrupt:  # between the handlers of this module and those of the command line
        os._exit(_INTERRUPTED)
    except SystemExit as ending:
        if not sys.flags.inspect:
            raise
        _end_without_inspection(ending)
    finally:
        if _is_handled:
            signal(SIGINT, _end)


def _report_wrong_dependency() -> None:
    """If a package has a version that the suite cannot use, end the process with an error that names it."""
    from conformance.base.errors import ExitStatus
    from conformance.base.plugins import wrong_dependency

    if (wrong := wrong_dependency()) is not None:
        sys.stderr.write(f"error: {wrong.problem}\n       {wrong.hint}\n")
        sys.exit(ExitStatus.USAGE)


def _end_without_inspection(ending: SystemExit) -> None:
    """End the process: Python would print a traceback and read commands if PYTHONINSPECT is set."""
    atexit._run_exitfuncs()  # noqa: SLF001 - `os._exit` does not run them
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ending.code if isinstance(ending.code, int) else bool(ending.code))


if __name__ == "__main__":
    main()
