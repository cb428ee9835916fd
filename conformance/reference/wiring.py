"""Whether every value of a main graph is given once, and before it is asked for."""

from __future__ import annotations
