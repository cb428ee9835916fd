"""`diff` reports the changes between two runs."""

from __future__ import annotations

import json

import pytest
from corpora import ADAM, EXACT, INDEX, SHOULD
from refusals import assert_bad_input

RIGHT, WRONG, FAULTY = ("fake_subject:always_right", "fake_subject:always_wrong", "fake_subject:follows_environment")


class TestDiff:
    @pytest.fixture
    def runs(self, ran):
        ran("old.jsonl", "-b", FAULTY, faults="fail:Adam error:ArgMax")
        ran("new.jsonl", "-b", FAULTY, faults="fail:Adagrad fail:ArgMax")

    def test_diff_of_run_with_itself_is_empty(self, command, runs, here):
        ended = command("diff", "old.jsonl", "old.jsonl", "--json", "out.json")
        assert (ended.status, ended.out) == (0, "No regressions\n")
        found = json.loads((here / "out.json").read_text())
        assert not any(found[key] for key in found if key not in {"format", "before", "after"})

    def test_runs_without_a_common_subject_are_refused(self, command, runs, ran):
        ran("other.jsonl", "-b", RIGHT)
        ended = command("diff", "old.jsonl", "other.jsonl")
        assert_bad_input(ended, "results.no-common-subject", "old.jsonl", "other.jsonl")

    def test_runs_without_a_common_case_are_refused(self, command, ran):
        ran("argmax.jsonl", "-b", RIGHT, "-k", "argmax")
        ran("adam.jsonl", "-b", RIGHT, "-k", "adam")
        ended = command("diff", "argmax.jsonl", "adam.jsonl")
        assert_bad_input(ended, "results.no-common-case", "argmax.jsonl", "adam.jsonl")

    def test_diff_of_two_releases_has_the_changes_and_both_ids(self, command, runs, here):
        for name, release in (("old", "1.0"), ("new", "2.0")):
            path = here / f"{name}.jsonl"
            path.write_text(path.read_text().replace(FAULTY, f"{FAULTY}@{release}"))
        ended = command("diff", "old.jsonl", "new.jsonl", "--json", "out.json")
        assert ended.status == 1
        found = json.loads((here / "out.json").read_text())
        assert found["compared"] == {f"{FAULTY}@2.0": f"{FAULTY}@1.0"}
        assert [change["case"] for change in found["fixes"]] == [ADAM, SHOULD]
        assert not any(found[f"{what}_{how}"] for what in ("cases", "subjects") for how in ("added", "removed"))

    def test_diff_classifies_regressions_fixes_and_changes(self, command, runs, here):
        ended = command("diff", "old.jsonl", "new.jsonl", "--json", "out.json", "--markdown", "out.md")
        assert ended.status == 1
        found = json.loads((here / "out.json").read_text())
        assert [change["case"] for change in found["regressions"]] == ["test_adagrad_data_sets_repeated_float"]
        assert [change["case"] for change in found["fixes"]] == [ADAM, SHOULD]
        assert [change["case"] for change in found["changes"]] == [EXACT, INDEX]
        assert "### Regressions" in (here / "out.md").read_text()

    def test_back_again_fixes_are_regressions(self, command, runs, here):
        command("diff", "old.jsonl", "new.jsonl", "--json", "there.json")
        command("diff", "new.jsonl", "old.jsonl", "--json", "back.json")
        there, back = (json.loads((here / name).read_text()) for name in ("there.json", "back.json"))
        for one, other in (("regressions", "fixes"), ("fixes", "regressions"), ("changes", "changes")):
            assert [change["case"] for change in there[one]] == [change["case"] for change in back[other]]

    def test_cases_and_subjects_that_came_and_went_are_named(self, command, ran):
        ran("old.jsonl", "-b", RIGHT, "-b", WRONG, "-k", "argmax")
        ran("new.jsonl", "-b", RIGHT, "-b", FAULTY, "--case", EXACT, "--case", ADAM)
        out = command("diff", "old.jsonl", "new.jsonl").out
        for told in (
            f"Cases added:\n  {RIGHT}: {ADAM}\n",
            f"Cases removed:\n  {RIGHT}: {INDEX}\n",
            f"{FAULTY} is new",
            f"{WRONG} is gone",
        ):
            assert told in out

    def test_diff_of_unreadable_file_is_refused(self, command, runs, here):
        (here / "new.jsonl").write_text("{}\n")
        assert command("diff", "old.jsonl", "new.jsonl").status == 2
