"""Profiles: what somebody asks beyond the specification, as data in TOML files, each rule with its source.

A rule raises the level of cases, by a clause that they name or by a question that the specification leaves open and the
rule decides, or that of checks of graph optimizers. It never lowers one.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean
from conformance.files.regular import read_input
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LARGEST_FILE = 2**24
"""Bytes of a profile that is read."""

ANSWERS = ("nan_wins_argmax",)
"""The questions that a rule can decide; `judging.profiled` has what each accepts."""

_OF_A_PROFILE = {"name", "title", "source", "rule"}
_OF_A_RULE = {"id", "level", "text", "source"}
_CONCERNS = {"clauses", "checks", "answer"}
_TEXTS = ("id", "text", "source", "answer")


@dataclass(frozen=True)
class Rule:
    """One thing that a profile asks.

    Attributes:
        level: that of what it is about, from then on.
        text: what it asks, in a sentence.
        source: where that is said.
        clauses: it is about the cases that name one of these clauses.
        checks: it is about these checks of graph optimizers.
        answer: it is about the cases with this open question, and decides it; empty for none.
    """

    id: str
    level: Level
    text: str
    source: str
    clauses: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class Profile:
    """A profile.

    Attributes:
        digest: SHA-256 of its file.
    """

    name: str
    title: str
    source: str
    digest: str
    rules: tuple[Rule, ...]

    def level_of(self, rules: Iterable[str], own: Level) -> Level:
        """The strongest of a level and those of some of its rules, by their ids."""
        ids = set(rules)
        return Level.strongest([own, *(rule.level for rule in self.rules if rule.id in ids)])

    def level_of_check(self, name: str, own: Level) -> Level:
        """The level of a graph optimizer's check."""
        return Level.strongest([own, *(rule.level for rule in self.rules if name in rule.checks)])


def bundled_profiles() -> tuple[str, ...]:
    """The names of the profiles that come with the suite."""
    files = (file.name for file in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def read_profile(name: str) -> Profile:
    """Read a profile that comes with the suite, by its name, or a file.

    Raises:
        UsageError: there is none, or it is malformed.
    """
    if name in bundled_profiles():
        content = resources.files(__name__).joinpath(f"{name}.toml").read_bytes()
    else:
        try:
            content = read_input(Path(name), LARGEST_FILE)
        except (OSError, ValueError) as error:  # the second of what can be no file's name
            known = ", ".join(bundled_profiles())
            hint = did_you_mean(name, bundled_profiles(), f"Use {known}, or name a file.")
            raise UsageError(
                f"The profile {name} cannot be read ({getattr(error, 'strerror', error)}).", hint
            ) from None
    try:
        document = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # a number of many digits is none of TOML's own errors
        raise UsageError(f"The profile {name} is not TOML: {error}.", "Mend the line it names.") from None
    return _profile(name, document, hashlib.sha256(content).hexdigest())


def _profile(file: str, document: Mapping[str, Any], digest: str) -> Profile:
    rules = document.get("rule")
    texts = [document.get(key) for key in ("name", "title", "source")]
    if set(document) != _OF_A_PROFILE or not all(map(_is_text, texts)) or not isinstance(rules, list) or not rules:
        raise UsageError(f"{file} is not a profile.", "Give it a name, a title, a source and [[rule]] tables.")
    read = tuple(_rule(file, number, rule) for number, rule in enumerate(rules, 1))
    if len({rule.id for rule in read}) < len(read):
        raise UsageError(f"{file} has two rules of one id.", "Rename one of them.")
    return Profile(document["name"], document["title"], document["source"], digest, read)


def _rule(file: str, number: int, given: Any) -> Rule:
    place = f"Rule {number} of {file}"
    if not isinstance(given, dict) or not _OF_A_RULE <= set(given) <= _OF_A_RULE | _CONCERNS:
        told = f"{', '.join(sorted(_OF_A_RULE))}, and one or more of {', '.join(sorted(_CONCERNS))}"
        raise UsageError(f"{place} is malformed.", f"Give it {told}.")
    if not set(given) & _CONCERNS:
        raise UsageError(f"{place} is about nothing.", f"Give it one or more of {', '.join(sorted(_CONCERNS))}.")
    if not all(_is_text(given[key]) for key in _TEXTS if key in given):
        raise UsageError(f"{place} has an id, text, source or answer that is no text.", "Write each as a string.")
    if given["level"] not in [str(Level.MUST), str(Level.SHOULD)]:
        raise UsageError(f"{place} has the level {given['level']!r}.", "A rule raises to must or should.")
    if "answer" in given and given["answer"] not in ANSWERS:
        raise UsageError(f"{place} decides {given['answer']}, which is no question.", f"Use {', '.join(ANSWERS)}.")
    lists = {key: tuple(_names(place, key, given[key])) for key in ("clauses", "checks") if key in given}
    return Rule(
        given["id"], Level(given["level"]), given["text"], given["source"], answer=given.get("answer", ""), **lists
    )


def _names(place: str, key: str, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(map(_is_text, names)):
        raise UsageError(f"{place} has {key} that are no list of names.", "Name one or more.")
    return names


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
