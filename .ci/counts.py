"""Print the outputs of the action that count results: python counts.py SUMMARY LEVEL."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

LEVELS = ("must", "should", "silent")
OUTPUTS = {"passed": ("pass",), "wrong": ("fail", "error", "crash", "timeout"), "unsupported": ("unsupported",)}


def main() -> None:
    """Print each output in the format of GitHub."""
    file, fail_level = sys.argv[1:]
    levels = LEVELS[: LEVELS.index(fail_level) + 1]
    counts: Counter[str] = Counter()
    for subject in json.loads(Path(file).read_bytes())["subjects"]:
        for level in levels:
            counts.update(subject["levels"].get(level, {}))
    for name, verdicts in OUTPUTS.items():
        sys.stdout.write(f"{name}={sum(counts[verdict] for verdict in verdicts)}\n")


if __name__ == "__main__":
    main()
