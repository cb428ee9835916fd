"""The Python script that runs one case on one subject again, as text."""

from __future__ import annotations

CASE = "«case»"
SUBJECT = "«subject»"

_HEAD = """\
import sys
from pathlib import Path
from conformance.corpus import bundled, find_case, open_corpus
"""

OF_KIND = {
    "backend": _HEAD
    + f"""\
from conformance.judge import judge
from conformance.loading import load_case
from conformance.subjects import Kind, Named, load_subject

corpus = open_corpus(Path(sys.argv[1]) if sys.argv[1:] else bundled())
subject = load_subject(Named.of({SUBJECT}, Kind.BACKEND))
outcome = judge(subject.target, load_case(corpus, find_case(corpus, {CASE})))
print(outcome.verdict, outcome.phase, outcome.message)
""",
    "optimizer": _HEAD
    + f"""\
from conformance.loading import load_case
from conformance.rewriting.judging import judge_case
from conformance.subjects import Kind, Named, load_subject

corpus = open_corpus(Path(sys.argv[1]) if sys.argv[1:] else bundled())
subject = load_subject(Named.of({SUBJECT}, Kind.OPTIMIZER))
outcome = judge_case(subject, load_case(corpus, find_case(corpus, {CASE})))
print(outcome.verdict, outcome.phase, outcome.message)
""",
}
"""Per kind of subject its script; a Python string literal stands for each of the two places."""
