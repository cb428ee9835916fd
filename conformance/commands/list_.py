"""`onnx-conformance list`: cases, clauses, backends and generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.options import Data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.corpus import Corpus


def list_(
    clauses: Annotated[bool, typer.Option("--clauses", help="Clauses and how many cases test each.")] = False,
    backends: Annotated[bool, typer.Option("--backends", help="Backends that have a short name.")] = False,
    generators: Annotated[bool, typer.Option("--generators", help="Generators.")] = False,
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
            typer.echo(f"{name}  {place}")
        return
    corpus = open_corpus(data or bundled())
    for line in _clauses(corpus) if clauses else _cases(corpus, tag):
        typer.echo(line)


def _cases(corpus: Corpus, tag: str | None) -> Iterator[str]:
    from conformance.corpus.document import case_json

    for id, case in corpus.cases.items():
        document = case_json(corpus, case)
        if tag is None or tag in document["tags"]:
            yield f"{id}  {document['level']}  {document['title']}"


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
