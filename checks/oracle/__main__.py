"""`python -m checks.oracle [--data DIR] [--case TEXT] [--json FILE]`: compute all expected values again.

The exit status is 1 if there is a difference, and 2 if there is no corpus or no such case.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from pathlib import Path

from checks.oracle.comparison import compare_case
from checks.oracle.corpus import cases

FORMAT = 1
"""Format of the JSON document; `conformance.studies.evidence.evidence_inputs` reads it."""


def main() -> int:
    """Recompute the selected cases, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m checks.oracle", description="Recompute the expected values of the corpus."
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="the corpus (default: data)")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose id contains this text")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the counts and the differences as JSON")
    options = parser.parse_args()
    if not (options.data / "manifest.json").is_file():
        parser.error(f"{options.data} is not a corpus. Pass its folder with --data.")
    chosen = [case for case in cases(options.data) if options.case in case.id]
    if not chosen:
        parser.error(f"No case id contains {options.case!r}.")
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for case in chosen:
        comparison = compare_case(case)
        counts += comparison.counts
        found = [str(difference) for difference in comparison.differences]
        differences += found
        sys.stdout.writelines(f"{difference}\n" for difference in found)
    summary = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    sys.stdout.write(f"{summary} in {time.process_time():.1f} processor seconds: {len(differences):,} differences\n")
    if options.json:
        manifest = json.loads((options.data / "manifest.json").read_text("utf-8"))
        corpus = {"version": manifest["version"], "digest": manifest["digest"], "cases": len(manifest["cases"])}
        command = shlex.join(["python", "-m", "checks.oracle", *sys.argv[1:]])
        head = {"format": FORMAT, "command": command, "corpus": corpus, "cases": len(chosen)}
        document = {**head, "counts": dict(sorted(counts.items())), "differences": differences}
        options.json.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
