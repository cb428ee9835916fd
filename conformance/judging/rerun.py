"""One case on one subject again, as the scripts do that the HTML report offers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.corpus.corpus import bundled, find_case, open_corpus
from conformance.corpus.loading import load_case
from conformance.judging.backend import judge_backend
from conformance.judging.optimizer import judge_optimizer
from conformance.judging.profiled import profile_of
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.judging.outcome import Outcome


def rerun(
    subject: str,
    kind: str,
    case: str,
    data: str | None = None,
    *,
    claims: Sequence[str] = (),
    profile: str | None = None,
) -> Outcome:
    """Run a case on a subject, in this process.

    Args:
        subject: what names it on the command line.
        kind: `backend` or `optimizer`.
        case: the case's id.
        data: the corpus's directory; by default the bundled one.
        claims: passes that a graph optimizer implements which does not say so itself.
        profile: what is asked beyond the specification: a bundled profile's name or a file, or None.

    Raises:
        ConformanceError: there is no such subject, case or corpus.
    """
    corpus = open_corpus(Path(data) if data else bundled())
    named = load_subject(SubjectName.of(subject, SubjectKind(kind)), tuple(claims))
    asked = profile_of(profile) if profile is not None else None
    loaded = load_case(corpus, find_case(corpus, case))
    if named.kind is SubjectKind.BACKEND:
        return judge_backend(named.target, loaded, asked)
    return judge_optimizer(named, loaded, asked)
