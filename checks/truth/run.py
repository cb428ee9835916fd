"""Run `audit` and `blame` on faults, correct variants and random chains, in one process.

python -m checks.truth.run chains --subjects onnxruntime,plain --seeds 0..100
python -m checks.truth.run nodes --modes realistic,default,probes
python -m checks.truth.run planted --modes realistic,default,probes
python -m checks.truth.run blame --seeds 0..50
python -m checks.truth.run blamed
python -m checks.truth.run changed --seeds 0..100
python -m checks.truth.run probes --subjects onnxruntime,expanded

Each audit or blame is one line of OUTPUT/results.jsonl. The command continues where it ended: a line that exists is not
computed again, and a model during which the process ended is recorded as a crash.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from .chains.chain import draw_chain
from .evaluate import CHANGES, FLOATS, execute
from .faults import FAULTS
from .faults.models import PLANTED
from .subject import find_behavior
from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .evaluate import Behavior

NO_PROBES = ("--probes", "0")
RUNTIMES = ("onnxruntime", "onnxruntime[optimization=disabled]", "openvino", "tract", "onnx-reference")
MODES = {"realistic": NO_PROBES, "default": NO_PROBES, "probes": ()}
"""The options of `audit`: your data alone, or also hard data for each node."""

SECONDS = 90


def subject_name(name: str) -> str:
    """Return the option `-b` for a runtime or a variant."""
    return f"checks.truth.subject:Backend[variant={name}]" if name in VARIANTS else name


class Took(Exception):
    """The command took longer than the limit."""


def stop(*_: Any) -> None:
    """End the command."""
    raise Took


def call(arguments: Sequence[str]) -> tuple[Any, str]:
    """Run a command of the suite, and return its exit status and what it printed."""
    main = next(e for e in entry_points(group="console_scripts") if e.name == "onnx-conformance").load()
    printed = io.StringIO()
    before, sys.argv = sys.argv, ["onnx-conformance", *arguments]
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    status: Any = 0
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = main()
    except SystemExit as end:
        status = end.code
    except Took:
        status = "timeout"
    except Exception:  # noqa: BLE001 - a traceback is a finding
        status = "traceback"
        printed.write(traceback.format_exc())
    finally:
        signal.alarm(0)
        sys.argv = before
    return status or 0, printed.getvalue()


def write_model(folder: Path, model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]]) -> tuple[Path, Path]:
    """Write a model and its inputs, and return their paths."""
    path, inputs = folder / "model.onnx", folder / "inputs"
    onnx.save(model, path)
    inputs.mkdir()
    for index, (name, array) in enumerate(feeds.items()):
        data = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name).SerializeToString()
        (inputs / f"input_{index}.pb").write_bytes(data)
    return path, inputs


def audit(
    model: onnx.ModelProto,
    feeds: Mapping[str, NDArray[Any]],
    subject: str,
    options: Sequence[str],
    behavior: Behavior | None = None,
) -> Any:
    """Return the record of one audit. Without feeds the inputs are those that the command draws.

    With a behavior, the record has how far its replaced results are from the correct ones on the same inputs.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, inputs = write_model(folder, model, feeds)
        given = ["--inputs", str(inputs)] if feeds else ["--save-inputs", str(folder / "saved")]
        start = time.monotonic()
        status, text = call(
            ["audit", str(path), "-b", subject, "--no-isolation", "--json", str(folder / "a.json"), *given, *options]
        )
        record = {"status": status, "seconds": round(time.monotonic() - start, 2), "text": text.replace(name, "")}
        file = folder / "a.json"
        if file.exists():
            record.update(summary(json.loads(file.read_text())))
        if behavior is not None:
            used = feeds or read_inputs(model, folder / "saved" / "test_data_set_0")
            with contextlib.suppress(onnxruntime.capi.onnxruntime_pybind11_state.Fail):  # integers divided by zero
                record["ulps"] = execute(model, used, behavior)[1]
        return record


