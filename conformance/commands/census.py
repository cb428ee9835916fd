"""`onnx-conformance census`: every value of a type through the operators that the pass takes for monotone."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.completion import backend_names
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from conformance.census.job import Census


class Operator(StrEnum):
    """What can be counted."""

    EXP = "Exp"
    LOG = "Log"
    SQRT = "Sqrt"
    SOFTMAX = "Softmax"
    LOG_SOFTMAX = "LogSoftmax"
    ARGMAX = "ArgMax"


class Type(StrEnum):
    """The types of which values are taken."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT = "float"
    DOUBLE = "double"


def census(
    backend: Annotated[
        list[str],
        typer.Option(
            *("-b", "--backend"), metavar="SUBJECT", help="A backend, as for `run`.", autocompletion=backend_names
        ),
    ],
    operator: Annotated[
        list[Operator] | None, typer.Option("--operator", help="Only these operators; by default all.")
    ] = None,
    type: Annotated[
        list[Type] | None, typer.Option("--type", help="Only these types; by default float16, bfloat16 and float.")
    ] = None,
    results: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all figures as lines of JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with tables and pictures.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write tables in Markdown.")] = None,
    workers: Annotated[int | None, typer.Option("-n", metavar="N", help="Work in N processes of this machine.")] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on the workers of this scheduler of Dask's.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep what is done in this file, and go on with what it has.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Of float and of ArgMax try a sample: 2^24 pairs, and neighbourhoods.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a subject may take for 2^20 values.")
    ] = 60.0,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run subjects in Python without isolation.")] = False,
) -> None:
    """Count where Exp, Log, Sqrt, Softmax, LogSoftmax and ArgMax are out of order, merged or wrongly rounded.

    Of float16, bfloat16 and float all values are tried, of double a sample. Exit status: 0 whatever is found, 1 where
    no subject answers anything.
    """
    from conformance.campaigns.campaign import campaign
    from conformance.campaigns.choice import workers_of
    from conformance.campaigns.state import State
    from conformance.census.findings import findings
    from conformance.census.page import page
    from conformance.census.report import facts, json_lines, text
    from conformance.census.report import markdown as markdown_of
    from conformance.files.regular import (
        check_apart,
        check_target,
        is_standard_output,
        write_pieces,
        write_whole,
    )
    from conformance.run.progress import counting

    targets = [target for target in (results, html, markdown) if target is not None]
    check_apart([*targets, *([resume] if resume else [])])
    for target in targets:
        check_target(target)
    team = workers_of(workers, dask, lambda sentence: say(sentence, err=True))
    job = _job(backend, operator, type, timeout, is_sampled=sample, in_process=in_process)
    with ExitStack() as stack:
        state = stack.enter_context(State(resume, job)) if resume else None
        advance = stack.enter_context(counting("counting", len(list(job.pieces()))))
        pieces = []
        for piece in campaign(job, team, state):
            pieces.append(piece.result)
            advance("")
    found = findings(job, pieces)
    if results is not None:
        write_pieces(results, json_lines(found, facts()))
    if html is not None:
        write_whole(html, page(found, facts()))
    if markdown is not None:
        write_whole(markdown, markdown_of(found, facts()))
    for line in text(found):
        say(line, err=any(map(is_standard_output, targets)))
    raise typer.Exit(0 if any(each.number("pairs") for each in found) else 1)


def _job(
    backends: list[str],
    operators: list[Operator] | None,
    types: list[Type] | None,
    timeout: float,
    *,
    is_sampled: bool,
    in_process: bool,
) -> Census:
    """The census of these subjects, of which each is started once to see what it is.

    Raises:
        ConformanceError: one is not there, or there is nothing to count.
    """
    from conformance.census.asking import asking, has_files
    from conformance.census.cell import Cell
    from conformance.census.job import Census
    from conformance.errors import UsageError

    if len(set(backends)) < len(backends):
        raise UsageError("A backend is named twice.", "Name each once.")
    versions, cells = {}, []
    for name in backends:
        with asking(name, timeout, in_process=in_process) as asked:
            versions[name], is_whole = asked.subject.version, has_files(asked.subject) and not is_sampled
        pairs = [
            (o, t)
            for o in operators or Operator
            for t in types or (Type.FLOAT16, Type.BFLOAT16, Type.FLOAT)
            if _is_counted(o, t)
        ]
        cells += [Cell(name, str(o), str(t), _has_many(o, t) and not is_whole) for o, t in pairs]
    if not cells:
        raise UsageError("ArgMax is counted in float16 and bfloat16 alone.", "Leave --type out, or name one of them.")
    return Census(tuple(cells), versions, timeout, in_process)


def _is_counted(operator: Operator, type: Type) -> bool:
    """Every pair of values is tried of ArgMax, which are too many of the wider types."""
    return operator is not Operator.ARGMAX or not _is_large(type)


def _has_many(operator: Operator, type: Type) -> bool:
    """Whether there are so many values, or pairs of them, that some subjects are asked for a sample."""
    return operator is Operator.ARGMAX or _is_large(type)


def _is_large(type: Type) -> bool:
    return type in {Type.FLOAT, Type.DOUBLE}
