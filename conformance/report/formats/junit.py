"""JUnit XML: a suite for each subject, a test for each case, and one failed test for a run that fails.

An unexpected result is a failure, or an error if the subject returned no output. A known, unsupported or silent result
is skipped, with the reason. The file contains a failure or an error if and only if a run fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from conformance.report.ci_status import CiResult, Status, ci_results_by_subject
from conformance.serialization.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.results.file import Results

_COUNT_NAMES = ("tests", "failures", "errors", "skipped")


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document suite by suite; the same runs give the same bytes."""
    suites = [suite for run in runs for suite in _suites(run)]
    total = Counter[str]()
    for suite in suites:
        total.update(suite.counts)
    root = ET.Element("testsuites", {"name": "onnx-conformance", **_count_attributes(total)})
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + _start_tag(root, bool(suites))
    for suite in suites:
        yield from suite.text()
    yield "</testsuites>\n" if suites else ""


def _profile_property(run: Results) -> dict[str, str]:
    """Return the profile of a run as a JUnit property, by name; empty if the run has no profile."""
    profile = run.header.criterion.profile
    return {} if profile is None else {"profile": profile.name}


@dataclass(frozen=True)
class _Suite:
    """A JUnit test suite; its tests are created one by one while the suite is written.

    Attributes:
        attributes: the attributes of the `testsuite` element, without the counts.
        properties: version, corpus and environment of the run, by name.
        counts: the numbers of tests, failures, errors and skipped tests.
        tests: the `testcase` elements.
    """

    attributes: Mapping[str, str]
    properties: Mapping[str, str]
    counts: Mapping[str, int]
    tests: Iterable[ET.Element]

    def text(self) -> Iterator[str]:
        yield " " + _start_tag(
            ET.Element("testsuite", {**self.attributes, **_count_attributes(self.counts)}), has_children=True
        )
        if self.properties:
            properties = ET.Element("properties")
            for name, value in sorted(self.properties.items()):
                ET.SubElement(
                    properties, "property", {"name": escape_unprintable(name), "value": escape_unprintable(value)}
                )
            yield _indent(properties)
        for test in self.tests:
            yield _indent(test)
        yield " </testsuite>\n"


def _suites(run: Results) -> Iterator[_Suite]:
    if reasons := run.footer.reasons:
        counts = {**dict.fromkeys(_COUNT_NAMES, 0), "tests": 1, "failures": 1}
        yield _Suite({"name": "run", "time": "0.000000"}, {}, counts, [_failed_run_test(reasons)])
    about = {"corpus": run.header.corpus.label, **_profile_property(run), **run.header.environment}
    versions = {subject.id: subject.version for subject in run.header.subjects}
    identities = {one.id: {"identity": one.identity.digest} for one in run.header.subjects if one.identity}
    for subject, own in ci_results_by_subject(run).items():
        seconds = sum(one.result.seconds for one in own)
        attributes = {"name": escape_unprintable(subject), "time": f"{seconds:.6f}"}
        counts = Counter(_count_name(one) for one in own)
        yield _Suite(
            attributes,
            {"version": versions[subject], **identities.get(subject, {}), **about},
            {name: len(own) if name == "tests" else counts[name] for name in _COUNT_NAMES},
            map(_test, own),
        )


def _count_name(one: CiResult) -> str:
    """Return the name of the attribute that counts results of this status: "failures", "errors" or "skipped".

    The result is "" for a passed result.
    """
    match one.status:
        case Status.PASSED:
            return ""
        case Status.SKIPPED:
            return "skipped"
        case Status.FAILED:
            return f"{_failure_element(one)}s"


def _failure_element(one: CiResult) -> str:
    return "error" if one.result.verdict.lacks_answer else "failure"


def _test(one: CiResult) -> ET.Element:
    result, status = one.result, one.status
    names = {
        "classname": f"{escape_unprintable(result.subject)}.{one.case.level}",
        "name": escape_unprintable(result.case),
    }
    test = ET.Element("testcase", {**names, "time": f"{result.seconds:.6f}"})
    if status is Status.SKIPPED:
        ET.SubElement(test, "skipped", {"message": escape_unprintable(one.reason)})
    elif status is Status.FAILED:
        element = ET.SubElement(test, _failure_element(one))
        element.set("type", result.verdict)
        element.set("message", escape_unprintable(one.reason.partition("\n")[0]))
        element.text = escape_unprintable("\n".join([*one.details, one.case.title, one.reason]))
    if stderr := one.stderr:
        ET.SubElement(test, "system-err").text = escape_unprintable(stderr)
    return test


def _failed_run_test(reasons: Sequence[str]) -> ET.Element:
    test = ET.Element("testcase", {"classname": "run", "name": "run passes", "time": "0.000000"})
    element = ET.SubElement(test, "failure", {"type": "run", "message": escape_unprintable(reasons[0])})
    element.text = escape_unprintable("\n".join(reasons))
    return test


def _count_attributes(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: str(counts[name]) for name in _COUNT_NAMES}


def _start_tag(element: ET.Element, has_children: bool) -> str:
    """Return the start tag of an element, or the whole element if it is empty."""
    text = ET.tostring(element, encoding="unicode")
    return (text.removesuffix(" />") + ">" if has_children else text) + "\n"


def _indent(element: ET.Element) -> str:
    """Return an element of a suite as indented text."""
    ET.indent(element, " ", level=2)
    return f"  {ET.tostring(element, encoding='unicode')}\n"
