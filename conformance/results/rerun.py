"""The command that runs a case on a subject again as a run did: with every option on which its verdict depends."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.results.records import Header, SubjectRecord


def rerun_command(header: Header, subject: SubjectRecord, *cases: str) -> str:
    """The command line, for a shell.

    Args:
        header: that of the results.
        cases: the only cases to run; without any the command is to be gone on with.
    """
    option = "-o" if subject["kind"] == "optimizer" else "-b"
    selection = [word for case in cases for word in ("--case", case)]
    return shlex.join(["onnx-conformance", "run", option, subject["id"], *rerun_options(header, subject), *selection])


def rerun_options(header: Header, subject: SubjectRecord) -> Sequence[str]:
    """The options besides subject and case; where results do not have them written down, what else tells of them."""
    if (options := header.get("options", {}).get(subject["id"])) is not None:
        return options
    rules = header.get("rules")
    profile = ["--profile", rules["profile"]["name"]] if rules and "profile" in rules else []
    level = ["--level", rules["level"]] if rules and rules["level"] != "must" else []
    return [*profile, *level]


def script_options(header: Header, subject: SubjectRecord) -> dict[str, object]:
    """Those of the options that judge a case in one process too, by their names there: claims and the profile."""
    words = rerun_options(header, subject)
    claims = [value for word, value in pairwise(words) if word == "--claims"]
    profiles = [value for word, value in pairwise(words) if word == "--profile"]
    return ({"claims": claims} if claims else {}) | ({"profile": profiles[0]} if profiles else {})
