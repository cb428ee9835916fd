"""What a gate goes by, as it was set for a run; a results file carries it, so that a merged run is judged alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.case import INVALID
from conformance.corpus.corpus import case_json
from conformance.errors import UnknownName
from conformance.expectations.conditions import Situation
from conformance.expectations.file import Expectation, Expectations
from conformance.gate.baseline import Baseline, read_baseline
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.results.records import EntryRecord, Header, RulesRecord
    from conformance.run.settings import Settings
    from conformance.subjects.loading import Subject


@dataclass(frozen=True)
class Rules:
    """The settings of a gate.

    Attributes:
        level: up to which level it judges.
        expectations: the entries that apply, by subject.
        require: operators that a subject must support.
        baseline: an earlier run, or None.
    """

    level: Level = Level.MUST
    expectations: Mapping[str, Expectations] = field(default_factory=dict)
    require: tuple[str, ...] = ()
    baseline: Baseline | None = None

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
        return record


def rules_of(header: Header) -> Rules:
    """The rules that a run was judged by; the verdicts of its baseline are with its results."""
    record = header.get("rules")
    if record is None:
        return Rules(Level(header["selection"].get("--level", Level.MUST)))
    entries: dict[str, list[Expectation]] = {}
    for entry in record["expectations"]:
        entries.setdefault(entry["subject"], []).append(_entry(entry))
    expectations = {subject: Expectations(subject, tuple(own)) for subject, own in entries.items()}
    baseline = Baseline(record["baseline"], {}) if "baseline" in record else None
    return Rules(Level(record["level"]), expectations, tuple(record["require"]), baseline)


def rules_for(
    settings: Settings, corpus: Corpus, subjects: Sequence[Subject], expectations: Mapping[str, Expectations]
) -> Rules:
    """What the gate of a run goes by.

    Raises:
        ConformanceError: a condition cannot be judged, an operator is unknown, or the baseline cannot be trusted.
    """
    from conformance.run.recorder import environment

    around, baseline = environment(), None
    applying = {
        subject.id: expectations[subject.id].applying(Situation.of(subject.version, around))
        for subject in subjects
        if subject.id in expectations
    }
    if settings.require:
        _check_required(settings.require, corpus)
    if settings.baseline is not None:
        baseline = read_baseline(settings.baseline, [subject.id for subject in subjects])
    return Rules(settings.level, applying, settings.require, baseline)


def _check_required(required: Iterable[str], corpus: Corpus) -> None:
    """Make sure that the corpus has valid models with the operators that a subject must support.

    Raises:
        UnknownName: it has none with one of them.
    """
    documents = (case_json(corpus, path) for path in corpus.cases if not path.startswith(f"{INVALID}/"))
    operators = {node["op_type"] for document in documents for node in document["model"]["nodes"]}
    for name in required:
        if name not in operators:
            known = ", ".join(sorted(operators))
            raise UnknownName(f"The corpus has no case of an operator {name}.", f"Use one of {known}.")


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
