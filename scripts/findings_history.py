"""Write the releases of the history in reports/history into the pages about findings and about the history.

python scripts/findings_history.py [STORE]          write the line "- Releases: since 1.31.0." of each fault, and count
                                                    the releases in reports/history/README.md
python scripts/findings_history.py --check [STORE]  exit with status 1 if a page differs from the history

The line describes the smallest case of the fault: the last series of releases in which the case has the verdict of the
fault. A fault without a release in the history has no line. Releases of `HIDING_RELEASES` do not count.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.verdicts import Verdict
from conformance.run.results.known_faults import known_faults
from conformance.studies.history.index import open_index
from conformance.studies.history.store import HistoryStore
from conformance.studies.history.timeline import failing_span, timelines
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from conformance.run.results.known_faults import KnownFault
    from conformance.studies.history.timeline import Span, Timeline

ROOT = Path(__file__).parents[1]
STORE = ROOT / "reports" / "history"
HIDING_RELEASES = {"tract": frozenset(("0.20.3", "0.21.0", "0.21.4"))}
"""Releases whose Python package has a fault in most cases, so that their verdicts do not show other faults.

tract: every output is returned as float, and a scalar becomes a vector.
"""

HISTORY_PAGE = "reports/history/README.md"

_COUNT = re.compile(r"on \d+ releases of")
_TABLE = re.compile(r"(^\| subject \| releases \| range \|\n\| --- \| --- \| --- \|\n)(?:\|.*\n)*", re.MULTILINE)
_LINE = re.compile(r"^- Releases: [^\n]*\n", re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Write or check the lines, and return the exit status."""
    is_check = "--check" in arguments
    paths = [Path(each) for each in arguments if not each.startswith("--")]
    store = HistoryStore(paths[0] if paths else STORE)
    cases = {fault.case for fault in known_faults()}
    with open_index(store) as index:
        found = {each.target: each for each in timelines(store, index, has_case=cases.__contains__)}
    status = 0
    for page in (HISTORY_PAGE, *sorted({fault.page for fault in known_faults()})):
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        new = with_counts(text, found.values()) if page == HISTORY_PAGE else text
        for fault in known_faults():
            if fault.page == page:
                new = with_releases(new, fault, releases_sentence(found, fault))
        if new != text and is_check:
            print(f"{page}: the releases differ from the history; run python scripts/findings_history.py")
            status = 1
        elif new != text:
            path.write_text(new, encoding="utf-8")
            print(f"{page}: written")
    return status


def with_counts(text: str, found: Collection[Timeline]) -> str:
    """Return the text of the page about the history with the number of releases, of all and of each subject."""
    rows = sorted(((len(each.releases), each) for each in found if each.releases), key=lambda pair: -pair[0])
    lines = [
        f"| {each.target.text} | {n} | {' to '.join(dict.fromkeys((each.releases[0], each.releases[-1])))} |\n"
        for n, each in rows
    ]
    text = _COUNT.sub(f"on {sum(n for n, _ in rows)} releases of", text)
    return _TABLE.sub(lambda match: match[1] + "".join(lines), text)


def releases_sentence(found: Mapping[SubjectName, Timeline], fault: KnownFault) -> str | None:
    """Return the releases that have a fault, in words; None if the history has no release with it."""
    timeline = found.get(SubjectName.parse(fault.subject, SubjectKind(fault.kind)).without_release)
    span = timeline and span_of_fault(timeline, fault)
    if not timeline or not span:
        return None
    hiding = HIDING_RELEASES.get(fault.subject, frozenset())
    releases = [release for release in timeline.releases if release not in hiding]
    hidden = [release for release in timeline.releases if release in hiding]
    history = f"history of {len(releases)} releases, {releases[0]} to {releases[-1]}"
    if len(releases) == 1:
        history = f"history of {releases[0]}"
    if hidden:
        history += f"; without {' and '.join(hidden)}, see above"
    return f"{', '.join(span.texts)} ({history})."


def span_of_fault(timeline: Timeline, fault: KnownFault) -> Span | None:
    """Return the last series of releases in which the smallest case of a fault has the verdict of the fault."""
    row = next((row for row in timeline.rows if fault.case in row.cases), None)
    if row is None:
        return None
    other = str(Verdict.PASS)
    hiding = HIDING_RELEASES.get(fault.subject, frozenset())
    verdicts = [
        "" if release in hiding else each for release, each in zip(timeline.releases, row.verdicts, strict=True)
    ]
    same = [verdict if verdict in {"", fault.verdict, "unsupported"} else other for verdict in verdicts]
    return failing_span(timeline.releases, same)


def with_releases(text: str, fault: KnownFault, sentence: str | None) -> str:
    """Return the text of a page in which the section of a fault has this sentence, or none."""
    start = text.index(f"\n## {fault.title}\n")
    end = text.find("\n## ", start + 1)
    section = _LINE.sub("", text[start : end if end >= 0 else len(text)])
    if sentence is not None:
        line = f"- Releases: {sentence}\n"
        marker = "\n- Upstream: " if "\n- Upstream: " in section else "\n\n```\n"
        before, found, after = section.partition(marker)
        section = f"{before}\n{line}{found.removeprefix(chr(10)) if 'Upstream' in marker else found[1:]}{after}"
    return text[:start] + section + (text[end:] if end >= 0 else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
