"""Which passes graph optimizers may be said to implement on the command line."""

from __future__ import annotations
