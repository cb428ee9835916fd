"""When an expectation applies: on which versions of the subject, on which platforms, under which Python.

when = { version = ">=1.31,<1.33", platform = ["linux", "darwin arm64"], python = ">=3.12" }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import ExpectationsError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = ("version", "platform", "python")
PLATFORMS = ("linux", "darwin", "windows", "freebsd")


@dataclass(frozen=True)
class Situation:
    """What conditions are held against.

    Attributes:
        version: the subject's.
        platform: the system, and after a space the machine: `linux x86_64`.
        python: the interpreter's version.
    """

    version: str
    platform: str
    python: str

    @classmethod
    def of(cls, version: str, environment: Mapping[str, str]) -> Situation:
        """The situation that a results file's header tells of, for a subject of that version."""
        return cls(version, environment.get("platform", "").lower(), environment.get("python", ""))


@dataclass(frozen=True)
class Condition:
    """All that must hold for an entry to apply; empty where nothing must.

    Attributes:
        place: the entry's place, for messages.
        platforms: systems, each with or without a machine.
    """

    place: str
    version: str = ""
    python: str = ""
    platforms: tuple[str, ...] = ()

    def holds(self, situation: Situation) -> bool:
        """Whether an entry applies.

        Raises:
            ExpectationsError: it asks for a version of what has none that can be compared.
        """
        return (
            self._includes(self.version, situation.version, "the subject's version")
            and self._includes(self.python, situation.python, "Python's version")
            and self._is_on(situation.platform)
        )

    def _includes(self, specifier: str, version: str, whose: str) -> bool:
        if not specifier:
            return True
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion, Version

        try:
            return SpecifierSet(specifier).contains(Version(version), prereleases=True)
        except InvalidVersion:
            raise ExpectationsError(
                f"{self.place} applies where {whose} is {specifier}, but it is {version!r}.",
                "Remove the condition; it cannot be judged.",
            ) from None

    def _is_on(self, platform: str) -> bool:
        return not self.platforms or platform in self.platforms or platform.partition(" ")[0] in self.platforms


def read_condition(place: str, given: Any) -> Condition:
    """The condition of an entry, from its `when`.

    Raises:
        ExpectationsError: a key or a platform is unknown, or a version is no specifier.
    """
    if not isinstance(given, dict) or not given or set(given) - set(KEYS):
        unknown = sorted(set(given) - set(KEYS)) if isinstance(given, dict) else []
        told = f"Give it a table of {', '.join(KEYS)}."
        hint = did_you_mean(unknown[0], KEYS, told) if unknown else told
        raise ExpectationsError(f"{place} has a malformed `when`{f': {unknown[0]}' if unknown else ''}.", hint)
    version, python = (_specifier(place, key, given[key]) if key in given else "" for key in ("version", "python"))
    return Condition(place, version, python, _platforms(place, given["platform"]) if "platform" in given else ())


def _specifier(place: str, key: str, given: Any) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return str(SpecifierSet(given)) if given and isinstance(given, str) else _no_specifier(place, key, given)
    except InvalidSpecifier:
        return _no_specifier(place, key, given)


def _no_specifier(place: str, key: str, given: Any) -> str:
    raise ExpectationsError(f"{place} asks for the {key} {given!r}.", 'Write version numbers as ">=1.31,<1.33".')


def _platforms(place: str, given: Any) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if isinstance(names, list) and names and all(isinstance(name, str) and _is_platform(name) for name in names):
        return tuple(names)
    raise ExpectationsError(
        f"{place} asks for the platform {given!r}.",
        f'Name one of {", ".join(PLATFORMS)}, or one with its machine as in "linux x86_64".',
    )


def _is_platform(name: str) -> bool:
    return name.partition(" ")[0] in PLATFORMS and name == name.lower().strip()
