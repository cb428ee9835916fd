"""The steps of `blame`, from the files of the models to the reports, as one function without printing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.errors import SubjectError
from conformance.base.files.atomic_write import check_empty
from conformance.base.verdicts import Level
from conformance.own.blame.blame_report import judged_text, step_lines, write_reports, write_reproduction
from conformance.own.blame.blame_session import Request, Session, prepared_request
from conformance.own.blame.document import read_document
from conformance.own.blame.model_reduction import MAX_SECONDS
from conformance.own.graphs.model_inputs import chosen_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.own.blame.verdict import BlameVerdict, ChangedReleases
    from conformance.subjects.calling.subject_names import SubjectName


@dataclass(frozen=True)
class BlameRequest:
    """The files and settings of a comparison.

    Attributes:
        model: the file of the model.
        ways: both subjects, and the graph optimizer or None; see `compared_subjects`.
        subjects: starts the subjects.
        second_model: the file of a second model, or None.
        inputs: a file or folder of inputs; None for pseudo-random inputs.
        shapes: the sizes of inputs, as for `--shape`.
        values: the values of single inputs, as for `--input`.
        seed: the seed of pseudo-random inputs.
        level: the level at which a difference fails.
        json: the file of the document, or None.
        html: the file of the page, or None.
        output: the folder of the reproduction, or None.
        resume: the document of an earlier session, or None; it may be `json`, which need not exist.
        seconds: the maximum time of the session.
        at_release: returns whether a release has the fault, and the request at the first one or None; None to compare
            no releases.
        find_releases: returns the releases of a subject that are worth comparing for some operators.
    """

    model: Path
    ways: tuple[SubjectName, SubjectName, SubjectName | None]
    subjects: OpenSubjects
    second_model: Path | None = None
    inputs: Path | None = None
    shapes: Sequence[str] = ()
    values: Sequence[str] = ()
    seed: int = 0
    level: Level = Level.MUST
    json: Path | None = None
    html: Path | None = None
    output: Path | None = None
    resume: Path | None = None
    seconds: float = MAX_SECONDS
    at_release: Callable[[Request], tuple[bool, Request | None]] | None = None
    find_releases: Callable[[SubjectName, Collection[str]], list[ChangedReleases]] = lambda *_: []


class BlameObserver:
    """Receives the progress of a comparison; each method may be overridden."""

    def progress(self, text: str) -> None:
        """Receive what is done now; an empty text ends the line."""

    def inputs_chosen(self, lines: Sequence[str]) -> None:
        """Receive outputs without counterpart, and inputs that are rounded or chosen, as lines."""

    def step_ended(self, lines: Sequence[str]) -> None:
        """Receive the result of a step, as lines."""

    def interrupted(self, document: Path | None) -> None:
        """Receive the file from which an interrupted session continues; None if there is none."""


@dataclass(frozen=True)
class BlameResult:
    """The result of a comparison.

    Attributes:
        fails: whether the difference fails at the level of the request.
        verdict: the verdict; None if the releases have answered.
        judged: how the reduced model was judged, as text; empty if it was not.
        reproduction: the folder of the reproduction that was written, or None.
    """

    fails: bool
    verdict: BlameVerdict | None = None
    judged: str = ""
    reproduction: Path | None = None


def blame_models(asked: BlameRequest, observer: BlameObserver) -> BlameResult:
    """Find out which pass, which nodes and who is wrong; write the reports and the reproduction.

    Raises:
        ConformanceError: a file, an argument or a subject cannot be used. The reports have the steps that ended.
    """
    if asked.output is not None:
        check_empty(asked.output)
    is_new = asked.resume is None or (asked.resume == asked.json and not asked.resume.exists())
    known = None if is_new or asked.resume is None else read_document(asked.resume)
    with prepared_request(
        (asked.model, asked.second_model),
        asked.ways,
        asked.subjects,
        asked.seconds,
        inputs=asked.inputs,
        shapes=asked.shapes,
        values=asked.values,
        seed=asked.seed,
    ) as prepared:
        observer.inputs_chosen([*_input_lines(prepared.given or prepared)])
        request = prepared
        has_fault = False
        if asked.at_release is not None:
            has_fault, at_release = asked.at_release(prepared)
            if at_release is None:
                return BlameResult(has_fault)
            request = at_release

        def show(name: str) -> None:
            observer.progress("")
            observer.step_ended([*step_lines(name, session.document)])

        session = Session(request, asked.subjects, show, observer.progress, known, asked.find_releases)
        verdict = _run(session, asked, observer)
        fails = has_fault or verdict.fails(asked.level)  # also if the releases differ where the page is silent
        folder = asked.output if session.reduced else None
        write_reports(session, asked.json, asked.html, passes=not fails, folder=folder)
        if folder is not None:
            write_reproduction(folder, session)
        return BlameResult(fails, verdict, judged_text(session.document.steps), folder)


def _run(session: Session, asked: BlameRequest, observer: BlameObserver) -> BlameVerdict:
    """Run a session; if it is interrupted, write the steps that ended."""
    try:
        return session.run()
    except (KeyboardInterrupt, SubjectError):
        observer.progress("")
        if session.has_news:
            write_reports(session, asked.json, asked.html, passes=False)
            observer.interrupted(asked.json)
        raise


def _input_lines(request: Request) -> Iterator[str]:
    """Yield the outputs of two models that have no counterpart, and the inputs that are rounded or chosen."""
    if request.models is not None and request.models.unmatched:
        yield f"Outputs without counterpart: {', '.join(request.models.unmatched)}"
    if request.models is not None and request.models.rounded:
        yield f"Inputs of another type, rounded for both: {', '.join(request.models.rounded)}"
    if request.data_sets[0].chosen:
        yield chosen_text(request.data_sets[0].chosen)
