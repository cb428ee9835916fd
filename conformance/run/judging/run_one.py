"""Run one case on one subject in this process. The scripts that HTML reports contain call `judge_one`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import bundled_corpus_path, find_case, open_corpus
from conformance.run.judging.execute import judge_case
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.judging.profile_rules import load_profile
from conformance.subjects.calling.subject_loading import load_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.run.results.records import Judged


def judge_one(
    subject: str,
    kind: str,
    case: str,
    data: str | None = None,
    *,
    implements: Sequence[str] = (),
    profile: str | None = None,
) -> Judged:
    """Run a case on a subject in this process and return the result.

    Args:
        subject: the subject as on the command line.
        kind: `backend` or `optimizer`.
        case: id of the case.
        data: directory of the corpus; by default the bundled corpus.
        implements: passes that the graph optimizer implements although it does not declare them.
        profile: name of a bundled profile, or path of a profile; None for no profile.

    Raises:
        ConformanceError: the subject, the case or the corpus does not exist.
    """
    corpus = open_corpus(Path(data) if data else bundled_corpus_path())
    named = load_subject(SubjectName.parse(subject, SubjectKind(kind)), tuple(implements))
    requirements = load_profile(profile) if profile is not None else None
    return judge_case(named, load_case(corpus, find_case(corpus, case)), ExecutionOptions(profile=requirements))
