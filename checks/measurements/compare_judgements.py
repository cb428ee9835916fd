"""Compare what two checkouts expect of every case, and how their code judges the same outputs.

python checks/measurements/compare_judgements.py OLD NEW [RESULTS...]

Use it after a change that must not alter any expected value, bound or verdict. It compares:

- files: the bytes of every `model.onnx` and `.pb` of the two corpora;
- loaded: inputs, expected values, bounds and acceptable indices, as the corpus loader of each checkout returns them;
- synthetic: the verdicts on made-up outputs of every case: right, off by less and by more than the bound, wrong type;
- optimizers: the verdicts and checks of the suite's own graph optimizers on every case of the pass;
- recorded: the verdicts in the results file of the board, reports/scoreboard/results.jsonl.gz of each checkout;
- replayed: the verdicts on the outputs that these results record. RESULTS are further results files of the old
  checkout, whose `observed` outputs are replayed too. A result whose outputs are not recorded in full is not replayed.

Prints the number of comparisons and every difference. Exits with 1 if there is a difference. Each checkout judges in a
process of its own; both run at the same time.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BOARD = Path("reports/scoreboard/results.jsonl.gz")
MAX_SHOWN = 50
"""Differences printed of each kind."""

FORMER_KEYS = {"complaint": "violation", "observed": "recorded_outputs"}
"""Keys of results before format 2 was reworded, with their present names."""

PASSES = ("eliminate_nop_monotone_argmax",)
IDENTITY = ("conformance.subjects.adapters.optimizers.identity:optimize", "conformance.optimizers.identity:optimize")
OPTIMIZERS = {
    "reference-pass": (("conformance.corpus.passes.eliminate_nop_monotone_argmax:eliminate",), PASSES),
    "identity": (IDENTITY, ()),
    "identity as the pass": (IDENTITY, PASSES),
}
"""The optimizers that are judged: their possible names, and the passes that they are taken to implement."""

OUTPUT_KEYS = ("data_set", "name", "check", "max_ulp", "error_over_bound", "worst_index", "wrong", "first_bad")
CHECK_NAMES = ("name", "level", "data_set", "run")

Comparison = tuple[str, Any]
"""Name of each compared value, as `kind/…`, and the value as JSON."""


def tensor_digest(array: Any) -> str | None:
    """Return the type, the shape and a hash of the bytes of an array."""
    if array is None:
        return None
    array = np.asarray(array)
    return f"{array.dtype} {list(array.shape)} {hashlib.sha256(array.tobytes()).hexdigest()[:32]}"


def compare_files(checkout: Path) -> Iterator[Comparison]:
    """Yield the hash of every model and tensor of the corpus."""
    data = checkout / "data"
    for file in sorted(data.rglob("*")):
        if file.suffix in {".pb", ".onnx"}:
            yield f"files/{file.relative_to(data)}", hashlib.sha256(file.read_bytes()).hexdigest()


class Judge:
    """The loader and the judging code of one checkout, which must be first in `sys.path`."""

    def __init__(self, checkout: Path) -> None:
        self.corpus = import_module("conformance.corpus.cases.corpus").open_corpus(checkout / "data")
        self._load = import_module("conformance.corpus.cases.case_loading").load_case
        self._judge_backend = import_module("conformance.run.judging.backend").judge_backend
        self._judge_optimizer = import_module("conformance.run.judging.optimizer").judge_optimizer

    def load(self, case: str) -> Any:
        """Return a case as a run loads it."""
        return self._load(self.corpus, self.corpus.cases[case])

    def backend_verdict(self, case: str, outputs: Callable[[int], object]) -> dict[str, Any]:
        """Judge the outputs of a case.

        Args:
            outputs: returns the outputs of the data set with this number.
        """
        return _outcome(self._judge_backend(_ReplayBackend(outputs), self.load(case)))

    def optimizer_verdict(self, case: str, names: Sequence[str], passes: tuple[str, ...]) -> dict[str, Any]:
        """Judge one of the suite's own optimizers on a case.

        Args:
            names: the optimizer as `module:function`, by its possible names; the first that can be imported is judged.
            passes: the passes that the optimizer is taken to implement.
        """
        naming = import_module("conformance.subjects.calling.subject_names")
        parse = getattr(naming.SubjectName, "of", None) or naming.SubjectName.parse
        name = next(name for name in names if _module_exists(name.partition(":")[0]))
        load = import_module("conformance.subjects.calling.subject_loading").load_subject
        subject = replace(load(parse(name, naming.SubjectKind("optimizer")), ()), passes=passes)
        return _outcome(self._judge_optimizer(subject, self.load(case)))


def _module_exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class _ReplayBackend:
    """A backend whose first prepared model returns given outputs; later models, as of a companion, return nothing."""

    def __init__(self, outputs: Callable[[int], object]) -> None:
        self._outputs: Callable[[int], object] | None = outputs

    def prepare(self, model: Any, device: str = "CPU", **_: Any) -> Any:  # noqa: ARG002
        outputs, self._outputs = self._outputs, None
        return _ReplayModel(outputs)


class _ReplayModel:
    def __init__(self, outputs: Callable[[int], object] | None) -> None:
        self._outputs = outputs
        self._runs = 0

    def run(self, inputs: Any, **_: Any) -> object:  # noqa: ARG002
        self._runs += 1
        return [] if self._outputs is None else self._outputs(self._runs - 1)


def _outcome(outcome: Any) -> dict[str, Any]:
    """Return a verdict with its evidence, without the texts, whose wording may differ."""
    outputs = getattr(outcome, "outputs", None)
    if outputs is None:
        outputs = outcome.evidence
    return {
        "verdict": str(outcome.verdict),
        "phase": outcome.phase and str(outcome.phase),
        "outputs": [
            {key: output[key] for key in OUTPUT_KEYS if key in output}
            | {"is_violation": bool(renamed(output).get("violation"))}
            for output in map(plain, outputs)
        ],
        "checks": [
            {key: str(check[key]) for key in CHECK_NAMES if key in check}
            | {"is_violation": bool(renamed(check).get("violation"))}
            for check in map(plain, getattr(outcome, "checks", ()))
        ],
    }


def plain(record: Any) -> dict[str, Any]:
    """Return a record as a dict; in older versions of the suite it is one."""
    document: dict[str, Any] = msgspec.to_builtins(record)
    return document


def renamed(record: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the results with the present names of its keys."""
    return {FORMER_KEYS.get(key, key): value for key, value in record.items()}


