"""`onnx-conformance list`: cases, clauses, backends and generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.options import (
    CaseLevels,
    Cases,
    Clauses,
    Data,
    Keyword,
    Operators,
    Tags,
    selection_of,
)
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase


def list_(
    clauses: Annotated[bool, typer.Option("--clauses", help="Clauses and how many cases test each.")] = False,
    backends: Annotated[bool, typer.Option("--backends", help="Backends that have a short name.")] = False,
    generators: Annotated[bool, typer.Option("--generators", help="Generators.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="What can vary in a case, and which pairs and triples of it are covered.")
    ] = False,
    keyword: Keyword = "",
    case: Cases = None,
    tag: Tags = None,
    clause: Clauses = None,
    case_level: CaseLevels = None,
    operator: Operators = None,
    data: Data = None,
) -> None:
    """List the cases with level and title, or what else there is."""
    from conformance.corpus.corpus import bundled, open_corpus
    from conformance.plugins import registered

    if backends or generators:
        from conformance.generation.defined import generator_places

        places = {name: point.value for name, point in registered("backends").items()}
        for name, place in (places if backends else generator_places()).items():
            say(f"{name}  {place}")
        return
    corpus = open_corpus(data or bundled())
    if coverage:
        for line in _coverage(corpus):
            say(line)
        return
    chosen = selection_of(keyword, case, tag, clause, case_level, operator).of(corpus)
    for line in _clauses(corpus) if clauses else _cases(corpus, chosen):
        say(line)


def _cases(corpus: Corpus, chosen: Mapping[str, CorpusCase]) -> Iterator[str]:
    from conformance.corpus.document import case_json

    for id, case in chosen.items():
        document = case_json(corpus, case)
        yield f"{id}  {document['level']}  {document['title']}"


def _coverage(corpus: Corpus) -> Iterator[str]:
    from conformance.corpus.document import case_json
    from conformance.dimensions.coverage_text import coverage_lines

    return coverage_lines(case_json(corpus, case)["tags"] for case in corpus.cases.values())


def _clauses(corpus: Corpus) -> Iterator[str]:
    from collections import Counter

    from conformance.clauses import clauses
    from conformance.corpus.document import case_json

    tested: Counter[str] = Counter()
    for case in corpus.cases.values():
        tested.update(case_json(corpus, case)["clauses"])
    for clause in clauses().values():
        yield f"{tested[clause.id]:4d}  {clause.id}  {clause.text}"
    bare = [id for id in clauses() if not tested[id]]
    yield f"{len(clauses())} clauses, {len(bare)} without a case{': ' + ', '.join(bare) if bare else ''}"
