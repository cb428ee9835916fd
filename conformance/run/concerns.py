"""Which cases of a corpus a subject is asked: a graph optimizer those of the pass, a backend those with data."""

from __future__ import annotations
