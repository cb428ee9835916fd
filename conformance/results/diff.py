"""What changed from one run to another: a pure function of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from conformance.errors import ResultsError
from conformance.results.failure_kinds import normalized
from conformance.results.levels import weaker_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.results.file import Key, Results
    from conformance.results.records import ResultRow

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


def differences(before: Results, after: Results) -> Differences:
    """What changed.

    A regression is a verdict that is worse than before, at any level but `silent`, or a defect where there was one at a
    weaker level than the case's and it stands at a stronger one now.

    Raises:
        ResultsError: they have no subject in common.
    """
    old, new = _names(before), _names(after)
    if old["subjects"].keys().isdisjoint(new["subjects"]):
        raise ResultsError(
            f"{before.path} and {after.path} have no subject in common.", "Give two runs of one subject."
        )
    both = sorted(before.rows.keys() & after.rows.keys())
    kinds: dict[str, list[VerdictChange]] = {"regressions": [], "fixes": [], "changes": []}
    for key in both:
        if _differs(before, after, key):
            kinds[_kind(before, after, key)].append(_change(before.rows[key], after.rows[key]))
    subjects = sorted(old["subjects"].keys() & new["subjects"].keys())
    return {
        "format": 1,
        "before": old,
        "after": new,
        "regressions": kinds["regressions"],
        "fixes": kinds["fixes"],
        "changes": kinds["changes"],
        "growth": [growth for key in both if _passes(before, after, key) for growth in _growth(before, after, key)],
        "cases_added": _missing(after, before, subjects),
        "cases_removed": _missing(before, after, subjects),
        "subjects_added": sorted(new["subjects"].keys() - old["subjects"].keys()),
        "subjects_removed": sorted(old["subjects"].keys() - new["subjects"].keys()),
    }


def _names(run: Results) -> RunNames:
    corpus = run.header["corpus"]
    subjects = {subject["id"]: subject["version"] for subject in run.header["subjects"]}
    names: RunNames = {"corpus": corpus["version"], "digest": corpus["digest"], "subjects": subjects}
    rules = run.header.get("rules")
    if rules and "profile" in rules:
        names["profile"] = rules["profile"]["name"]
    return names


def _weaker_level(run: Results, key: Key) -> Level | None:
    """The level at which a verdict stands, where that is weaker than its case's."""
    row = run.rows[key]
    return weaker_level(row, Level(run.described[row["case"]]["level"]))


def _differs(before: Results, after: Results, key: Key) -> bool:
    """Whether the verdict changed, or of two failures what is wrong or at which level."""
    old, new = before.rows[key], after.rows[key]
    if old["verdict"] != new["verdict"]:
        return True
    if not Verdict(new["verdict"]).is_defect:
        return False
    return normalized(old["message"]) != normalized(new["message"]) or (
        _weaker_level(before, key) != _weaker_level(after, key)
    )


def _change(old: ResultRow, new: ResultRow) -> VerdictChange:
    change: VerdictChange = {
        "subject": new["subject"],
        "case": new["case"],
        "level": new["level"],
        "before": old["verdict"],
        "after": new["verdict"],
        "message": new["message"],
    }
    return change if old["level"] == new["level"] else {**change, "level_before": old["level"]}


def _kind(before: Results, after: Results, key: Key) -> str:
    old, new = before.rows[key], after.rows[key]
    was, verdict, level = Verdict(old["verdict"]), Verdict(new["verdict"]), Level(new["level"])
    stood = _weaker_level(before, key)
    is_stronger = verdict.is_defect and stood is not None and level.is_stronger_than(stood)
    if level is not Level.SILENT and (verdict.is_worse_than(was) or is_stronger):
        return "regressions"
    return "fixes" if verdict is Verdict.PASS and was is not Verdict.PASS else "changes"


def _passes(before: Results, after: Results, key: Key) -> bool:
    return before.rows[key]["verdict"] == after.rows[key]["verdict"] == Verdict.PASS


def _growth(before: Results, after: Results, key: Key) -> Iterator[Growth]:
    old, new = before.results[key], after.results[key]
    errors = {(one["data_set"], one["name"]): one.get("error_over_bound", 0.0) for one in old["outputs"]}
    for output in new["outputs"]:
        place = output["data_set"], output["name"]
        was, error = errors.get(place), output.get("error_over_bound", 0.0)
        if was is not None and error >= NOTICEABLE and error >= GROWTH * was:
            told = {"subject": new["subject"], "case": new["case"], "output": output["name"]}
            yield Growth(**told, data_set=output["data_set"], before=was, after=error)  # type: ignore[typeddict-item]


def _missing(of: Results, from_: Results, subjects: Sequence[str]) -> dict[str, list[str]]:
    """The cases that one run has and the other has not, of the subjects of both."""
    lost = sorted(of.rows.keys() - from_.rows.keys())
    return {name: cases for name in subjects if (cases := [case for subject, case in lost if subject == name])}
