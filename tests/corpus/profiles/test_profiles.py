"""Reading of profiles, and errors for malformed ones."""

from __future__ import annotations

import os

import pytest
from refusals import assert_raises

from conformance.base.verdicts import Level
from conformance.corpus.profiles import bundled_profiles, read_profile
from conformance.run.judging.profile_rules import load_profile

HEAD = 'name = "house"\ntitle = "House rules"\nsource = "the house"\n'
RULE = '[[rule]]\nid = "house.one"\nlevel = "must"\ntext = "Nothing is mutated."\nsource = "page 1"\n'
MUTATION = HEAD + RULE + 'checks = ["mutation"]\n'


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes) -> str:
        path = tmp_path / "house.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize("name", bundled_profiles())
def test_bundled_profile_is_valid_and_has_its_name(name):
    profile = load_profile(name)
    assert (profile.name, all(rule.source for rule in profile.rules)) == (name, True)


def test_sonnx_has_one_rule():
    (rule,) = read_profile("sonnx").rules
    assert (rule.id, rule.level, rule.answer) == ("sonnx.argmax_nan", Level.MUST, "nan_wins_argmax")


def test_profile_file_is_read(file):
    (rule,) = load_profile(file(MUTATION)).rules
    assert (rule.checks, rule.clauses, rule.answer) == (("mutation",), (), "")


@pytest.mark.parametrize(
    ("check", "own", "raised"),
    [
        ("mutation", Level.SHOULD, Level.MUST),
        ("mutation", Level.MUST, Level.MUST),
        ("preservation", Level.SHOULD, Level.SHOULD),
    ],
)
def test_rule_raises_only_the_level_of_its_checks(file, check, own, raised):
    assert read_profile(file(MUTATION)).level_of_check(check, own) is raised


@pytest.mark.parametrize("own", [Level.MUST, Level.SHOULD])
def test_rule_never_lowers_a_level(file, own):
    profile = read_profile(file(MUTATION.replace('"must"', '"should"')))
    assert profile.level_of(["house.one"], own) is own


@pytest.mark.parametrize(
    ("content", "code", "datum"),
    [
        ("", "malformed", "house.toml"),
        (HEAD, "malformed", "house.toml"),
        (HEAD.replace("House rules", " ") + RULE + 'checks = "mutation"\n', "malformed", "house.toml"),
        ("subject = [", "malformed", "TOML"),
        ("name = " + "9" * 5000, "malformed", "TOML"),
        (b"\xff", "malformed", "TOML"),
        (HEAD + RULE, "malformed", "checks"),
        (MUTATION + 'verdict = "fail"\n', "malformed", "verdict"),
        (MUTATION + RULE + 'checks = "mutation"\n', "malformed", "id"),
        (MUTATION.replace('"must"', '"silent"'), "malformed", "silent"),
        (MUTATION.replace('"must"', '["must"]'), "malformed", "rule[0].level"),
        (MUTATION.replace('"page 1"', "1"), "malformed", "source"),
        (HEAD + RULE + 'answer = "zero_wins"\n', "malformed", "zero_wins"),
        (HEAD + RULE + "clauses = []\n", "malformed", "clauses"),
        (HEAD + RULE + 'clauses = ["adam.nothing"]\n', "clause-not-found", "adam.nothing"),
        (HEAD + RULE + 'checks = ["neatness"]\n', "check-not-found", "neatness"),
    ],
)
def test_malformed_profile_is_rejected(file, content, code, datum):
    with assert_raises(f"usage.profile-{code}", datum):
        load_profile(file(content))


def test_unknown_profile_suggests_a_similar_name():
    with assert_raises("usage.profile-unreadable", "sonx", "sonnx"):
        read_profile("sonx")


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "a\0b"])
def test_special_file_as_profile_is_rejected(here, name):
    os.mkfifo(here / "pipe")
    with assert_raises("usage.profile-unreadable", name):
        read_profile(name)
