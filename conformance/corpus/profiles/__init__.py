"""Profiles: named sets of requirements beyond the specification, in TOML files.

A profile has rules, each with its source. A rule raises levels and never lowers a level. It raises the level of cases
that name a clause, of cases with a question that the specification leaves open and the rule decides, or of checks.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import read_input
from conformance.base.serialization.decoding import decode_toml, describe_error
from conformance.base.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_PROFILE_BYTES = 2**24
"""Largest size of a profile."""


_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
_Names = Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1)]


class ProfileRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of a profile.

    Attributes:
        level: the level to which it raises cases and checks.
        text: the requirement, in one sentence.
        source: source of the requirement.
        clauses: ids of clauses; the rule applies to cases that name one of them.
        checks: names of checks to which the rule applies.
        answer: name of an open question that the rule decides, or empty; the rule applies to cases with this question.
            `judging.profile_rules` implements the decision.
    """

    id: _Text
    level: Level
    text: _Text
    source: _Text
    clauses: _Names = ()
    checks: _Names = ()
    answer: Literal["nan_wins_argmax", ""] = ""

    def __post_init__(self) -> None:
        """Raise ValueError if the level is not must or should, or if the rule applies to nothing."""
        if self.level is Level.SILENT:
            raise ValueError(f"the level is {self.level}, instead of must or should")
        if not (self.clauses or self.checks or self.answer):
            raise ValueError("the rule applies to nothing: it has none of answer, checks and clauses")


class _ProfileFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"rules": "rule"}):
    """The content of a profile's TOML file."""

    name: _Text
    title: _Text
    source: _Text
    rules: Annotated[tuple[ProfileRule, ...], msgspec.Meta(min_length=1)]


class RequirementProfile(_ProfileFile, frozen=True, kw_only=True):
    """A profile: a set of rules with a title and a source.

    Attributes:
        digest: SHA-256 of the profile's file.
    """

    digest: str

    def level_of(self, rules: Iterable[str], own: Level) -> Level:
        """Return the strongest level among `own` and the levels of the rules with these ids."""
        ids = set(rules)
        return Level.strongest([own, *(rule.level for rule in self.rules if rule.id in ids)])

    def level_of_check(self, name: str, own: Level) -> Level:
        """Return the strongest level among `own` and the levels of the rules that apply to the check `name`."""
        return Level.strongest([own, *(rule.level for rule in self.rules if name in rule.checks)])


def bundled_profiles() -> tuple[str, ...]:
    """Return the names of the profiles that are part of the suite."""
    files = (file.name for file in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def read_profile(name: str) -> RequirementProfile:
    """Read a profile of the suite by its name, or any profile by its path.

    Raises:
        UsageError: the profile does not exist or is malformed.
    """
    if name in bundled_profiles():
        content = resources.files(__name__).joinpath(f"{name}.toml").read_bytes()
    else:
        try:
            content = read_input(Path(name), MAX_PROFILE_BYTES)
        except (OSError, ValueError) as error:  # ValueError: the text cannot be a path
            reason = getattr(error, "strerror", error)
            raise UsageError("profile-unreadable", name=name, reason=reason, known=list(bundled_profiles())) from None
    try:
        document = decode_toml(content.decode())
    except ValueError as error:  # also for text that is not UTF-8
        raise UsageError("profile-malformed.toml", name=name, error=error) from None
    return _parse_profile(name, document, hashlib.sha256(content).hexdigest())


def _parse_profile(file: str, document: dict[str, Any], digest: str) -> RequirementProfile:
    if isinstance(rules := document.get("rule"), list):
        document["rule"] = [_with_name_lists(rule) if isinstance(rule, dict) else rule for rule in rules]
    try:
        parsed = msgspec.convert(document, _ProfileFile)
    except msgspec.ValidationError as error:
        raise UsageError("profile-malformed.form", file=file, problem=describe_error(error)) from None
    if len({rule.id for rule in parsed.rules}) < len(parsed.rules):
        raise UsageError("profile-malformed.rules", file=file)
    return RequirementProfile(**msgspec.structs.asdict(parsed), digest=digest)


def _with_name_lists(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule of a TOML file with single names in `clauses` and `checks` replaced by lists of one name."""
    return {
        key: [value] if key in {"clauses", "checks"} and isinstance(value, str) else value
        for key, value in rule.items()
    }
