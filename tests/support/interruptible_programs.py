"""Programs that tests interrupt."""

from __future__ import annotations

import sys

INTERRUPTIBLE = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Starts a program that SIGINT interrupts, even where it is ignored, as in what a shell starts in the background."""
