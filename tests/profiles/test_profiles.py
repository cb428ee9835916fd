"""Profiles: what is read, and what is refused with which words."""

from __future__ import annotations

import os

import pytest

from conformance.errors import UsageError
from conformance.judging.profiled import profile_of
from conformance.profiles import bundled_profiles, read_profile
from conformance.verdicts import Level

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
def test_a_bundled_profile_is_sound_and_has_its_own_name(name):
    profile = profile_of(name)
    assert (profile.name, all(rule.source for rule in profile.rules)) == (name, True)


def test_sonnx_has_one_rule():
    (rule,) = read_profile("sonnx").rules
    assert (rule.id, rule.level, rule.answer) == ("sonnx.argmax_nan", Level.MUST, "nan_wins_argmax")


def test_a_file_is_read(file):
    (rule,) = profile_of(file(MUTATION)).rules
    assert (rule.checks, rule.clauses, rule.answer) == (("mutation",), (), "")


@pytest.mark.parametrize(
    ("check", "own", "raised"),
    [
        ("mutation", Level.SHOULD, Level.MUST),
        ("mutation", Level.MUST, Level.MUST),
        ("preservation", Level.SHOULD, Level.SHOULD),
    ],
)
def test_a_rule_raises_the_level_of_its_checks_alone(file, check, own, raised):
    assert read_profile(file(MUTATION)).level_of_check(check, own) is raised


@pytest.mark.parametrize("own", [Level.MUST, Level.SHOULD])
def test_a_rule_never_lowers_a_level(file, own):
    profile = read_profile(file(MUTATION.replace('"must"', '"should"')))
    assert profile.level_of(["house.one"], own) is own


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is not a profile"),
        (HEAD, "is not a profile"),
        (HEAD.replace("House rules", " ") + RULE + 'checks = "mutation"\n', "is not a profile"),
        ("subject = [", "is not TOML"),
        ("name = " + "9" * 5000, "is not TOML"),
        (b"\xff", "is not TOML"),
        (HEAD + RULE, "is about nothing"),
        (MUTATION + 'verdict = "fail"\n', "is malformed"),
        (MUTATION + RULE + 'checks = "mutation"\n', "two rules of one id"),
        (MUTATION.replace('"must"', '"silent"'), "has the level 'silent'"),
        (MUTATION.replace('"must"', '["must"]'), "has the level ['must']"),
        (MUTATION.replace('"page 1"', "1"), "that is no text"),
        (HEAD + RULE + 'answer = "zero_wins"\n', "decides zero_wins, which is no question"),
        (HEAD + RULE + "clauses = []\n", "has clauses that are no list of names"),
        (HEAD + RULE + 'clauses = ["adam.nothing"]\n', "names the clause adam.nothing, which does not exist"),
        (HEAD + RULE + 'checks = ["neatness"]\n', "names the check neatness, which does not exist"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(file, content, problem):
    with pytest.raises(UsageError) as refused:
        profile_of(file(content))
    assert problem in refused.value.problem
    assert refused.value.mend.endswith(".")


def test_what_is_not_there_is_told_with_what_is():
    with pytest.raises(UsageError) as refused:
        read_profile("sonx")
    assert "sonnx" in refused.value.mend


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "a\0b"])
def test_what_is_no_regular_file_is_refused(here, name):
    os.mkfifo(here / "pipe")
    with pytest.raises(UsageError, match="cannot be read"):
        read_profile(name)
