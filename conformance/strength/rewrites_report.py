"""What the cases of the pass notice of faulty rewrites, as lines for people and as an object for machines."""

from __future__ import annotations