def compare_loaded(judge: Judge) -> Iterator[Comparison]:
    """Yield the kind and the level of every case, and its data sets as the loader returns them."""
    for name, entry in judge.corpus.cases.items():
        yield f"loaded/{name}", f"{entry.kind} {entry.level}"
        case = judge.load(name)
        for number, data_set in enumerate(case.data_sets()):
            place = f"loaded/{name}/{number}"
            yield f"{place}/inputs", [tensor_digest(array) for array in data_set.inputs]
            for output in data_set.outputs:
                yield f"{place}/{output.name}/expected", f"{output.check} {tensor_digest(output.expected)}"
                yield f"{place}/{output.name}/bound", tensor_digest(output.bound)
                yield f"{place}/{output.name}/accepted", tensor_digest(_accepted(output))


def _accepted(output: Any) -> Any:
    return output.choices if hasattr(output, "choices") else output.accepted


def compare_synthetic(judge: Judge) -> Iterator[Comparison]:
    """Yield the verdicts on made-up outputs of every case that expects outputs."""
    for name, entry in judge.corpus.cases.items():
        if entry.is_invalid or entry.is_structural:
            continue
        expected = [data_set.outputs for data_set in judge.load(name).data_sets()]
        for kind, change in SYNTHETIC.items():
            outputs = [[change(output) for output in data_set] for data_set in expected]
            yield f"synthetic/{name}/{kind}", judge.backend_verdict(name, outputs.__getitem__)


def _shifted(output: Any, factor: float) -> Any:
    """Return the expected output with every element moved by a multiple of its bound, or by one unit if it has none."""
    expected = output.expected
    if output.bound is None:
        return expected.copy() if expected.dtype.kind == "b" or factor < 1 else expected + expected.dtype.type(1)
    with np.errstate(all="ignore"):
        return (expected.astype(np.float64) + factor * output.bound).astype(expected.dtype)


def _last_accepted(output: Any) -> Any:
    """Return the greatest acceptable index of every element, or the expected output of an output without indices."""
    accepted = _accepted(output)
    if accepted is None:
        return output.expected.copy()
    last = accepted.shape[-1] - 1 - np.flip(accepted, -1).argmax(-1)
    return np.asarray(last).astype(output.expected.dtype)


SYNTHETIC: dict[str, Callable[[Any], Any]] = {
    "expected": lambda output: output.expected.copy(),
    "half the bound above": lambda output: _shifted(output, 0.5),
    "twice the bound below": lambda output: _shifted(output, -2.0),
    "last accepted index": _last_accepted,
    "another type": lambda output: np.zeros(output.expected.shape, np.int16),
    "not a number": lambda output: np.full_like(output.expected, np.nan if output.expected.dtype.kind == "f" else 0),
}


def compare_optimizers(judge: Judge) -> Iterator[Comparison]:
    """Yield the verdicts of the suite's own graph optimizers."""
    for name, entry in judge.corpus.cases.items():
        if str(entry.kind) == "pass" or entry.is_structural:
            for optimizer, (names, passes) in OPTIMIZERS.items():
                yield f"optimizers/{name}/{optimizer}", judge.optimizer_verdict(name, names, passes)


