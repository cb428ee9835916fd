"""Known faults of released runtimes, parsed from the Markdown pages in reports/findings.

The pages are part of the installed suite. The heading of a page is the runtime and its version. Each section describes
one fault, with the command that shows it in its smallest case and the printed verdict. A fault applies to the cases
that its section names. A result shows the fault if case, version, verdict and message fit.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import find_suite_path
from conformance.base.serialization.printable_text import shorten_middle
from conformance.base.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.run.results.records import ResultRow

FINDINGS_FOLDER = "reports/findings"
"""Folder of the pages in a checkout; messages and reports use this path for installed pages too."""

MAX_MESSAGE_LENGTH = 10_000
"""Characters of a message that are compared with the messages of a section; the middle of a longer one is ignored."""

_OPTIONS = {"-b": "backend", "-o": "optimizer"}
_VERDICTS = {verdict.verb(1): verdict for verdict in Verdict}
_PRINTED = re.compile(rf"^  (test_\w+) ({'|'.join(_VERDICTS)}) on (\S+)$", re.MULTILINE)
_PROVIDER = re.compile(r"[\[,]\s*(provider=[^\],]*)")
_GOT = re.compile(r"\bGot\b")
_QUOTE = re.compile(r'"([^"]{4,})"')
_VARIABLE = re.compile(r"…|'[^']*'|\d+")
"""Parts of a quoted message that differ between cases: omitted text, quoted names, numbers."""
_UPSTREAM = re.compile(r"^- Upstream: (.+?)(?=\n\n|\n- |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class KnownFault:
    """A fault of one version of a runtime or graph optimizer.

    Attributes:
        runtime: name and version of the runtime.
        page: path of the page in a checkout.
        title: what is wrong, in one line.
        lead: first paragraph of the section: the violated clauses and their content.
        points: the list items of the section in Markdown: input, expected and actual values, cause, remarks.
        upstream: state of the issue at the runtime's project, in Markdown; empty if it is not reported.
        command: command that shows the fault in its smallest case.
        subject: subject of the command, with its options.
        kind: `backend` or `optimizer`.
        level: fail level of the command.
        case: id of the smallest case.
        verdict: verdict of the smallest case.
        cases: ids of all cases that the section names.
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
        """Version of the runtime."""
        return self.runtime.rpartition(" ")[2]

    def fits(self, version: str, result: ResultRow) -> bool:
        """Return whether a failing result can show this fault: whether case, version, verdict and message fit.

        The version must be the version of the page. An error in another case than the smallest must have a message that
        the section quotes, or an exception of a type that the section names.

        Args:
            version: version of the subject.
            result: a result with a defect.
        """
        verdict = result.verdict
        if result.case not in self.cases or version.partition(" ")[0] != self.version or verdict is not self.verdict:
            return False
        return verdict is not Verdict.ERROR or result.case == self.case or self._fits_message(result.message)

    def _fits_message(self, message: str) -> bool:
        line = " ".join(shorten_middle(message, MAX_MESSAGE_LENGTH).replace("`", "").split())
        got = " ".join(point for point in self.points if _GOT.search(point)).replace("`", "")
        exception = line.partition(":")[0]
        is_named = exception.isidentifier() and re.search(rf"\b{exception}\b", got) is not None
        return is_named or any(_quote_pattern(text).search(line) for text in _QUOTE.findall(got))

    @property
    def anchor(self) -> str:
        """Anchor of the section's heading on a code host."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    @property
    def location(self) -> str:
        """Path of the page and anchor of the section."""
        return f"{self.page}#{self.anchor}"

    @property
    def reproduction(self) -> str:
        """Command that writes a folder which reproduces the smallest case without this suite."""
        option = {"backend": "-b", "optimizer": "-o"}[self.kind]
        return shlex.join(["onnx-conformance", "repro", self.case, option, self.subject, "--output", "reproduction"])


@cache
def known_faults() -> tuple[KnownFault, ...]:
    """Return the faults of all pages; an empty tuple if the pages are not installed."""
    return tuple(fault for page in sorted(_findings_folder().glob("*.md")) for fault in _parse_page(page))


def known_faults_in(subject: str, kind: str, case: str) -> list[KnownFault]:
    """Return the known faults of a subject that apply to a case. Faults with this case as their smallest come first.

    Release and options of the subject are ignored, except for the execution provider.

    Args:
        subject: id of the subject.
        kind: `backend` or `optimizer`.
        case: id of the case.
    """
    found = [fault for fault in _faults_by_subject().get((_subject_key(subject), kind), ()) if case in fault.cases]
    return sorted(found, key=lambda fault: fault.case != case)


@cache
def _faults_by_subject() -> dict[tuple[str, str], list[KnownFault]]:
    names: dict[tuple[str, str], list[KnownFault]] = {}
    for fault in known_faults():
        names.setdefault((_subject_key(fault.subject), fault.kind), []).append(fault)
    return names


def _subject_key(subject: str) -> str:
    """Return a subject's id without release and options, but with its execution provider."""
    provider = _PROVIDER.search(subject)
    return re.split(r"[@\[]", subject, maxsplit=1)[0] + (f"[{provider[1]}]" if provider else "")


def _findings_folder() -> Path:
    """Return the folder of the pages: inside the installed package, or in the checkout."""
    return find_suite_path("findings", FINDINGS_FOLDER)


def _parse_page(page: Path) -> Iterator[KnownFault]:
    heading, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    runtime = heading.splitlines()[0].removeprefix("# ")
    for section in sections:
        if (printed := _PRINTED.search(section)) is not None:
            yield _parse_section(runtime, f"{FINDINGS_FOLDER}/{page.name}", section, printed)


def _parse_section(runtime: str, page: str, section: str, printed: re.Match[str]) -> KnownFault:
    title, _, rest = section.partition("\n")
    prose, _, shell = rest.partition("\n```\n")
    lead, *points = re.split(r"^- ", prose.strip(), flags=re.MULTILINE)
    command = next(line for line in shell.splitlines() if line.startswith("$ ")).removeprefix("$ ")
    words = dict(pairwise(shlex.split(command)))
    option = next(option for option in _OPTIONS if option in words)
    upstream = _UPSTREAM.search(prose)
    return KnownFault(
        runtime,
        page,
        title,
        _join_lines(lead),
        tuple(_join_lines(point) for point in points if not point.startswith("Upstream: ")),
        _join_lines(upstream[1]) if upstream else "",
        command,
        words[option],
        _OPTIONS[option],
        Level(words.get("--fail-level", Level.MUST)),
        printed[1],
        _VERDICTS[printed[2]],
        frozenset(re.findall(r"\btest_[a-z0-9_]+", section)),
    )


def _quote_pattern(quote: str) -> re.Pattern[str]:
    """Return a pattern for a quoted message, in which the variable parts match any text of a line."""
    return re.compile(".*?".join(re.escape(part) for part in _VARIABLE.split(quote)))


def _join_lines(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
