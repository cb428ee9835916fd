"""What explains a subject's failures, in sentences: from a footer's records, of any format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.results.diagnosis_records import DiagnosisRecord, UnexplainedRecord
    from conformance.results.records import Footer

NAMED = 3
"""How many cases are named of those that nothing explains and that have nothing in common."""


def sentences(footer: Footer, subject: str | None = None) -> list[str]:
    """What explains failures and what is left, of all subjects or of one."""
    found = (*map(explained, footer.get("diagnoses", ())), *map(unexplained, footer.get("unexplained", ())))
    records = (*footer.get("diagnoses", ()), *footer.get("unexplained", ()))
    return [text for text, record in zip(found, records, strict=True) if subject in (None, record["subject"])]


def explained(record: DiagnosisRecord) -> str:
    """Which deviation explains how many failing cases, and what no case tells apart from it."""
    others = ", ".join(record["alike"])
    together = len(record.get("together", ()))
    return (
        f"{record['operator']} on {record['subject']} agrees on {record['agrees']} of {record['of']} failing cases"
        f" with: {record['text']}{f' (no case tells it apart from {others})' if others else ''}"
        f"{f'; in {together} of them another fault acts as well' if together else ''}"
    )


def unexplained(record: UnexplainedRecord) -> str:
    """How many failing cases no deviation explains, how they fail, and what they are that passing ones are not."""
    cases = record["cases"]
    shared = "; ".join(_shared(record)) or f"nothing found in common: {', '.join(_named(cases))}"
    return (
        f"{record['operator']} on {record['subject']}: {len(cases)} of {record['of']} failing cases unexplained"
        f" ({record['manner']}): {shared}"
    )


def _shared(record: UnexplainedRecord) -> Iterator[str]:
    total, passing = len(record["cases"]), record["passing"]
    for one in record["shared"]:
        who = (f"all {total}" if total > 1 else "it") if one["cases"] == total else f"{one['cases']} of {total}"
        others = f"{one['passing']} of the {passing} that pass" if one["passing"] else "none that passes"
        yield f"{who} {one['text']}, and {others}"


def _named(cases: list[str]) -> list[str]:
    return cases if len(cases) <= NAMED else [*cases[:NAMED], "…"]


def deviations_by_case(footer: Footer) -> dict[tuple[str, str], list[str]]:
    """The ids of the deviations that explain each result, by subject and case."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in footer.get("diagnoses", ()):
        for case in record.get("cases", ()):
            found.setdefault((record["subject"], case), []).append(record["deviation"])
    return found
