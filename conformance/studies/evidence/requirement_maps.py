"""Requirements of a user or of a standard, and the cases that test them.

A map is a TOML file. It names its sources, and for each requirement the tag in the source and the cases, by clauses,
tags, element types, or patterns of case ids. A requirement without a case has a reason.
"""

from __future__ import annotations

import fnmatch
import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from conformance.base.errors import EvidenceError
from conformance.base.files.atomic_write import read_input
from conformance.base.serialization.decoding import decode_toml, describe_error
from conformance.exact.clauses import clauses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.run.results.records import CaseRecord

BUNDLED_MAP = "sonnx"
"""The map that is used if the user gives none."""

MAX_MAP_BYTES = 2**22
"""Largest size of a map of requirements."""

RESTRICTION_IDS = ("operators", "defaults", "negative_axis", "empty_axis", "bfloat16", "sparse")
"""Ids of the restrictions that `restrictions` implements."""

CENSUS_OPERATORS = ("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax")
"""Operators that a census measures."""


_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
_Names = Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1)]


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document with requirements.

    Attributes:
        ref: name of the branch or pull request that contains the commit.
        sha256: SHA-256 of the file at this commit.
    """

    id: _Text
    repository: str = ""
    commit: str = ""
    ref: str = ""
    path: _Text
    sha256: str = ""


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A requirement.

    A case tests the requirement if it satisfies each given selector: it has one of the clauses, one of the tags, one of
    the element types, an id that matches one of the patterns, and an output that one of the operators computes.

    Attributes:
        source: id of its source.
        tag: place in the source: the headings and the source's own tag, joined by slashes.
        part: name of a part, if the source has one tag for several statements.
        title: the requirement in our words.
        output_of: operators; the case has an output that a node of this operator computes from inputs of the graph.
        census: operators whose census measures the requirement.
        restriction: the restriction of `--restrict` that implements the requirement, if it limits the permitted models.
        scope: what the requirement is about: a runtime, the text of the source, or real numbers.
        reason: why there is no case, or what the cases do not show.
    """

    source: _Text
    tag: _Text
    part: str = ""
    title: _Text
    clauses: tuple[_Text, ...] = ()
    tags: tuple[_Text, ...] = ()
    types: tuple[_Text, ...] = ()
    cases: tuple[_Text, ...] = ()
    output_of: tuple[_Text, ...] = ()
    census: tuple[_Text, ...] = ()
    restriction: str = ""
    scope: Literal["runtime", "document", "real"] = "runtime"
    reason: str = ""

    @property
    def id(self) -> str:
        """The id: source, tag and part."""
        return f"{self.source}/{self.tag}" + (f"#{self.part}" if self.part else "")

    @property
    def has_selector(self) -> bool:
        """Whether the requirement selects cases."""
        return bool(self.clauses or self.tags or self.types or self.cases or self.output_of)

    def is_tested_by(self, case: CaseRecord) -> bool:
        """Return whether a case tests the requirement, which has a selector."""
        return (
            (not self.clauses or not set(self.clauses).isdisjoint(case.clauses))
            and (not self.tags or not set(self.tags).isdisjoint(case.tags))
            and (not self.types or any(has_type(case, type) for type in self.types))
            and (not self.cases or any(fnmatch.fnmatchcase(case.case, pattern) for pattern in self.cases))
            and (not self.output_of or not computed_operators(case).isdisjoint(self.output_of))
        )

    def tested_clauses(self, case: CaseRecord) -> list[str]:
        """Return the clauses by which a case tests the requirement; all its clauses if the requirement names none."""
        return sorted(set(case.clauses) & set(self.clauses) if self.clauses else set(case.clauses))


class Contradiction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statements of a source that contradict each other or that are false.

    Attributes:
        tags: places of the statements in the source.
        text: the contradiction in our words.
        handling: what this suite does.
    """

    source: _Text
    tags: _Names
    text: _Text
    handling: _Text


class Restriction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A restriction of the models that a profile permits.

    Attributes:
        id: an id in `RESTRICTION_IDS`.
        tags: ids of the requirements that state the restriction, or places in a source.
        text: what is left out.
    """

    id: _Text
    tags: _Names
    text: _Text


