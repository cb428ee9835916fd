"""What a shell completes: the names that options and arguments take, those of a corpus from the one that is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.corpus.corpus import Corpus


def backend_names(incomplete: str) -> list[str]:
    """Names of backends."""
    return _registered("backends", incomplete)


def optimizer_names(incomplete: str) -> list[str]:
    """Names of graph optimizers."""
    return _registered("optimizers", incomplete)


def pass_names(incomplete: str) -> list[str]:
    """Names of passes."""
    from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME

    return _beginning([PASS_NAME], incomplete)


def profile_names(incomplete: str) -> list[str]:
    """Names of profiles."""
    from conformance.profiles import bundled_profiles

    return _beginning(bundled_profiles(), incomplete)


def generator_names(incomplete: str) -> list[str]:
    """Names of generators."""
    from conformance.errors import ConformanceError
    from conformance.generation.defined import generator_places

    try:
        return _beginning(generator_places(), incomplete)
    except ConformanceError:
        return []


def case_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of cases."""
    corpus = _corpus(ctx)
    return _beginning(corpus.cases, incomplete) if corpus is not None else []


def clause_ids(incomplete: str) -> list[str]:
    """Ids of clauses."""
    from conformance.clauses import clauses

    return _beginning(clauses(), incomplete)


def tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tags of cases."""
    return _traits(ctx, "tag", incomplete)


def operators(ctx: typer.Context, incomplete: str) -> list[str]:
    """Operators of models."""
    return _traits(ctx, "operator", incomplete)


def _registered(group: str, incomplete: str) -> list[str]:
    from conformance.plugins import registered

    return _beginning(registered(group), incomplete)


def _traits(context: typer.Context, kind: str, incomplete: str) -> list[str]:
    from conformance.errors import ConformanceError
    from conformance.run.selection import traits

    if (corpus := _corpus(context)) is None:
        return []
    try:
        found = set().union(*(traits(corpus, case)[kind] for case in corpus.cases.values()))
    except ConformanceError:
        return []
    return _beginning(sorted(found), incomplete)


def _corpus(context: typer.Context) -> Corpus | None:
    """The corpus that the command line names so far, or the bundled one; None where there is none."""
    from conformance.corpus.corpus import bundled, read_manifest
    from conformance.errors import ConformanceError

    try:
        return read_manifest(context.params.get("data") or bundled())
    except (ConformanceError, OSError):
        return None


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
