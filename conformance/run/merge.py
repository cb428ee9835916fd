"""Several runs as one: of shards, of subjects, or of both. The union is judged anew, by the rules that all went by."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.diagnosis.findings import Findings
from conformance.errors import ResultsError
from conformance.gate.case_facts import Facts, facts
from conformance.gate.gate import Gate
from conformance.gate.rules import rules_of
from conformance.run.selection import Shard
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.results.diagnosis_records import Diagnosed
    from conformance.results.file import Key, Results
    from conformance.results.records import Footer, Header, ResultRow, RulesRecord, SubjectRecord

SHARD = "--shard"


@dataclass(frozen=True)
class Merged:
    """One run made of several.

    Attributes:
        rows: what is kept of each result as it is judged now, in the order in which it is written.
    """

    runs: Sequence[Results]
    header: Header
    rows: Mapping[Key, ResultRow]
    footer: Footer

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The records of its results file, each read from its run as it is asked for."""
        run_of = {key: run for run in self.runs for key in run.rows}
        described: set[str] = set()
        archives = {case: run for run in self.runs for case in run.archives}
        yield self.header
        for key, row in self.rows.items():
            run, case = run_of[key], row["case"]
            if case not in described:
                described.add(case)
                yield run.cases[case]
            yield {**run.results[key], "surprise": row["surprise"]}
            if Verdict(row["verdict"]).is_defect and (home := archives.pop(case, None)):
                yield {"record": "archive", "case": case, "zip": home.archives[case]}
        yield self.footer


def merged(runs: Sequence[Results], corpus: Corpus | None = None) -> Merged:
    """One run with the results of all; at least one is given, and their order does not matter.

    Args:
        corpus: what they were run on, where it is at hand, to say anew what explains the failures.

    Raises:
        ResultsError: they are of different corpora, rules or versions of a subject, or have a result in common.
    """
    runs = sorted(runs, key=lambda run: run.path)
    for check in (_check_formats, _check_corpora, _check_rules, _check_parts, _check_results):
        check(runs)
    subjects = _subjects(runs)
    order = {subject["id"]: number for number, subject in enumerate(subjects)}
    rows = sorted(
        (row for run in runs for row in run.rows.values()), key=lambda row: (order[row["subject"]], row["case"])
    )
    homes = {case: run for run in runs for case in run.cases}
    header = _header(runs, subjects, rows)
    gate = Gate(rules_of(header), list(order))
    judged: dict[Key, ResultRow] = {
        (row["subject"], row["case"]): {**row, "surprise": not gate.judge(row, partial(_facts, homes, row["case"]))}
        for row in rows
    }
    return Merged(runs, header, judged, _footer(runs, header, gate, _explained(runs, corpus)))


def _facts(homes: Mapping[str, Results], case: str) -> Facts:
    return facts(homes[case].cases[case])


def _check_formats(runs: Sequence[Results]) -> None:
    """Results of format 1 do not say at which level their checks stand; they are not to be counted with others."""
    for run in runs:
        if run.header["format"] != runs[0].header["format"]:
            raise ResultsError(
                f"{run.path} is of format {run.header['format']}, and {runs[0].path} of format"
                f" {runs[0].header['format']}.",
                "Run both with one version of the suite, or show them side by side with report.",
            )


def _check_corpora(runs: Sequence[Results]) -> None:
    for run in runs:
        if run.header["corpus"]["digest"] != runs[0].header["corpus"]["digest"]:
            raise ResultsError(
                f"{run.path} is of another corpus than {runs[0].path}.", "Run both on one corpus, or compare with diff."
            )


def _check_rules(runs: Sequence[Results]) -> None:
    first = rules_of(runs[0].header)
    for run in runs:
        rules = rules_of(run.header)
        if (rules.level, rules.require, _files(run)) != (first.level, first.require, _files(runs[0])):
            raise ResultsError(
                f"{run.path} was judged by other rules than {runs[0].path}.",
                "Give all runs the same --level, --require, --baseline and --profile.",
            )


def _files(run: Results) -> tuple[str, str]:
    """The digests of a run's baseline and of its profile, where it has them."""
    rules = run.header.get("rules")
    baseline, profile = (rules.get("baseline"), rules.get("profile")) if rules else (None, None)
    return baseline["digest"] if baseline else "", profile["digest"] if profile else ""


def _check_parts(runs: Sequence[Results]) -> None:
    for run in runs:
        if " " in run.header["selection"].get(SHARD, ""):
            raise ResultsError(f"{run.path} is a merged run that lacks shards.", "Merge all of the runs it is made of.")


