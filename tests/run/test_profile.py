"""A run by a profile: its levels, the gate, results and reports, and what is not to be mixed with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpora import ADAM, write_corpus
from outputs import comparable, records, results_of
from refusals import assert_bad_input, assert_bad_input_by_pytest

from conformance.results.diff import differences
from conformance.results.file import read
from conformance.schemas import complaint

FIRST, LAST = "test_argmax_nan_several_first", "test_argmax_nan_several_last"
NUMPY, ZERO = "onnx-reference", "fake_backends:ZeroOnArgMax"
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
    """Two cases of ArgMax of NaN, both silent, and one of an operator without."""
    directory = tmp_path_factory.mktemp("corpora") / "nan"
    write_corpus(directory, [defined[id][1] for id in (ADAM, FIRST, LAST)])
    return directory


@pytest.fixture
def run(command, corpus):
    return lambda *arguments: command("run", "--data", corpus, "--results", "r.jsonl", "--in-process", *arguments)


def told() -> dict:
    return results_of(Path("r.jsonl"))


def test_a_silent_case_that_the_profile_decides_is_must(run):
    assert run("-b", NUMPY, "--case", FIRST, "--case", LAST, "--profile", "sonnx").status == 0
    assert {result["level"] for result in told().values()} == {"must"}
    assert {tuple(result["rules"]) for result in told().values()} == {("sonnx.argmax_nan",)}


@pytest.mark.parametrize(("profile", "status"), [((), 0), (("--profile", "sonnx"), 1)])
def test_another_index_shuts_the_gate_only_by_the_profile(run, profile, status):
    assert run("-b", ZERO, *profile).status == status


def test_what_it_does_not_decide_is_as_it_was(run):
    run("-b", "reference", "--profile", "sonnx")
    result = told()["reference", ADAM]
    assert (result["level"], "rules" in result) == ("must", False)


def test_the_header_says_it_with_its_source(run, here):
    run("-b", NUMPY, "--profile", "sonnx")
    profile = records(here / "r.jsonl")[0]["rules"]["profile"]
    assert (profile["name"], [rule["id"] for rule in profile["rules"]]) == ("sonnx", ["sonnx.argmax_nan"])
    assert "onnx/working-groups" in profile["source"]
    assert read(here / "r.jsonl").header["rules"]["profile"] == profile


def test_two_processes_give_the_same(run, here):
    run("-b", ZERO, "--profile", "sonnx")
    (here / "r.jsonl").rename(here / "one.jsonl")
    run("-b", ZERO, "--profile", "sonnx", "-n", "2")
    assert comparable(here / "r.jsonl") == comparable(here / "one.jsonl")


def test_the_terminal_and_every_report_say_it(run, here, corpus):
    outputs = {"--html": "r.html", "--markdown": "r.md", "--json": "r.json", "--junit": "r.xml"}
    arguments = [text for pair in outputs.items() for text in pair]
    ended = run("-b", NUMPY, "--profile", "sonnx", *arguments)
    assert "profile: sonnx, ONNX profile for safety-related systems" in ended.out
    summary = json.loads((here / "r.json").read_text())
    assert complaint("summary", summary) is None
    assert summary["runs"][0]["profile"]["name"] == "sonnx"
    assert "goes by the profile <code>sonnx</code>" in (here / "r.md").read_text()
    page = (here / "r.html").read_text()
    assert "sonnx.argmax_nan" in page
    assert f"onnx-conformance run -b {NUMPY} --data {corpus} --profile sonnx" in page
    assert '<property name="profile" value="sonnx"' in (here / "r.xml").read_text()


def test_runs_by_different_profiles_are_not_merged(run, command, here):
    run("-b", NUMPY, "--profile", "sonnx")
    (here / "r.jsonl").rename(here / "one.jsonl")
    run("-b", "reference")
    ended = command("merge", "one.jsonl", "r.jsonl", "-o", "all.jsonl")
    assert_bad_input(ended, "was judged by other rules")


def test_merged_runs_keep_their_profile(run, command, here, corpus):
    for number in (1, 2):
        run("-b", ZERO, "--profile", "sonnx", "--shard", f"{number}/2")
        (here / "r.jsonl").rename(here / f"{number}.jsonl")
    run("-b", ZERO, "--profile", "sonnx")
    command("merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl", "--data", corpus)
    assert comparable(here / "all.jsonl") == comparable(here / "r.jsonl")


def test_a_run_is_continued_by_its_profile_and_by_no_other(run, here):
    run("-b", NUMPY, "--profile", "sonnx")
    lines = (here / "r.jsonl").read_text().splitlines(keepends=True)
    (here / "r.jsonl").unlink()
    (here / "r.jsonl.partial").write_text("".join(lines[:3]))
    (here / "house.toml").write_text(HOUSE)
    assert_bad_input_by_pytest(
        run("-b", NUMPY, "--resume", "r.jsonl", "--profile", "house.toml"), "by its profile (see --profile)"
    )
    assert run("-b", NUMPY, "--resume", "r.jsonl").status == 0
    assert len(told()) == 3


def test_a_difference_of_two_runs_says_their_profiles(run, here):
    run("-b", NUMPY)
    before = read(here / "r.jsonl")
    run("-b", NUMPY, "--profile", "sonnx")
    found = differences(before, read(here / "r.jsonl"))
    assert [found[name].get("profile") for name in ("before", "after")] == [None, "sonnx"]


def test_a_house_s_own_profile_raises_a_check(command, here, whole_corpus):
    (here / "house.toml").write_text(HOUSE)
    told = ("-o", "fake_optimizers:names_nodes_of_the_caller", "-k", "base_exp_opset", "--profile", "house.toml")
    ended = command("run", "--data", whole_corpus.path, *told, "--results", "r.jsonl", "--in-process")
    assert ended.status == 1
    failed = [result for result in results_of(here / "r.jsonl").values() if result["verdict"] == "fail"]
    assert {result["level"] for result in failed} == {"must"}


def test_a_profile_that_is_not_there_is_refused(run, here):
    assert_bad_input(run("-b", NUMPY, "--profile", "sonx"), "The profile sonx cannot be read", "Did you mean sonnx?")
    assert not (here / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("case", "line"),
    [(FIRST, "rule sonnx.argmax_nan of profile sonnx: must"), (ADAM, "no rule of profile sonnx is about it")],
)
def test_a_case_is_explained_with_what_a_profile_asks(command, corpus, case, line):
    assert line in command("explain", case, "--data", corpus, "--profile", "sonnx").out


@pytest.mark.parametrize(("profile", "status"), [((), 0), (("--onnx-profile=sonnx",), 1)])
def test_another_suite_s_pytest_goes_by_it(process, here, corpus, profile, status):
    ended = process(
        "pytest", "-p", "no:hypothesispytest", f"--onnx-backend={ZERO}", f"--onnx-data={corpus}", "-k", "nan", *profile
    )
    assert ended.status == status, ended.out
