"""The Python script that runs one case on one subject again, as text."""

from __future__ import annotations

CASE = "«case»"
SUBJECT = "«subject»"
OPTIONS = "«options»"

OF_KIND = {
    kind: f"""\
import sys
from conformance.judging.rerun import rerun

outcome = rerun({SUBJECT}, "{kind}", {CASE}, *sys.argv[1:], **{OPTIONS})
print(outcome.verdict, outcome.phase, outcome.message)
"""
    for kind in ("backend", "optimizer")
}
"""Per kind of subject its script; a Python literal stands for each of the three places."""
