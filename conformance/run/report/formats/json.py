"""The summary of runs as one JSON document; `summary.schema.json` is its JSON Schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import to_builtins

from conformance.run.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.results.results_file import Results


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document; the same runs give the same bytes."""
    yield json.dumps(to_builtins(summary(runs)), indent=1) + "\n"
