"""`onnx-conformance diff A B`: what changed from one run to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.terminal import say


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="results.jsonl of the earlier run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="results.jsonl of the later run.")],
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the differences as JSON.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write them as Markdown for a job's page.")
    ] = None,
) -> None:
    """Compare two runs: regressions, fixes, other changes, errors that grew, cases and subjects that came and went.

    Exit status: 0 where no verdict is worse than before, 1 where one is, 2 where a file cannot be trusted.
    """
    from json import dumps

    from conformance.files.regular import check_apart, is_standard_output, write_whole
    from conformance.report.diff_text import as_markdown, as_text
    from conformance.results.diff import differences
    from conformance.results.file import read

    check_apart([path for path in (json, markdown) if path])
    found = differences(read(before), read(after))
    if json:
        write_whole(json, dumps(found, indent=1) + "\n")
    if markdown:
        write_whole(markdown, as_markdown(found))
    taken = any(is_standard_output(path) for path in (json, markdown) if path)
    say(as_text(found), nl=False, err=taken)
    raise typer.Exit(1 if found["regressions"] else 0)
