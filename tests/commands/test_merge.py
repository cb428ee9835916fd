"""`merge` combines results files of several runs."""

from __future__ import annotations

import json
import re

import pytest
from command_outputs import comparable_records, expectations_text, read_records, read_tree
from corpora import ADAM, EXACT, SMALL
from msgspec import to_builtins
from msgspec.structs import replace

from conformance.base.serialization.decoding import schema_violation
from conformance.run.results.records import Selection
from conformance.run.results.results_file import read_results

RIGHT, WRONG, FAULTY = ("fake_subject:always_right", "fake_subject:always_wrong", "fake_subject:follows_environment")


class TestMerge:
    @pytest.fixture
    def shards(self, ran, here):
        """Results files of a run and of its three shards. The run fails on ArgMax and has a stale expectation."""
        (here / "e.toml").write_text(expectations_text(FAULTY, "test_gone", ADAM, EXACT))
        told = ("-b", FAULTY, "--expect", "e.toml", "--fail-level", "should")
        paths = [f"{number}.jsonl" for number in (1, 2, 3)]
        for number, path in enumerate(paths, 1):
            ran(path, *told, "--shard", f"{number}/3", faults="fail:ArgMax")
        ran("whole.jsonl", *told, faults="fail:ArgMax")
        return paths

    def test_shards_give_the_whole(self, command, shards, small_corpus, here):
        ended = command("merge", *shards, "--output", "all.jsonl", "--data", small_corpus)
        assert ended.status == 1
        assert "e.toml:5: test_gone" in ended.out
        assert comparable_records(here / "all.jsonl") == comparable_records(here / "whole.jsonl")

    def test_merge_keeps_pass_criterion(self, command, ran, small_corpus, here):
        ran("old.jsonl", "-b", FAULTY, faults="fail:Adam")
        told = ("-b", FAULTY, "--baseline", "old.jsonl", "--require", "Softmax")
        parts = {"1.jsonl": ("--shard", "1/2"), "2.jsonl": ("--shard", "2/2"), "whole.jsonl": ()}
        for path, part in parts.items():
            ran(path, *told, *part, faults="fail:Adam fail:Adagrad unsupported:Softmax")
        assert command("merge", "1.jsonl", "2.jsonl", "--output", "all.jsonl", "--data", small_corpus).status == 1
        assert comparable_records(here / "all.jsonl") == comparable_records(here / "whole.jsonl")
        reasons = read_results(here / "all.jsonl").footer.reasons
        assert [f"baseline: {was}" in " ".join(reasons) for was in ("pass", "fail")] == [True, False]

    def test_merge_of_case_missing_from_corpus_fails(self, command, ran, small_corpus, here):
        ran("1.jsonl", "-b", FAULTY, faults="fail:Adam")
        (here / "1.jsonl").write_text((here / "1.jsonl").read_text().replace(ADAM, f"{ADAM}_gone"))
        assert command("merge", "1.jsonl", "--output", "all.jsonl", "--data", small_corpus).status == 1

    def test_merge_is_independent_of_file_order(self, command, shards, here):
        command("merge", *shards, "--output", "a.jsonl")
        command("merge", *shards[::-1], "--output", "b.jsonl")
        assert (here / "a.jsonl").read_bytes() == (here / "b.jsonl").read_bytes()

    def test_report_of_merged_run_equals_whole_run(self, command, shards, small_corpus, here):
        command("merge", *shards, "--output", "all.jsonl", "--data", small_corpus)
        for path in ("all", "whole"):
            command("report", f"{path}.jsonl", "--markdown", f"{path}.md")
        date = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # the runs may start in different minutes
        one, other = (date.sub("", (here / f"{name}.md").read_text()) for name in ("all", "whole"))
        assert one == other

    def test_missing_shards_shut_the_gate_and_are_named(self, command, ran):
        for number in (1, 4):
            ran(f"{number}.jsonl", "-b", RIGHT, "--shard", f"{number}/4")
        ended = command("merge", "1.jsonl", "4.jsonl", "--output", "all.jsonl")
        assert ended.status == 1
        assert re.search(rf" {RIGHT} .*: 2/4, 3/4$", ended.out, re.MULTILINE)

    @pytest.mark.long
    def test_merge_of_incomplete_merged_run_is_refused(self, command, ran):
        for number in (1, 2, 3):
            ran(f"{number}.jsonl", "-b", RIGHT, "--shard", f"{number}/3")
        command("merge", "1.jsonl", "2.jsonl", "--output", "part.jsonl")
        ended = command("merge", "part.jsonl", "3.jsonl", "--output", "all.jsonl")
        assert ended.status == 2
        assert ended.code == "results.shards-missing"

    def test_subjects_are_joined(self, command, ran, here):
        ran("right.jsonl", "-b", RIGHT)
        ran("moody.jsonl", "-b", FAULTY)
        assert command("merge", "right.jsonl", "moody.jsonl", "--output", "all.jsonl").status == 0
        found = read_results(here / "all.jsonl")
        assert [subject.id for subject in found.header.subjects] == [RIGHT, FAULTY]
        assert not [line for line in read_records(here / "all.jsonl") if schema_violation("results", line)]

    def test_merge_of_selections_keeps_their_expressions(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "-k", "argmax")
        ran("b.jsonl", "-b", RIGHT, "-k", "momentum")
        assert command("merge", "a.jsonl", "b.jsonl", "--output", "all.jsonl").status == 0
        assert read_results(here / "all.jsonl").header.selections == [Selection("argmax"), Selection("momentum")]

    def test_parts_that_make_the_whole_are_the_whole(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "-k", "argmax")
        ran("b.jsonl", "-b", RIGHT, "-k", "not argmax")
        assert command("merge", "a.jsonl", "b.jsonl", "--output", "all.jsonl").status == 0
        assert read_results(here / "all.jsonl").header.selections == []

    def test_merge_with_interrupted_run_fails(self, command, ran, here):
        ran("a.jsonl", "-b", WRONG, "-x")
        ran("b.jsonl", "-b", RIGHT)
        ended = command("merge", "a.jsonl", "b.jsonl", "--output", "all.jsonl")
        assert ended.status == 1
        assert f"{len(SMALL) - 1} of {2 * len(SMALL)} results" in ended.out

    def changed(self, here, path, **header):
        """Write a copy of the results file with a changed header."""
        lines = read_records(here / path)
        lines[0] = {**lines[0], **to_builtins(header)}
        (here / f"other_{path}").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"other_{path}"

    def refusal(self, command, here, *paths):
        before = read_tree(here)
        ended = command("merge", *paths, "--output", "all.jsonl")
        assert ended.status == 2
        assert read_tree(here) == before
        return f"{ended.code} {ended.err}"

    def test_merge_of_two_corpora_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", FAULTY)
        corpus = replace(read_results(here / "b.jsonl").header.corpus, digest="0" * 64)
        assert "results.corpora-differ" in self.refusal(
            command, here, "a.jsonl", self.changed(here, "b.jsonl", corpus=corpus)
        )

    def test_merge_of_duplicate_result_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", RIGHT, "-k", "argmax")
        assert re.search(rf"both have \S+ on {RIGHT}", self.refusal(command, here, "a.jsonl", "b.jsonl"))

    def test_merge_of_shards_of_two_versions_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "--shard", "1/2")
        ran("b.jsonl", "-b", RIGHT, "--shard", "2/2")
        other = self.changed(here, "b.jsonl", subjects=[{"id": RIGHT, "kind": "backend", "version": "9"}])
        assert f"{RIGHT} 9" in self.refusal(command, here, "a.jsonl", other)

    def test_merge_of_two_pass_criteria_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", FAULTY, "--fail-level", "should")
        assert self.refusal(command, here, "a.jsonl", "b.jsonl").startswith("results.criteria-differ")

    def test_merge_of_file_without_footer_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        (here / "a.jsonl").write_text("".join((here / "a.jsonl").read_text().splitlines(keepends=True)[:-1]))
        assert self.refusal(command, here, "a.jsonl").startswith("results.truncated")

    def test_merge_keeps_two_releases_of_a_subject_apart(self, command, ran, here):
        ran("a.jsonl", "-b", FAULTY, faults="fail:Adam")
        ran("b.jsonl", "-b", FAULTY)
        other = self.changed(here, "b.jsonl", subjects=[{"id": FAULTY, "kind": "backend", "version": "9"}])
        command("merge", "a.jsonl", other, "--output", "all.jsonl")
        found = read_results(here / "all.jsonl")
        first, second = (subject.id for subject in found.header.subjects)
        assert second == f"{FAULTY}@9"
        assert [found.rows[id, ADAM].verdict for id in (first, second)] == ["fail", "pass"]
        assert len(found.rows) == 2 * len(SMALL)
        assert not [line for line in read_records(here / "all.jsonl") if schema_violation("results", line)]
