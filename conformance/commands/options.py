"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The corpus to use instead of the bundled one.")
]


class GateLevel(StrEnum):
    """The levels that a gate can judge up to."""

    MUST = "must"
    SHOULD = "should"
