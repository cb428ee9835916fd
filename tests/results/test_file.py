"""The results file: what a recorder writes is read back, and nothing else is believed."""

from __future__ import annotations

import gzip
import json
import re

import fake_backends as fakes
import pytest
import raising_backends as raising
from corpora import ADAM, EXACT, SMALL
from outputs import records
from recorded_runs import EXPECTED, record, result_of

from conformance.errors import ResultsError
from conformance.gate.gate import Gate
from conformance.gate.rules import Rules
from conformance.report.outputs import Outputs
from conformance.report.writing import write_reports
from conformance.results import lines as results
from conformance.results.file import read, read_all
from conformance.run.recorder import Recorder
from conformance.schemas import complaint
from conformance.subjects.loading import Subject


@pytest.fixture(scope="module")
def lines(tmp_path_factory, opened) -> list[str]:
    """The lines of a sound results file."""
    path = tmp_path_factory.mktemp("results") / "results.jsonl"
    record(opened, path, {"acme": fakes.AlwaysWrong, "right": fakes.AlwaysRight}, {"acme": EXPECTED})
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def file(tmp_path):
    """Writes a file of some content."""

    def write(content, name: str = "results.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else "".join(content).encode())
        return path

    return write


def edited(lines: list[str], record: str, **changes) -> list[str]:
    """The lines with the first record of a kind changed."""
    place = next(i for i, line in enumerate(lines) if json.loads(line)["record"] == record)
    changed = {**json.loads(lines[place]), **changes}
    return [*lines[:place], json.dumps(changed) + "\n", *lines[place + 1 :]]


def refusal(path) -> ResultsError:
    with pytest.raises(ResultsError) as refused:
        read(path)
    assert str(path) in refused.value.problem
    assert refused.value.mend.endswith(".")
    return refused.value


class TestRoundTrip:
    def test_a_sound_file_is_read(self, file, lines):
        results = read(file(lines))
        assert [subject["id"] for subject in results.header["subjects"]] == ["acme", "right"]
        assert set(results.cases) == set(SMALL)
        assert len(results.results) == 2 * len(SMALL)

    def test_every_line_satisfies_the_schema(self, lines):
        assert not [complaint("results", json.loads(line)) for line in lines if complaint("results", json.loads(line))]

    def test_verdicts_come_back_as_they_went(self, file, lines):
        verdicts = {(r["subject"], r["case"]): r["verdict"] for r in read(file(lines)).results.values()}
        assert {verdict for (subject, _), verdict in verdicts.items() if subject == "acme"} == {"fail"}
        assert {verdict for (subject, _), verdict in verdicts.items() if subject == "right"} == {"pass"}

    def test_an_expectation_comes_back_with_its_reason(self, file, lines):
        expected = {(r["subject"], r["case"]): r["expected"] for r in read(file(lines)).results.values()}
        assert expected["acme", ADAM] == {"verdict": "fail", "reason": "known <script>", "place": "acme.toml, entry 1"}
        assert expected["right", ADAM] is None

    def test_the_footer_counts_by_subject_level_and_verdict(self, file, lines):
        footer = read(file(lines)).footer
        assert footer["results"] == 2 * len(SMALL)
        assert footer["verdicts"]["acme"] == {"must": {"fail": 5}, "should": {"fail": 1}, "silent": {"fail": 1}}
        assert footer["gate"] == "fail"
        assert "acme passed nothing" in footer["reasons"]

    def test_the_header_names_the_corpus_and_what_was_selected(self, file, lines, opened):
        header = read(file(lines)).header
        assert header["corpus"] == {
            "version": opened.version,
            "digest": opened.digest,
            "cases": len(SMALL),
            "selected": len(SMALL),
        }
        assert {"python", "platform", "onnx", "numpy"} <= set(header["environment"])

    def test_a_case_is_told_once_and_before_its_results(self, lines):
        told: set[str] = set()
        for line in map(json.loads, lines):
            if line["record"] == "case":
                assert line["case"] not in told
                told.add(line["case"])
            if line["record"] == "result":
                assert line["case"] in told

    def test_a_failing_result_shows_what_came_instead(self, file, lines):
        outputs = {(r["subject"], r["case"]): r["outputs"] for r in read(file(lines)).results.values()}
        assert outputs["acme", ADAM][0]["first_bad"]["actual_hex"].startswith("0x")

    def test_a_passing_result_shows_its_largest_error(self, file, lines):
        outputs = {(r["subject"], r["case"]): r["outputs"] for r in read(file(lines)).results.values()}
        assert all({"max_ulp", "error_over_bound"} <= set(output) for output in outputs["right", ADAM])

    def test_a_message_of_any_text_comes_back(self, tmp_path, opened):
        path = tmp_path / "results.jsonl"
        record(opened, path, {"acme": raising.RaisesStrangeText})
        message = next(iter(read(path).results.values()))["message"]
        assert message.startswith("ValueError: one\u2028two\x85three\x0bfour\x00five")
        assert message.endswith("six\nseven<script>")

    @pytest.mark.parametrize("fake", [fakes.ReturnsLists, fakes.WrongType, fakes.ReturnsNone, raising.SaysUnsupported])
    def test_every_kind_of_failure_satisfies_the_schema(self, tmp_path, opened, fake):
        path = tmp_path / "results.jsonl"
        record(opened, path, {"acme": fake})
        assert read(path).footer["results"] == len(SMALL)

    def test_a_recorder_without_a_file_counts(self, opened):
        gate = Gate(Rules(), ["acme"])
        recorder = Recorder(opened, [Subject("acme", "1", fakes.AlwaysRight)], gate, None)
        recorder.begin(1, {}, "")
        assert recorder.add(result_of("acme", fakes.AlwaysRight, opened, ADAM))
        recorder.end([])
        assert recorder.results == 1

    def test_a_recorder_that_abandons_leaves_no_file(self, tmp_path, opened):
        path = tmp_path / "deep" / "results.jsonl"
        recorder = Recorder(opened, [], Gate(Rules(), []), path)
        recorder.begin(1, {}, "")
        recorder.abandon()
        assert not path.exists()


class TestPacked:
    def test_a_packed_file_is_read_as_what_it_holds(self, file, lines):
        packed = read(file(gzip.compress("".join(lines).encode()), "results.jsonl.gz"))
        plain = read(file(lines))
        assert (packed.header, dict(packed.results), packed.footer) == (plain.header, dict(plain.results), plain.footer)

    @pytest.mark.parametrize("kept", [0.5, 0.99])
    def test_a_packed_file_that_is_cut_is_refused(self, file, lines, kept):
        content = gzip.compress("".join(lines).encode())
        problem = refusal(file(content[: int(len(content) * kept)], "results.jsonl.gz")).problem
        assert "it cannot be unpacked" in problem

    def test_a_file_that_only_says_it_is_packed_is_refused(self, file, lines):
        assert "it cannot be unpacked" in refusal(file(lines, "results.jsonl.gz")).problem

    def test_no_more_is_unpacked_than_is_allowed(self, file, lines, monkeypatch):
        monkeypatch.setattr(results, "LARGEST_FILE", 1000)
        assert "is larger than 1000 bytes" in refusal(file(gzip.compress(bytes(10**6)), "results.jsonl.gz")).problem


class TestTruncated:
    def test_a_file_without_its_footer_is_refused(self, file, lines):
        assert "is truncated: it has no footer" in refusal(file(lines[:-1])).problem

    def test_a_file_cut_within_its_last_line_is_refused(self, file, lines):
        content = "".join(lines).encode()
        assert "is truncated: line" in refusal(file(content[:-20])).problem

    def test_a_file_cut_within_a_character_is_refused(self, file, lines):
        content = "".join(edited(lines, "case", title="é")).encode()
        assert "is truncated: line" in refusal(file(content[:-5] + b"\xc3")).problem

    @pytest.mark.parametrize("kept", range(1, 8))
    def test_a_file_cut_after_any_line_is_refused(self, file, lines, kept):
        assert "is truncated: it has no footer" in refusal(file(lines[:kept])).problem

    def test_a_file_whose_last_newline_is_missing_is_whole(self, file, lines):
        assert read(file("".join(lines).removesuffix("\n"))).footer

    def test_an_empty_file_is_refused(self, file):
        assert "is truncated: it has no footer" in refusal(file(b"")).problem


FOREIGN = {
    "a binary file": b"\x7fELF\x02\x01\x01\x00\xff\xfe",
    "text": b"hello\n",
    "JSON of something else": b"{}\n",
    "a list": b"[1, 2]\n",
    "a number": b"1\n",
    "a number of many digits": b"1" * 5000,
    "deep nesting": b"[" * 100_000,
    "blank lines": b"\n\n",
    "UTF-16": '{"record": "header"}\n'.encode("utf-16"),
}


class TestForeign:
    @pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
    def test_something_else_is_refused(self, file, content):
        assert re.search("is not a results file|is truncated: line 1", refusal(file(content)).problem)

    @pytest.mark.parametrize("name", ["missing.jsonl", "."])
    def test_what_is_no_file_is_refused(self, tmp_path, name):
        assert "is not a file" in refusal(tmp_path / name).problem

    def test_a_file_that_does_not_begin_with_its_header_is_refused(self, file, lines):
        assert "does not begin with a header" in refusal(file(lines[1:])).problem

    def test_another_format_is_refused(self, file, lines):
        assert "line 1: format" in refusal(file(edited(lines, "header", format=3))).problem

    @pytest.mark.parametrize("format", [1, 2])
    def test_its_own_format_and_the_one_before_are_read(self, file, lines, format):
        assert read(file(edited(lines, "header", format=format))).header["format"] == format

    def test_a_second_header_is_refused(self, file, lines):
        assert "a header stands where none may" in refusal(file([*lines[:3], lines[0], *lines[3:]])).problem

    def test_a_line_after_the_footer_is_refused(self, file, lines):
        assert "stands where none may" in refusal(file([*lines, lines[1]])).problem

    def test_two_runs_in_one_file_are_refused(self, file, lines):
        assert "a header stands where none may" in refusal(file(lines * 2)).problem

    def test_two_results_of_one_case_on_one_subject_are_refused(self, file, lines):
        twice = next(line for line in lines if json.loads(line)["record"] == "result")
        problem = refusal(file([*lines[:-1], twice, lines[-1]])).problem
        assert "has two results on subject acme" in problem

    def test_an_unknown_verdict_is_refused(self, file, lines):
        assert "fine" in refusal(file(edited(lines, "result", verdict="fine"))).problem

    def test_an_unknown_key_is_refused(self, file, lines):
        assert "score" in refusal(file(edited(lines, "result", score=1))).problem


class TestContradiction:
    def test_a_footer_that_counts_otherwise_is_refused(self, file, lines):
        assert "counts 3 results where it has 14" in refusal(file(edited(lines, "footer", results=3))).problem

    def test_a_result_that_was_taken_out_is_noticed(self, file, lines):
        place = next(i for i, line in enumerate(lines) if json.loads(line)["record"] == "result")
        assert (
            "its footer counts 14 results where it has 13" in refusal(file(lines[:place] + lines[place + 1 :])).problem
        )

    def test_a_result_of_an_unknown_subject_is_refused(self, file, lines):
        assert "is of subject nobody" in refusal(file(edited(lines, "result", subject="nobody"))).problem

    def test_a_result_of_a_case_that_is_not_told_is_refused(self, file, lines):
        untold = [line for line in lines if not (json.loads(line).get("case") == EXACT and '"record":"case"' in line)]
        assert f"is of case {EXACT}, which it does not describe" in refusal(file(untold)).problem

    def test_a_verdict_that_the_footer_does_not_count_is_refused(self, file, lines):
        problem = refusal(file(edited(lines, "result", verdict="pass"))).problem
        assert "its footer's counts are not those of its results" in problem

    def test_an_open_gate_with_reasons_against_it_is_refused(self, file, lines):
        assert "gate and reasons contradict each other" in refusal(file(edited(lines, "footer", gate="pass"))).problem


class TestSeveralFiles:
    def test_files_of_different_subjects_are_read_together(self, file, tmp_path, opened):
        paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
        record(opened, paths[0], {"a": fakes.AlwaysRight})
        record(opened, paths[1], {"b": fakes.AlwaysRight})
        assert len(read_all(paths)) == 2

    def test_files_of_different_corpora_are_refused(self, file, lines):
        header = json.loads(lines[0])
        other = edited(lines, "header", corpus={**header["corpus"], "digest": "0" * 64})
        with pytest.raises(ResultsError, match="is of another corpus"):
            read_all([file(lines), file(other, "other.jsonl")])

    def test_two_files_of_one_subject_are_refused(self, file, lines):
        with pytest.raises(ResultsError, match="both have results of acme"):
            read_all([file(lines), file(lines, "again.jsonl")])

    def test_a_report_of_a_refused_file_is_not_written(self, file, lines, tmp_path):
        with pytest.raises(ResultsError):
            write_reports([file(lines[:-1])], Outputs({"html": tmp_path / "out.html"}))
        assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_reading_lines_by_newline_alone_gives_the_records_that_were_written(tmp_path, opened):
    path = tmp_path / "results.jsonl"
    record(opened, path, {"acme": raising.RaisesStrangeText})
    assert [line["record"] for line in records(path)].count("result") == len(SMALL)
