"""`python -m oracle [--data DIR] [--case TEXT]` computes the corpus's expected values again.

Every difference is printed. It ends with 1 where there is one, and with 2 where there is no corpus or no such case.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from oracle.comparison import compared
from oracle.corpus import cases


def main() -> int:
    """Recompute the chosen cases; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m oracle", description="Compute the corpus's expected values again.")
    parser.add_argument("--data", type=Path, default=Path("data"), help="the corpus (default: data)")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose place holds this text")
    options = parser.parse_args()
    if not (options.data / "manifest.json").is_file():
        parser.error(f"There is no corpus in {options.data}. Name one with --data.")
    chosen = [case for case in cases(options.data) if options.case in case.id]
    if not chosen:
        parser.error(f"No case's place holds {options.case!r}.")
    counts: Counter[str] = Counter()
    differences = 0
    for case in chosen:
        comparison = compared(case)
        counts += comparison.counts
        differences += len(comparison.differences)
        sys.stdout.writelines(f"{difference}\n" for difference in comparison.differences)
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    sys.stdout.write(f"{told} in {time.process_time():.1f} processor seconds: {differences:,} differences\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
