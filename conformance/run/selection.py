"""Which cases are run or listed: by what they are called and what they are about, and one part of several of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.corpus.case import CaseKind
from conformance.corpus.corpus import find_case
from conformance.corpus.document import case_json
from conformance.errors import UnknownName, UsageError, did_you_mean
from conformance.subjects.naming import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase

_TEXT = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")

LONGEST_KEYWORD = 250
"""Words and brackets of a `-k`: pytest reads them by recursion, three calls to a bracket, of which Python has 1000."""


@dataclass(frozen=True, order=True)
class Shard:
    """One of several parts; numbers begin with 1."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that a text such as `3/8` names.

        Raises:
            UsageError: it names none.
        """
        match = _TEXT.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"{text} is not a shard.", "Write 3/8 for the third of eight.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_cases(self, cases: Mapping[str, CorpusCase]) -> dict[str, CorpusCase]:
        """The cases of this part: every so many, so that operators spread over all shards."""
        return {id: cases[id] for id in sorted(cases)[self.number - 1 :: self.of]}


def check_keyword(keyword: str) -> None:
    """Make sure that a `-k` is what pytest can read: it does so in a worker, of which it would be the end.

    Raises:
        UsageError: it is too long, or no expression.
    """
    from _pytest.mark.expression import Expression  # pytest has no public name for it

    if (words := len(re.findall(r"[()]|[^\s()]+", keyword))) > LONGEST_KEYWORD:
        raise UsageError(
            f"-k has {words} words and brackets, and may have {LONGEST_KEYWORD}.",
            "Name cases one by one with --case, or patterns that they share.",
        )
    try:
        Expression.compile(keyword)
    except Exception as error:  # noqa: BLE001 - another class in each version of pytest
        raise UsageError(
            f"-k {keyword} is no expression: {error}.", "Write words with and, or, not and brackets, as in pytest."
        ) from None


@dataclass(frozen=True)
class Selection:
    """Which cases of a corpus are meant: those that satisfy every part that is given, and of a part any value.

    Attributes:
        keyword: an expression over the cases' ids, as `-k` has it.
        cases: ids.
        tags, clauses, levels, operators: what a case has, tests, stands at, and has in its model's main graph.
    """

    keyword: str = ""
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an expression that cannot be read.

        Raises:
            UsageError: the keyword is too long, or no expression.
        """
        check_keyword(self.keyword)

    @property
    def options(self) -> dict[str, str]:
        """The options that leave cases out, with their values, as a results file tells of them."""
        values = (" ".join(getattr(self, name)) for name in _OPTIONS.values())
        given = {"-k": self.keyword, **dict(zip(_OPTIONS, values, strict=True))}
        return {option: value for option, value in given.items() if value}

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> Selection:
        """The selection that a results file tells of."""
        return cls(
            options.get("-k", ""), **{name: tuple(options.get(option, "").split()) for option, name in _OPTIONS.items()}
        )

    def of(self, corpus: Corpus) -> dict[str, CorpusCase]:
        """The cases that are meant, in the order of their ids where ids are given.

        Raises:
            UnknownName: the corpus has no such case, tag, clause or operator.
            CorpusError: a case's description cannot be read.
        """
        wanted = {id: find_case(corpus, id) for id in sorted(set(self.cases))} if self.cases else corpus.cases
        is_meant = keyword_of(self.keyword)
        found = {id: case for id, case in wanted.items() if self._is_at_level(case) and is_meant(id)}
        if not (self.tags or self.clauses or self.operators):
            return dict(found)
        known_traits = {id: traits(corpus, case) for id, case in corpus.cases.items()}
        for kind, names in (("tag", self.tags), ("clause", self.clauses), ("operator", self.operators)):
            _check_known(kind, names, {known for of_case in known_traits.values() for known in of_case[kind]})
        return {id: case for id, case in found.items() if self._has(known_traits[id])}

    def _is_at_level(self, case: CorpusCase) -> bool:
        return not self.levels or case.level in self.levels

    def _has(self, own: Mapping[str, frozenset[str]]) -> bool:
        wanted = (("tag", self.tags), ("clause", self.clauses), ("operator", self.operators))
        return all(not names or own[kind] & set(names) for kind, names in wanted)


_OPTIONS = {
    "--case": "cases",
    "--tag": "tags",
    "--clause": "clauses",
    "--case-level": "levels",
    "--operator": "operators",
}
"""Per option that may be repeated its field."""


def keyword_of(keyword: str) -> Callable[[str], bool]:
    """What tells whether a case's id satisfies an expression of words that are parts of it, in any case of letters.

    Unlike pytest's, the words are held against the case alone: not against the subject, the corpus's place or marks.
    """
    from _pytest.mark.expression import Expression

    if not keyword.strip():
        return lambda _: True
    expression = Expression.compile(keyword)

    def is_meant(id: str) -> bool:
        return expression.evaluate(lambda word, /, **_: word.lower() in id.lower())

    return is_meant


def traits(corpus: Corpus, case: CorpusCase) -> dict[str, frozenset[str]]:
    """What a case can be selected by."""
    document = case_json(corpus, case)
    return {
        "tag": frozenset(document["tags"]),
        "clause": frozenset(document["clauses"]),
        "operator": frozenset(node["op_type"] for node in document["model"]["nodes"]),
    }


def _check_known(kind: str, names: Iterable[str], known: set[str]) -> None:
    """Make sure that names are those of something that cases have.

    Raises:
        UnknownName: one is not.
    """
    for name in names:
        if name not in known:
            all_of_them = f"There are {', '.join(sorted(known))}."
            raise UnknownName(f"No case has the {kind} {name}.", did_you_mean(name, known, all_of_them))


class Asked:
    """Tells it of every case; what must be read for it is read once, and not for backends."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __call__(self, kind: SubjectKind, case: CorpusCase) -> bool:
        """Whether subjects of a kind are asked a case."""
        return not case.is_structural if kind is SubjectKind.BACKEND else case.id in self._rewritten

    @cached_property
    def _rewritten(self) -> frozenset[str]:
        """The cases that say what the pass does with their models, invalid ones among them."""
        cases = (case for case in self._corpus.cases.values() if case.kind is not CaseKind.NODE)
        return frozenset(case.id for case in cases if "rewrite" in case_json(self._corpus, case))
