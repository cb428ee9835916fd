"""Packs results for the board: without the cases' files, which the corpus has, and without this machine's paths.

python scripts/board.py RESULTS.jsonl PACKED.jsonl.gz
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

ARCHIVE = b'{"record":"archive"'

MACHINE = re.compile(
    b"|".join(re.escape(str(path).encode()) + rb"(?=/)" for path in (Path.cwd(), Path.home()))
    + rb"|/[\w./-]*(?=/site-packages/)|/[\w./-]*(?=/bin/(?:python|onnx-conformance))|/tmp/[\w.-]*"
)
"""What of a path tells where things lie on the machine that ran them; a long message may end within a path."""


def packed(results: bytes) -> bytes:
    """A results file as the board has it; the same results give the same bytes."""
    kept = (line for line in results.splitlines(keepends=True) if not line.startswith(ARCHIVE))
    return gzip.compress(MACHINE.sub(b"", b"".join(kept)), mtime=0)


def main() -> None:
    """Pack one results file into another."""
    results, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(packed(results.read_bytes()))


if __name__ == "__main__":
    main()
