"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The corpus to use instead of the bundled one.")
]

Html: TypeAlias = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report: one HTML file.")]
Junit: TypeAlias = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
Ctrf: TypeAlias = Annotated[Path | None, typer.Option("--ctrf", metavar="FILE", help="Write CTRF JSON.")]
Markdown: TypeAlias = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write a summary for a job's page.")
]
Badge: TypeAlias = Annotated[Path | None, typer.Option("--badge", metavar="FILE", help="Write a badge: an SVG.")]
Json: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write a summary for programs: counts, gate, failures.")
]
Hazards: TypeAlias = Annotated[
    Path | None, typer.Option("--hazards", metavar="FILE", help="Write what each subject does with hazards: a table.")
]


class GateLevel(StrEnum):
    """The levels that a gate can judge up to."""

    MUST = "must"
    SHOULD = "should"
