"""The lines that `onnx-conformance list` prints of a corpus: cases, clauses, and the coverage of declarations."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.base.errors import UsageError
from conformance.corpus.cases.case_loading import read_case_json
from conformance.corpus.generation.generators import bundled_package
from conformance.exact.clauses import clauses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.corpus.cases.corpus import Corpus, CorpusCase


def case_lines(corpus: Corpus, chosen: Mapping[str, CorpusCase]) -> Iterator[str]:
    """Yield the id, the level and the title of each chosen case."""
    for id, case in chosen.items():
        document = read_case_json(corpus, case)
        yield f"{id}  {document.level}  {document.title}"


def clause_lines(corpus: Corpus) -> Iterator[str]:
    """Yield each clause with its number of cases, and then the clauses without a case."""
    tested: Counter[str] = Counter()
    for case in corpus.cases.values():
        tested.update(read_case_json(corpus, case).clauses)
    for clause in clauses().values():
        yield f"{tested[clause.id]:4d}  {clause.id}  {clause.text}"
    untested = [id for id in clauses() if not tested[id]]
    names = f": {', '.join(untested)}" if untested else ""
    yield f"{len(clauses())} clauses, {len(untested)} without a case{names}"


def coverage_lines(corpus: Corpus) -> Iterator[str]:
    """Return the lines of the coverage of the combinations of factors that the generators declare.

    Raises:
        UsageError: the suite is not run from a checkout, or the corpus has cases of other generators.
    """
    if corpus.name:
        raise UsageError("coverage-of-another-corpus", path=corpus.path, name=corpus.name)
    declarations = bundled_package()
    if declarations is None:
        raise UsageError("checkout-required")
    lines: Iterator[str] = declarations.coverage_lines(
        read_case_json(corpus, case).tags for case in corpus.cases.values()
    )
    return lines