def _check_results(runs: Sequence[Results]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for run in runs:
        for key in run.rows:
            if key in seen:
                raise ResultsError(f"{run.path} and {seen[key]} both have {key[1]} on {key[0]}.", "Leave one out.")
            seen[key] = run.path


def _subjects(runs: Sequence[Results]) -> list[SubjectRecord]:
    found: dict[str, tuple[SubjectRecord, str]] = {}
    for run in runs:
        for subject in run.header["subjects"]:
            known, path = found.setdefault(subject["id"], (subject, run.path))
            if known != subject:
                raise ResultsError(
                    f"{run.path} has {subject['id']} {subject['version']}, and {path} has {known['version']}.",
                    "Run all shards on one version.",
                )
    return [found[id][0] for id in sorted(found)]


def _header(runs: Sequence[Results], subjects: Sequence[SubjectRecord], rows: Sequence[ResultRow]) -> Header:
    corpus, cases = runs[0].header["corpus"], len({row["case"] for row in rows})
    header: Header = {
        "record": "header",
        "format": runs[0].header["format"],
        "suite": __version__,
        "corpus": {**corpus, "selected": max(cases, *(run.header["corpus"]["selected"] for run in runs))},
        "subjects": list(subjects),
        "environment": _united(run.header["environment"] for run in runs),
        "selection": _selection(runs, whole=len(rows) == corpus["cases"] * len(subjects)),
        "command": " && ".join(dict.fromkeys(run.header["command"] for run in runs)),
        "clauses": {id: clause for run in runs for id, clause in sorted(run.header["clauses"].items())},
    }
    if options := {
        subject: words for run in reversed(runs) for subject, words in run.header.get("options", {}).items()
    }:
        header["options"] = options
    if started := [run.header["started"] for run in runs if "started" in run.header]:
        header["started"] = min(started)
    if all("rules" in run.header for run in runs):
        header["rules"] = _rules(runs)
    return header


def _selection(runs: Sequence[Results], *, whole: bool) -> dict[str, str]:
    """What the union leaves out; where it is whole, or all shards of it are there, nothing of these is told."""
    united = _united(run.header["selection"] for run in runs)
    selection = {name: text for name, text in united.items() if name == "--level" or not whole}
    if SHARD in selection:
        selection[SHARD] = selection[SHARD].replace(" | ", " ")
    return selection if _missing_shards(runs) else {name: text for name, text in selection.items() if name != SHARD}


def _united(mappings: Iterable[dict[str, str]]) -> dict[str, str]:
    """One value for each key; different ones side by side."""
    found: dict[str, set[str]] = defaultdict(set)
    for mapping in mappings:
        for key, value in mapping.items():
            found[key].add(value)
    return {key: " | ".join(sorted(values)) for key, values in sorted(found.items())}


def _rules(runs: Sequence[Results]) -> RulesRecord:
    """The rules of all; what applied to any of the runs applied."""
    records = [run.header["rules"] for run in runs]
    entries = {(entry["subject"], entry["place"]): entry for record in records for entry in record["expectations"]}
    return {**records[0], "due": sum(record["due"] for record in records), "expectations": list(entries.values())}


def _footer(runs: Sequence[Results], header: Header, gate: Gate, diagnosed: Diagnosed) -> Footer:
    results = sum(run.footer["results"] for run in runs)
    due = header["rules"]["due"] if "rules" in header else results
    reasons = gate.reasons(partial=results < due or bool(set(header["selection"]) - {"--level"}))
    kinds = {subject["id"]: subject["kind"] for subject in header["subjects"]}
    reasons += _missing_shards(runs) or gate.unasked(kinds)
    if missing := due - results:
        reasons.append(f"{missing} of {due} results are missing: a run was stopped before its end, or died")
    footer: Footer = {
        "record": "footer",
        "results": results,
        "verdicts": {
            subject: {str(level): {str(v): n for v, n in counter.items()} for level, counter in levels.items()}
            for subject, levels in gate.verdicts.items()
        },
        "gate": "fail" if reasons else "pass",
        "reasons": reasons,
        "seconds": round(sum(run.footer["seconds"] for run in runs), 3),
        "diagnoses": diagnosed["diagnoses"],
        "unexplained": diagnosed["unexplained"],
    }
    if any(run.footer.get("interrupted") for run in runs):
        footer["interrupted"] = True
    return footer


def _missing_shards(runs: Sequence[Results]) -> list[str]:
    """A sentence for each subject that has results of some shards only."""
    found: dict[str, set[Shard]] = defaultdict(set)
    for run in runs:
        if text := run.header["selection"].get(SHARD):
            for subject in run.header["subjects"]:
                found[subject["id"]] |= {Shard.read(part) for part in text.split()}
    lost = {subject: sorted(_all_of(shards) - shards) for subject, shards in sorted(found.items())}
    return [f"of {subject} these shards are missing: {_listed(own)}" for subject, own in lost.items() if own]


def _all_of(shards: Iterable[Shard]) -> set[Shard]:
    return {Shard(number, shard.of) for shard in shards for number in range(1, shard.of + 1)}


def _listed(shards: Sequence[Shard]) -> str:
    return ", ".join(map(str, shards))


def _explained(runs: Sequence[Results], corpus: Corpus | None) -> Diagnosed:
    """What explains the failures of the union: found anew where the corpus is at hand and the results say what came."""
    if corpus is None or runs[0].header["format"] == 1:
        return _told_before(runs)
    findings = Findings()
    for run in runs:
        for key, row in run.rows.items():
            level = Level(run.described[row["case"]]["level"])
            findings.add(run.results[key] if Verdict(row["verdict"]).is_defect else row, level)
    if not findings.explicable:
        return {"diagnoses": [], "unexplained": []}
    from conformance.diagnosis.diagnosing import diagnosed

    return diagnosed(findings, corpus)


def _told_before(runs: Sequence[Results]) -> Diagnosed:
    """What was said of subjects whose results all come from one run: what explains a part need not explain all."""
    homes = Counter(subject["id"] for run in runs for subject in run.header["subjects"])
    diagnoses = [one for run in runs for one in run.footer.get("diagnoses", []) if homes[one["subject"]] == 1]
    unexplained = [one for run in runs for one in run.footer.get("unexplained", []) if homes[one["subject"]] == 1]
    return {
        "diagnoses": sorted(diagnoses, key=lambda one: (one["subject"], one["operator"], one["deviation"])),
        "unexplained": sorted(unexplained, key=lambda one: (one["subject"], one["operator"], one["manner"])),
    }
