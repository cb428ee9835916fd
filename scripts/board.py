"""Packs results for the board: without what the corpus or the decimals say already, and without this machine's paths.

Left out are the cases' files, the bits of values, since their decimals are the shortest that are theirs alone, and what
a subject gave in full, of which each output keeps its elements.

python scripts/board.py RESULTS.jsonl PACKED.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

LEFT_OUT = {"hex", "observed"}
"""The keys that no packed record has."""

MACHINE = re.compile(
    b"|".join(re.escape(str(path).encode()) + rb"(?=/)" for path in (Path.cwd(), Path.home()))
    + rb"|/[\w./-]*(?=/site-packages/)|/[\w./-]*(?=/bin/(?:python|onnx-conformance))|/tmp/[\w.-]*"
)
"""What of a path tells where things lie on the machine that ran them; a long message may end within a path."""


def packed(results: bytes) -> bytes:
    """A results file as the board has it; the same results give the same bytes."""
    records = (json.loads(line, object_pairs_hook=_kept) for line in results.splitlines())
    lines = (json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in records if each)
    return gzip.compress(MACHINE.sub(b"", "".join(f"{line}\n" for line in lines).encode()), mtime=0)


def _kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What is kept of an object: nothing of the record of a case's files."""
    return {} if ("record", "archive") in pairs else {key: value for key, value in pairs if key not in LEFT_OUT}


def main() -> None:
    """Pack one results file into another."""
    results, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(packed(results.read_bytes()))


if __name__ == "__main__":
    main()
