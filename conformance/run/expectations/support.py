"""The operators and element types that a subject supports, as an expectations file lists them.

supports = ["ArgMax[float16]", "Momentum[float] in 98 of 140 cases", "Softmax in 100 of 120 cases"]

A support with an element type is derived from the cases of a single operator; for a graph optimizer, from the cases of
the pass. For a backend, an operator without such cases has a support without a type, from all cases with it. Cases of
level `silent` and invalid models do not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.base.errors import ExpectationsError
from conformance.base.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ENTRY = re.compile(r"(?P<name>\w+(?:\[\w+\])?)(?: in (?P<supported>\d{1,9}) of (?P<cases>\d{1,9}) cases)?")


@dataclass(frozen=True)
class Support:
    """An operator that a subject supports, for one element type or in cases with other operators.

    Attributes:
        name: operator and element type, `ArgMax[float16]`, or operator alone.
        supported: number of supported cases.
        cases: number of all cases; 0, as `supported`, if the subject supports all cases.
    """

    name: str
    supported: int = 0
    cases: int = 0

    def __str__(self) -> str:
        part = f" in {self.supported} of {self.cases} cases" if self.unsupported else ""
        return f"{self.name}{part}"

    @property
    def unsupported(self) -> int:
        """Number of cases that the subject does not support."""
        return self.cases - self.supported

    @property
    def has_type(self) -> bool:
        """Whether the support is for one element type."""
        return "[" in self.name

    @property
    def operator(self) -> str:
        """The operator without the element type."""
        return self.name.partition("[")[0]


def parse_supports(name: str, given: Any) -> tuple[Support, ...]:
    """Return the content of the key `supports` of an expectations file.

    Args:
        name: name of the file, for messages.

    Raises:
        ExpectationsError: the value is malformed, or names a support twice.
    """
    texts = given if isinstance(given, list) else [given]
    supports: dict[str, Support] = {}
    for text in texts:
        found = _ENTRY.fullmatch(text) if isinstance(text, str) else None
        support = found and Support(found["name"], int(found["supported"] or 0), int(found["cases"] or 0))
        if support is None or support.unsupported < 0 or support.name in supports:
            raise ExpectationsError("malformed-support", name=name, text=text)
        supports[support.name] = support
    return tuple(supports.values())


class SupportCounter:
    """Counts the cases of each support that one subject was run on."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()
        self._unsupported: dict[str, list[str]] = defaultdict(list)
        self._answered: set[str] = set()

    def add(self, names: Iterable[str], case: str, verdict: Verdict) -> None:
        """Count a result of a case, which shows whether the supports with these names exist."""
        for name in names:
            self._cases[name] += 1
            if verdict is Verdict.UNSUPPORTED:
                self._unsupported[name].append(case)
            elif verdict is not Verdict.ERROR:
                self._answered.add(name)

    def lost(self, listed: Sequence[Support]) -> Iterator[tuple[Support, list[str]]]:
        """Yield each listed support that is lost, with the ids of the unsupported cases.

        A support is lost if more cases than listed are unsupported, and fewer than listed are supported: a later corpus
        can have more cases of both kinds. An operator is not yielded if its further unsupported cases have an operator
        that is.
        """
        explained: set[str] = set()
        for support in sorted(listed, key=self._lost_order):
            cases = sorted(self._unsupported[support.name])
            is_smaller = not support.cases or self._supported(support) < support.supported
            is_explained = not support.has_type and len(set(cases) - explained) <= support.unsupported
            if len(cases) > support.unsupported and is_smaller and not is_explained:
                explained |= {*cases, *self._unsupported[support.operator]}
                yield support, cases

    def _lost_order(self, support: Support) -> tuple[bool, int, int]:
        """Return the key that sorts supports with a type first, and lost operators before the others of their cases."""
        more = len(self._unsupported[support.name]) - support.unsupported
        return (False, 0, 0) if support.has_type else (True, self._supported(support), -more)

    def _supported(self, support: Support) -> int:
        """Return the number of cases that the subject supports now."""
        return self._cases[support.name] - len(self._unsupported[support.name])

    def without_case(self, listed: Sequence[Support]) -> list[str]:
        """Return the names of the listed supports of which no case was run."""
        return [support.name for support in listed if support.name not in self._cases]

    def supports(self, listed: Sequence[Support], *, is_complete: bool) -> list[Support]:
        """Return what the subject supports, sorted by name; of these it answered at least one case without an error.

        Args:
            listed: the supports that the file lists now.
            is_complete: whether every case was run. If not, the listed supports are kept, and a number of unsupported
                cases is only increased.
        """
        found = {
            name: Support(name, cases - len(self._unsupported[name]), cases)
            for name, cases in self._cases.items()
            if name in self._answered
        }
        names = {*found, *(support.name for support in listed)}
        for name in {name.partition("[")[0] for name in names if "[" in name}:
            found.pop(name, None)  # cases of the operator alone show its support
        for support in listed if not is_complete else ():
            now = found.get(support.name, support)
            if now.unsupported <= support.unsupported:
                found[support.name] = support
        return sorted(
            (support for support in found.values() if support.supported or not support.cases),
            key=lambda support: support.name,
        )