def read_results(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the result records of a results file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "result":
                yield renamed(record)


def compare_recorded(checkout: Path) -> Iterator[Comparison]:
    """Yield the verdicts that the results of the board record."""
    for result in read_results(checkout / BOARD):
        yield f"recorded/{result['subject']}/{result['case']}", [result[key] for key in ("level", "verdict", "phase")]


def compare_replayed(judge: Judge, files: Sequence[Path]) -> Iterator[Comparison]:
    """Yield the verdicts on the outputs that results record."""
    for file in files:
        for result in read_results(file):
            if result["case"] not in judge.corpus.cases:
                continue
            key = f"replayed/{file.name}/{result['subject']}/{result['case']}"
            if "recorded_outputs" in result:
                recorded = result["recorded_outputs"]["outputs"]
                outputs = [[_decoded(tensor) for tensor in data_set] for data_set in recorded]
            else:
                outputs = _outputs_of_evidence(judge, result)
            if outputs:
                replayed = judge.backend_verdict(result["case"], outputs.__getitem__)
                yield key, replayed
                # The record has the verdict of a run, which also knows about repeats and changed inputs.
                if replayed["verdict"] != result["verdict"]:
                    yield f"replayed otherwise than recorded/{key}", [result["verdict"], replayed["verdict"]]


def _outputs_of_evidence(judge: Judge, result: dict[str, Any]) -> list[list[Any]] | None:
    """Return the outputs of every data set, rebuilt from a result's evidence; None if they are not all known.

    An output that passed and is not recorded is taken to be the expected one.
    """
    if not result["outputs"] or result["verdict"] not in {"pass", "fail"}:
        return None
    evidence = {(output["data_set"], output["name"]): renamed(output) for output in result["outputs"]}
    outputs = []
    for number, data_set in enumerate(judge.load(result["case"]).data_sets()):
        arrays = []
        for output in data_set.outputs:
            known = evidence.get((number, output.name))
            if known is None:
                return None
            if "actual" in known:
                if known["actual"]["elided"]:
                    return None
                arrays.append(_parsed(known["actual"]))
            elif "violation" in known:
                return None
            else:
                arrays.append(output.expected.copy())
        outputs.append(arrays)
    return outputs


def _dtype(name: str) -> np.dtype[Any]:
    import onnx

    number = onnx.TensorProto.DataType.Value(name.upper())
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def _parsed(preview: dict[str, Any]) -> Any:
    """Return the array of a record of elements in decimals."""
    dtype = _dtype(preview["type"])
    if dtype.kind == "b":
        values: list[Any] = [value in {"true", "True", "1"} for value in preview["values"]]
    else:
        values = [int(value) if dtype.kind in "iu" else float(value) for value in preview["values"]]
    return np.array(values).astype(dtype).reshape(preview["shape"])


def _decoded(tensor: dict[str, Any] | None) -> Any:
    """Return the array of a record of raw bytes in base64."""
    if tensor is None:
        return None
    content = base64.b64decode(tensor["data"])
    return np.frombuffer(content, _dtype(tensor["dtype"])).reshape(tensor["shape"]).copy()


def judge_checkout(checkout: Path, results: Sequence[Path], target: Path) -> None:
    """Write everything that is compared about one checkout into a file."""
    sys.path.insert(0, str(checkout))
    package = import_module("conformance")
    if not Path(str(package.__file__)).resolve().is_relative_to(checkout):
        raise SystemExit(f"{package.__file__} is not part of {checkout}.")
    judge = Judge(checkout)
    parts = (
        compare_files(checkout),
        compare_recorded(checkout),
        compare_loaded(judge),
        compare_synthetic(judge),
        compare_replayed(judge, results),
        compare_optimizers(judge),
    )
    with target.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(comparison) + "\n" for part in parts for comparison in part)


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the description of every difference."""
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, "nothing"), new.get(key, "nothing")
        if before != after:
            yield key.partition("/")[0], f"{key}: {json.dumps(before)[:600]} → {json.dumps(after)[:600]}"


def main() -> int:
    """Compare both checkouts; return 1 if there is a difference."""
    parser = argparse.ArgumentParser(description="Compare what two checkouts expect, and how they judge.")
    parser.add_argument("old", type=Path, metavar="OLD", help="Checkout before the change.")
    parser.add_argument("new", type=Path, metavar="NEW", help="Checkout after the change.")
    parser.add_argument("results", type=Path, nargs="*", metavar="RESULTS", help="Further results files to replay.")
    parser.add_argument("--judge", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        judge_checkout(options.new.resolve(), options.results, options.judge)
        return 0
    results = [options.old / BOARD, *options.results]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = {"old": options.old, "new": options.new}
        files = {name: Path(folder, name) for name in checkouts}
        processes = [
            subprocess.Popen([sys.executable, __file__, "--judge", files[name], checkout, checkout, *results])
            for name, checkout in checkouts.items()
        ]
        statuses = [process.wait() for process in processes]
        if any(statuses):
            return 2
        old, new = (dict(map(json.loads, file.open())) for file in files.values())
    different = list(differences(old, new))
    counts, differing = Counter(key.partition("/")[0] for key in old), Counter(kind for kind, _ in different)
    for kind in sorted(counts.keys() | differing.keys()):
        print(f"{kind}: {counts[kind]:,} compared, {differing[kind]:,} different")
        for line in [text for each, text in different if each == kind][:MAX_SHOWN]:
            print(f"  {line}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
