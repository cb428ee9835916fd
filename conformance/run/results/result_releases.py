"""Releases of one subject in several runs: matches of the subjects of two runs, and distinct ids for releases.

A run of `onnxsim` has the id `onnxsim`, whatever release was installed. A merge of two releases therefore needs another
id for each, and a comparison of `onnxsim@0.4.36` with `onnxsim@0.6.5` must ignore the release in the id.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from msgspec import structs

from conformance.base.errors import UnknownName
from conformance.run.results.results_file import LazyRecords
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.run.results.records import SubjectRecord
    from conformance.run.results.results_file import Results


def match_subjects(before: Sequence[SubjectRecord], after: Sequence[SubjectRecord]) -> dict[str, str]:
    """Return the ids of the subjects of an earlier run with the ids of their counterparts in a later run.

    Subjects with equal ids match. Of the others, two subjects match if their names and options are equal apart from the
    release and the interpreter, and no third subject has the same name and options. If nothing matches, and both runs
    have a graph optimizer as the only subject, these two match.
    """
    common = {subject.id for subject in before} & {subject.id for subject in after}
    old, new = (_group_by_name(subject for subject in own if subject.id not in common) for own in (before, after))
    matches = {id: id for id in sorted(common)}
    for name in sorted(old.keys() & new.keys()):
        if len(old[name]) == len(new[name]) == 1:
            matches[old[name][0]] = new[name][0]
    if not matches and all(len(own) == 1 and own[0].kind == SubjectKind.OPTIMIZER for own in (before, after)):
        return {before[0].id: after[0].id}
    return matches


def _group_by_name(subjects: Iterable[SubjectRecord]) -> dict[tuple[str, str], list[str]]:
    """Return the ids of subjects by kind, and by name and options without release and interpreter."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for subject in subjects:
        named = _parse_id(subject)
        groups[subject.kind, named.with_options(named.options) if named else subject.id].append(subject.id)
    return groups


def _parse_id(subject: SubjectRecord) -> SubjectName | None:
    """Return the parts of a subject's id; None if a file of another program has an id of another form."""
    try:
        return SubjectName.parse(subject.id, subject.kind)
    except UnknownName:
        return None


def separate_releases(runs: Sequence[Results]) -> list[Results]:
    """Return runs in which a subject that occurs in several versions has an id with its version, such as `onnxsim@0.5`.

    The ids of harness commands, and ids that already have a release, remain.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for subject in run.header.subjects:
            versions[subject.id].add(subject.version)
    return [
        rename_subjects(
            run,
            {subject.id: _id_with_release(subject) for subject in run.header.subjects if len(versions[subject.id]) > 1},
        )
        for run in runs
    ]


_RELEASE_PATTERN = re.compile(r"[^\[\]@\s]+")
"""The release at the beginning of a version such as `0.3.0 (jax 0.10.2)`."""


def _id_with_release(subject: SubjectRecord) -> str:
    named = _parse_id(subject)
    release = _RELEASE_PATTERN.match(subject.version)
    if named is None or release is None or named.is_command or named.release:
        return subject.id
    return named.at_release(release[0]).text


def rename_subjects(run: Results, names: Mapping[str, str]) -> Results:
    """Return a run whose subjects have other ids everywhere: in header, results and footer.

    Args:
        run: the run.
        names: the new ids by the old ids; other subjects keep their ids.
    """
    if all(old == new for old, new in names.items()):
        return run
    old_keys = {(names.get(subject, subject), case): (subject, case) for subject, case in run.rows}
    header = run.header
    footer = run.footer
    return dataclasses.replace(
        run,
        header=structs.replace(
            header,
            subjects=_rename(header.subjects, names, "id"),
            options=_rename_keys(header.options, names),
            criterion=structs.replace(
                header.criterion, expectations=_rename(header.criterion.expectations, names, "subject")
            ),
        ),
        rows={new: structs.replace(run.rows[old], subject=new[0]) for new, old in old_keys.items()},
        results=LazyRecords(lambda old: structs.replace(run.results[old], subject=names.get(old[0], old[0])), old_keys),
        footer=structs.replace(
            footer,
            verdicts=_rename_keys(footer.verdicts, names),
            diagnoses=_rename(footer.diagnoses, names, "subject"),
            unexplained=_rename(footer.unexplained, names, "subject"),
            undiagnosed=_rename(footer.undiagnosed, names, "subject"),
        ),
    )


def _rename(records: Iterable[Any], names: Mapping[str, str], field: str) -> list[Any]:
    old = [(record, getattr(record, field)) for record in records]
    return [structs.replace(record, **{field: names.get(name, name)}) for record, name in old]


def _rename_keys(mapping: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(subject, subject): value for subject, value in mapping.items()}
