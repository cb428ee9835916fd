"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The corpus to use instead of the bundled one.")
]
