"""`onnx-conformance expect update RESULTS -e FILE`: an expectations file that is true again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.options import Verb, Verbs
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from conformance.expectations.update import Update

_MEND = "Write an entry for each, or give --reason TEXT for all of them."

app = typer.Typer(cls=Verbs, no_args_is_help=True, help="Keep an expectations file true.")


@app.callback()
def _expect() -> None:
    """Keep an expectations file true."""


@app.command("update", cls=Verb)
def update(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="results.jsonl of a run of the file's subject.")],
    expect: Annotated[Path, typer.Option("-e", "--expect", metavar="FILE", help="The file; it may be new.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the failures that no entry names are expected.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", "--dry-run", help="Write nothing; show what would change as a diff.")
    ] = False,
) -> None:
    """Write into an expectations file exactly what the gate asks for.

    Cases that pass leave their entry, what matches nothing is removed, changed verdicts are changed; comments and
    reasons stay. Failures that no entry names are written only under the reason that --reason gives; without one,
    nothing is written.

    Exit status: 0 where the file is true now, 1 where a verdict varies, which no file can expect (with --check, where
    the file would change or lacks something), 2 where a reason is missing.
    """
    from conformance.errors import UsageError
    from conformance.expectations.file import expectations_text
    from conformance.expectations.update import updated
    from conformance.files.regular import write_whole_bytes
    from conformance.results.file import read

    run = read(results)
    before = expectations_text(expect) if expect.exists() else ""
    done = updated(before or _new(run, results), str(expect), run, reason.strip())
    changed = done.text != before
    if done.missing and not check:
        _tell(done, check)
        raise UsageError(f"{expect} is left as it was: it would still lack these.", _MEND)
    if check:
        say(_difference(before, done.text, str(expect)), nl=False)
    elif changed:
        write_whole_bytes(expect, done.text.encode())
    say(f"{expect} {_told(changed, check)}.")
    _tell(done, check)
    raise typer.Exit(1 if done.missing or done.varying or (check and changed) else 0)


def _new(run: object, path: Path) -> str:
    from conformance.errors import UsageError
    from conformance.expectations.update import new_file
    from conformance.results.file import Results

    assert isinstance(run, Results)
    subjects = [subject["id"] for subject in run.header["subjects"]]
    if len(subjects) != 1:
        raise UsageError(
            f"{path} has {len(subjects)} subjects.", 'Begin the file with subject = "NAME" of one of them.'
        )
    return new_file(subjects[0])


def _told(changed: bool, check: bool) -> str:
    if not changed:
        return "needs no change"
    return "would change" if check else "is updated"


def _difference(before: str, after: str, name: str) -> str:
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _tell(done: Update, check: bool) -> None:
    from conformance.boundary.text import one_line
    from conformance.verdicts import Verdict

    for missing in done.missing:
        cases = ", ".join(missing.cases[:3]) + (f" and {len(missing.cases) - 3} more" if len(missing.cases) > 3 else "")
        verb = Verdict(missing.verdict).verb(len(missing.cases))
        say(f"no reason is known why {cases} {verb}: {one_line(missing.message)}")
    if done.missing and check:
        say(_MEND)
    for case in done.varying:
        say(f"the verdict of {case} varies; no entry can expect that")
