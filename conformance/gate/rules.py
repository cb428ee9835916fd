"""What a gate goes by, as it was set for a run; a results file carries it, so that a merged run is judged alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.document import case_json
from conformance.errors import UnknownName, did_you_mean
from conformance.expectations.conditions import Situation
from conformance.expectations.file import Expectation, Expectations
from conformance.gate.baseline import Baseline, read_baseline
from conformance.results.environment import environment
from conformance.results.file import level_of
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from conformance.corpus.corpus import Corpus
    from conformance.profiles import Profile
    from conformance.results.records import EntryRecord, Header, ProfileRecord, RulesRecord


@dataclass(frozen=True)
class Rules:
    """The settings of a gate.

    Attributes:
        level: up to which level it judges.
        expectations: the entries that apply, by subject.
        require: operators that a subject must support.
        baseline: an earlier run, or None.
        profile: what is asked beyond the specification, or None.
    """

    level: Level = Level.MUST
    expectations: Mapping[str, Expectations] = field(default_factory=dict)
    require: tuple[str, ...] = ()
    baseline: Baseline | None = None
    profile: Profile | None = None

    def record(self, due: int) -> RulesRecord:
        """As a header has it; `due` is how many results the run is to have."""
        record: RulesRecord = {
            "level": str(self.level),
            "require": list(self.require),
            "due": due,
            "expectations": [
                _entry_record(subject, entry) for subject, file in self.expectations.items() for entry in file.entries
            ],
        }
        if self.baseline is not None:
            record["baseline"] = self.baseline.record
        if self.profile is not None:
            record["profile"] = _profile_record(self.profile)
        return record


def rules_of(header: Header) -> Rules:
    """The rules that a run was judged by; the verdicts of its baseline are with its results."""
    record = header.get("rules")
    if record is None:
        return Rules(level_of(header))
    entries: dict[str, list[Expectation]] = {}
    for entry in record["expectations"]:
        entries.setdefault(entry["subject"], []).append(_entry(entry))
    expectations = {subject: Expectations(subject, tuple(own)) for subject, own in entries.items()}
    baseline = Baseline(record["baseline"], {}) if "baseline" in record else None
    return Rules(Level(record["level"]), expectations, tuple(record["require"]), baseline)


def rules_for(
    level: Level,
    corpus: Corpus,
    versions: Mapping[str, str],
    expectations: Mapping[str, Expectations],
    require: tuple[str, ...] = (),
    baseline: Path | None = None,
) -> Rules:
    """What the gate of a run goes by.

    Args:
        level: up to which level it judges.
        versions: the subjects' versions, by subject.
        expectations: what is known of them, likewise.
        require: operators that each must support.
        baseline: the results file of an earlier run.

    Raises:
        ConformanceError: a condition cannot be judged, an operator is unknown, or the baseline cannot be trusted.
    """
    around = environment()
    applying = {
        subject: expectations[subject].applying(Situation.of(version, around))
        for subject, version in versions.items()
        if subject in expectations
    }
    if require:
        _check_required(require, corpus)
    return Rules(level, applying, require, read_baseline(baseline, list(versions)) if baseline else None)


def _check_required(required: Iterable[str], corpus: Corpus) -> None:
    """Make sure that the corpus has valid models with the operators that a subject must support.

    Raises:
        UnknownName: it has none with one of them.
    """
    documents = (case_json(corpus, case) for case in corpus.cases.values() if not case.is_invalid)
    operators = {node["op_type"] for document in documents for node in document["model"]["nodes"]}
    for name in required:
        if name not in operators:
            known = ", ".join(sorted(operators))
            hint = did_you_mean(name, operators, f"Use one of {known}.")
            raise UnknownName(f"The corpus has no case of an operator {name}.", hint)


def _profile_record(profile: Profile) -> ProfileRecord:
    return {
        "name": profile.name,
        "title": profile.title,
        "source": profile.source,
        "digest": profile.digest,
        "rules": [
            {"id": rule.id, "level": str(rule.level), "text": rule.text, "source": rule.source}
            for rule in profile.rules
        ],
    }


def _entry_record(subject: str, entry: Expectation) -> EntryRecord:
    return {
        "subject": subject,
        "place": entry.place,
        "verdict": str(entry.verdict),
        "cases": list(entry.cases),
        "lines": list(entry.lines),
        "except": list(entry.exceptions),
    }


def _entry(record: EntryRecord) -> Expectation:
    cases, exceptions = tuple(record["cases"]), tuple(record["except"])
    return Expectation(cases, Verdict(record["verdict"]), "", record["place"], exceptions, lines=tuple(record["lines"]))