class _MapFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a map."""

    format: Literal[1]
    name: _Text
    title: _Text
    text: str = ""
    source: Annotated[tuple[Source, ...], msgspec.Meta(min_length=1)]
    requirement: Annotated[tuple[Requirement, ...], msgspec.Meta(min_length=1)]
    contradiction: tuple[Contradiction, ...] = ()
    restriction: tuple[Restriction, ...] = ()


@dataclass(frozen=True)
class RequirementMap:
    """A map of requirements.

    Attributes:
        file: the name of its file, for messages.
        content: the bytes of its file.
        parsed: the content.
    """

    file: str
    content: bytes
    parsed: _MapFile

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def sources(self) -> Mapping[str, Source]:
        """The sources by id."""
        return {source.id: source for source in self.parsed.source}

    @cached_property
    def requirements(self) -> Sequence[Requirement]:
        """The requirements, in the order of the file."""
        return self.parsed.requirement

    def link(self, cases: Sequence[CaseRecord]) -> dict[str, list[CaseRecord]]:
        """Return the cases that test each requirement, by its id.

        Raises:
            EvidenceError: a selector names a tag, type, pattern or output that no case has, or a requirement with
                selectors selects no case.
        """
        _check_selectors(self, cases)
        found = {
            one.id: [case for case in cases if one.is_tested_by(case)] if one.has_selector else []
            for one in self.requirements
        }
        for one in self.requirements:
            if one.has_selector and not found[one.id]:
                raise EvidenceError("requirement-selects-nothing", file=self.file, id=one.id)
        return found


def has_type(case: CaseRecord, type: str) -> bool:
    """Return whether a case is about an element type."""
    return not {type, f"type={type}", f"types={type}"}.isdisjoint(case.tags)


def computed_operators(case: CaseRecord) -> set[str]:
    """Return the operators that compute an output of the graph directly from values that no other node computes."""
    nodes = case.model.nodes
    outputs = {value.name for value in case.model.outputs}
    computed = {name for node in nodes for name in node.outputs}
    return {node.op_type for node in nodes if computed.isdisjoint(node.inputs) and not outputs.isdisjoint(node.outputs)}


def bundled_map() -> RequirementMap:
    """Return the map of the safety profile's tags."""
    content = resources.files("conformance.studies.evidence").joinpath("maps", f"{BUNDLED_MAP}.toml").read_bytes()
    return _parse(f"{BUNDLED_MAP}.toml", content)


def read_map(path: Path | None) -> RequirementMap:
    """Read a map of requirements; without a path, the map of the suite.

    Raises:
        EvidenceError: the map cannot be read, is malformed, or names a clause or an operator that does not exist.
    """
    if path is None:
        return bundled_map()
    try:
        content = read_input(path, MAX_MAP_BYTES)
    except OSError as error:
        raise EvidenceError("requirements-unreadable", path=path, reason=error.strerror) from None
    return _parse(path.name, content)


def _parse(file: str, content: bytes) -> RequirementMap:
    try:
        parsed = msgspec.convert(decode_toml(content.decode()), _MapFile)
    except msgspec.ValidationError as error:
        raise EvidenceError("requirements-malformed", file=file, what=describe_error(error)) from None
    except ValueError as error:  # also for text that is not UTF-8
        raise EvidenceError("requirements-malformed", file=file, what=error) from None
    found = RequirementMap(file, content, parsed)
    for problem in _contradictions_of(found):
        raise EvidenceError("requirements-malformed", file=file, what=problem)
    _check_names(file, "clause", (name for one in parsed.requirement for name in one.clauses), clauses())
    _check_names(file, "census operator", (name for one in parsed.requirement for name in one.census), CENSUS_OPERATORS)
    named = [one.restriction for one in parsed.requirement if one.restriction]
    _check_names(file, "restriction", (*named, *(one.id for one in parsed.restriction)), RESTRICTION_IDS)
    return found


def _contradictions_of(found: RequirementMap) -> Iterator[str]:
    """Yield what is inconsistent in a map."""
    parsed = found.parsed
    for kind, ids in (
        ("sources", [one.id for one in parsed.source]),
        ("requirements", [one.id for one in parsed.requirement]),
        ("restrictions", [one.id for one in parsed.restriction]),
    ):
        yield from (f"two {kind} have the id {id}" for id in sorted(set(ids)) if ids.count(id) > 1)
    for one in parsed.requirement:
        if one.source not in found.sources:
            yield f"requirement {one.id} has the source {one.source}, which the map does not declare"
        if not (one.has_selector or one.reason.strip()):
            yield f"requirement {one.id} has neither a selector of cases nor a reason"
    tags = {f"{one.source}/{one.tag}" for one in parsed.requirement}
    for entry in parsed.contradiction:
        for tag in entry.tags:
            if f"{entry.source}/{tag}" not in tags:
                yield f"a contradiction names {entry.source}/{tag}, which is the tag of no requirement"
    for limit in parsed.restriction:
        yield from (
            f"restriction {limit.id} names {tag}, which is the tag of no requirement"
            for tag in limit.tags
            if tag not in tags
        )


def _check_selectors(found: RequirementMap, cases: Iterable[CaseRecord]) -> None:
    """Check that each tag, type, pattern and operator is that of at least one case."""
    every = list(cases)
    tags = {tag for case in every for tag in case.tags}
    outputs = {name for case in every for name in computed_operators(case)}
    for one in found.requirements:
        _check_names(found.file, "tag of cases", one.tags, tags)
        _check_names(found.file, "operator that computes an output", one.output_of, outputs)
        for type in one.types:
            if tags.isdisjoint({type, f"type={type}", f"types={type}"}):
                _check_names(found.file, "element type", [type], tags)
        for pattern in one.cases:
            if not any(fnmatch.fnmatchcase(case.case, pattern) for case in every):
                _check_names(found.file, "case", [pattern], {case.case for case in every})


def _check_names(file: str, kind: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise EvidenceError("requirements-unknown-name", file=file, kind=kind, name=name, known=known)
