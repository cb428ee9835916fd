"""A run of a corpus that prints nothing and writes no file: the function `run_corpus` of the Python interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.verdicts import Level
from conformance.exact.judgement.array_judgement import judged_level
from conformance.run.corpus_run.run_session import RunSession
from conformance.run.corpus_run.runner import WorkerExecution, judge_corpus
from conformance.run.corpus_run.settings import settings_from_options
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from conformance.run.corpus_run.runner import Outcome


def run_corpus(
    backend: str,
    *,
    operators: str | Iterable[str] = (),
    cases: str | Iterable[str] = (),
    data: str | os.PathLike[str] | None = None,
    fail_level: str = Level.MUST,
    expect: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Test a backend with a corpus, and print nothing.

    Args:
        backend: the backend, by its name on the command line. It runs in a process of its own.
        operators: the operators whose cases are run; all by default.
        cases: the ids of the cases to run; all by default.
        data: the folder of the corpus; None for the corpus of this suite.
        fail_level: the weakest level whose cases can fail the run: `must` or `should`.
        expect: an expectations file, which lists known failures; None if there are none.

    Raises:
        ConformanceError: the corpus, a name, the backend or the expectations file is wrong, or no case is selected.
        OutputFault: the failures could not be explained, because of an error of the suite.
        KeyboardInterrupt: the user interrupted the run.
    """
    judged_level(fail_level)
    settings = settings_from_options(
        {
            SubjectKind.BACKEND: [backend],
            "operator": _names(operators),
            "case": _names(cases),
            "data": data,
            "fail_level": fail_level,
            "expect": [] if expect is None else [expect],
        }
    )
    outcome = judge_corpus(RunSession(settings), WorkerExecution())
    if outcome.is_interrupted:
        raise KeyboardInterrupt
    if outcome.fault is not None:
        raise outcome.fault
    return outcome


def _names(given: str | Iterable[str]) -> list[str]:
    """Return one name or several as a list."""
    return [given] if isinstance(given, str) else list(given)
