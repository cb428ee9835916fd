"""Results files: round trip through the recorder, and rejection of malformed and inconsistent files."""

from __future__ import annotations

import gzip
import json

import fake_subject as fakes
import pytest
from command_outputs import read_records
from corpora import ADAM, EXACT, SMALL
from recorded_runs import EXPECTED, make_result, record_run
from refusals import assert_raises

from conformance.base.errors import ResultsError
from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Verdict
from conformance.run.corpus_run.recorder import Recorder
from conformance.run.expectations.criterion import Completeness, PassCriterion
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.report.report_files import ReportFiles, write_reports
from conformance.run.results import results_file as results
from conformance.run.results.records import CorpusRecord, Expected, Selection
from conformance.run.results.results_file import read_results, read_results_of_one_corpus
from conformance.subjects.calling.subject_names import Subject


@pytest.fixture(scope="module")
def lines(tmp_path_factory, opened) -> list[str]:
    """Return the lines of a correct results file."""
    path = tmp_path_factory.mktemp("results") / "results.jsonl"
    record_run(opened, path, {"acme": fakes.always_wrong, "right": fakes.always_right}, {"acme": EXPECTED})
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file."""

    def write(content, name: str = "results.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else "".join(content).encode())
        return path

    return write


def edited(lines: list[str], record: str, **changes) -> list[str]:
    """Return the lines with the first record of a kind changed."""
    place = next(i for i, line in enumerate(lines) if json.loads(line)["record"] == record)
    changed = {**json.loads(lines[place]), **changes}
    return [*lines[:place], json.dumps(changed) + "\n", *lines[place + 1 :]]


def assert_refused(path, code: str, *data: object) -> None:
    """Assert that the file is rejected with this code, and that the message has the path and the data."""
    with assert_raises(f"results.{code}", path, *data):
        read_results(path)


class TestRoundTrip:
    def test_correct_file_is_read(self, file, lines):
        results = read_results(file(lines))
        assert [subject.id for subject in results.header.subjects] == ["acme", "right"]
        assert set(results.cases) == set(SMALL)
        assert len(results.results) == 2 * len(SMALL)

    def test_recorded_lines_satisfy_the_schema(self, lines):
        assert not [
            schema_violation("results", json.loads(line))
            for line in lines
            if schema_violation("results", json.loads(line))
        ]

    def test_verdicts_are_preserved(self, file, lines):
        verdicts = {(r.subject, r.case): r.verdict for r in read_results(file(lines)).results.values()}
        assert {verdict for (subject, _), verdict in verdicts.items() if subject == "acme"} == {"fail"}
        assert {verdict for (subject, _), verdict in verdicts.items() if subject == "right"} == {"pass"}

    def test_expectation_is_preserved_with_its_reason(self, file, lines):
        expected = {(r.subject, r.case): r.expected for r in read_results(file(lines)).results.values()}
        assert expected["acme", ADAM] == Expected(Verdict.FAIL, "known <script>", location="acme.toml, entry 1")
        assert expected["right", ADAM] is None

    def test_footer_counts_by_subject_level_and_verdict(self, file, lines):
        footer = read_results(file(lines)).footer
        assert footer.results == 2 * len(SMALL)
        assert footer.verdicts["acme"] == {"must": {"fail": 5}, "should": {"fail": 1}, "silent": {"fail": 1}}
        assert footer.outcome == "fail"
        assert any(reason.startswith("acme ") for reason in footer.reasons)

    def test_header_names_corpus_selection_and_environment(self, file, lines, opened):
        header = read_results(file(lines)).header
        assert header.corpus == CorpusRecord(opened.version, opened.digest, len(SMALL), len(SMALL))
        assert header.selections == [Selection("test")]
        assert {"python", "platform", "onnx", "numpy"} <= set(header.environment)

    def test_case_is_described_once_before_its_results(self, lines):
        described: set[str] = set()
        for line in map(json.loads, lines):
            if line["record"] == "case":
                assert line["case"] not in described
                described.add(line["case"])
            if line["record"] == "result":
                assert line["case"] in described

    def test_failing_result_has_the_actual_element(self, file, lines):
        outputs = {(r.subject, r.case): r.outputs for r in read_results(file(lines)).results.values()}
        assert outputs["acme", ADAM][0].first_bad.actual_hex.startswith("0x")

    def test_passing_result_has_its_largest_error(self, file, lines):
        outputs = {(r.subject, r.case): r.outputs for r in read_results(file(lines)).results.values()}
        assert all(None not in (output.max_ulp, output.error_over_bound) for output in outputs["right", ADAM])

    def test_message_of_any_text_is_preserved(self, tmp_path, opened):
        path = tmp_path / "results.jsonl"
        record_run(opened, path, {"acme": fakes.raises_strange_text})
        message = next(iter(read_results(path).results.values())).message
        assert message.startswith("ValueError: one\u2028two\x85three\x0bfour\x00five")
        assert message.endswith("six\nseven<script>")

    @pytest.mark.parametrize(
        "fake", [fakes.returns_lists, fakes.wrong_type, fakes.returns_none, fakes.says_unsupported]
    )
    def test_failures_of_every_kind_are_read(self, tmp_path, opened, fake):
        path = tmp_path / "results.jsonl"
        record_run(opened, path, {"acme": fake})
        assert read_results(path).footer.results == len(SMALL)

    def test_recorder_without_a_file_counts_results(self, opened):
        gate = PassCriterion(CriterionSettings(), {"acme": "backend"})
        recorder = Recorder(opened, [Subject("acme", "1", fakes.always_right)], gate, None)
        recorder.begin(1, Selection(), "")
        assert recorder.add(make_result("acme", fakes.always_right, opened, ADAM))
        recorder.end(Completeness())
        assert len(recorder.assessed) == 1

    def test_abandoned_recorder_leaves_no_file(self, tmp_path, opened):
        path = tmp_path / "deep" / "results.jsonl"
        recorder = Recorder(opened, [], PassCriterion(CriterionSettings(), {}), path)
        recorder.begin(1, Selection(), "")
        recorder.abandon()
        assert not path.exists()


class TestPacked:
    def test_packed_file_equals_the_plain_file(self, file, lines):
        packed = read_results(file(gzip.compress("".join(lines).encode()), "results.jsonl.gz"))
        plain = read_results(file(lines))
        assert (packed.header, dict(packed.results), packed.footer) == (plain.header, dict(plain.results), plain.footer)

    @pytest.mark.parametrize("kept", [0.5, 0.99])
    def test_truncated_packed_file_is_rejected(self, file, lines, kept):
        content = gzip.compress("".join(lines).encode())
        assert_refused(file(content[: int(len(content) * kept)], "results.jsonl.gz"), "malformed", "unpacked")

    def test_plain_file_with_packed_suffix_is_rejected(self, file, lines):
        assert_refused(file(lines, "results.jsonl.gz"), "malformed", "unpacked")

    def test_packed_file_with_large_content_is_rejected(self, file, lines, monkeypatch):
        monkeypatch.setattr(results, "MAX_FILE_BYTES", 1000)
        assert_refused(file(gzip.compress(bytes(10**6)), "results.jsonl.gz"), "too-large", 1000)

    @pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x08" + bytes(6) + b"A" * 10**7, gzip.compress(b"") * 10**5])
    def test_packed_file_of_headers_alone_is_rejected_at_once(self, file, content):
        with pytest.raises(ResultsError):
            read_results(file(content, "results.jsonl.gz"))

    def test_parts_and_padding_of_a_packed_file_are_joined(self, file, lines):
        packed = b"".join(gzip.compress(line.encode()) for line in lines) + bytes(512)
        assert len(read_results(file(packed, "results.jsonl.gz")).results) == len(read_results(file(lines)).results)


class TestTruncated:
    def test_file_without_footer_is_rejected(self, file, lines):
        assert_refused(file(lines[:-1]), "truncated", "footer")

    def test_file_truncated_in_the_last_line_is_rejected(self, file, lines):
        content = "".join(lines).encode()
        assert_refused(file(content[:-20]), "truncated", "line")

    def test_file_truncated_in_a_character_is_rejected(self, file, lines):
        content = "".join(edited(lines, "case", title="é")).encode()
        assert_refused(file(content[:-5] + b"\xc3"), "truncated", "line")

    @pytest.mark.parametrize("kept", range(1, 8))
    def test_file_truncated_after_any_line_is_rejected(self, file, lines, kept):
        assert_refused(file(lines[:kept]), "truncated", "footer")

    def test_file_without_last_newline_is_read(self, file, lines):
        assert read_results(file("".join(lines).removesuffix("\n"))).footer

    def test_empty_file_is_rejected(self, file):
        assert_refused(file(b""), "truncated", "footer")


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
    def test_foreign_content_is_rejected(self, file, content):
        path = file(content)
        with pytest.raises(ResultsError) as caught:
            read_results(path)
        assert caught.value.code in {"results.malformed", "results.truncated"}
        assert str(path) in caught.value.problem

    @pytest.mark.parametrize("name", ["missing.jsonl", "."])
    def test_missing_file_or_directory_is_rejected(self, tmp_path, name):
        assert_refused(tmp_path / name, "unreadable")

    def test_file_without_header_is_rejected(self, file, lines):
        assert_refused(file(lines[1:]), "malformed", "header")

    @pytest.mark.parametrize("format", [1, 3])
    def test_unsupported_format_is_rejected(self, file, lines, format):
        assert_refused(file(edited(lines, "header", format=format)), "other-format", f"format {format}")

    def test_time_that_no_report_can_convert_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "footer", seconds=1e308)), "malformed", "seconds")

    def test_second_header_is_rejected(self, file, lines):
        assert_refused(file([*lines[:3], lines[0], *lines[3:]]), "malformed", "header")

    def test_line_after_the_footer_is_rejected(self, file, lines):
        assert_refused(file([*lines, lines[1]]), "malformed", json.loads(lines[1])["record"])

    def test_concatenated_files_are_rejected(self, file, lines):
        assert_refused(file(lines * 2), "malformed", "header")

    def test_duplicate_result_is_rejected(self, file, lines):
        twice = next(line for line in lines if json.loads(line)["record"] == "result")
        assert_refused(file([*lines[:-1], twice, lines[-1]]), "malformed", json.loads(twice)["case"], "acme")

    def test_duplicate_case_is_rejected(self, file, lines):
        case = next(line for line in lines if json.loads(line)["record"] == "case")
        assert_refused(file([lines[0], case, *lines[1:]]), "malformed", "`case`")

    def test_equal_keys_are_rejected(self, file, lines):
        assert_refused(file([lines[0].replace("{", '{"suite":"1",', 1), *lines[1:]]), "malformed", "line 1")

    def test_unknown_verdict_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "result", verdict="fine")), "malformed", "fine")

    def test_unknown_key_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "result", score=1)), "malformed", "score")


class TestContradiction:
    def test_footer_with_wrong_count_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "footer", results=3)), "malformed", 3, 14)

    def test_removed_result_is_detected(self, file, lines):
        place = next(i for i, line in enumerate(lines) if json.loads(line)["record"] == "result")
        assert_refused(file(lines[:place] + lines[place + 1 :]), "malformed", 14, 13)

    def test_result_of_an_unknown_subject_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "result", subject="nobody")), "malformed", "nobody")

    def test_result_of_an_undescribed_case_is_rejected(self, file, lines):
        undescribed = [
            line for line in lines if not (json.loads(line).get("case") == EXACT and '"record":"case"' in line)
        ]
        assert_refused(file(undescribed), "malformed", EXACT)

    def test_verdict_missing_in_the_footer_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "result", verdict="pass")), "malformed", "counts")

    def test_passing_outcome_with_reasons_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "footer", outcome="pass")), "malformed", "outcome")

    def test_passing_footer_over_unexpected_failures_is_rejected(self, file, lines):
        assert_refused(file(edited(lines, "footer", outcome="pass", reasons=[])), "malformed", "outcome")

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"unexpected": False}, "mark"),
            ({"expected": {"verdict": "fail", "reason": "known", "location": "known.toml:1"}}, "no entry"),
            ({"repeats": {"fail": 1, "pass": 1}, "unexpected": False}, "mark"),
        ],
    )
    def test_expected_failure_without_a_reason_in_the_header_is_rejected(self, tmp_path, file, opened, changes, named):
        record_run(opened, tmp_path / "run.jsonl", {"acme": fakes.always_wrong})
        lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        assert_refused(file(edited(lines, "result", **changes)), "malformed", "acme", named)

    def test_level_that_is_not_that_of_the_case_is_rejected(self, file, lines):
        content = edited(lines, "result", level="silent", unexpected=False)
        verdicts = json.loads(lines[-1])["verdicts"]
        acme = {"must": {"fail": 4}, "should": {"fail": 1}, "silent": {"fail": 2}}
        assert_refused(file(edited(content, "footer", verdicts={**verdicts, "acme": acme})), "malformed", "level")


class TestSeveralFiles:
    def test_files_of_different_subjects_are_combined(self, file, tmp_path, opened):
        paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
        record_run(opened, paths[0], {"a": fakes.always_right})
        record_run(opened, paths[1], {"b": fakes.always_right})
        assert len(read_results_of_one_corpus(paths)) == 2

    def test_files_of_different_corpora_are_rejected(self, file, lines):
        header = json.loads(lines[0])
        other = edited(lines, "header", corpus={**header["corpus"], "digest": "0" * 64})
        paths = [file(lines), file(other, "other.jsonl")]
        with assert_raises("results.different-corpus", *paths):
            read_results_of_one_corpus(paths)

    def test_duplicate_subject_in_two_files_is_rejected(self, file, lines):
        paths = [file(lines), file(lines, "again.jsonl")]
        with assert_raises("results.duplicate-subject", *paths, "acme"):
            read_results_of_one_corpus(paths)

    def test_report_of_a_rejected_file_is_not_written(self, file, lines, tmp_path):
        with pytest.raises(ResultsError):
            write_reports([file(lines[:-1])], ReportFiles({"html": tmp_path / "out.html"}))
        assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_lines_are_separated_by_newlines_only(tmp_path, opened):
    path = tmp_path / "results.jsonl"
    record_run(opened, path, {"acme": fakes.raises_strange_text})
    assert [line["record"] for line in read_records(path)].count("result") == len(SMALL)


@pytest.mark.parametrize("folder", [(), ("a", "b")], ids=["three folders above the root", "two folders in no history"])
def test_file_whose_header_names_a_history_and_that_is_in_none_is_refused(tmp_path, lines, folder):
    record = {"subject": "acme", "release": "1", "python": "3", "packages": [], "adapter": "", "judged": 0}
    path = tmp_path.joinpath(*folder, "results.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(edited(lines, "header", history=record)))
    assert_refused(path, "malformed", "history")
