"""Conditions of expectations: the versions of the subject, platforms, Pythons and processors to which an entry applies.

when = { version = ">=1.31,<1.33", platform = ["linux", "darwin arm64"], python = ">=3.12", processor = "avx512_fp16" }
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.base.errors import ExpectationsError
from conformance.run.results.recorded_environment import CPU_FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

CONDITION_KEYS = ("version", "platform", "python", "processor")
PLATFORMS = ("linux", "darwin", "windows", "freebsd")


@dataclass(frozen=True)
class ConditionContext:
    """The properties of a run with which conditions are compared.

    Attributes:
        version: version of the subject.
        platform: operating system and machine: `linux x86_64`.
        python: version of the Python interpreter.
        features: instruction sets of the processor; empty if they are unknown.
    """

    version: str
    platform: str
    python: str
    features: frozenset[str] = frozenset()

    @classmethod
    def from_environment(cls, version: str, environment: Mapping[str, str]) -> ConditionContext:
        """Return the context of a run.

        Args:
            version: version of the subject.
            environment: the entry `environment` of the header of the results file.
        """
        features = frozenset(environment.get("cpu features", "").split())
        return cls(version, environment.get("platform", "").lower(), environment.get("python", ""), features)


@dataclass(frozen=True)
class Condition:
    """The condition under which an entry applies; an empty attribute is always satisfied.

    Attributes:
        location: location of the entry, for messages.
        version: version specifier for the subject, such as `>=1.31,<1.33`.
        python: version specifier for Python.
        platforms: operating systems, each with or without a machine: `linux`, `darwin arm64`.
        features: instruction sets that the processor has, or does not have if a minus sign is before the name.
    """

    location: str
    version: str = ""
    python: str = ""
    platforms: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def holds(self, situation: ConditionContext) -> bool:
        """Return whether a run with these properties satisfies the condition.

        Raises:
            ExpectationsError: the condition has a version specifier, but the version of the run is not comparable.
        """
        platform = situation.platform
        return (
            self._includes(self.version, situation.version, "the subject's version")
            and self._includes(self.python, situation.python, "Python's version")
            and (not self.platforms or not {platform, platform.partition(" ")[0]}.isdisjoint(self.platforms))
            and all((name.lstrip("-") in situation.features) is not name.startswith("-") for name in self.features)
        )

    def _includes(self, specifier: str, version: str, what: str) -> bool:
        if not specifier:
            return True
        from packaging.specifiers import SpecifierSet
        from packaging.version import Version

        try:
            return SpecifierSet(specifier).contains(Version(version), prereleases=True)
        except ValueError:  # also a number with too many digits
            raise ExpectationsError(
                "incomparable-version", location=self.location, what=what, specifier=specifier, version=version
            ) from None


def parse_condition(location: str, given: Any) -> Condition:
    """Return the condition that the key `when` of an entry in an expectations file describes.

    Raises:
        ExpectationsError: a key or a platform is unknown, or a version specifier is malformed.
    """
    if not isinstance(given, dict) or not given:
        raise ExpectationsError("malformed-condition.form", location=location, keys=CONDITION_KEYS)
    if unknown := sorted(set(given) - set(CONDITION_KEYS)):
        key = unknown[0]
        known = CONDITION_KEYS
        raise ExpectationsError("malformed-condition.unknown-key", location=location, key=key, known=known)
    version, python = (
        _parse_specifier(location, key, given[key]) if key in given else "" for key in ("version", "python")
    )
    platforms = _parse_platforms(location, given["platform"]) if "platform" in given else ()
    features = _parse_features(location, given["processor"]) if "processor" in given else ()
    return Condition(location, version, python, platforms, features)


def _parse_specifier(location: str, key: str, given: Any) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    with suppress(InvalidSpecifier):
        if given and isinstance(given, str):
            return str(SpecifierSet(given))
    raise ExpectationsError("malformed-condition.version", location=location, key=key, given=given)


def _parse_platforms(location: str, given: Any) -> tuple[str, ...]:
    names = string_tuple(given)
    if names and all(name.partition(" ")[0] in PLATFORMS and name == name.lower().strip() for name in names):
        return names
    raise ExpectationsError("malformed-condition.platform", location=location, given=given, known=PLATFORMS)


def _parse_features(location: str, given: Any) -> tuple[str, ...]:
    names = string_tuple(given)
    unknown = [name for name in names if name.removeprefix("-") not in CPU_FEATURES]
    if names and not unknown:
        return names
    given = unknown[0] if unknown else given
    raise ExpectationsError("malformed-condition.processor", location=location, given=given, known=sorted(CPU_FEATURES))


def string_tuple(given: Any) -> tuple[str, ...]:
    """Return the strings of a value of a file, which is a string or a list of strings; empty if it is neither."""
    strings = [given] if isinstance(given, str) else given
    is_right = isinstance(strings, list) and all(isinstance(string, str) for string in strings)
    return tuple(strings) if is_right else ()
