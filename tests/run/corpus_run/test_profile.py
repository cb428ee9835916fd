"""Runs with a profile: levels, pass criterion, results, reports, and refused combinations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_outputs import comparable_records, read_records, results_by_key
from corpora import ADAM, write_corpus
from msgspec import to_builtins
from refusals import assert_bad_input

from conformance.base.serialization.decoding import schema_violation
from conformance.corpus.profiles import read_profile
from conformance.run.report.diff import compare_runs
from conformance.run.results.results_file import read_results

FIRST, LAST = "test_argmax_nan_several_first", "test_argmax_nan_several_last"
NUMPY, ZERO = "onnx-reference", "fake_subject:zero_on_argmax"
HOUSE = """name = "house"
title = "House rules"
source = "the house"
[[rule]]
id = "house.mutation"
level = "must"
text = "The caller's model is left alone."
source = "page 1"
checks = ["mutation"]
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, defined):
    """Corpus of two silent cases of ArgMax of NaN and one case of an operator without a rule."""
    directory = tmp_path_factory.mktemp("corpora") / "nan"
    write_corpus(directory, [defined[id][1] for id in (ADAM, FIRST, LAST)])
    return directory


@pytest.fixture
def run(command, corpus):
    return lambda *arguments: command("run", "--data", corpus, "--results", "r.jsonl", "--no-isolation", *arguments)


def current_results() -> dict:
    return results_by_key(Path("r.jsonl"))


def test_silent_case_decided_by_profile_is_must(run):
    assert run("-b", NUMPY, "--case", FIRST, "--case", LAST, "--profile", "sonnx").status == 0
    assert {result["level"] for result in current_results().values()} == {"must"}
    assert {tuple(result["rules"]) for result in current_results().values()} == {("sonnx.argmax_nan",)}


@pytest.mark.parametrize(("profile", "status"), [((), 0), (("--profile", "sonnx"), 1)])
def test_excluded_index_fails_run_only_with_profile(run, profile, status):
    assert run("-b", ZERO, *profile).status == status


def test_case_undecided_by_profile_keeps_its_level(run):
    run("-b", "reference", "--profile", "sonnx")
    result = current_results()["reference", ADAM]
    assert (result["level"], "rules" in result) == ("must", False)


def test_header_names_profile_and_its_source(run, here):
    run("-b", NUMPY, "--profile", "sonnx")
    profile = read_records(here / "r.jsonl")[0]["criterion"]["profile"]
    assert (profile["name"], [rule["id"] for rule in profile["rules"]]) == ("sonnx", ["sonnx.argmax_nan"])
    assert "onnx/working-groups" in profile["source"]
    assert to_builtins(read_results(here / "r.jsonl").header.criterion.profile) == profile


@pytest.mark.long
def test_profile_with_two_workers_gives_same_results(run, here):
    run("-b", ZERO, "--profile", "sonnx")
    (here / "r.jsonl").rename(here / "one.jsonl")
    run("-b", ZERO, "--profile", "sonnx", "-n", "2")
    assert comparable_records(here / "r.jsonl") == comparable_records(here / "one.jsonl")


def test_terminal_and_reports_name_the_profile(run, here, corpus):
    outputs = {"--html": "r.html", "--markdown": "r.md", "--json": "r.json", "--junit": "r.xml"}
    arguments = [text for pair in outputs.items() for text in pair]
    ended = run("-b", NUMPY, "--profile", "sonnx", *arguments)
    assert f"profile: sonnx, {read_profile('sonnx').title}" in ended.out
    summary = json.loads((here / "r.json").read_text())
    assert schema_violation("summary", summary) is None
    assert summary["runs"][0]["profile"]["name"] == "sonnx"
    assert "profile: <code>sonnx</code>" in (here / "r.md").read_text()
    page = (here / "r.html").read_text()
    assert "sonnx.argmax_nan" in page
    assert f"onnx-conformance run -b {NUMPY} --data {corpus} --profile sonnx" in page
    assert '<property name="profile" value="sonnx"' in (here / "r.xml").read_text()


def test_runs_by_different_profiles_are_not_merged(run, command, here):
    run("-b", NUMPY, "--profile", "sonnx")
    (here / "r.jsonl").rename(here / "one.jsonl")
    run("-b", "reference")
    ended = command("merge", "one.jsonl", "r.jsonl", "--output", "all.jsonl")
    assert_bad_input(ended, "results.criteria-differ")


def test_merged_runs_keep_their_profile(run, command, here, corpus):
    for number in (1, 2):
        run("-b", ZERO, "--profile", "sonnx", "--shard", f"{number}/2")
        (here / "r.jsonl").rename(here / f"{number}.jsonl")
    run("-b", ZERO, "--profile", "sonnx")
    command("merge", "1.jsonl", "2.jsonl", "--output", "all.jsonl", "--data", corpus)
    assert comparable_records(here / "all.jsonl") == comparable_records(here / "r.jsonl")


def test_resume_keeps_profile_and_refuses_different_profile(run, here):
    run("-b", NUMPY, "--profile", "sonnx")
    lines = (here / "r.jsonl").read_text().splitlines(keepends=True)
    (here / "r.jsonl").unlink()
    (here / "r.jsonl.partial").write_text("".join(lines[:3]))
    (here / "house.toml").write_text(HOUSE)
    ended = run("-b", NUMPY, "--resume", "r.jsonl", "--profile", "house.toml")
    assert_bad_input(ended, "usage.resume-other-run", "house.toml")
    assert run("-b", NUMPY, "--resume", "r.jsonl", "--profile", "sonnx").status == 0
    assert len(current_results()) == 3


def test_comparison_of_runs_names_their_profiles(run, here):
    run("-b", NUMPY)
    before = read_results(here / "r.jsonl")
    run("-b", NUMPY, "--profile", "sonnx")
    found = compare_runs(before, read_results(here / "r.jsonl"))
    assert [each.profile for each in (found.before, found.after)] == [None, "sonnx"]


def test_custom_profile_raises_level_of_a_check(command, here, whole_corpus):
    (here / "house.toml").write_text(HOUSE)
    told = ("-o", "fake_subject:names_nodes_of_the_caller", "-k", "base_exp_opset", "--profile", "house.toml")
    ended = command("run", "--data", whole_corpus.path, *told, "--results", "r.jsonl", "--no-isolation")
    assert ended.status == 1
    failed = [result for result in results_by_key(here / "r.jsonl").values() if result["verdict"] == "fail"]
    assert {result["level"] for result in failed} == {"must"}


def test_unknown_profile_is_refused_with_nearest_name(run, here):
    assert_bad_input(run("-b", NUMPY, "--profile", "sonx"), "usage.profile-unreadable", "sonx", "sonnx?")
    assert not (here / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("case", "line"),
    [(FIRST, "rule sonnx.argmax_nan of profile sonnx: must"), (ADAM, "no rule of profile sonnx applies to the case")],
)
def test_explain_with_profile_shows_its_requirement(command, corpus, case, line):
    assert line in command("explain", case, "--data", corpus, "--profile", "sonnx").out


@pytest.mark.variants(1)
@pytest.mark.parametrize(("profile", "status"), [((), 0), (("--onnx-profile=sonnx",), 1)])
def test_pytest_plugin_applies_the_profile(process, here, corpus, profile, status):
    ended = process(
        "pytest", "-p", "no:hypothesispytest", f"--onnx-backend={ZERO}", f"--onnx-data={corpus}", "-k", "nan", *profile
    )
    assert ended.status == status, ended.out
