"""Start of the command `onnx-conformance`, also by `python -m conformance`.

The import of the command line takes a tenth of a second. An interruption in this time ends the process at once, with
the status of an interruption and without a traceback.
"""

from __future__ import annotations

import os
import signal
import sys

_INTERRUPTED = 130
"""The exit status `ExitStatus.INTERRUPTED`, which is not imported yet."""


def _end(*_: object) -> None:
    os._exit(_INTERRUPTED)


def main() -> None:
    """Import the command line, and run it."""
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        signal.signal(signal.SIGINT, _end)
    from conformance.cli import main as run

    if is_handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:  # between the handlers of this module and those of the command line
        os._exit(_INTERRUPTED)
    finally:
        if is_handled:
            signal.signal(signal.SIGINT, _end)


if __name__ == "__main__":
    sys.argv[0] = "onnx-conformance"  # what is typed again, wherever this is
    main()
