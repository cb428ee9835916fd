"""Pack a results file for the board: compress it, and remove redundant data and the paths of this machine.

python scripts/pack_board.py RESULTS.jsonl PACKED.jsonl.gz

Redundant are the files of cases, which the corpus has; the bits of elements, because the decimals identify them; and
complete recorded outputs, because the evidence of each output has its first elements.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

REMOVED_KEYS = {"hex", "recorded_outputs"}
"""Keys that are removed from every record."""

MACHINE_PATH = re.compile(
    b"|".join(re.escape(str(path).encode()) + rb"(?=/)" for path in (Path.cwd(), Path.home()))
    + rb"|/[\w./-]*(?=/site-packages/)|/[\w./-]*(?=/bin/(?:python|onnx-conformance))|/tmp/[\w.-]*"
)
"""The parts of paths that depend on the machine of the run. A long message may end within a path."""


def pack_results(results: bytes) -> bytes:
    """Return the packed form of a results file; the same results give the same bytes."""
    records = (json.loads(line, object_pairs_hook=_kept_keys) for line in results.splitlines())
    lines = (json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in records if each)
    return gzip.compress(MACHINE_PATH.sub(b"", "".join(f"{line}\n" for line in lines).encode()), mtime=0)


def _kept_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the kept keys of an object; none for the record with the files of a case."""
    return {} if ("record", "archive") in pairs else {key: value for key, value in pairs if key not in REMOVED_KEYS}


def main() -> None:
    """Pack one results file into another."""
    results, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(pack_results(results.read_bytes()))


if __name__ == "__main__":
    main()
