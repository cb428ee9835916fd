"""`onnx-conformance list`: cases, clauses, backends and generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.options import Data
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.corpus import Corpus


def list_(
    clauses: Annotated[bool, typer.Option("--clauses", help="Clauses and how many cases test each.")] = False,
    backends: Annotated[bool, typer.Option("--backends", help="Backends that have a short name.")] = False,
    generators: Annotated[bool, typer.Option("--generators", help="Generators.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="What can vary in a case, and which pairs and triples of it are covered.")
    ] = False,
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only cases with this tag.")] = None,
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
    for line in _clauses(corpus) if clauses else _coverage(corpus) if coverage else _cases(corpus, tag):
        say(line)


def _cases(corpus: Corpus, tag: str | None) -> Iterator[str]:
    from conformance.corpus.document import case_json

    documents = {id: case_json(corpus, case) for id, case in corpus.cases.items()}
    if tag is not None:
        _check_tag(tag, {known for document in documents.values() for known in document["tags"]})
    for id, document in documents.items():
        if tag is None or tag in document["tags"]:
            yield f"{id}  {document['level']}  {document['title']}"


def _check_tag(tag: str, known: set[str]) -> None:
    """Make sure that cases have a tag.

    Raises:
        UnknownName: none has.
    """
    from difflib import get_close_matches

    from conformance.errors import UnknownName

    if tag not in known:
        close = get_close_matches(tag, sorted(known), n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(sorted(known))}."
        raise UnknownName(f"No case has the tag {tag}.", hint)


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
