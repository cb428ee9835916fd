"""Options of a run: one table from which the command line, the pytest plugin and the reference page are made.

This module imports no other module of the suite: pytest loads the plugin, and with it this module, in every session in
an environment where the suite is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REPEATS = 1000


@dataclass(frozen=True)
class RunOption:
    """One option of a run.

    Attributes:
        panel: the heading under which `--help` shows the option.
        help: one sentence for `--help`.
        metavar: placeholder of the value in `--help`; empty for a flag.
        type: type of one value: `str`, `Path`, `int`, `float` or `bool`.
        default: value if the option is not given; unused if `is_repeatable`.
        is_repeatable: whether the option may be given several times.
        short: short or additional spellings.
        choices: the allowed values; empty if any value is allowed.
        minimum: smallest allowed number.
        maximum: largest allowed number.
    """

    panel: str
    help: str
    metavar: str = ""
    type: type = str
    default: object = None
    is_repeatable: bool = False
    short: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


SUBJECTS, SELECTION, CRITERION, RUNNING, OUTPUT = "Subjects", "Selection", "Pass criterion", "Running", "Output"
"""The panels of `run --help`, in this order."""

RUN_OPTIONS: Mapping[str, RunOption] = {
    "backend": RunOption(
        SUBJECTS,
        "Backend to test, such as onnxruntime, package.module:Attribute or exec:COMMAND. Options of the backend are in"
        " brackets: NAME[device=CUDA].",
        "NAME",
        is_repeatable=True,
        short=("-b",),
    ),
    "optimizer": RunOption(
        SUBJECTS,
        "Graph optimizer to test on the cases of the pass, such as onnxsim, package.module:function or"
        " NAME[option=value].",
        "NAME",
        is_repeatable=True,
        short=("-o",),
    ),
    "implements": RunOption(
        SUBJECTS,
        "Require that the graph optimizers implement PASS, also those that do not declare PASS.",
        "PASS",
        is_repeatable=True,
    ),
    "python": RunOption(
        SUBJECTS, "Run Python subjects in this Python interpreter, with its installed packages.", "PROGRAM", Path
    ),
    "no_isolation": RunOption(
        SUBJECTS,
        "Run Python subjects in the process of the command; a crash of a subject then ends the command.",
        type=bool,
        default=False,
    ),
    "timeout": RunOption(
        SUBJECTS, "Time limit in seconds for the start of a subject, and for each case.", "SECONDS", float, 60.0
    ),
    "memory": RunOption(SUBJECTS, "Limit of the address space of a subject's process, such as 4G.", "SIZE", default=""),
    "keyword": RunOption(
        SELECTION,
        "Select only cases whose id matches EXPR: parts of ids with `and`, `or`, `not` and parentheses. Unlike pytest's"
        " -k, EXPR does not match names of subjects.",
        "EXPR",
        default="",
        short=("-k",),
    ),
    "case": RunOption(SELECTION, "Select only this case.", "ID", is_repeatable=True),
    "tag": RunOption(SELECTION, "Select only cases with this tag.", "TAG", is_repeatable=True),
    "clause": RunOption(SELECTION, "Select only cases that test this clause.", "CLAUSE", is_repeatable=True),
    "select_level": RunOption(
        SELECTION,
        "Select only cases of this level.",
        "must|should|silent",
        is_repeatable=True,
        choices=("must", "should", "silent"),
    ),
    "operator": RunOption(
        SELECTION,
        "Select only cases whose model has this operator, such as Adam or ArgMax, also in a subgraph or a function.",
        "OPERATOR",
        is_repeatable=True,
    ),
    "data": RunOption(SELECTION, "Folder of the corpus to use instead of the bundled corpus.", "DIR", Path),
    "shard": RunOption(
        SELECTION,
        "Select only the Nth of M disjoint parts of the cases; `merge` joins the results of all parts.",
        "N/M",
        default="",
    ),
    "fail_level": RunOption(
        CRITERION,
        "Fail on `must` cases only, or also on `should` cases.",
        "must|should",
        default="must",
        choices=("must", "should"),
    ),
    "expect": RunOption(
        CRITERION,
        "Expectations file, which lists the known failures of a subject, with reasons, and what it supports.",
        "FILE",
        Path,
        is_repeatable=True,
    ),
    "require": RunOption(
        CRITERION,
        "Fail if a subject does not support this operator, alone or with operators that the subject supports.",
        "OPERATOR",
        is_repeatable=True,
    ),
    "baseline": RunOption(
        CRITERION,
        "Results file of an earlier run; a verdict fails the run only if it is worse than in that run.",
        "FILE",
        Path,
    ),
    "relative_to": RunOption(
        CRITERION,
        "Leave out the failures that subject NAME has itself, such as the runtime on which a test backend is built."
        " NAME is run first, unless --baseline has its results.",
        "NAME",
    ),
    "profile": RunOption(
        CRITERION, "Profile with requirements beyond the specification: sonnx, or the path of a file.", "NAME|FILE"
    ),
    "repeat": RunOption(
        RUNNING,
        "Run each case N times; the verdicts of a case must agree.",
        "N",
        int,
        1,
        minimum=1,
        maximum=MAX_REPEATS,
    ),
    "diagnosis": RunOption(
        RUNNING, "Search for known mistakes (mutants) that explain the failures.", type=bool, default=True
    ),
    "accuracy": RunOption(
        RUNNING,
        "Also report the accuracy of outputs, compared with IEEE 754, OpenCL and WGSL; verdicts do not depend on it.",
        type=bool,
        default=False,
    ),
    "record_outputs": RunOption(
        RUNNING,
        "Store in the results what each subject returned, apart from outputs that equal the expected value; `history`"
        " judges these results again without a run.",
        type=bool,
        default=False,
    ),
    "results": RunOption(OUTPUT, "Write the results as JSON Lines.", "FILE", Path),
}
"""Every option that the command line and the pytest plugin share, by the name of its parameter."""

SELECTION_OPTIONS: Mapping[str, str] = {
    "--case": "case",
    "--tag": "tag",
    "--clause": "clause",
    "--select-level": "select_level",
    "--operator": "operator",
}
"""The repeatable options that select cases, with the names of their parameters."""


def flag_name(name: str) -> str:
    """Return the spelling of an option on the command line: `--fail-level` for the parameter `fail_level`."""
    return f"--{name.replace('_', '-')}"
