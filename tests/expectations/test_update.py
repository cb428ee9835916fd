"""`expect update`: it writes what the gate asks for, all of it, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_in_memory import run_of

from conformance.errors import ExpectationsError
from conformance.expectations.file import parse_expectations
from conformance.expectations.update import updated
from conformance.gate.case_facts import Facts
from conformance.gate.gate import Gate
from conformance.gate.rules import Rules
from conformance.results.file import Results
from conformance.verdicts import Level, Verdict

NAME = "acme.toml"
HEAD = '# What acme is known not to pass.\nsubject = "acme"\n'
ENTRY = """
# The learning rate.
[[expect]]
cases = [
  "test_a1",  # the first
  "test_b*",
]
verdict = "fail"
reason = "known"
issue = "https://example.org/1"  # not ours

# Something else.
[[expect]]
cases = ["test_c1", "test_c2", "test_c3"]
verdict = "error"
reason = "other"
"""
TEXT = HEAD + ENTRY
AS_TOLD = {"test_a1": "fail", "test_b1": "fail", "test_b2": "fail", "test_b3": "fail"} | dict.fromkeys(
    ("test_c1", "test_c2", "test_c3"), "error"
)


def ran(verdicts, *, level="must", of=None, version="1.0", **more) -> Results:
    """A run of acme that gave these verdicts at level must, of a corpus of as many cases unless told otherwise."""
    corpus = {"version": "1.0.0", "digest": "0", "cases": of or len(verdicts), "selected": len(verdicts)}
    header = {
        "corpus": corpus,
        "subjects": [{"id": "acme", "kind": "backend", "version": version}],
        "selection": {"--level": "must"},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    results = tuple(
        {"subject": "acme", "case": case, "level": level, "verdict": verdict, "message": f"{verdict} {case[5]}", **more}
        for case, verdict in verdicts.items()
    )
    return run_of("results.jsonl", header, [], results, {"results": len(results)})


def update(text, changes=(), **more) -> str:
    return updated(text, NAME, ran({**AS_TOLD, **dict(changes)}), **more).text


class TestWhatItWrites:
    def test_nothing_where_all_is_as_expected(self):
        assert update(TEXT) == TEXT

    def test_a_case_that_passes_leaves_with_its_line(self):
        assert update(TEXT, {"test_a1": "pass"}) == TEXT.replace('  "test_a1",  # the first\n', "")

    @pytest.mark.parametrize(
        ("passing", "left"),
        [
            (["test_c1"], '"test_c2", "test_c3"'),
            (["test_c2"], '"test_c1", "test_c3"'),
            (["test_c3"], '"test_c1", "test_c2"'),
            (["test_c1", "test_c3"], '"test_c2"'),
            (["test_c2", "test_c3"], '"test_c1"'),
            (["test_c1", "test_c2"], '"test_c3"'),
        ],
    )
    def test_it_leaves_a_list_in_one_line_too(self, passing, left):
        new = update(TEXT, dict.fromkeys(passing, "pass"))
        assert new == TEXT.replace('"test_c1", "test_c2", "test_c3"', left)

    def test_a_few_that_pass_are_excepted_from_their_pattern(self):
        new = update(TEXT, {"test_b1": "pass"})
        assert new == TEXT.replace('  "test_b*",\n]\n', '  "test_b*",\n]\nexcept = ["test_b1"]\n')

    def test_an_exception_joins_those_there_are(self):
        before = TEXT.replace('verdict = "fail"\n', 'except = ["test_b9"]\nverdict = "fail"\n')
        new = update(before, {"test_b1": "pass"})
        assert new == before.replace('["test_b9"]', '["test_b9", "test_b1"]')

    def test_an_exception_joins_a_list_with_a_line_for_each(self):
        before = TEXT.replace('verdict = "fail"\n', 'except = [\n  "test_b9",\n]\nverdict = "fail"\n')
        assert update(before, {"test_b1": "pass"}) == before.replace('"test_b9",', '"test_b9",\n  "test_b1",')

    def test_an_exception_joins_a_single_one(self):
        before = TEXT.replace('verdict = "fail"\n', 'except = "test_b9"\nverdict = "fail"\n')
        assert update(before, {"test_b1": "pass"}) == before.replace('"test_b9"', '["test_b9", "test_b1"]')

    def test_where_most_pass_the_rest_is_named_instead_of_the_pattern(self):
        new = update(TEXT, {"test_b1": "pass", "test_b3": "pass"})
        assert new == TEXT.replace('"test_b*"', '"test_b2"')

    def test_a_pattern_alone_is_replaced_as_well(self):
        before = HEAD + '[[expect]]\ncases = "test_b*"\nverdict = "fail"\nreason = "known"\n'
        run = ran({"test_b1": "fail", "test_b2": "fail", **{f"test_b{number}": "pass" for number in range(3, 9)}})
        assert updated(before, NAME, run).text == before.replace('"test_b*"', '["test_b1", "test_b2"]')

    def test_an_entry_of_which_all_pass_goes_and_comments_stay(self):
        new = update(TEXT, dict.fromkeys(("test_c1", "test_c2", "test_c3"), "pass"))
        assert new == TEXT[: TEXT.index("# Something else.")] + "# Something else.\n"

    def test_a_pattern_that_matches_nothing_goes(self):
        before = TEXT.replace('  "test_b*",\n', '  "test_gone_*",\n  "test_b*",\n')
        assert update(before) == TEXT

    def test_a_changed_verdict_of_all_cases_is_changed_in_place(self):
        new = update(TEXT, dict.fromkeys(("test_c1", "test_c2", "test_c3"), "crash"))
        assert new == TEXT.replace('verdict = "error"', 'verdict = "crash"')

    def test_a_changed_verdict_of_some_is_an_entry_with_the_same_reason_and_issue(self):
        new = update(TEXT, {"test_a1": "timeout"})
        split = '\n[[expect]]\ncases = ["test_a1"]\nverdict = "timeout"\nreason = "known"\nissue = "https://example.org/1"\n'
        assert new == TEXT.replace('  "test_a1",  # the first\n', "").replace("# not ours\n", f"# not ours\n{split}")

    def test_a_condition_goes_with_it(self):
        when = 'when = { version = "<2", platform = ["linux"] }\n'
        before = HEAD + f'[[expect]]\ncases = ["test_a1", "test_a2"]\nverdict = "fail"\nreason = "known"\n{when}'
        new = updated(before, NAME, ran({"test_a1": "fail", "test_a2": "error"})).text
        assert new.count(when) == 2

    def test_a_case_that_another_entry_would_catch_is_excepted_there_too(self):
        before = TEXT + '\n[[expect]]\ncases = ["test_*"]\nverdict = "crash"\nreason = "all"\n'
        verdicts = {**AS_TOLD, "test_a1": "pass", **{f"test_z{number}": "crash" for number in range(3)}}
        new = updated(before, NAME, ran(verdicts)).text
        assert 'cases = ["test_*"]\nexcept = ["test_a1"]\n' in new

    def test_lines_that_end_otherwise_are_read(self):
        before = TEXT.replace("\n", "\r\n")
        assert update(before, {"test_a1": "pass"}) == before.replace('  "test_a1",  # the first\r\n', "")


class TestWhatItLeavesAlone:
    def test_a_pattern_that_a_partial_run_does_not_reach(self):
        run = ran({"test_a1": "pass", "test_b1": "pass"}, of=100)
        new = updated(TEXT, NAME, run).text
        assert '"test_b*"' in new
        assert 'except = ["test_b1"]' in new
        assert '"test_c1"' in new

    def test_an_entry_that_does_not_apply(self):
        before = TEXT.replace('reason = "known"\n', 'reason = "known"\nwhen = { version = ">=2" }\n')
        verdicts = {**AS_TOLD, **dict.fromkeys(("test_a1", "test_b1", "test_b2", "test_b3"), "pass")}
        assert updated(before, NAME, ran(verdicts)).text == before

    def test_cases_at_a_level_that_is_not_judged(self):
        assert updated(TEXT, NAME, ran(dict.fromkeys(AS_TOLD, "pass"), level="should")).text == TEXT

    def test_a_verdict_that_varies_is_told(self):
        done = updated(TEXT, NAME, ran(AS_TOLD, repeats={"pass": 1, "fail": 1}))
        assert (done.text, done.varying) == (TEXT, tuple(sorted(AS_TOLD)))


NEW = {"test_n1": "fail", "test_n2": "fail", "test_o1": "error"}


class TestNewFailures:
    def test_without_a_reason_they_are_told_and_not_written(self):
        done = updated(TEXT, NAME, ran({**AS_TOLD, **NEW}))
        assert done.text == TEXT
        assert [(one.verdict, one.cases) for one in done.missing] == [
            ("error", ("test_o1",)),
            ("fail", ("test_n1", "test_n2")),
        ]

    def test_with_one_those_that_look_alike_are_an_entry(self):
        done = updated(TEXT, NAME, ran({**AS_TOLD, **NEW}), reason='said "so"')
        assert done.missing == ()
        assert done.text.startswith(TEXT)
        added = parse_expectations(done.text, NAME).entries[2:]
        assert [(entry.cases, entry.reason) for entry in added] == [
            (("test_o1",), 'said "so"'),
            (("test_n1", "test_n2"), 'said "so"'),
        ]


class TestRefusals:
    def test_a_subject_that_was_not_run(self):
        with pytest.raises(ExpectationsError, match="is about other, of which"):
            updated('subject = "other"\n', NAME, ran(AS_TOLD))

    def test_a_form_without_places(self):
        text = 'subject = "acme"\nexpect = [{cases = "test_a1", verdict = "error", reason = "known"}]\n'
        with pytest.raises(ExpectationsError, match="cannot be edited"):
            updated(text, NAME, ran(AS_TOLD))


CASES = [f"test_{letter}{number}" for letter in "abc" for number in "123"]
PATTERNS = ["test_*", "test_a*", "test_b*", "test_?1", "test_[ab]2", "test_gone", *CASES]
DEFECTS = ["fail", "error", "unsupported"]


def entries():
    """Entries of any kind that may be written, as text."""
    lists = st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4, unique=True)
    return st.builds(
        _entry, lists, st.lists(st.sampled_from(CASES), max_size=2), st.sampled_from(DEFECTS), st.booleans()
    )


def _entry(cases, exceptions, verdict, wide):
    listed = json.dumps(cases) if wide else "[\n" + "".join(f'  "{case}", # {case}\n' for case in cases) + "]"
    excepted = f"except = {json.dumps(exceptions)}\n" if exceptions else ""
    return f'\n# about\n[[expect]]\ncases = {listed}\n{excepted}verdict = "{verdict}"\nreason = "known"\n'


def reasons(text: str, verdicts) -> list[str]:
    """Why a gate with these expectations is shut by these verdicts."""
    gate = Gate(Rules(Level.MUST, {"acme": parse_expectations(text, NAME)}), [])
    gate.verdicts["acme"] = {level: dict.fromkeys(Verdict, 0) for level in Level}
    for case, verdict in verdicts.items():
        entry = gate.expectation("acme", case)
        expected = entry and {"verdict": str(entry.verdict), "reason": "", "place": entry.place_of(case)}
        result = {"subject": "acme", "case": case, "level": "must", "verdict": verdict, "expected": expected}
        gate.judge(result, lambda: Facts("Adam", frozenset()))
    return gate.reasons(partial=False)


@given(
    st.lists(entries(), max_size=4).map("".join),
    st.fixed_dictionaries({case: st.sampled_from(["pass", *DEFECTS]) for case in CASES}),
)
def test_after_an_update_the_gate_holds_and_another_changes_nothing(body, verdicts):
    text = HEAD + body
    new = updated(text, NAME, ran(verdicts), reason="new").text
    assert reasons(new, verdicts) == []
    assert updated(new, NAME, ran(verdicts), reason="new").text == new
    assert new.count("# about\n") == text.count("# about\n")


@given(
    st.lists(entries(), max_size=3).map("".join), st.fixed_dictionaries({c: st.sampled_from(DEFECTS) for c in CASES})
)
def test_where_the_gate_holds_it_changes_nothing(body, verdicts):
    text = HEAD + body
    if not reasons(text, verdicts):
        assert updated(text, NAME, ran(verdicts), reason="new").text == text


class TestTheVerb:
    @pytest.fixture
    def results(self, command, small_corpus, here):
        command("run", "-b", "fake_backends:WrongOnArgMax", "--data", small_corpus, "--results", "out.jsonl")
        return here

    def test_a_new_file_is_begun_under_a_reason(self, command, results, small_corpus):
        ended = command("expect", "update", "out.jsonl", "-e", "e.toml", "--reason", "no luck with maxima")
        assert (ended.status, ended.out) == (0, "e.toml is updated.\n")
        told = ("-b", "fake_backends:WrongOnArgMax", "--data", small_corpus, "--expect", "e.toml")
        assert command("run", *told).status == 0

    @pytest.mark.parametrize("before", [None, 'subject = "fake_backends:WrongOnArgMax"\n# mine\n'])
    def test_without_a_reason_it_says_what_lacks_one_and_writes_nothing(self, command, results, before):
        if before is not None:
            (results / "e.toml").write_text(before)
        ended = command("expect", "update", "out.jsonl", "-e", "e.toml")
        assert ended.status == 2
        assert "no reason is known why" in ended.out
        assert "e.toml is left as it was" in ended.err
        assert (before is None) is not (results / "e.toml").exists()
        assert before is None or (results / "e.toml").read_text() == before

    @pytest.mark.parametrize("option", ["--check", "--dry-run"])
    def test_a_check_shows_the_change_and_writes_nothing(self, command, results, option):
        ended = command("expect", "update", "out.jsonl", "-e", "e.toml", "--reason", "known", option)
        assert ended.status == 1
        assert '+verdict = "fail"' in ended.out
        assert not (results / "e.toml").exists()

    def test_results_that_cannot_be_read_are_refused(self, command, here):
        (here / "out.jsonl").write_text("")
        assert command("expect", "update", "out.jsonl", "-e", "e.toml").status == 2
        assert not (here / "e.toml").exists()
