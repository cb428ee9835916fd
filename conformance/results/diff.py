"""What changed from one run to another: a pure function of their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypedDict

from conformance.errors import ResultsError
from conformance.results.failure_kinds import normalized
from conformance.results.levels import weaker_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord

GROWTH = 2.0
"""By which factor an error must have grown to be told of while the case still passes."""

NOTICEABLE = 0.1
"""From which fraction of its bound on an error is told of; below, growth is noise."""


class VerdictChange(TypedDict):
    """A verdict that changed, or the level at which it stands; of the level before only where it was another."""

    subject: str
    case: str
    level: str
    level_before: NotRequired[str]
    before: str
    after: str
    message: str


class Growth(TypedDict):
    """An output's error, as a fraction of its bound, that grew while the case passed before and after."""

    subject: str
    case: str
    output: str
    data_set: int
    before: float
    after: float


class RunNames(TypedDict):
    """Which corpus a run was of, its subjects' versions, and the profile that it went by, if any."""

    corpus: str
    profile: NotRequired[str]
    digest: str
    subjects: dict[str, str]


class Differences(TypedDict):
    """All that changed; the cases added and removed are by subject, on those that both runs have."""

    format: int
    before: RunNames
    after: RunNames
    regressions: list[VerdictChange]
    fixes: list[VerdictChange]
    changes: list[VerdictChange]
    growth: list[Growth]
    cases_added: dict[str, list[str]]
    cases_removed: dict[str, list[str]]
    subjects_added: list[str]
    subjects_removed: list[str]


Key = tuple[str, str]


@dataclass(frozen=True)
class _Run:
    names: RunNames
    results: Mapping[Key, ResultRecord]
    cases: Mapping[str, CaseRecord]

    def weaker_level(self, key: Key) -> Level | None:
        """The level at which a verdict stands, where that is weaker than its case's."""
        result = self.results[key]
        return weaker_level(result, Level(self.cases[result["case"]]["level"]))


def differences(before: Results, after: Results) -> Differences:
    """What changed.

    A regression is a verdict that is worse than before, at any level but `silent`, or a defect where there was one at a
    weaker level than the case's and it stands at a stronger one now.

    Raises:
        ResultsError: they have no subject in common.
    """
    old, new = _run(before), _run(after)
    if old.names["subjects"].keys().isdisjoint(new.names["subjects"]):
        raise ResultsError(
            f"{before.path} and {after.path} have no subject in common.", "Give two runs of one subject."
        )
    both = sorted(old.results.keys() & new.results.keys())
    changed = [key for key in both if _differs(old, new, key)]
    kinds: dict[str, list[VerdictChange]] = {"regressions": [], "fixes": [], "changes": []}
    for key in changed:
        kinds[_kind(old, new, key)].append(_change(old.results[key], new.results[key]))
    subjects = sorted(old.names["subjects"].keys() & new.names["subjects"].keys())
    return {
        "format": 1,
        "before": old.names,
        "after": new.names,
        "regressions": kinds["regressions"],
        "fixes": kinds["fixes"],
        "changes": kinds["changes"],
        "growth": [growth for key in both for growth in _growth(old.results[key], new.results[key])],
        "cases_added": _missing(new, old, subjects),
        "cases_removed": _missing(old, new, subjects),
        "subjects_added": sorted(new.names["subjects"].keys() - old.names["subjects"].keys()),
        "subjects_removed": sorted(old.names["subjects"].keys() - new.names["subjects"].keys()),
    }


def _run(run: Results) -> _Run:
    corpus = run.header["corpus"]
    subjects = {subject["id"]: subject["version"] for subject in run.header["subjects"]}
    names: RunNames = {"corpus": corpus["version"], "digest": corpus["digest"], "subjects": subjects}
    rules = run.header.get("rules")
    if rules and "profile" in rules:
        names["profile"] = rules["profile"]["name"]
    return _Run(names, {(result["subject"], result["case"]): result for result in run.results}, run.cases)


def _differs(before: _Run, after: _Run, key: Key) -> bool:
    """Whether the verdict changed, or of two failures what is wrong or at which level."""
    old, new = before.results[key], after.results[key]
    if old["verdict"] != new["verdict"]:
        return True
    if not Verdict(new["verdict"]).is_defect:
        return False
    return normalized(old["message"]) != normalized(new["message"]) or (
        before.weaker_level(key) != after.weaker_level(key)
    )


def _change(old: ResultRecord, new: ResultRecord) -> VerdictChange:
    change: VerdictChange = {
        "subject": new["subject"],
        "case": new["case"],
        "level": new["level"],
        "before": old["verdict"],
        "after": new["verdict"],
        "message": new["message"],
    }
    return change if old["level"] == new["level"] else {**change, "level_before": old["level"]}


def _kind(before: _Run, after: _Run, key: Key) -> str:
    old, new = before.results[key], after.results[key]
    was, verdict, level = Verdict(old["verdict"]), Verdict(new["verdict"]), Level(new["level"])
    stood = before.weaker_level(key)
    is_stronger = verdict.is_defect and stood is not None and level.is_stronger_than(stood)
    if level is not Level.SILENT and (verdict.is_worse_than(was) or is_stronger):
        return "regressions"
    return "fixes" if verdict is Verdict.PASS and was is not Verdict.PASS else "changes"


def _growth(old: ResultRecord, new: ResultRecord) -> Iterator[Growth]:
    if not old["verdict"] == new["verdict"] == Verdict.PASS:
        return
    errors = {(one["data_set"], one["name"]): one.get("error_over_bound", 0.0) for one in old["outputs"]}
    for output in new["outputs"]:
        place = output["data_set"], output["name"]
        before, after = errors.get(place), output.get("error_over_bound", 0.0)
        if before is not None and after >= NOTICEABLE and after >= GROWTH * before:
            told = {"subject": new["subject"], "case": new["case"], "output": output["name"]}
            yield Growth(**told, data_set=output["data_set"], before=before, after=after)  # type: ignore[typeddict-item]


def _missing(of: _Run, from_: _Run, subjects: Sequence[str]) -> dict[str, list[str]]:
    """The cases that one run has and the other has not, of the subjects of both."""
    lost = sorted(of.results.keys() - from_.results.keys())
    return {name: cases for name in subjects if (cases := [case for subject, case in lost if subject == name])}
