"""A sample run with graph optimizers: rewrites, checks, hazards, crashes with stderr, and an archive.

Graph optimizers only run the cases of the pass, so they have no results for other cases.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import zipfile
from typing import Any

from report_sample import assemble_run, make_case, make_result, validated
from runs_in_memory import with_fields

from conformance.run.results.results_file import Results

OPTIMIZER = "onnxoptimizer"
EVIL_OPTIMIZER = "evil<b>:optimize"
EVIL_CHECK = "<i>interface</i>"
EVIL_VIOLATION = "</td><script>alert(5)</script>"
EVIL_STDERR = "terminate called\n</pre><script>alert(6)</script>"
EVIL_HAZARD = "overflow of <u>Exp</u>"
EVIL_REASON = "<script>alert(7)</script> is known"
TIES = "Sqrt rounding tie"

SUBJECTS = ("reference", OPTIMIZER, EVIL_OPTIMIZER)
APPLIES_CASE = "test_pass_sqrt_fires"
DOES_NOT_APPLY_CASE = "test_pass_relu_stays"
NODE = "test_adam"
REWRITES = {
    APPLIES_CASE: {"effect": "applies", "once": ["scores"], "fixed_point": ["scores", "taken/then_branch/Y"]},
    DOES_NOT_APPLY_CASE: {"effect": "does_not_apply", "once": [], "fixed_point": []},
}

WEAKER = {"message": "", "level": "should"}


def optimizer_run(**footer: Any) -> Results:
    """Return a run of two cases of the pass and one of an operator, on a backend and two graph optimizers."""
    cases = [_of_pass(APPLIES_CASE), _of_pass(DOES_NOT_APPLY_CASE), make_case(NODE, "must", "adam.v_new")]
    results = [
        *(make_result("reference", case, "pass") for case in cases),
        _told(cases[0], OPTIMIZER, "pass", checks=_checks(None), hazards=_hazards(TIES, EVIL_HAZARD)),
        _told(cases[1], OPTIMIZER, "!crash", stderr=EVIL_STDERR, expected=_known("crash")),
        _told(cases[0], EVIL_OPTIMIZER, "fail", checks=_checks(EVIL_VIOLATION), hazards=_hazards(TIES), **WEAKER),
        _told(cases[1], EVIL_OPTIMIZER, "timeout", stderr="still running", phase="optimize"),
    ]
    subjects = [
        {"id": "reference", "kind": "backend", "version": "1.20.1", "language": "Rust"},
        {"id": OPTIMIZER, "kind": "optimizer", "version": "0.4.2", "passes": ["eliminate_nop_monotone_argmax"]},
        {"id": EVIL_OPTIMIZER, "kind": "optimizer", "version": "0", "passes": []},
    ]
    run = assemble_run(SUBJECTS, cases, results, len(cases))
    header = with_fields(run.header, subjects=subjects)
    ended = with_fields(run.footer, **footer)
    return dataclasses.replace(run, header=header, footer=ended, archives={DOES_NOT_APPLY_CASE: case_archive()})


def case_archive() -> str:
    """Return the archive of a case as a results file contains it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as bundle:
        bundle.writestr(zipfile.ZipInfo(f"{DOES_NOT_APPLY_CASE}/manifest.json"), "{}")
    text = base64.b64encode(target.getvalue()).decode()
    validated({"record": "archive", "case": DOES_NOT_APPLY_CASE, "zip": text})
    return text


def _of_pass(name: str) -> Any:
    case = make_case(name, "must", "argmax.ties")
    nodes = case["model"]["nodes"]
    nodes[0]["attributes"] = {"axis": -1, "then_branch": "graph {\n  <b>node</b>\n}" * 20}
    first = case["data_sets"][0]
    sets = [first, {**first, "hazard": TIES}]
    return validated({**case, "kind": "pass", "rewrite": REWRITES[name], "data_sets": sets})


def _told(case: Any, subject: str, verdict: str, **more: Any) -> Any:
    return with_fields(make_result(subject, case, verdict), **more)


def _known(verdict: str) -> dict[str, str]:
    place = f"expectations/{OPTIMIZER}.toml, entry 1"
    return {"verdict": verdict, "reason": EVIL_REASON, "issue": "https://example.org/issues/1", "location": place}


def _checks(violation: str | None) -> list[dict[str, Any]]:
    held = [{"name": "checker", "run": run, "level": "must"} for run in ("once", "fixed_point")]
    broken = {"violation": {"kind": "invalid_model", "detail": violation}} if violation else {}
    return [*held, {"name": EVIL_CHECK, "run": "once", "level": "should", **broken}]


def _hazards(*classes: str) -> list[dict[str, Any]]:
    return [{"class": one, "data_set": 1, "run": "once", "before": ["0", "1"], "after": ["1", "1"]} for one in classes]
