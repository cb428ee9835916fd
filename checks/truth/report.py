"""Print the figures of a file of results: faults found, faults missed with the reason, and accusations.

python -m checks.truth.report dist/truth/results.jsonl [-v]

Exits with 1 if a correct variant was accused. -v also prints each fault that was missed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHOWN = 4.0
"""A fault in floats is shown by data on which it changes a result by more than this many ULP."""


def outcome(record: Mapping[str, Any]) -> str:
    """Return what an audit says about the planted fault of its subject."""
    faulty = record["faulty"]
    probed = [probe["operator"] for probe in record.get("probes") or [] if probe.get("verdict") == "wrong"]
    wrong = [node["operator"] for node in record.get("wrong", [])] + probed
    if any(operator in faulty for operator in wrong):
        return "found" if all(operator in faulty for operator in wrong) else "found, and another node"
    if wrong:
        return "another node"
    if any(operator in faulty for operator in record.get("should", [])):
        return "found at level should"
    if not max(record.get("ulps", {}).values(), default=SHOWN + 1) > SHOWN:
        return "missed: the data do not show it"
    if record.get("failure") or record.get("is_repeatable") is False:
        return "failed in another way"
    for name in ("not judged", "unspecified"):
        if any((entry if isinstance(entry, str) else entry[0]) in faulty for entry in record.get(name, [])):
            return f"missed: {name}"
    return "missed: judged"


def fault_lines(records: Iterable[Mapping[str, Any]], *, is_verbose: bool) -> list[str]:
    """Return the outcomes of the planted faults, by kind of model and mode."""
    counts: Counter[tuple[str, str, str]] = Counter()
    lines = []
    for record in records:
        kind, *_, mode = record["job"].split()
        result = outcome(record)
        counts[kind, mode, result] += 1
        if is_verbose and not result.startswith("found"):
            lines.append(f"  {record['job']}: {result}; {record.get('ulps')}")
    for (kind, mode), total in sorted(Counter((k, m) for k, m, _ in counts.elements()).items()):
        lines.append(f"{kind}, {mode}: {total} faults")
        lines += [f"  {n:5} {r}" for (k, m, r), n in sorted(counts.items()) if (k, m) == (kind, mode)]
    return lines


def chain_lines(records: Iterable[Mapping[str, Any]]) -> tuple[list[str], int]:
    """Return the outcomes of audits without a fault by subject, and the number of accusations of correct variants."""
    counts: dict[str, Counter[str]] = {}
    accused = 0
    for record in records:
        subject = record["job"].split()[2]
        found = counts.setdefault(subject, Counter())
        found["audits"] += 1
        if record.get("failure"):
            found["refused by the runtime"] += 1
        elif record["status"] not in {0, 1}:
            found[f"status {record['status']}"] += 1
        else:
            wrong = {node["number"] for node in (*record["wrong"], *record.get("probes", []))}
            found["judged nodes"] += record["judged"]["nodes"]
            found["nodes"] += record["judged"]["all_nodes"]
            found["accusations"] += len(wrong)
            accused += len(wrong) if subject in VARIANTS else 0
    return [f"{s}: " + ", ".join(f"{n} {k}" for k, n in c.items()) for s, c in sorted(counts.items())], accused


def blame_lines(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the answers of `blame` by pair of subjects; a fault is planted in the second subject of "blamed"."""
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        kind, _, pair = record["job"].split()[:3]
        lines = record["text"].strip().split("\n")
        verdict = next((after for line, after in pairwise(lines) if "The verdict" in line), lines[-1])
        counts[pair if kind == "blame" else kind, verdict.strip().split(":")[0][:60]] += 1
    return [f"{pair}: {count} {verdict}" for (pair, verdict), count in sorted(counts.items())]


def main() -> None:
    """Print the figures."""
    records = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    by_job = {record["job"]: record for record in records}

    def of_kinds(*kinds: str) -> list[dict[str, Any]]:
        return [record for job, record in by_job.items() if job.split()[0] in kinds]

    built = [record for record in of_kinds("node", "planted", "changed") if "faulty" in record]
    print("\n".join(fault_lines(built, is_verbose="-v" in sys.argv)))
    lines, accused = chain_lines(of_kinds("chain", "probes"))
    print("\n".join([*lines, *blame_lines(of_kinds("blame", "blamed"))]))
    print(f"{accused} accusations of correct variants")
    sys.exit(1 if accused else 0)


if __name__ == "__main__":
    main()
