"""Sample results for reports: a small run with every verdict and hostile names, and a large run of ordinary cases.

Every record is validated with the schema.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections import Counter
from typing import Any

from msgspec import convert
from runs_in_memory import make_run

from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.records import Result

EVIL_SUBJECT = "evil</script><script>alert(1)</script>:Backend"
EVIL_CASE = "test_adam_</script><script>alert(2)</script>"
EVIL_TITLE = "<img src=x onerror=alert(3)> & <b>bold</b>"
EVIL_MESSAGE = "</pre><script>alert(4)</script> \u2028 <!-- message"
EVIL_OUTPUT = "<i>X_new</i>"
SUBJECTS = ("reference", "onnxruntime", EVIL_SUBJECT)

DIAGNOSIS = {
    "subject": EVIL_SUBJECT,
    "operator": "Adam",
    "mutant": "adam.epsilon_in_root",
    "text": "adds epsilon <b>inside</b> the root",
    "explained": 1,
    "failing": 2,
    "indistinguishable": [],
    "jointly_explained": [],
    "cases": ["test_adam_epsilon_float"],
}
LEFT = {
    "subject": EVIL_SUBJECT,
    "operator": "Momentum",
    "failure_mode": "crash",
    "cases": ["test_momentum_nesterov"],
    "failing": 1,
    "passing": 0,
    "shared": [],
}
"""Records of a diagnosis and of failures that it does not explain."""

CLAUSES = {
    "adam.v_new": {"text": "V_new = alpha * V + (1 - alpha) * G_regularized.", "source": "Adam-1, pseudo code"},
    "adam.epsilon": {
        "text": "The step divides by sqrt(H_new) + epsilon, not by sqrt(H_new + epsilon).",
        "source": "ai.onnx.preview.training Adam-1, pseudo code",
    },
    "momentum.nesterov": {"text": "In mode nesterov X_new = X - R * (G + alpha * V_new).", "source": "Momentum-1"},
    "adagrad.decay": {"text": "r = R / (1 + T * decay_factor).", "source": "Adagrad-1, pseudo code"},
    "argmax.nan": {"text": "The position of NaN among the elements is left open.", "source": "ArgMax-13"},
    "argmax.ties": {"text": "Of equal maxima the first is chosen.", "source": "https://onnx.ai/onnx/operators/"},
}

# In the order in which a report has them: case, level, clause, and the verdict of each subject. A "!" stands before
# a verdict that was expected with a reason, a "?" before one where a failure was.
SMALL_CASES = (
    ("test_adagrad_t_negative", "should", "adagrad.decay", ("pass", "timeout", "unsupported")),
    ("test_adam", "must", "adam.v_new", ("pass", "pass", "pass")),
    (EVIL_CASE, "must", "adam.epsilon", ("pass", "pass", "error")),
    ("test_adam_epsilon_float", "must", "adam.epsilon", ("pass", "!fail", "fail")),
    ("test_argmax_nan", "silent", "argmax.nan", ("pass", "fail", "skipped")),
    ("test_argmax_ties", "must", "argmax.ties", ("pass", "?pass", "pass")),
    ("test_momentum_nesterov", "must", "momentum.nesterov", ("pass", "error", "crash")),
)


def small_run(selected: int | None = None, **header: Any) -> Any:
    """Return a run of seven cases on three subjects with all verdicts and levels; `selected` makes it partial."""
    cases = [make_case(name, level, clause) for name, level, clause, _ in SMALL_CASES]
    results = [
        make_result(subject, case, told)
        for case, (_, _, _, verdicts) in zip(cases, SMALL_CASES, strict=True)
        for subject, told in zip(SUBJECTS, verdicts, strict=True)
    ]
    return assemble_run(SUBJECTS, cases, results, selected or len(cases), **header)


def large_run(subjects: int, cases: int) -> Any:
    """Return a run of ordinary cases with long names, with one failure in about eight results."""
    names = ("reference", "onnx-reference", "onnxruntime", *(f"vendor{n}.backend:Backend" for n in range(3, subjects)))
    described = [make_case(*_ordinary(number)) for number in range(cases)]
    results = [
        make_result(subject, case, _drawn(subject, case["case"])) for case in described for subject in names[:subjects]
    ]
    return assemble_run(names[:subjects], described, results, cases)


_FEATURES = ("bias_correction", "norm_coefficient_post", "epsilon", "regularized_gradient", "all_defaults")
_STEPS = ("t0", "t1", "t2", "t10", "t1000", "t16777217", "t4294967297", "t_negative")
_TYPES = ("r_double_x_float", "r_float_x_double", "float", "double")
_GRID = tuple(itertools.product(("adam", "momentum", "adagrad", "argmax"), _FEATURES, _STEPS, _TYPES))
_CLAUSE_OF = {
    "adam": "adam.epsilon",
    "momentum": "momentum.nesterov",
    "adagrad": "adagrad.decay",
    "argmax": "argmax.ties",
}


def _ordinary(number: int) -> tuple[str, str, str]:
    operator, feature, step, types = _GRID[(number * 7) % len(_GRID)]
    name = f"test_{operator}_{feature}_{step}_{types}" + (f"_{number // len(_GRID)}" if number >= len(_GRID) else "")
    return name, ("must", "must", "must", "should", "silent")[number % 5], _CLAUSE_OF[operator]


def _drawn(subject: str, case: str) -> str:
    draw = zlib.crc32(f"{subject}/{case}".encode()) % 64
    if subject == "reference" or draw > 7:
        return "pass"
    return ("fail", "!fail", "!error", "unsupported", "unsupported", "unsupported", "!crash", "fail")[draw]


def validated(record: dict[str, Any]) -> Any:
    problem = schema_violation("results", record)
    assert problem is None, problem
    return record


def make_case(name: str, level: str, clause: str) -> Any:
    evil = name == EVIL_CASE
    names = [EVIL_OUTPUT if evil else "X_new", "V_new"]
    index = clause.startswith("argmax")
    inputs = [
        ("R", "float", []),
        ("T", "int64", []),
        ("X", "float", [2, 2]),
        ("G", "float", [2, 2]),
        ("V", "float", [2, 2]),
    ]
    return validated(
        {
            "record": "case",
            "case": name,
            "kind": "node",
            "title": EVIL_TITLE
            if evil
            else f"{clause.split('.', maxsplit=1)[0].title()} obeys its formula in {name[5:].replace('_', ' ')}",
            "level": level,
            "clauses": [clause],
            "tags": ["argmax" if index else "optimizer", "double" if "double" in name else "float"],
            "model": {
                "ir_version": 8,
                "opset_imports": {"": 17, "ai.onnx.preview.training": 1},
                "inputs": [{"name": n, "type": t, "shape": s} for n, t, s in inputs],
                "outputs": [{"name": n, "type": "float", "shape": [2, "N"]} for n in names],
                "nodes": _nodes(clause, names),
            },
            "data_sets": [
                {
                    "inputs": [_preview(n, t, s, 0.1 + at) for at, (n, t, s) in enumerate(inputs)],
                    "outputs": [_expected(n, index) for n in names],
                }
            ],
        }
    )


def _nodes(clause: str, outputs: list[str]) -> list[dict[str, Any]]:
    operator = clause.split(".", maxsplit=1)[0].title()
    attributes = {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "mode": "nesterov"}
    node = {"domain": "ai.onnx.preview.training", "attributes": attributes}
    if operator != "Argmax":
        return [{"op_type": operator, "inputs": ["R", "T", "X", "G", "V"], "outputs": outputs, **node}]
    return [
        {"op_type": "Softmax", "domain": "", "inputs": ["X"], "outputs": ["scores"], "attributes": {"axis": -1}},
        {"op_type": "Add", "domain": "", "inputs": ["scores", "G"], "outputs": ["shifted"], "attributes": {}},
        {
            "op_type": "ArgMax",
            "domain": "",
            "inputs": ["shifted"],
            "outputs": outputs[:1],
            "attributes": {"keepdims": 0},
        },
        {
            "op_type": "ArgMax",
            "domain": "",
            "inputs": ["scores"],
            "outputs": outputs[1:],
            "attributes": {"keepdims": 0},
        },
    ]


def _preview(name: str, kind: str, shape: list[int], start: float) -> dict[str, Any]:
    values = [start + 0.25 * n for n in range(4 if shape else 1)]
    if kind == "int64":
        return {"name": name, "type": kind, "shape": shape, "values": ["7" for _ in values], "elided": 0}
    told = {"values": [f"{value:.9g}" for value in values], "hex": [_bits(value) for value in values]}
    return {"name": name, "type": kind, "shape": shape, **told, "elided": 0}


def _bits(value: float) -> str:
    return f"0x{struct.pack('>f', value).hex()}"


def _expected(name: str, index: bool) -> dict[str, Any]:
    if index:
        return {"name": name, "type": "int64", "shape": [2], "values": ["0", "1"], "elided": 0, "check": "index"}
    preview = _preview(name, "float", [2, 2], 1.5)
    return {**preview, "elided": 3, "check": "bound", "bounds": ["1.2e-07"] * 4}


def make_result(subject: str, case: Any, told: str) -> Result:
    verdict = Verdict(told.lstrip("!?"))
    expected = None
    if told[0] in "!?":
        wanted = verdict if told[0] == "!" else Verdict.FAIL
        expected = {"verdict": wanted, "reason": "epsilon is added inside the square root; see the vendor's issue 12"}
    record = validated(
        {
            "record": "result",
            "subject": subject,
            "case": case["case"],
            "level": case["level"],
            "verdict": verdict,
            "phase": None
            if verdict in {Verdict.PASS, Verdict.SKIPPED}
            else "compare"
            if verdict is Verdict.FAIL
            else "run",
            "message": _message(case["case"], verdict),
            "seconds": 0.00125,
            "outputs": _evidence(case, verdict) if verdict in {Verdict.PASS, Verdict.FAIL} else [],
            "expected": expected,
            "unexpected": _is_surprise(case["level"], verdict, expected),
        }
    )
    return convert(record, Result)


def _is_surprise(level: str, verdict: Verdict, expected: Any) -> bool:
    if expected is not None:
        return bool(expected["verdict"] != verdict)
    return verdict.is_defect and level != Level.SILENT


def _message(case: str, verdict: Verdict) -> str:
    if case == EVIL_CASE:
        return EVIL_MESSAGE
    return {
        Verdict.PASS: "",
        Verdict.FAIL: "X_new has 2 wrong of 7 elements, first at [0, 1]: 1.7500012 instead of 1.75 (off by 10 ULP)",
    }.get(verdict, f"RuntimeError: {verdict} while running the model\n  in node 0")


def _evidence(case: Any, verdict: Verdict) -> list[dict[str, Any]]:
    first, second = case["data_sets"][0]["outputs"]
    outputs = [_accepted(first), _accepted(second)]
    if verdict is Verdict.FAIL and first["check"] == "bound":
        wrong = {**_preview(first["name"], "float", [2, 2], 1.5), "elided": 3}
        wrong["values"] = [wrong["values"][0], "1.7500012", *wrong["values"][2:]]
        wrong["hex"] = [wrong["hex"][0], "0x3fe0000a", *wrong["hex"][2:]]
        outputs[0] |= {"max_ulp": 10, "error_over_bound": 9.9341, "worst_index": [0, 1], "wrong": 2, "actual": wrong}
        outputs[0]["violation"] = {"kind": "elements", "count": 2, "of": 7}
        outputs[0]["first_bad"] = {
            "index": [0, 1],
            "expected": "1.75",
            "actual": "1.7500012",
            "expected_hex": "0x3fe00000",
            "actual_hex": "0x3fe0000a",
            "bound": "1.2e-07",
            "error_over_bound": 9.9341,
            "ulp": 10,
        }
    elif verdict is Verdict.FAIL:
        bad = {"index": [0], "expected": "0", "actual": "1"}
        outputs[0] |= {"wrong": 1, "first_bad": bad, "violation": {"kind": "elements", "count": 1, "of": 2}}
    return outputs


def _accepted(wanted: dict[str, Any]) -> dict[str, Any]:
    told = {key: wanted[key] for key in ("name", "type", "shape", "values", "hex", "elided") if key in wanted}
    evidence = {"data_set": 0, "name": wanted["name"], "check": wanted["check"], "actual": told, "wrong": 0}
    return evidence | ({"max_ulp": 0.5, "error_over_bound": 0.4217, "worst_index": [1, 0]} if "hex" in wanted else {})


def assemble_run(subjects: tuple[str, ...], cases: list[Any], results: list[Any], selected: int, **header: Any) -> Any:
    counts: dict[str, Any] = {subject: {level: Counter() for level in Level} for subject in subjects}
    for result in results:
        counts[result.subject][result.level][result.verdict] += 1
    top = {
        "record": "header",
        "format": 2,
        "suite": "0.1.0",
        "corpus": {"version": "1.0.0", "digest": "sha256:" + "5e" * 32, "cases": len(cases), "selected": selected},
        "subjects": [{"id": subject, "kind": "backend", "version": "1.20.1"} for subject in subjects],
        "environment": {"python": "3.11.2", "numpy": "2.1.0", "platform": "Linux x86_64"},
        "command": "onnx-conformance run -b reference -b onnxruntime",
        "clauses": CLAUSES,
        "criterion": {"level": "must", "require": [], "expected_results": len(results), "expectations": []},
        "options": {},
        "started": 0,
    }
    footer = {
        "record": "footer",
        "results": len(results),
        "verdicts": counts,
        "outcome": "fail",
        "reasons": ["onnxruntime passes test_argmax_ties, which its expectations name as a failure."],
        "seconds": 12.34,
        "diagnoses": [],
        "unexplained": [],
    }
    return make_run("results.jsonl", validated(top | header), cases, results, validated(footer))
