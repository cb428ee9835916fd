"""JUnit XML: a suite for each subject, a test for each case, and one failed test for a run that fails.

An unexpected result is a failure, or an error if the subject returned no output. A known, unsupported or silent result
is skipped, with the reason. The file contains a failure or an error if and only if a run fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from conformance.base.serialization.printable_text import escape_unprintable
from conformance.run.report.ci_status import CiResult, Status, ci_results_by_subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.run.results.results_file import Results

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
    counts: Counter[str]
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
        counts = Counter(tests=1, failures=1)
        yield _Suite({"name": "run", "time": "0.000000"}, {}, counts, [_failed_run_test(reasons)])
    profile = run.header.criterion.profile
    found = ci_results_by_subject(run)
    about = {"corpus": run.header.corpus.label, **({"profile": profile.name} if profile else {})}
    for subject in run.header.subjects:
        own = found[subject.id]
        seconds = sum(one.result.seconds for one in own)
        identity = {"identity": subject.identity.digest} if subject.identity else {}
        yield _Suite(
            {"name": escape_unprintable(subject.id), "time": f"{seconds:.6f}"},
            {"version": subject.version, **identity, **about, **run.header.environment},
            Counter({"tests": len(own), **Counter(map(_count_name, own))}),
            map(_test, own),
        )


def _count_name(one: CiResult) -> str:
    """Return the name by which results of this status are counted: failures, errors, skipped or passed."""
    return f"{_failure_element(one)}s" if one.status is Status.FAILED else one.status


def _failure_element(one: CiResult) -> str:
    return "error" if one.result.verdict.lacks_answer else "failure"


def _test(one: CiResult) -> ET.Element:
    result = one.result
    status = one.status
    test = _testcase(f"{result.subject}.{one.case.level}", result.case, result.seconds)
    if status is Status.SKIPPED:
        ET.SubElement(test, "skipped", {"message": escape_unprintable(one.reason)})
    elif status is Status.FAILED:
        _add_failure(
            test,
            _failure_element(one),
            result.verdict,
            one.reason.partition("\n")[0],
            [*one.details, one.case.title, one.reason],
        )
    if stderr := one.stderr:
        ET.SubElement(test, "system-err").text = escape_unprintable(stderr)
    return test


def _testcase(suite: str, name: str, seconds: float) -> ET.Element:
    names = {"classname": escape_unprintable(suite), "name": escape_unprintable(name)}
    return ET.Element("testcase", {**names, "time": f"{seconds:.6f}"})


def _add_failure(test: ET.Element, tag: str, type: str, message: str, lines: Sequence[str]) -> None:
    element = ET.SubElement(test, tag, {"type": type, "message": escape_unprintable(message)})
    element.text = escape_unprintable("\n".join(lines))


def _failed_run_test(reasons: Sequence[str]) -> ET.Element:
    test = _testcase("run", "run passes", 0)
    _add_failure(test, "failure", "run", reasons[0], reasons)
    return test


def _count_attributes(counts: Counter[str]) -> dict[str, str]:
    return {name: str(counts[name]) for name in _COUNT_NAMES}


def _start_tag(element: ET.Element, has_children: bool) -> str:
    """Return the start tag of an element, or the whole element if it is empty."""
    text = ET.tostring(element, encoding="unicode")
    return (text.removesuffix(" />") + ">" if has_children else text) + "\n"


def _indent(element: ET.Element) -> str:
    """Return an element of a suite as indented text."""
    ET.indent(element, " ", level=2)
    return f"  {ET.tostring(element, encoding='unicode')}\n"
