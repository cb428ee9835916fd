"""JUnit XML: a suite for each subject, a test for each case, and one more for the gate where it has reasons.

A surprise is a failure, or an error where the subject gave no answer. What is known, unsupported, silent or not judged
is skipped, with the reason. The file fails exactly where the gate is shut.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from conformance.boundary.text import visible
from conformance.report.ci_status import CiResult, Status, standings
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.results.file import Results

_COUNTED = ("tests", "failures", "errors", "skipped")


def render(runs: Sequence[Results]) -> Iterator[str]:
    """The document, suite by suite; the same runs give the same bytes."""
    suites = [suite for run in runs for suite in _suites(run)]
    total = Counter[str]()
    for suite in suites:
        total.update(suite.counts)
    root = ET.Element("testsuites", {"name": "onnx-conformance", **_texts(total)})
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + _opened(root, bool(suites))
    for suite in suites:
        yield from suite.text()
    yield "</testsuites>\n" if suites else ""


def _profile(run: Results) -> dict[str, str]:
    """The profile that a run went by, by name, if any."""
    rules = run.header.get("rules")
    return {"profile": rules["profile"]["name"]} if rules and "profile" in rules else {}


@dataclass(frozen=True)
class _Suite:
    """A suite, whose tests are made only as they are written.

    Attributes:
        attributes: of its element, but for the counts.
        properties: what it was run with, by name.
        counts: how many tests there are in all, and of which outcome.
    """

    attributes: Mapping[str, str]
    properties: Mapping[str, str]
    counts: Mapping[str, int]
    tests: Iterable[ET.Element]

    def text(self) -> Iterator[str]:
        yield " " + _opened(ET.Element("testsuite", {**self.attributes, **_texts(self.counts)}), any_within=True)
        if self.properties:
            properties = ET.Element("properties")
            for name, value in sorted(self.properties.items()):
                ET.SubElement(properties, "property", {"name": visible(name), "value": visible(value)})
            yield _within(properties)
        for test in self.tests:
            yield _within(test)
        yield " </testsuite>\n"


def _suites(run: Results) -> Iterator[_Suite]:
    if reasons := run.footer["reasons"]:
        counts = {**dict.fromkeys(_COUNTED, 0), "tests": 1, "failures": 1}
        yield _Suite({"name": "gate", "time": "0.000000"}, {}, counts, [_gate(reasons)])
    about = {"corpus": run.header["corpus"]["version"], **_profile(run), **run.header["environment"]}
    versions = {subject["id"]: subject["version"] for subject in run.header["subjects"]}
    for subject, own in standings(run).items():
        seconds = sum(one.result["seconds"] for one in own)
        attributes = {"name": visible(subject), "time": f"{seconds:.6f}"}
        counts = Counter(_counted(one) for one in own)
        yield _Suite(
            attributes,
            {"version": versions[subject], **about},
            {name: len(own) if name == "tests" else counts[name] for name in _COUNTED},
            map(_test, own),
        )


def _counted(one: CiResult) -> str:
    """Under which attribute a result counts."""
    match one.status:
        case Status.PASSED:
            return ""
        case Status.SKIPPED:
            return "skipped"
        case Status.FAILED:
            return f"{_defect(one)}s"


def _defect(one: CiResult) -> str:
    return "error" if Verdict(one.result["verdict"]).lacks_answer else "failure"


def _test(one: CiResult) -> ET.Element:
    result, status = one.result, one.status
    told = {"classname": f"{visible(result['subject'])}.{one.case['level']}", "name": visible(result["case"])}
    test = ET.Element("testcase", {**told, "time": f"{result['seconds']:.6f}"})
    if status is Status.SKIPPED:
        ET.SubElement(test, "skipped", {"message": visible(one.why)})
    elif status is Status.FAILED:
        element = ET.SubElement(test, _defect(one))
        element.set("type", result["verdict"])
        element.set("message", visible(one.why.partition("\n")[0]))
        element.text = visible("\n".join([*one.details, one.case["title"], one.why]))
    if stderr := one.stderr:
        ET.SubElement(test, "system-err").text = visible(stderr)
    return test


def _gate(reasons: Sequence[str]) -> ET.Element:
    test = ET.Element("testcase", {"classname": "gate", "name": "the gate holds", "time": "0.000000"})
    element = ET.SubElement(test, "failure", {"type": "gate", "message": visible(reasons[0])})
    element.text = visible("\n".join(reasons))
    return test


def _texts(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: str(counts[name]) for name in _COUNTED}


def _opened(element: ET.Element, any_within: bool) -> str:
    """The beginning of an element that something is within, or the whole of one that has nothing."""
    text = ET.tostring(element, encoding="unicode")
    return (text.removesuffix(" />") + ">" if any_within else text) + "\n"


def _within(element: ET.Element) -> str:
    """An element that stands in a suite, indented."""
    ET.indent(element, " ", level=2)
    return f"  {ET.tostring(element, encoding='unicode')}\n"
