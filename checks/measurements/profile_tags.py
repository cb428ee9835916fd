"""List the tags of a map's sources that came or went, for a map of requirements such as that of the safety profile.

python checks/measurements/profile_tags.py CLONE [--map FILE.toml] [--ref REF] [--all]

CLONE is the path of a clone of the repository of a source, with or without a work tree. REF is a commit or a branch;
without it, the commit that the map names is read. Sources of other repositories are not read. The script prints

  + SOURCE/TAG    a tag in the source that no requirement of the map has
  - SOURCE/TAG    a tag of the map that the source does not have
  ! SOURCE        a source whose file differs from the file that the map names, or that is missing

With --all it prints every tag of the sources. The exit status is 1 if a tag came or went, or if a source differs.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import ConformanceError
from conformance.studies.evidence.requirement_maps import read_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.studies.evidence.requirement_maps import RequirementMap, Source

SECTIONS = {
    "restrictions": "restrictions",
    "informal specification": "informal",
    "error conditions": "errors",
    "attributes": "attributes",
    "inputs": "inputs",
    "outputs": "outputs",
    "numeric accuracy": "accuracy",
    "numerical accuracy": "accuracy",
}
"""Names of the sections in tags, by their headings."""

SUBSECTIONS = {
    "error propagation": "propagation",
    "error introduction": "introduction",
    "unit verification": "verification",
}
"""Names of the subsections in tags, by their headings."""

TAGGED_BY_HEADING = {"informal", "errors", "accuracy", *SUBSECTIONS.values()}
"""Sections whose statements have no tag of their own; the section itself counts as a tag."""

_TYPE_HEADING = re.compile(r"# \*\*\w+\*\* \((\w+)")
_ITEM_HEADING = re.compile(r"### (?:`(\w+)`|\$\\text\{(\w+)\}\$)")
_NUMBERED_HEADING = re.compile(r"### (?:<a [^>]*></a>)?\s*(?:REQ|NEED|RECO)?[ -]*`*([A-Z]+[ -]\d{3})`*")
_TAG = re.compile(
    r"\s*(?:[|*-]\s*)?(?:<a [^>]*></a>)?\s*(?:`\[([A-Z]+\d+)\]`|\[([a-z]+\d+)\]\s*$|`?\[?(E_\w+_\d{4})\b)"
)


def tags_of(text: str) -> Iterator[str]:
    """Yield the tags of a document in order: element type, section, item and own tag, joined by slashes."""
    seen: set[str] = set()
    type = section = item = ""
    for line in text.splitlines():
        found: tuple[str, ...] = ()
        if heading := _TYPE_HEADING.match(line):
            type, section, item = heading[1], "", ""
        elif line.startswith("## "):
            section, item = SECTIONS.get(line[3:].strip().lower(), ""), ""
            is_statement = section == "accuracy" or (section in TAGGED_BY_HEADING and type)
            found = (type, section) if is_statement else ()
        elif numbered := _NUMBERED_HEADING.match(line):
            found = (numbered[1].replace(" ", "-"),)
        elif line.startswith("### "):
            named = _ITEM_HEADING.match(line)
            item = next(filter(None, named.groups()), "") if named else ""
            subsection = SUBSECTIONS.get(line[4:].strip().lower(), "")
            found = (type, section, subsection) if subsection else ()
        elif tagged := _TAG.match(line):
            found = (type, section, item, next(filter(None, tagged.groups())))
        tag = "/".join(filter(None, found))
        if tag and tag not in seen:
            seen.add(tag)
            yield tag


def read_source(clone: Path, commit: str, path: str) -> str | None:
    """Return a file of a commit of a clone, or None if the commit does not have it."""
    found = subprocess.run(
        ["git", "-C", str(clone), "show", f"{commit}:{path}"],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return found.stdout.decode("utf-8", "replace") if found.returncode == 0 else None


def has_commit(clone: Path, commit: str) -> bool:
    """Return whether a clone has a commit."""
    command = ["git", "-C", str(clone), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode == 0


def compare(requirements: RequirementMap, source: Source, text: str | None) -> Iterator[str]:
    """Yield a line for each tag of a source that came or went, and for a source that differs."""
    if text is None:
        yield f"! {source.id}: {source.path} is missing"
        return
    if hashlib.sha256(text.encode()).hexdigest() != source.sha256:
        yield f"! {source.id}: {source.path} differs from the file at {source.commit[:12]}"
    present = list(tags_of(text))
    mapped = [one.tag for one in requirements.requirements if one.source == source.id]
    yield from (f"+ {source.id}/{tag}" for tag in present if tag not in mapped)
    yield from (f"- {source.id}/{tag}" for tag in dict.fromkeys(mapped) if tag not in present)


def main(arguments: list[str] | None = None) -> int:
    """Compare a clone with the map, and return the exit status."""
    parser = argparse.ArgumentParser(prog="profile_tags.py", description="List the tags that came or went.")
    parser.add_argument("clone", type=Path, metavar="CLONE", help="path of a clone of the repository")
    parser.add_argument("--map", type=Path, metavar="FILE.toml", help="map of requirements (default: the suite's)")
    parser.add_argument("--ref", default="", help="commit or branch (default: the commit that the map names)")
    parser.add_argument("--all", action="store_true", help="print every tag of the sources")
    options = parser.parse_args(arguments)
    try:
        requirements = read_map(options.map)
    except ConformanceError as error:
        parser.error(str(error))
    sources = [one for one in requirements.sources.values() if has_commit(options.clone, options.ref or one.commit)]
    if not sources:
        parser.error(f"{options.clone} has no commit {options.ref or 'of a source of the map'}.")
    lines: list[str] = []
    for source in sources:
        text = read_source(options.clone, options.ref or source.commit, source.path)
        if options.all and text is not None:
            print(*(f"  {source.id}/{tag}" for tag in tags_of(text)), sep="\n")
        lines += compare(requirements, source, text)
    print(*lines, f"{len(sources)} sources, {len(lines)} differences", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
