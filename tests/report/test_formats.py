"""The report formats: what they make of golden results, and that their own readers and schemas take it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import jsonschema_rs
import pytest
from golden_files import FORMATS, GOLDEN, after, before, rendered
from junitparser import JUnitXml
from lxml import etree
from runs_in_memory import results_of, whole, with_records, with_results

from conformance.boundary.text import visible
from conformance.report.formats import annotations, badge, ctrf, junit, markdown
from conformance.report.summary import summary
from conformance.report.text import escaped
from conformance.results.failure_kinds import normalized
from conformance.schemas import complaint

SCHEMAS = Path(__file__).parent / "formats"
STRANGE = "\x00\x08\x1b[31m\x7f\x85\ufffe\ud800\u202e]]><b>&\"'"


def strange():
    """The golden results with every message and reason strange."""
    run = after()
    results = tuple({**result, "message": STRANGE, "stderr": STRANGE} for result in results_of(run))
    return with_results(run, results, footer={**run.footer, "reasons": [STRANGE]})


def holding():
    """The golden results as if nothing in them were a surprise."""
    run = after()
    results = tuple({**result, "surprise": False} for result in results_of(run))
    return with_results(run, results, footer={**run.footer, "reasons": [], "gate": "pass"})


@pytest.mark.parametrize("name", sorted(rendered()))
def test_golden_results_give_golden_reports(name):
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert rendered()[name] == golden, "to accept it: python tests/support/golden_files.py"


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_the_order_of_the_results_does_not_matter(format):
    run = after()
    assert FORMATS[format]([with_results(run, results_of(run)[::-1])]) == FORMATS[format]([run])


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_strange_characters_spoil_no_format(format):
    text = FORMATS[format]([strange()])
    assert text.encode()
    if format.endswith((".xml", ".svg")):
        assert etree.fromstring(text.encode()) is not None


class TestJunit:
    @pytest.fixture(params=[after, strange, holding], ids=["golden", "strange", "holding"])
    def text(self, request):
        return whole(junit.render)([request.param()])

    def test_it_satisfies_its_schema(self, text):
        schema = etree.XMLSchema(etree.parse(SCHEMAS / "junit.xsd"))
        assert schema.validate(etree.fromstring(text.encode())), schema.error_log

    def test_a_parser_counts_what_it_says(self, text):
        document = JUnitXml.fromstring(text.encode())
        told = (document.tests, document.failures, document.errors, document.skipped)
        document.update_statistics()
        assert told == (document.tests, document.failures, document.errors, document.skipped)

    def test_every_subject_is_a_suite(self, text):
        names = [suite.name for suite in JUnitXml.fromstring(text.encode())]
        assert names[-3:] == [subject["id"] for subject in after().header["subjects"]]

    def test_a_shut_gate_is_a_failing_test_of_its_own_above_all_others(self):
        suites = list(JUnitXml.fromstring(whole(junit.render)([after()]).encode()))
        assert (suites[0].name, suites[0].failures) == ("gate", 1)

    def test_nothing_fails_where_the_gate_holds(self):
        document = JUnitXml.fromstring(whole(junit.render)([holding()]).encode())
        assert (document.failures, document.errors) == (0, 0)
        assert document.skipped > 0

    @pytest.mark.parametrize(
        ("subject", "case", "outcome", "said"),
        [
            ("onnxruntime", "test_adam_epsilon_float", "skipped", "known fail: epsilon is added"),
            ("onnxruntime", "test_argmax_nan", "skipped", "recorded only, the specification leaves it open: fail"),
            ("onnxruntime", "test_adagrad_t_negative", "skipped", "not judged, its level is should: timeout"),
            ("onnxruntime", "test_argmax_ties", "failure", "pass (expected fail: "),
            ("onnxruntime", "test_momentum_nesterov", "error", "error: RuntimeError"),
        ],
    )
    def test_what_a_result_is_to_a_ci(self, subject, case, outcome, said):
        root = etree.fromstring(whole(junit.render)([after()]).encode())
        (test,) = root.xpath("testsuite[@name=$subject]/testcase[@name=$case]", subject=subject, case=case)
        assert test[0].tag == outcome
        assert test[0].get("message").startswith(said)


class TestCtrf:
    @pytest.mark.parametrize("run", [after, strange, holding, before], ids=lambda run: run.__name__)
    def test_it_satisfies_its_schema(self, run):
        schema = json.loads((SCHEMAS / "ctrf.schema.json").read_text())
        document = json.loads(whole(ctrf.render)([run()]))
        assert not [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(document)]

    def test_its_summary_counts_its_tests(self):
        results = json.loads(whole(ctrf.render)([after()]))["results"]
        told = results["summary"]
        assert told["tests"] == len(results["tests"]) == told["passed"] + told["failed"] + told["skipped"]
        assert told["flaky"] == 1

    def test_nothing_fails_where_the_gate_holds(self):
        assert json.loads(whole(ctrf.render)([holding()]))["results"]["summary"]["failed"] == 0


class TestMarkdown:
    def test_text_is_shown_and_does_nothing_else(self):
        hostile = "| a ` <script>x</script> [l](http://x) ![i](y) www.x.org *b* __c__ #1 @team ~~d~~ $e$\n# head\\"
        told = escaped(hostile)
        assert unescape(told) == " ".join(hostile.split())
        assert not re.search(r"[|`<>\[\]!*#@~$\\]|__|www\.|://", re.sub(r"&#\d+;", "", told))

    def test_long_text_is_cut(self):
        assert len(unescape(escaped("x" * 1000, 300))) == 301

    def test_many_failures_are_counted_rather_than_listed(self):
        run = after()
        case = {"record": "case", **run.cases["test_adam"]}
        names = [f"test_{number:04}" for number in range(500)]
        first = {**results_of(run)[0], "verdict": "fail", "surprise": True, "message": "wrong"}
        results = tuple({**first, "case": name} for name in names)
        text = whole(markdown.render)([with_records(run, [{**case, "case": name} for name in names], results)])
        assert "1 cause, 500 cases." in text
        assert "fail, 500 cases: " in text
        assert "- and 480 more cases" in text

    def test_a_part_of_the_corpus_is_told_of(self):
        run = before()
        corpus = {**run.header["corpus"], "selected": 2}
        text = whole(markdown.render)(
            [replace(run, header={**run.header, "corpus": corpus, "selection": {"-k": "a|b"}})]
        )
        assert "2 of 6 cases" in text
        assert "Selected by <code>-k a&#124;b</code>" in text


class TestAnnotations:
    def test_text_of_a_subject_makes_no_command_of_its_own(self):
        lines = whole(annotations.render)([strange()]).splitlines()
        assert [line for line in lines if not line.startswith("::error title=")] == []

    def test_there_are_no_more_than_a_step_shows(self):
        run = after()
        case, first = run.cases["test_adam"], {**results_of(run)[0], "verdict": "error", "surprise": True}
        names = [f"test_{number}" for number in range(30)]
        results = [{**first, "case": name, "message": f"kernel_of_{name[5:]} is missing"} for name in names]
        text = whole(annotations.render)([with_records(run, [{**case, "case": name} for name in names], results)])
        assert len(text.splitlines()) == 10

    def test_nothing_is_said_where_the_gate_holds(self):
        assert whole(annotations.render)([holding()]) == ""


class TestBadge:
    @pytest.mark.parametrize(
        ("run", "colour"), [(after, badge.SHUT), (holding, badge.KNOWN)], ids=["shut", "holding with known failures"]
    )
    def test_its_colour_says_how_the_gate_is(self, run, colour):
        assert colour in whole(badge.render)([run()])

    def test_it_names_one_subject_s_passes_with_their_denominator(self):
        run = holding()
        header = {**run.header, "subjects": run.header["subjects"][:1]}
        results = tuple(result for result in results_of(run) if result["subject"] == "reference")
        text = whole(badge.render)([with_results(run, results, header=header)])
        assert "<title>onnx conformance: 5 of 5 must</title>" in text
        assert badge.ALL in text

    def test_its_parts_are_as_wide_as_their_texts(self):
        root = etree.fromstring(whole(badge.render)([after()]).encode())
        widths = [int(one.get("width")) for one in root.iter("{*}rect")][1:]
        lengths = [int(one.get("textLength")) for one in root.iter("{*}text")]
        assert widths == [length + 2 * badge.PADDING for length in lengths]
        assert int(root.get("width")) == sum(widths)


class TestSummary:
    @pytest.mark.parametrize("run", [after, strange, holding, before], ids=lambda run: run.__name__)
    def test_it_satisfies_its_schema(self, run):
        assert complaint("summary", json.loads(json.dumps(summary([run()])))) is None

    def test_the_gate_of_several_runs_holds_where_each_does(self):
        assert [summary(runs)["gate"] for runs in ([holding()], [holding(), after()])] == ["pass", "fail"]

    def test_failures_that_look_alike_are_one_group(self):
        first, second = "X_new has 2 wrong of 7, first at [0, 1]: 1.5", "X_new has 5 wrong of 9, first at [2]: -0x1f"
        assert normalized(first) == normalized(second) == "X_new has N wrong of N"


def test_visible_text_keeps_letters_of_all_kinds():
    assert visible("naïve Ωμέγα 漢字 😀 a\tb") == "naïve Ωμέγα 漢字 😀 a\tb"
