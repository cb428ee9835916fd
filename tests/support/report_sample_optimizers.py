"""A run with graph optimizers in it: what the pass must do, named checks, hazards, crashes with stderr, and an archive.

Graph optimizers are given the cases of the pass only, so the other cases have no result of theirs.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import zipfile
from typing import Any

from report_sample import _case, _checked, _result, _run

from conformance.results.file import Results

OPTIMIZER = "onnxoptimizer"
EVIL_OPTIMIZER = "evil<b>:optimize"
EVIL_CHECK = "<i>interface</i>"
EVIL_COMPLAINT = "</td><script>alert(5)</script>"
EVIL_STDERR = "terminate called\n</pre><script>alert(6)</script>"
EVIL_HAZARD = "overflow of <u>Exp</u>"
EVIL_REASON = "<script>alert(7)</script> is known"
TIES = "Sqrt rounding tie"

SUBJECTS = ("reference", OPTIMIZER, EVIL_OPTIMIZER)
FIRES = "test_pass_sqrt_fires"
STAYS = "test_pass_relu_stays"
NODE = "test_adam"
REWRITES = {
    FIRES: {"answer": "fires", "once": ["scores"], "fixed_point": ["scores", "taken/then_branch/Y"]},
    STAYS: {"answer": "stays", "once": [], "fixed_point": []},
}

WEAKER = {"message": "", "level": "should"}


def rewriting(**footer: Any) -> Results:
    """Two cases of the pass and one of an operator, on a backend and two graph optimizers."""
    cases = [_of_pass(FIRES), _of_pass(STAYS), _case(NODE, "must", "adam.v_new")]
    results = [
        *(_result("reference", case, "pass") for case in cases),
        _told(cases[0], OPTIMIZER, "pass", checks=_checks(None), hazards=_hazards(TIES, EVIL_HAZARD)),
        _told(cases[1], OPTIMIZER, "!crash", stderr=EVIL_STDERR, expected=_known("crash")),
        _told(cases[0], EVIL_OPTIMIZER, "fail", checks=_checks(EVIL_COMPLAINT), hazards=_hazards(TIES), **WEAKER),
        _told(cases[1], EVIL_OPTIMIZER, "timeout", stderr="still running", phase="optimize"),
    ]
    subjects = [
        {"id": "reference", "kind": "backend", "version": "1.20.1", "language": "Rust"},
        {"id": OPTIMIZER, "kind": "optimizer", "version": "0.4.2", "passes": ["eliminate_nop_monotone_argmax"]},
        {"id": EVIL_OPTIMIZER, "kind": "optimizer", "version": "0", "passes": []},
    ]
    run = _run(SUBJECTS, cases, results, len(cases))
    header: Any = _checked({**run.header, "subjects": subjects})
    ended: Any = _checked({**run.footer, **footer})
    return dataclasses.replace(run, header=header, footer=ended, archives={STAYS: packed()})


def packed() -> str:
    """The archive of a case, as a results file has it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as bundle:
        bundle.writestr(zipfile.ZipInfo(f"{STAYS}/manifest.json"), "{}")
    text = base64.b64encode(target.getvalue()).decode()
    _checked({"record": "archive", "case": STAYS, "zip": text})
    return text


def _of_pass(name: str) -> Any:
    case = _case(name, "must", "argmax.ties")
    nodes = case["model"]["nodes"]
    nodes[0]["attributes"] = {"axis": -1, "then_branch": "graph {\n  <b>node</b>\n}" * 20}
    first = case["data_sets"][0]
    sets = [first, {**first, "hazard": TIES}]
    return _checked({**case, "kind": "pass", "rewrite": REWRITES[name], "data_sets": sets})


def _told(case: Any, subject: str, verdict: str, **more: Any) -> Any:
    return _checked({**_result(subject, case, verdict), **more})


def _known(verdict: str) -> dict[str, str]:
    place = f"expectations/{OPTIMIZER}.toml, entry 1"
    return {"verdict": verdict, "reason": EVIL_REASON, "issue": "https://example.org/issues/1", "place": place}


def _checks(complaint: str | None) -> list[dict[str, str]]:
    held = [{"name": "checker", "run": run, "level": "must"} for run in ("once", "fixed_point")]
    broken = {"complaint": complaint} if complaint else {}
    return [*held, {"name": EVIL_CHECK, "run": "once", "level": "should", **broken}]


def _hazards(*classes: str) -> list[dict[str, Any]]:
    return [{"class": one, "data_set": 1, "run": "once", "before": ["0", "1"], "after": ["1", "1"]} for one in classes]
