"""JUnit XML: a suite for each subject, a test for each case, and one more for the gate where it has reasons.

A surprise is a failure, or an error where the subject gave no answer. What is known, unsupported, silent or not judged
is skipped, with the reason. The file fails exactly where the gate is shut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from conformance.report.ci_status import CiResult, Status, standings
from conformance.report.text import visible
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.results.file import Results


def render(runs: Sequence[Results]) -> str:
    """The document; the same runs give the same bytes."""
    root = ET.Element("testsuites", {"name": "onnx-conformance"})
    for run in runs:
        if run.footer["reasons"]:
            _add_gate(root, run.footer["reasons"])
        own = standings(run)
        for subject in run.header["subjects"]:
            about = {"version": subject["version"], "corpus": run.header["corpus"]["version"], **_profile(run)}
            _add_suite(root, subject["id"], own[subject["id"]], {**about, **run.header["environment"]})
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _profile(run: Results) -> dict[str, str]:
    """The profile that a run went by, by name, if any."""
    rules = run.header.get("rules")
    return {"profile": rules["profile"]["name"]} if rules and "profile" in rules else {}


def _add_suite(root: ET.Element, name: str, own: Sequence[CiResult], about: Mapping[str, str]) -> None:
    seconds = sum(one.result["seconds"] for one in own)
    suite = ET.SubElement(root, "testsuite", {"name": visible(name), "time": f"{seconds:.6f}"})
    properties = ET.SubElement(suite, "properties")
    for key, value in sorted(about.items()):
        ET.SubElement(properties, "property", {"name": visible(key), "value": visible(value)})
    for one in own:
        _add_test(suite, visible(name), one)
    _count(suite)


def _add_test(suite: ET.Element, subject: str, one: CiResult) -> None:
    result = one.result
    told = {"classname": f"{subject}.{one.case['level']}", "name": visible(result["case"])}
    test = ET.SubElement(suite, "testcase", {**told, "time": f"{result['seconds']:.6f}"})
    if one.status is Status.SKIPPED:
        ET.SubElement(test, "skipped", {"message": visible(one.why)})
    elif one.status is Status.FAILED:
        element = ET.SubElement(test, "error" if Verdict(result["verdict"]).lacks_answer else "failure")
        element.set("type", result["verdict"])
        element.set("message", visible(one.why.partition("\n")[0]))
        element.text = visible(f"{one.case['title']}\n{one.why}")
    if result.get("stderr"):
        ET.SubElement(test, "system-err").text = visible(result["stderr"])


def _add_gate(root: ET.Element, reasons: Sequence[str]) -> None:
    suite = ET.SubElement(root, "testsuite", {"name": "gate", "time": "0.000000"})
    test = ET.SubElement(suite, "testcase", {"classname": "gate", "name": "the gate holds", "time": "0.000000"})
    element = ET.SubElement(test, "failure", {"type": "gate", "message": visible(reasons[0])})
    element.text = visible("\n".join(reasons))
    _count(suite)


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, path in (("failures", "testcase/failure"), ("errors", "testcase/error"), ("skipped", "testcase/skipped")):
        suite.set(name, str(len(suite.findall(path))))
