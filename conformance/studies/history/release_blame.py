"""The search for the release that introduced the fault of a case or of a model, for `blame --releases`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import check_empty, write_folder, write_json_atomically
from conformance.base.serialization.printable_text import print_line, print_lines
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import bundled_corpus_path, find_case, open_corpus
from conformance.run.corpus_run.failure_reproduction import failure_files
from conformance.run.corpus_run.settings import Settings
from conformance.run.results.records import Selection
from conformance.studies.history.first_bad_release import (
    CaseQuestion,
    FaultPresence,
    ModelQuestion,
    ReleaseSearch,
    StoredAnswers,
    compare_releases,
    comparison_lines,
    installed_releases,
    releases_in_range,
    report_lines,
    search_document,
    stored_releases,
)
from conformance.studies.history.release_ranges import ReleaseRange, find_releases
from conformance.subjects.calling.subject_names import SubjectKind
from conformance.subjects.environments.create import PackageSources, create_environment
from conformance.subjects.environments.registry import find_environment, find_interpreter
from conformance.subjects.environments.requirements import find_requirements, released_package

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from conformance.own.blame.blame_session import Request
    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.studies.history.first_bad_release import Change, Question
    from conformance.subjects.calling.subject_names import SubjectName
    from conformance.subjects.isolation.protocol import Limits


@dataclass(frozen=True)
class ReleaseOptions:
    """The options of a search among releases.

    Attributes:
        range: the range on the command line: `1.20..1.32`.
        install: whether all releases of the package index are candidates, and are installed when they are tested.
        store: folder of the history.
        subjects: starts the subjects.
        limits: limits of each process.
        takes_output: whether text goes to standard error, because a file goes to standard output.
    """

    range: str
    install: bool
    store: Path
    subjects: OpenSubjects
    limits: Limits
    takes_output: bool = False

    def print_line(self, text: str) -> None:
        """Print a line."""
        print_line(text, err=self.takes_output)


def blame_case(
    case: str, named: SubjectName, options: ReleaseOptions, data: Path | None, json: Path | None, output: Path | None
) -> bool:
    """Find the release that introduced the fault of a case, and print it.

    Return whether a release has the fault, or none has an answer.

    Args:
        case: id of the case.
        named: the subject; its release is ignored.
        options: the options of the search.
        data: folder of the corpus; None for the bundled corpus.
        json: file for the search, or None.
        output: folder for the reproduction, or None.
    """
    if output is not None:
        check_empty(output)
    corpus = open_corpus(data or bundled_corpus_path())
    entry = find_case(corpus, case)
    stored = StoredAnswers(options.store, named, entry, corpus.digest) if options.store.is_dir() else None
    prepare = _preparation(install=options.install)
    question = CaseQuestion(named, options.subjects, prepare, case=load_case(corpus, entry), stored=stored)
    hints = stored.hints if stored is not None else []
    answers, introduced = _search(question, options, stored.verdicts if stored is not None else (), hints, json)
    if introduced is None:
        return _is_failure(answers)
    at_release = named.at_release(introduced)
    if _has_environment(at_release):
        settings = Settings((at_release,), data, Selection(case=(case,)), limits=options.limits)
        files, _ = failure_files(settings, corpus, entry, ())
        options.print_line("")
        print_lines(files["ISSUE.md"].decode(), err=options.takes_output)
        if output is not None:
            write_folder(output, files)
            options.print_line(f"Wrote {output}.")
    else:
        unwritten = "" if output is None else f", and {output} was not written"
        options.print_line(f"The text of an issue needs an environment of {at_release.text}{unwritten}: add --install.")
    return True


def blame_model(request: Request, options: ReleaseOptions) -> tuple[bool, Request | None]:
    """Find the release that introduced the fault of a model, and print it.

    Return whether a release has the fault, or none has an answer. Also return the request at the first release with
    the fault. If a subject has no other way beside it, the other way is the last release without the fault; the request
    is None without such a release.

    Args:
        request: the model, its inputs and the subjects; the releases are those of the graph optimizer or of the second.
        options: the options of the search.
    """
    if request.first.kind is SubjectKind.OPTIMIZER:
        raise UsageError("subject-count.rewrites")
    named = request.optimizer or request.second
    is_alone = request.optimizer is None and request.first is request.second
    prepare = _preparation(install=options.install)
    question = ModelQuestion(named, options.subjects, prepare, request=request, is_alone=is_alone)
    answers, introduced = _search(question, options)
    if introduced is None:
        return _is_failure(answers), None
    at = named.at_release(introduced)
    if request.optimizer is not None:
        return True, replace(request, optimizer=at)
    if not is_alone:
        return True, replace(request, second=at)
    before = list(answers)[: list(answers).index(at.release)]
    passing = [release for release in before if answers[release] is FaultPresence.LACKS]
    return True, replace(request, first=named.at_release(passing[-1]), second=at) if passing else None


def _is_failure(answers: Mapping[str, str]) -> bool:
    """Return whether a release has the fault, or none has an answer."""
    return FaultPresence.HAS in answers.values() or FaultPresence.LACKS not in answers.values()


def _search(
    question: Question,
    options: ReleaseOptions,
    answered: Collection[str] = (),
    hints: Sequence[str] = (),
    json: Path | None = None,
) -> tuple[dict[str, FaultPresence], str | None]:
    """Search, print the report, and write the file of `--json`.

    Return the answers by release, the oldest first, and the first release that is known to have the fault, or None. If
    the fault was introduced several times, it is the last introduction.

    Args:
        answered: the releases whose answers the history has.
        hints: the releases that are tested first if the ends of the range have equal answers.

    Raises:
        UsageError: no release in the range has an environment or an answer.
    """
    named = question.named
    candidates = {*answered, *installed_releases(named)}
    if options.install:
        candidates |= set(find_releases(released_package(named), ReleaseRange.parse(options.range)))
    releases_in_range(named, options.range, candidates)
    known = {*candidates, *stored_releases(options.store, named)}  # some may have no environment; they are unknown
    search = ReleaseSearch(
        releases_in_range(named, options.range, known),
        question.observe,
        hints,
        settle=question.settle,
        stops_unjudged=isinstance(question, ModelQuestion),
    )
    changes: Sequence[Change] = search.run()
    answers = {release: found.answer for release, found in search.tested}
    compared = None
    if isinstance(question, ModelQuestion) and FaultPresence.HAS not in answers.values():
        compared = compare_releases(search, question)
    for line in report_lines(named, search, changes, is_compared=compared is not None):
        options.print_line(line)
    if compared is not None:
        for line in comparison_lines(named, compared):
            options.print_line(line)
        changes = () if compared.is_judged else compared.changes
        answers = {
            release: found.answer if changes or found.answer is FaultPresence.UNKNOWN else FaultPresence.LACKS
            for release, found in compared.search.tested
        }
    if not options.install and any(change.unknown for change in changes):
        options.print_line("  --install also tests releases without an environment.")
    write_json_atomically(json, search_document(named, search, changes))
    introduced = [change.after for change in changes if change.kind == "introduced"]
    return answers, introduced[-1] if introduced else search.oldest_fault


def _preparation(*, install: bool) -> Callable[[SubjectName], None]:
    """Return a function that creates the environment of a release, or raises an error if it is missing."""

    def prepare(named: SubjectName) -> None:
        if install and not _has_environment(named):
            create_environment(find_requirements(named), PackageSources(sys.executable))
        find_interpreter(named)

    return prepare


def _has_environment(named: SubjectName) -> bool:
    environment = find_environment(find_requirements(named))
    return environment is not None and environment.is_usable
