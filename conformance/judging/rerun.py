"""One case on one subject again, as the scripts do that the HTML report offers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.corpus.corpus import bundled, find_case, open_corpus
from conformance.corpus.loading import load_case
from conformance.judging.backend import judge_backend
from conformance.judging.optimizer import judge_optimizer
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from conformance.judging.outcome import Outcome


def rerun(subject: str, kind: str, case: str, data: str | None = None) -> Outcome:
    """Run a case on a subject, in this process.

    Args:
        subject: what names it on the command line.
        kind: `backend` or `optimizer`.
        case: the case's id.
        data: the corpus's directory; by default the bundled one.

    Raises:
        ConformanceError: there is no such subject, case or corpus.
    """
    corpus = open_corpus(Path(data) if data else bundled())
    named = load_subject(SubjectName.of(subject, SubjectKind(kind)))
    loaded = load_case(corpus, find_case(corpus, case))
    return judge_backend(named.target, loaded) if named.kind is SubjectKind.BACKEND else judge_optimizer(named, loaded)
