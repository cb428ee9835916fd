"""The commands that `interruptions.py` interrupts, one for each way in which a verb writes, and their inputs."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import evidence_inputs
import onnx
from corpora import ADAM, EXACT, write_corpus
from expandable_models import one_node
from fake_subject import always_right
from history_stores import OneStepOff, add_release, change_tensor, write_three_cases
from onnx import TensorProto, helper
from wheel_index import RIGHT, WRONG, write_index

from conformance.corpus.generation.generators import define_cases
from conformance.run.corpus_run.resume import PARTIAL_SUFFIX
from conformance.run.results.results_file import read_results
from conformance.studies.history.store import HistoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CASES = 40
"""Number of cases of a run."""

LIGHT = f"exec:{shlex.join([sys.executable, '-I', '-S', str(Path(__file__).with_name('light_harness.py'))])}"
FIRST, SECOND, IN_PROCESS = f"{LIGHT} first", f"{LIGHT} second", "fake_subject:wrong_on_argmax"
CORRECT, WRONG_ABS = "fake_subject:correct", "fake_subject:wrong_abs"
RUN = ("run", "--data", "corpus", "--no-diagnosis")
FEW_REPORTS = ("--html", "out.html", "--json", "out.json", "--junit", "out.xml")
REPORTS = (
    *FEW_REPORTS,
    *("--ctrf", "out.ctrf.json", "--markdown", "out.md", "--annotations", "out.txt", "--badge", "out.svg"),
    *("--hazard-table", "hazards.md"),
)
BLAME = ("blame", "chain.onnx", "-b", CORRECT, "-b", WRONG_ABS, "--output", "reproduction", *FEW_REPORTS[:4])
CENSUS_TYPES = ("--type", "float16", "--type", "bfloat16", "--operator", "Exp", "--operator", "Sqrt")

FAILING = "failing/corpus"
"""Corpus of a search; only a continued search replaces what an interrupted search wrote there."""

INDEX = "../index"
"""The package index of fake releases, beside the folder of each command."""

CACHE = "cache"
"""Cache of the user in the folder of a command."""

ENVIRONMENTS = f"{CACHE}/onnx-conformance/environments"


@dataclass(frozen=True)
class Activity:
    """A command to interrupt.

    Attributes:
        name: the name of the activity.
        arguments: the command line.
        makes: the files and folders that the command writes.
        again: the command line that resumes the command; by default the same command line.
        can_resume: whether `again` applies to a folder in which the command was interrupted.
        before: files that exist before the command, as text by name.
        state: patterns of paths that the interrupted command keeps, and the resumed command removes.
        status: the exit status without an interruption.
    """

    name: str
    arguments: Sequence[str]
    makes: Sequence[str] = ()
    again: Sequence[str] = ()
    can_resume: Callable[[Path], bool] = lambda _: True
    before: Mapping[str, str] = field(default_factory=dict)
    state: Sequence[str] = ()
    status: int = 0


def _has_records(folder: Path) -> bool:
    """Return whether a run has written a record, and is not complete."""
    partial, results = folder / f"out.jsonl{PARTIAL_SUFFIX}", folder / "out.jsonl"
    if partial.exists():
        return b"\n" in partial.read_bytes()
    return results.exists() and read_results(results).footer.interrupted


def _run(name: str, *more: str) -> Activity:
    """Return a run that writes results and reports, and that is resumed with the same options."""
    rest, made = (*FEW_REPORTS, *more), ("out.jsonl", *FEW_REPORTS[1::2])
    arguments, again = ((*RUN, option, "out.jsonl", *rest) for option in ("--results", "--resume"))
    before, state = {"out.html": "<p>old</html>"}, (f"out.jsonl{PARTIAL_SUFFIX}",)
    return Activity(name, arguments, made, again, _has_records, before, state, status=1)


def _audit(name: str, *more: str) -> Activity:
    """Return an audit that finds wrong nodes, and writes all that it can."""
    arguments = ("audit", "chain.onnx", "-b", WRONG_ABS, "--json", "out.json", "--html", "out.html")
    folders = ("--output", "wrong/corpus", "--save-inputs", "inputs")
    made = ("out.json", "out.html", "wrong/corpus", "inputs")
    return Activity(name, (*arguments, *folders, *more), made, state=("kept/*.partial*",), status=1)


def _census(name: str, *more: str) -> Activity:
    """Return a small census."""
    arguments = ("census", "-b", "fake_subject:out_of_order_once", *CENSUS_TYPES, *more)
    targets = ("--results", "out.census", "--html", "out.html", "--markdown", "out.md")
    return Activity(name, (*arguments, *targets), targets[1::2], before={"out.html": "<p>old</html>"})


def _search(name: str, *more: str) -> Activity:
    """Return a search that finds a failing example."""
    arguments = ("search", "-b", IN_PROCESS, "--operator", "ArgMax", "--examples", "60", "--seed", "1")
    targets = ("--results", "out.jsonl", "--coverage", "coverage.json", *FEW_REPORTS)
    made = (*targets[1::2], *(word for word in more if word == FAILING))
    return Activity(
        name, (*arguments, *targets, *more), made, state=(f"out.jsonl{PARTIAL_SUFFIX}", f"{FAILING}/*"), status=1
    )


def _update_history(name: str, release: str, *more: str) -> Activity:
    """Return an update of the history with one release."""
    arguments = ("history", "update", f"onnxruntime@{release}", "--store", "store", *more)
    return Activity(name, arguments, ("store", ENVIRONMENTS), state=("store/.work/*", f"{ENVIRONMENTS}/*"))


ACTIVITIES = (
    _run("run", "-b", FIRST, "-b", SECOND),
    _run("run -n 2", "-b", FIRST, "-b", SECOND, "-n", "2"),
    _run("run in process", "-b", IN_PROCESS, "--no-isolation"),
    _run("run in process -n 2", "-b", IN_PROCESS, "--no-isolation", "-n", "2"),
    Activity(
        "generate",
        ("generate", "-g", "functions", "--output", "corpus", "--replace", "--corpus-version", "9.0.0"),
        ("corpus",),
    ),
    Activity("generate --model", ("generate", "--model", "argmax.onnx", "--output", "own/corpus"), ("own/corpus",)),
    Activity(
        "generate --model --replace",
        ("generate", "--model", "chain.onnx", "--output", "replaced/corpus", "--replace"),
        ("replaced/corpus",),
    ),
    Activity(
        "generate --onnx", ("generate", "--onnx", "--operator", "Relu", "--output", "own/corpus"), ("own/corpus",)
    ),
    Activity("export", ("export", "exported", "--data", "three"), ("exported",)),
    Activity("generate --release", ("generate", "--release", "--output", "corpus"), ("corpus",)),
    Activity(
        "merge", ("merge", "1.jsonl", "2.jsonl", "--output", "out.jsonl", "--data", "corpus"), ("out.jsonl",), status=1
    ),
    Activity("report", ("report", "1.jsonl", *REPORTS), REPORTS[1::2], before={"out.json": "{}"}),
    Activity(
        "report --evidence",
        (
            *("report", *(f"measured/{name}" for name in ("results.jsonl", "census.jsonl", "mutation.json"))),
            *("--data", "measured/corpus", "--requirements", "measured/map.toml", "--evidence", "evidence"),
        ),
        ("evidence",),
    ),
    Activity(
        "diff", ("diff", "1.jsonl", "1.jsonl", "--json", "out.json", "--markdown", "out.md"), ("out.json", "out.md")
    ),
    Activity(
        "update-expectations",
        ("update-expectations", "1.jsonl", "--expect", "e.toml", "--reason", "known"),
        ("e.toml",),
        before={"e.toml": f"subject = '{FIRST}'\n"},
    ),
    Activity("explain", ("explain", EXACT, "--data", "three", "-b", IN_PROCESS)),
    Activity(
        "repro", ("repro", EXACT, "--data", "three", "-b", IN_PROCESS, "--output", "reproduction"), ("reproduction",)
    ),
    _search("search"),
    _search("search -n 2 --resume", "-n", "2", "--resume", "state", "--output", FAILING),
    _census("census"),
    _census("census -n 2 --resume", "-n", "2", "--resume", "state"),
    _audit("audit"),
    _audit("audit -n 2", "-n", "2"),
    _audit("audit -n 2 --resume", "-n", "2", "--resume", "kept"),
    Activity(
        "blame",
        BLAME,
        ("out.json", "out.html", "reproduction"),
        (*BLAME, "--resume", "out.json"),
        lambda folder: (folder / "out.json").exists(),
        status=1,
    ),
    Activity(
        "hazards",
        ("hazards", "argmax.onnx", "-b", "fake_subject:always_right", "--json", "out.json"),
        ("out.json",),
        before={"out.json": "{}"},
    ),
    Activity("expand", ("expand", "adam.onnx", "--output", "out.onnx"), ("out.onnx",)),
    Activity("check-harness", ("check-harness", FIRST), status=1),
    Activity(
        "env create", ("env", "create", f"onnxruntime@{WRONG}", "--find-links", INDEX, "--no-index"), (ENVIRONMENTS,)
    ),
    Activity("env remove", ("env", "remove", f"onnxruntime@{RIGHT}"), (ENVIRONMENTS,)),
    _update_history("history update", WRONG, "--data", "three"),
    _update_history("history update --offline", RIGHT, "--data", "narrow", "--offline"),
    Activity(
        "history show",
        ("history", "show", "--store", "store", "--json", "out.json", "--html", "out.html"),
        ("out.json", "out.html", "store"),
    ),
)


def write_inputs(folder: Path, run: Callable[[Sequence[str], int], None]) -> None:
    """Write the inputs of all activities.

    Args:
        folder: an empty folder.
        run: function that runs a command in this folder, and checks its exit status.
    """
    named = [case for _, case in define_cases(()) if "argmax_ties" in case.id or "momentum" in case.id]
    cases = [case for case in named if "_in_turns_" not in case.id]  # these cases need their companion
    write_corpus(folder / "corpus", cases[:: len(cases) // CASES])
    for subject, name in ((FIRST, "1.jsonl"), (SECOND, "2.jsonl")):
        run((*RUN, "-b", subject, "--results", name), 1)
    onnx.save(one_node("Adam"), folder / "adam.onnx")
    _write_chain(folder / "chain.onnx", ["Tanh", "Neg", "Sigmoid", "Abs"] * 10)
    _write_chain(folder / "argmax.onnx", ["Softmax", "ArgMax"])
    run(("generate", "--model", "argmax.onnx", "--output", "replaced/corpus"), 0)
    evidence_inputs.write_inputs(folder / "measured")
    three = write_three_cases(folder / "three")
    change_tensor(three, ADAM, "test_data_set_0/bound_0.pb", 0.0, folder / "narrow")
    store = HistoryStore(folder / "store")
    for release, backend in ((RIGHT, always_right), ("1.30.9", OneStepOff)):
        add_release(store, three, release, backend)
        (folder / f"{release}.jsonl").unlink()
    index = write_index(folder / INDEX)
    create = ("env", "create", f"onnxruntime@{RIGHT}", "--find-links", str(index), "--no-index")
    run(create, 0)


def _write_chain(path: Path, operators: Sequence[str]) -> None:
    """Write a model from X to Y with one node for each operator."""
    names = ["X", *(f"v{number}" for number in range(1, len(operators))), "Y"]
    nodes = [
        helper.make_node(operator, [X], [Y]) for operator, X, Y in zip(operators, names[:-1], names[1:], strict=True)
    ]
    is_index = operators[-1] == "ArgMax"
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [2, 3])
    Y = helper.make_tensor_value_info(
        "Y", TensorProto.INT64 if is_index else TensorProto.FLOAT, [1 if is_index else 2, 3]
    )
    graph = helper.make_graph(nodes, "g", [X], [Y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
