"""Selection of the cases of a run: by id, tag, clause, level, operator and expression, by subject, and by shard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.base.errors import UnknownName, UsageError
from conformance.corpus.cases.corpus import find_case
from conformance.run.corpus_run.run_options import SELECTION_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.corpus.cases.corpus import Corpus, CorpusCase

_SHARD_PATTERN = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")

MAX_KEYWORD_TOKENS = 250
"""Largest number of words and parentheses of `-k`.

pytest parses the expression by recursion, with three calls for a parenthesis, and Python allows 1000 calls.
"""


CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})
"""Operators with subgraphs, in which there can be other operators."""


@dataclass(frozen=True, order=True)
class Shard:
    """One of several disjoint parts of the cases of a corpus: 3/8 is the third of eight parts.

    Attributes:
        number: number of the shard, from 1.
        of: number of shards.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard for the value of `--shard`, such as `3/8`.

        Raises:
            UsageError: the text does not have this form.
        """
        match = _SHARD_PATTERN.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError("malformed-shard", text=text)
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def select(self, cases: Mapping[str, CorpusCase]) -> dict[str, CorpusCase]:
        """Return the cases of this shard: every `of`-th case in the order of the ids.

        Each shard thus has cases of each operator.
        """
        return {id: cases[id] for id in sorted(cases)[self.number - 1 :: self.of]}


def check_keyword(keyword: str) -> None:
    """Check that pytest can parse the expression of `-k`; pytest itself would fail later, in a worker process.

    Raises:
        UsageError: the expression is too long or malformed.
    """
    if not keyword.strip():
        return
    from _pytest.mark.expression import Expression  # pytest exports no public name for the parser

    if (tokens := len(re.findall(r"[()]|[^\s()]+", keyword))) > MAX_KEYWORD_TOKENS:
        raise UsageError("keyword-too-long", tokens=tokens, most=MAX_KEYWORD_TOKENS)
    try:
        Expression.compile(keyword)
    except Exception as error:  # noqa: BLE001 - the class of the error depends on the version of pytest
        raise UsageError("malformed-keyword", keyword=keyword, error=error) from None


@dataclass(frozen=True)
class Selection:
    """The conditions of the selection options; a case is selected if it satisfies all of them.

    An empty attribute is not a condition. An attribute with several values is satisfied by a case with any of the
    values.

    Attributes:
        keyword: expression over ids, the value of `-k`.
        case: ids of cases.
        tag: tags of the case.
        clause: ids of clauses that the case tests.
        select_level: levels of the case.
        operator: operators of the case's model, also in subgraphs and functions.

    Raises:
        UsageError: the expression is too long or malformed.
    """

    keyword: str = ""
    case: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    clause: tuple[str, ...] = ()
    select_level: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that `keyword` is well-formed."""
        check_keyword(self.keyword)

    @property
    def options(self) -> dict[str, str]:
        """The selection options that are given and their values, in the form that a results file stores."""
        values = {option: " ".join(getattr(self, name)) for option, name in SELECTION_OPTIONS.items()}
        return {option: value for option, value in {"-k": self.keyword, **values}.items() if value}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Selection:
        """Return the selection for option values; the keys are parameter names, such as `select_level`."""
        conditions = {name: tuple(map(str, values.get(name) or ())) for name in SELECTION_OPTIONS.values()}
        return cls(values.get("keyword") or "", **conditions)

    def select(self, corpus: Corpus) -> dict[str, CorpusCase]:
        """Return the selected cases of a corpus by id; if `case` is given, the result is sorted by id.

        Raises:
            UnknownName: the corpus has no such case, tag, clause or operator.
            CorpusError: the description of a case cannot be read.
        """
        named = {id: find_case(corpus, id) for id in sorted(set(self.case))} if self.case else corpus.cases
        matches = keyword_matcher(self.keyword)
        found = {
            id: case
            for id, case in named.items()
            if (not self.select_level or case.level in self.select_level) and matches(id)
        }
        wanted = {"tag": self.tag, "clause": self.clause, "operator": self.operator}
        if not any(wanted.values()):
            return found
        traits = {id: case_traits(corpus, case) for id, case in corpus.cases.items()}
        for kind, names in wanted.items():
            _check_known(kind, names, {known for of_case in traits.values() for known in of_case[kind]})
        return {
            id: case
            for id, case in found.items()
            if all(not names or traits[id][kind] & set(names) for kind, names in wanted.items())
        }


def keyword_matcher(keyword: str) -> Callable[[str], bool]:
    """Return a function that returns whether the id of a case satisfies the expression of `-k`.

    Upper and lower case are equivalent. Unlike in pytest, words are compared with the id alone, and not with the
    subject, the path or marks.
    """
    if not keyword.strip():
        return lambda _: True
    from _pytest.mark.expression import Expression

    expression = Expression.compile(keyword)
    return lambda case: expression.evaluate(lambda word, /, **_: word.lower() in case.lower())


def case_traits(corpus: Corpus, case: CorpusCase) -> dict[str, frozenset[str]]:
    """Return the tags, clauses and operators of a case, by the name of the selection option."""
    from conformance.corpus.cases.case_json import read_case_json  # late: it imports NumPy
    from conformance.corpus.cases.case_loading import load_case  # late: it imports onnx, as do the other two
    from conformance.exact.models.graphs import MAIN_DOMAINS, TRAINING_DOMAIN, all_nodes

    document = read_case_json(corpus, case)
    nodes = document.model.nodes
    standard = {*MAIN_DOMAINS, TRAINING_DOMAIN}
    operators = {node.op_type for node in nodes}
    if operators & CONTROL_FLOW or any(node.domain not in standard for node in nodes):
        # case.json has only the nodes of the main graph, not those of subgraphs and functions
        operators.update(node.op_type for node in all_nodes(load_case(corpus, case).model))
    return {
        "tag": frozenset(document.tags),
        "clause": frozenset(document.clauses),
        "operator": frozenset(operators),
    }


def _check_known(kind: str, names: Iterable[str], known: set[str]) -> None:
    """Check that each selected name exists in the corpus.

    Args:
        kind: what the names are, for the message: tag, clause or operator.
        names: the selected names.
        known: the names that cases of the corpus have.

    Raises:
        UnknownName: no case has one of the names.
    """
    for name in names:
        if name not in known:
            raise UnknownName("not-in-corpus", kind=kind, name=name, known=sorted(known))
