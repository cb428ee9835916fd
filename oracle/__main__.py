"""`python -m oracle [--data DIR] [--case TEXT]`: recompute the expected values of the corpus, and print differences.

The exit status is 1 if there is a difference, and 2 if there is no corpus or no such case.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from oracle.comparison import compare_case
from oracle.corpus import cases


def main() -> int:
    """Recompute the selected cases, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m oracle", description="Recompute the expected values of the corpus."
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="the corpus (default: data)")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose id contains this text")
    options = parser.parse_args()
    if not (options.data / "manifest.json").is_file():
        parser.error(f"{options.data} is not a corpus. Pass its folder with --data.")
    chosen = [case for case in cases(options.data) if options.case in case.id]
    if not chosen:
        parser.error(f"No case id contains {options.case!r}.")
    counts: Counter[str] = Counter()
    differences = 0
    for case in chosen:
        comparison = compare_case(case)
        counts += comparison.counts
        differences += len(comparison.differences)
        sys.stdout.writelines(f"{difference}\n" for difference in comparison.differences)
    summary = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    sys.stdout.write(f"{summary} in {time.process_time():.1f} processor seconds: {differences:,} differences\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
