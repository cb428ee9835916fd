"""Shell completion of names: functions that return the possible values of an option or argument.

Ids of cases, tags and operators come from the corpus that `--data` names, or from the corpus of this suite.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ConformanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.corpus.cases.corpus import Corpus


def completion_by(name: str) -> Callable[[typer.Context, str], list[str]]:
    """Return the function that completes a name to the possible values; `name` is a function of this module."""
    names: Callable[[typer.Context], Iterable[str]] = globals()[name]

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:

        try:
            return [name for name in names(ctx) if name.startswith(incomplete)]
        except (ConformanceError, OSError):
            return []

    return complete


def backend_names(_: typer.Context) -> Iterable[str]:
    """Return the short names of backends."""
    from conformance.base.plugins import registered_entry_points

    return registered_entry_points("backends")


def optimizer_names(_: typer.Context) -> Iterable[str]:
    """Return the short names of graph optimizers."""
    from conformance.base.plugins import registered_entry_points

    return registered_entry_points("optimizers")


def pass_names(_: typer.Context) -> Iterable[str]:
    """Return the names of passes."""
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME

    return [PASS_NAME]


def profile_names(_: typer.Context) -> Iterable[str]:
    """Return the names of requirement profiles."""
    from conformance.corpus.profiles import bundled_profiles

    return bundled_profiles()


def generator_names(_: typer.Context) -> Iterable[str]:
    """Return the names of generators."""
    from conformance.corpus.generation.generators import generator_locations

    return generator_locations()


def clause_ids(_: typer.Context) -> Iterable[str]:
    """Return the ids of clauses."""
    from conformance.exact.clauses import clauses

    return clauses()


def case_ids(context: typer.Context) -> Iterable[str]:
    """Return the ids of the corpus's cases."""
    return _corpus(context).cases


def tags(context: typer.Context) -> Iterable[str]:
    """Return the tags of the corpus's cases."""
    return _trait_names(context, "tag")


def operators(context: typer.Context) -> Iterable[str]:
    """Return the operators of the corpus's models."""
    return _trait_names(context, "operator")


def _trait_names(context: typer.Context, kind: str) -> list[str]:
    from conformance.run.corpus_run.settings import case_traits

    corpus = _corpus(context)
    return sorted(set().union(*(case_traits(corpus, case)[kind] for case in corpus.cases.values())))


def _corpus(context: typer.Context) -> Corpus:
    """Return the corpus that `--data` names, or the corpus of this suite."""
    from conformance.corpus.cases.corpus import bundled_corpus_path, read_manifest

    given = context.params.get("data")  # text, in some versions of typer
    return read_manifest(Path(given) if given else bundled_corpus_path())
