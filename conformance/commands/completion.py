"""Shell completion of names: functions that return the possible values of an option or argument.

Ids of cases, tags and operators come from the corpus that `--data` names, or from the corpus of this suite.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.corpus.corpus import Corpus


def backend_names(incomplete: str) -> list[str]:
    """Return the short names of backends that complete `incomplete`."""
    return _registered_names("backends", incomplete)


def optimizer_names(incomplete: str) -> list[str]:
    """Return the short names of graph optimizers that complete `incomplete`."""
    return _registered_names("optimizers", incomplete)


def pass_names(incomplete: str) -> list[str]:
    """Return the names of passes that complete `incomplete`."""
    from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME

    return _with_prefix([PASS_NAME], incomplete)


def profile_names(incomplete: str) -> list[str]:
    """Return the names of requirement profiles that complete `incomplete`."""
    from conformance.profiles import bundled_profiles

    return _with_prefix(bundled_profiles(), incomplete)


def generator_names(incomplete: str) -> list[str]:
    """Return the names of generators that complete `incomplete`."""
    from conformance.errors import ConformanceError
    from conformance.generation.generators import generator_locations

    try:
        return _with_prefix(generator_locations(), incomplete)
    except ConformanceError:
        return []


def case_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of the corpus's cases that complete `incomplete`."""
    corpus = _corpus(ctx)
    return _with_prefix(corpus.cases, incomplete) if corpus is not None else []


def clause_ids(incomplete: str) -> list[str]:
    """Return the ids of clauses that complete `incomplete`."""
    from conformance.clauses import clauses

    return _with_prefix(clauses(), incomplete)


def tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tags of the corpus's cases that complete `incomplete`."""
    return _trait_names(ctx, "tag", incomplete)


def operators(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the operators of the corpus's models that complete `incomplete`."""
    return _trait_names(ctx, "operator", incomplete)


def _registered_names(group: str, incomplete: str) -> list[str]:
    from conformance.plugins import registered_entry_points

    return _with_prefix(registered_entry_points(group), incomplete)


def _trait_names(context: typer.Context, kind: str, incomplete: str) -> list[str]:
    from conformance.errors import ConformanceError
    from conformance.run.selection import case_traits

    if (corpus := _corpus(context)) is None:
        return []
    try:
        found = set().union(*(case_traits(corpus, case)[kind] for case in corpus.cases.values()))
    except ConformanceError:
        return []
    return _with_prefix(sorted(found), incomplete)


def _corpus(context: typer.Context) -> Corpus | None:
    """Return the corpus that `--data` names, or the corpus of this suite; None if it cannot be read."""
    from conformance.corpus.corpus import bundled_corpus_path, read_manifest
    from conformance.errors import ConformanceError

    try:
        given = context.params.get("data")  # text, in some versions of typer
        return read_manifest(Path(given) if given else bundled_corpus_path())
    except (ConformanceError, OSError):
        return None


def _with_prefix(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
