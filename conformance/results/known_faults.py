"""Faults of released runtimes that are written up: the pages of docs/findings, which come with the suite.

A page is the data: its heading is the runtime and its version, and each section is a fault, with the command that shows
it in its smallest case and the verdict of that. A fault is known in the cases that its section names.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "docs/findings"
"""Where the pages are in a checkout, which is how they are called anywhere."""

_OPTIONS = {"-b": "backend", "-o": "optimizer"}
_VERDICTS = {verdict.verb(1): verdict for verdict in Verdict}
_PRINTED = re.compile(rf"^  (test_\w+) ({'|'.join(_VERDICTS)}) on (\S+)$", re.MULTILINE)
_PROVIDER = re.compile(r"[\[,]\s*(provider=[^\],]*)")
_UPSTREAM = re.compile(r"^- Upstream: (.+?)(?=\n\n|\n- |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class KnownFault:
    """A fault of one version of a runtime or graph optimizer.

    Attributes:
        runtime: its name and version.
        page: the path of the page in a checkout.
        title: what is wrong, in a line.
        lead: the paragraph of the specification: clauses, and what they say.
        points: input, expected and got, cause and what else there is to say, each a Markdown text of its own.
        upstream: what those who make it know of it.
        command: shows the fault in its smallest case.
        subject: what the command runs, with its options.
        kind: `backend` or `optimizer`.
        level: at which the command judges.
        case: the smallest case.
        verdict: what comes of it.
        cases: all that the section names.
    """

    runtime: str
    page: str
    title: str
    lead: str
    points: tuple[str, ...]
    upstream: str
    command: str
    subject: str
    kind: str
    level: Level
    case: str
    verdict: Verdict
    cases: frozenset[str]

    @property
    def version(self) -> str:
        """That of the runtime."""
        return self.runtime.rpartition(" ")[2]

    @property
    def anchor(self) -> str:
        """What a code host calls the section's heading."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    @property
    def place(self) -> str:
        """Where it is written up."""
        return f"{self.page}#{self.anchor}"

    @property
    def reproduction(self) -> str:
        """The command that writes its smallest case as a folder for those who make the runtime."""
        option = {"backend": "-b", "optimizer": "--optimizer"}[self.kind]
        return shlex.join(["onnx-conformance", "repro", self.case, option, self.subject, "-o", "reproduction"])


@cache
def known_faults() -> tuple[KnownFault, ...]:
    """All of them, page after page; none where the pages are not there."""
    return tuple(fault for page in sorted(_folder().glob("*.md")) for fault in _read(page))


def known_faults_in(subject: str, kind: str, case: str) -> list[KnownFault]:
    """Those that are known in a case of a subject; that of the smallest case first.

    Whatever its release and options are, but for a provider, which has faults of its own.

    Args:
        subject: its id.
        kind: `backend` or `optimizer`.
    """
    found = [fault for fault in _by_name().get((_name(subject), kind), ()) if case in fault.cases]
    return sorted(found, key=lambda fault: fault.case != case)


@cache
def _by_name() -> dict[tuple[str, str], list[KnownFault]]:
    names: dict[tuple[str, str], list[KnownFault]] = {}
    for fault in known_faults():
        names.setdefault((_name(fault.subject), fault.kind), []).append(fault)
    return names


def _name(subject: str) -> str:
    """A subject without release and options, but with its provider."""
    provider = _PROVIDER.search(subject)
    return re.split(r"[@\[]", subject, maxsplit=1)[0] + (f"[{provider[1]}]" if provider else "")


def _folder() -> Path:
    """The pages' folder: within the installed package, or in its checkout."""
    package = Path(__file__).parent.parent
    installed = package / "findings"
    return installed if installed.is_dir() else package.parent / FOLDER


def _read(page: Path) -> Iterator[KnownFault]:
    heading, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    runtime = heading.splitlines()[0].removeprefix("# ")
    for section in sections:
        if (printed := _PRINTED.search(section)) is not None:
            yield _fault(runtime, f"{FOLDER}/{page.name}", section, printed)


def _fault(runtime: str, page: str, section: str, printed: re.Match[str]) -> KnownFault:
    title, _, rest = section.partition("\n")
    prose, _, shell = rest.partition("\n```\n")
    lead, *points = re.split(r"^- ", prose.strip(), flags=re.MULTILINE)
    command = next(line for line in shell.splitlines() if line.startswith("$ ")).removeprefix("$ ")
    told = dict(pairwise(shlex.split(command)))
    option = next(option for option in _OPTIONS if option in told)
    upstream = _UPSTREAM.search(prose)
    return KnownFault(
        runtime,
        page,
        title,
        _joined(lead),
        tuple(_joined(point) for point in points if not point.startswith("Upstream: ")),
        _joined(upstream[1]) if upstream else "",
        command,
        told[option],
        _OPTIONS[option],
        Level(told.get("--level", Level.MUST)),
        printed[1],
        _VERDICTS[printed[2]],
        frozenset(re.findall(r"\btest_[a-z0-9_]+", section)),
    )


def _joined(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())