def read_inputs(model: onnx.ModelProto, folder: Path) -> dict[str, NDArray[Any]]:
    """Return the inputs that an audit has saved."""
    files = sorted(folder.glob("input_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())) for path in files]
    return {value.name: array for value, array in zip(model.graph.input, arrays, strict=True)}


def summary(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record keeps of the JSON of an audit."""
    first = audit["audits"][0]
    nodes = first.get("nodes") or []
    keep = (
        "verdict",
        "number",
        "name",
        "operator",
        "type",
        "way",
        "share",
        "should_share",
        "worst",
        "reason",
        "together",
    )
    return {
        "failure": first.get("failure"),
        "is_repeatable": first.get("is_repeatable"),
        "judged": first.get("judged"),
        "wrong": [{k: node.get(k) for k in keep} for node in nodes if node["verdict"] == "wrong"],
        "should": [
            n["operator"]
            for n in [*nodes, *(first.get("probes") or [])]
            if n["verdict"] != "wrong" and float(n.get("should_share") or 0) > 1
        ],
        "not judged": [[n["operator"], n["reason"]] for n in nodes if n["verdict"] == "not judged"],
        "unspecified": [n["operator"] for n in nodes if n["verdict"] == "unspecified"],
        "probes": [
            {k: probe.get(k) for k in keep} for probe in first.get("probes") or [] if probe["verdict"] == "wrong"
        ],
    }


def numbers(text: str) -> range:
    """Return the range A..B, B not included."""
    first, last = text.split("..")
    return range(int(first), int(last))


def jobs(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the name of each job and a function that returns its record."""
    modes = arguments.modes.split(",")
    if arguments.what == "chains":
        for seed in numbers(arguments.seeds):
            for subject in arguments.subjects.split(","):
                cases = cases_folder(arguments.output, seed, subject)
                yield f"chain {seed} {subject}", lambda s=seed, b=subject, c=cases: audit_chain(s, b, c)
    if arguments.what == "nodes":
        for name, fault in FAULTS.items():
            for mode in modes if fault.node else ():
                yield f"node {name} {mode}", lambda n=name, m=mode: audit_node(n, m)
    if arguments.what == "planted":
        for index, planted in enumerate(PLANTED):
            for mode in modes:
                yield f"planted {index} {planted.name} {mode}", lambda i=index, m=mode: audit_planted(i, m)
    if arguments.what == "blame":
        for seed in numbers(arguments.seeds):
            for pair in arguments.pairs.split(","):
                yield f"blame {seed} {pair}", lambda s=seed, p=pair: blame_chain(s, *p.split(":"))

    if arguments.what == "probes":
        for name, fault in FAULTS.items():
            for subject in arguments.subjects.split(",") if fault.node else ():
                yield f"probes {name} {subject}", lambda n=name, s=subject: audit_probes(n, s)
    if arguments.what == "changed":
        for seed in numbers(arguments.seeds):
            for change in CHANGES:
                yield f"changed {seed} {change}", lambda s=seed, c=change: audit_changed(s, c)
    if arguments.what == "blamed":
        for index, planted in enumerate(PLANTED):
            yield f"blamed {index} {planted.name} realistic", lambda i=index: blame_planted(i)


def cases_folder(output: Path, seed: int, subject: str) -> Path:
    """Return the folder of the wrong nodes of a subject on a random chain, with their operands."""
    return output / "wrong" / f"{seed}-{subject}"


def audit_chain(seed: int, subject: str, cases: Path) -> dict[str, Any]:
    """Audit a random chain on a runtime or a variant, and write its wrong nodes as cases."""
    chain = draw_chain(seed)
    model, feeds = chain.build()
    options = (*MODES["realistic"], "--output", str(cases))
    return {"chain": chain.name, **audit(model, feeds, subject_name(subject), options)}


def audit_node(name: str, mode: str) -> dict[str, Any]:
    """Audit a single node with a fault."""
    fault = FAULTS[name]
    assert fault.node is not None
    level = ("--fail-level", fault.level)
    feeds = fault.node.feeds() if mode == "realistic" else {}
    subject = f"checks.truth.subject:Backend[fault={name}]"
    options = (*MODES[mode], *level)
    operator = f"{fault.node.domain}.{fault.operator}".lstrip(".")
    return {"faulty": [operator], **audit(fault.node.model(), feeds, subject, options, find_behavior(name))}


def audit_planted(index: int, mode: str) -> dict[str, Any]:
    """Audit a model with a fault in its middle."""
    planted = PLANTED[index]
    model, feeds = planted.build()
    fault = FAULTS[planted.fault]
    subject = f"checks.truth.subject:Backend[fault={planted.fault},variant={planted.variant}]"
    behavior = find_behavior(planted.fault, planted.variant)
    options = (*MODES[mode], "--fail-level", fault.level)
    record = audit(model, feeds if mode == "realistic" else {}, subject, options, behavior)
    operators = set(fault.pair or [fault.operator])
    around = {n.op_type for n in model.graph.node for a in n.attribute for i in a.g.node if i.op_type in operators}
    return {"faulty": sorted(operators | around), **record}


def audit_probes(name: str, subject: str) -> dict[str, Any]:
    """Audit the node of a fault on a correct subject, with hard data."""
    node = FAULTS[name].node
    assert node is not None
    return {"chain": node.operator, **audit(node.model(), node.feeds(), subject_name(subject), MODES["probes"])}


def audit_changed(seed: int, change: str) -> dict[str, Any]:
    """Audit a random chain of which one node has a changed output."""
    chain = draw_chain(seed)
    model, feeds = chain.build()
    inferred = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type.tensor_type.elem_type for v in [*inferred.value_info, *inferred.output]}
    nodes = [node for node in model.graph.node if types.get(node.output[0]) in FLOATS]
    node = nodes[int(np.random.default_rng([seed, 5]).integers(len(nodes)))]
    behavior = replace(VARIANTS["plain"], changed_node=node.name, change=change)
    subject = f"checks.truth.subject:Backend[node={node.name},change={change}]"
    record = audit(model, feeds, subject, MODES["realistic"], behavior)
    return {"chain": chain.name, "faulty": [node.op_type], "node": node.name, **record}


def blame_chain(seed: int, first: str, second: str) -> dict[str, Any]:
    """Compare two subjects on a random chain with `blame`."""
    chain = draw_chain(seed)
    model, feeds = chain.build()
    return {"chain": chain.name, **blame(model, feeds, subject_name(first), subject_name(second))}


def blame_planted(index: int) -> dict[str, Any]:
    """Compare a correct variant with the same variant with a planted fault."""
    planted = PLANTED[index]
    model, feeds = planted.build()
    fault = FAULTS[planted.fault]
    second = f"checks.truth.subject:Backend[fault={planted.fault},variant={planted.variant}]"
    record = blame(model, feeds, subject_name(planted.variant), second)
    return {"faulty": list(fault.pair or [fault.operator]), **record}


def blame(model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], first: str, second: str) -> dict[str, Any]:
    """Return the record of a comparison of two subjects."""
    with tempfile.TemporaryDirectory() as name:
        path, inputs = write_model(Path(name), model, feeds)
        pair = ("-b", first, "-b", second)
        start = time.monotonic()
        status, text = call(["blame", str(path), *pair, "--inputs", str(inputs), "--seconds", "5", "--no-isolation"])
        seconds = round(time.monotonic() - start, 2)
        return {"status": status, "seconds": seconds, "text": text.replace(name, "")}


def main() -> None:
    """Run the jobs that have no record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["chains", "nodes", "planted", "blame", "blamed", "changed", "probes"])
    parser.add_argument("--output", default="dist/truth", type=Path)
    parser.add_argument("--seeds", default="0..2000")
    parser.add_argument("--subjects", default=",".join((*RUNTIMES, *VARIANTS)))
    parser.add_argument("--pairs", default="onnxruntime[optimization=disabled]:onnxruntime")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--again", action="store_true", help="compute again what has a record")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    path, started = arguments.output / "results.jsonl", arguments.output / f"started-{arguments.what}"
    lines = path.read_text().splitlines() if path.exists() and not arguments.again else []
    done = {json.loads(line)["job"] for line in lines}
    with path.open("a") as file:
        if started.exists() and (name := started.read_text()) not in done:
            done.add(name)
            file.write(json.dumps({"job": name, "status": "crash", "text": ""}) + "\n")
        for job, run in jobs(arguments):
            if job in done:
                continue
            started.write_text(job)
            try:
                record = run()
            except Exception:  # noqa: BLE001 - a model that cannot be built is a record too
                record = {"status": "not built", "text": traceback.format_exc()}
            file.write(json.dumps({"job": job, **record}, default=str) + "\n")
            file.flush()
    started.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
