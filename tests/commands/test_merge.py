"""`merge`: several runs as one."""

from __future__ import annotations

import json
import re

import pytest
from corpora import ADAM, EXACT, SMALL
from outputs import comparable, expecting, records, tree

from conformance.results.file import read
from conformance.schemas import complaint

RIGHT, WRONG, MOODY = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong", "moody_backends:DoesAsTold"


class TestMerge:
    @pytest.fixture
    def shards(self, ran, here):
        """Three shards of a run that fails on ArgMax with an expectation that is stale, and the whole of it."""
        (here / "e.toml").write_text(expecting(MOODY, "test_gone", ADAM, EXACT))
        told = ("-b", MOODY, "--expect", "e.toml", "--level", "should")
        paths = [f"{number}.jsonl" for number in (1, 2, 3)]
        for number, path in enumerate(paths, 1):
            ran(path, *told, "--shard", f"{number}/3", mood="fail:ArgMax")
        ran("whole.jsonl", *told, mood="fail:ArgMax")
        return paths

    def test_shards_give_the_whole(self, command, shards, small_corpus, here):
        ended = command("merge", *shards, "-o", "all.jsonl", "--data", small_corpus)
        assert ended.status == 1
        assert "e.toml:5: test_gone matches no case: remove it" in ended.out
        assert comparable(here / "all.jsonl") == comparable(here / "whole.jsonl")

    def test_the_rules_are_kept(self, command, ran, small_corpus, here):
        ran("old.jsonl", "-b", MOODY, mood="fail:Adam")
        told = ("-b", MOODY, "--baseline", "old.jsonl", "--require", "Softmax")
        parts = {"1.jsonl": ("--shard", "1/2"), "2.jsonl": ("--shard", "2/2"), "whole.jsonl": ()}
        for path, part in parts.items():
            ran(path, *told, *part, mood="fail:Adam fail:Adagrad unsupported:Softmax")
        assert command("merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl", "--data", small_corpus).status == 1
        assert comparable(here / "all.jsonl") == comparable(here / "whole.jsonl")
        reasons = read(here / "all.jsonl").footer["reasons"]
        assert [f"in the baseline {was}" in " ".join(reasons) for was in ("pass", "fail")] == [True, False]

    def test_a_case_that_the_corpus_has_not_is_no_fault(self, command, ran, small_corpus, here):
        ran("1.jsonl", "-b", MOODY, mood="fail:Adam")
        (here / "1.jsonl").write_text((here / "1.jsonl").read_text().replace(ADAM, f"{ADAM}_gone"))
        assert command("merge", "1.jsonl", "-o", "all.jsonl", "--data", small_corpus).status == 1

    def test_runs_of_two_formats_are_refused(self, command, shards, here):
        old = (here / "1.jsonl").read_text().replace('"format":2', '"format":1', 1)
        (here / "1.jsonl").write_text(old)
        ended = command("merge", *shards, "-o", "all.jsonl")
        assert (ended.status, "2.jsonl is of format 2, and 1.jsonl of format 1" in ended.err) == (2, True)

    def test_runs_of_format_1_stay_of_format_1(self, command, shards, here):
        for path in shards:
            (here / path).write_text((here / path).read_text().replace('"format":2', '"format":1', 1))
        command("merge", *shards, "-o", "all.jsonl")
        assert read(here / "all.jsonl").header["format"] == 1

    def test_the_order_of_the_files_does_not_matter(self, command, shards, here):
        command("merge", *shards, "-o", "a.jsonl")
        command("merge", *shards[::-1], "-o", "b.jsonl")
        assert (here / "a.jsonl").read_bytes() == (here / "b.jsonl").read_bytes()

    def test_the_reports_of_both_are_the_same(self, command, shards, small_corpus, here):
        command("merge", *shards, "-o", "all.jsonl", "--data", small_corpus)
        for path in ("all", "whole"):
            command("report", f"{path}.jsonl", "--markdown", f"{path}.md")
        assert (here / "all.md").read_bytes() == (here / "whole.md").read_bytes()

    def test_missing_shards_shut_the_gate_and_are_named(self, command, ran):
        for number in (1, 4):
            ran(f"{number}.jsonl", "-b", RIGHT, "--shard", f"{number}/4")
        ended = command("merge", "1.jsonl", "4.jsonl", "-o", "all.jsonl")
        assert ended.status == 1
        assert f"of {RIGHT} these shards are missing: 2/4, 3/4" in ended.out

    def test_a_merged_run_that_lacks_shards_is_not_merged_on(self, command, ran):
        for number in (1, 2, 3):
            ran(f"{number}.jsonl", "-b", RIGHT, "--shard", f"{number}/3")
        command("merge", "1.jsonl", "2.jsonl", "-o", "part.jsonl")
        ended = command("merge", "part.jsonl", "3.jsonl", "-o", "all.jsonl")
        assert ended.status == 2
        assert "part.jsonl is a merged run that lacks shards" in ended.err

    def test_subjects_are_joined(self, command, ran, here):
        ran("right.jsonl", "-b", RIGHT)
        ran("moody.jsonl", "-b", MOODY)
        assert command("merge", "right.jsonl", "moody.jsonl", "-o", "all.jsonl").status == 0
        found = read(here / "all.jsonl")
        assert [subject["id"] for subject in found.header["subjects"]] == [RIGHT, MOODY]
        assert not [line for line in records(here / "all.jsonl") if complaint("results", line)]

    def test_a_part_of_one_subject_stays_a_part(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "-k", "argmax")
        ran("b.jsonl", "-b", RIGHT, "-k", "momentum")
        assert command("merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl").status == 0
        assert read(here / "all.jsonl").header["selection"]["-k"] == "argmax | momentum"

    def test_parts_that_make_the_whole_are_the_whole(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "-k", "argmax")
        ran("b.jsonl", "-b", RIGHT, "-k", "not argmax")
        assert command("merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl").status == 0
        assert read(here / "all.jsonl").header["selection"] == {"--level": "must"}

    def test_a_run_that_was_stopped_shuts_the_gate(self, command, ran, here):
        ran("a.jsonl", "-b", WRONG, "-x")
        ran("b.jsonl", "-b", RIGHT)
        ended = command("merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl")
        assert ended.status == 1
        assert f"{len(SMALL) - 1} of {2 * len(SMALL)} results are missing" in ended.out

    def changed(self, here, path, **header):
        """The same file with another header."""
        lines = records(here / path)
        lines[0] = {**lines[0], **header}
        (here / f"other_{path}").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"other_{path}"

    def refusal(self, command, here, *paths):
        before = tree(here)
        ended = command("merge", *paths, "-o", "all.jsonl")
        assert ended.status == 2
        assert tree(here) == before
        return ended.err

    def test_another_corpus_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", MOODY)
        corpus = {**read(here / "b.jsonl").header["corpus"], "digest": "0" * 64}
        assert "is of another corpus" in self.refusal(
            command, here, "a.jsonl", self.changed(here, "b.jsonl", corpus=corpus)
        )

    def test_one_result_twice_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", RIGHT, "-k", "argmax")
        assert re.search(rf"both have \S+ on {RIGHT}", self.refusal(command, here, "a.jsonl", "b.jsonl"))

    def test_another_version_of_a_subject_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT, "--shard", "1/2")
        ran("b.jsonl", "-b", RIGHT, "--shard", "2/2")
        other = self.changed(here, "b.jsonl", subjects=[{"id": RIGHT, "kind": "backend", "version": "9"}])
        assert f"{RIGHT} 9" in self.refusal(command, here, "a.jsonl", other)

    def test_other_rules_are_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        ran("b.jsonl", "-b", MOODY, "--level", "should")
        assert "was judged by other rules" in self.refusal(command, here, "a.jsonl", "b.jsonl")

    def test_a_missing_footer_is_refused(self, command, ran, here):
        ran("a.jsonl", "-b", RIGHT)
        (here / "a.jsonl").write_text("".join((here / "a.jsonl").read_text().splitlines(keepends=True)[:-1]))
        assert "a.jsonl is truncated" in self.refusal(command, here, "a.jsonl")
