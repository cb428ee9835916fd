"""`update-expectations`: after an update the run passes, and nothing else is changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import assert_raises
from runs_in_memory import DIAGNOSIS, make_result, make_run, plain_case, plain_result, with_fields

from conformance.base.verdicts import Level, Verdict
from conformance.run.expectations import expectations_update as update_module
from conformance.run.expectations.criterion import CaseFacts, PassCriterion
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.expectations.expectations_file import parse_expectations
from conformance.run.expectations.expectations_update import NewEntries, update_expectations
from conformance.run.results.failure_groups import group_failures, mutant_sentence
from conformance.run.results.known_faults import known_faults
from conformance.run.results.results_file import Results
from conformance.run.results.wrong_elements import common_words

NAME = "acme.toml"
HEAD = '# What acme is known not to pass.\nsubject = "acme"\nsupports = []\n'
ENTRY = """
# The learning rate.
[[expect]]
reason = "known"
issue = "https://example.org/1"  # not ours
fail = [
  "test_a1",  # the first
  "test_b*",
]

# Something else.
[[expect]]
reason = "other"
error = ["test_c1", "test_c2", "test_c3"]
"""
TEXT = HEAD + ENTRY
AS_TOLD = {"test_a1": "fail", "test_b1": "fail", "test_b2": "fail", "test_b3": "fail"} | dict.fromkeys(
    ("test_c1", "test_c2", "test_c3"), "error"
)


def ran(verdicts, *, level="must", of=None, version="1.0", diagnoses=(), **more) -> Results:
    """Return a run of acme with these verdicts at level must. By default, the corpus has as many cases."""
    corpus = {"version": "1.0.0", "digest": "0", "cases": of or len(verdicts), "selected": len(verdicts)}
    header = {
        "corpus": corpus,
        "subjects": [{"id": "acme", "kind": "backend", "version": version}],
        "selections": [{"keyword": "test"}] if of else [],
        "criterion": {"level": "must", "require": [], "expected_results": len(verdicts), "expectations": []},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    results = tuple(
        plain_result("acme", case, verdict, **{"level": level, "message": f"{verdict} {case[5]}", **more})
        for case, verdict in verdicts.items()
    )
    footer = {"results": len(results), "diagnoses": diagnoses}
    return make_run("results.jsonl", header, map(plain_case, verdicts), results, footer)


def wrong_output(*kinds, count=1):
    violation = {"kind": "elements", "count": count, "of": 64}
    return {"data_set": 0, "name": "y", "check": "bound", "wrong": count, "violation": violation, "wrong_kinds": kinds}


def wrong_of(text):
    return [entry.wrong for entry in parse_expectations(text, NAME).entries]


def update(text, changes=(), **more) -> str:
    return update_expectations(text, NAME, ran({**AS_TOLD, **dict(changes)}), **more).text


class TestPinWrong:
    def test_entry_that_accepts_any_output_gets_what_is_wrong_in_all_its_cases(self):
        cases = {"test_a1": "fail", "test_b1": "fail"}
        run = ran(cases, outputs=[wrong_output("zero", count=3)])
        text = update_expectations(TEXT, NAME, run, NewEntries(pins_wrong=True)).text
        assert wrong_of(text) == [("few of output 0", "zero")]
        assert text.index("known") < text.index("wrong") < text.index("test_a1")
        assert update_expectations(text, NAME, run, NewEntries(pins_wrong=True)).text == text
        assert wrong_of(update_expectations(TEXT, NAME, run).text) == [()]

    @pytest.mark.parametrize(
        ("failures", "words"),
        [
            ([{"zero", "one of output 0"}, {"nan", "few of output 0"}], ("few of output 0", "nan", "zero")),
            ([{"far", "near", "one of output 0"}], ("far", "near")),
            ([{"value", "one of output 0"}], ("value",)),
            ([{"near", "one of output 0"}], ()),
            ([{"nan", "one of output 0"}, {"nan", "rough", "one of output 0"}], ()),
            ([{"zero", "one of output 0"}, {"other"}], ()),
            ([{"zero", "one of output 0"}, set()], ()),
            ([{"zero", *(f"one of output {place}" for place in range(5))}], ("zero",)),
            ([], ()),
        ],
    )
    def test_nothing_that_depends_on_rounding_is_listed(self, failures, words):
        assert common_words(failures) == words


class TestChanges:
    def test_expected_results_change_nothing(self):
        assert update(TEXT) == TEXT

    def test_passing_case_is_removed_with_its_line(self):
        assert update(TEXT, {"test_a1": "pass"}) == TEXT.replace('  "test_a1",  # the first\n', "")

    def test_failure_with_another_cause_than_the_mutants_is_removed(self):
        text = TEXT.replace("\nreason = ", '\nmutants = "adam.v_sum"\nreason = ')
        other = {"verdict": "fail", "reason": "", "mutants": ["adam.v_sum"], "has_other_cause": True}
        updated = update_expectations(text, NAME, ran(AS_TOLD, expected=other)).text
        assert text != updated == update(text, dict.fromkeys(AS_TOLD, "pass"))

    def test_failure_with_wrong_elements_of_other_kinds_gets_an_entry_of_its_own(self):
        run = ran({"test_n1": "fail", "test_n2": "fail"}, outputs=[wrong_output("nan", "near")])
        first = update_expectations(HEAD, NAME, run, NewEntries(by_cause=True)).text
        assert wrong_of(first) == [("nan", "near", "one of output 0")]
        better = ran(dict.fromkeys(run.case_rows, "fail"), outputs=[wrong_output("nan")])
        assert update_expectations(first, NAME, better).text == first
        other = ran(dict.fromkeys(run.case_rows, "fail"), outputs=[wrong_output("number")])
        second = update_expectations(first, NAME, other, NewEntries(by_cause=True)).text
        assert wrong_of(second) == [("number", "one of output 0")]

    def test_grown_failure_needs_a_new_entry_and_a_smaller_one_keeps_its_reason(self):
        cases = {"test_n1": "fail", "test_n2": "fail"}
        run = ran(cases, outputs=[wrong_output("zero", count=3)])
        first = update_expectations(HEAD, NAME, run, NewEntries(by_cause=True)).text
        assert wrong_of(first) == [("few of output 0", "zero")]
        grown = update_expectations(first, NAME, ran(cases, outputs=[wrong_output("zero", count=40)]))
        assert [entry.wrong for entry in grown.missing] == [("most of output 0", "zero")]
        assert wrong_of(grown.text) == []
        smaller = update_expectations(first, NAME, ran(cases, outputs=[wrong_output("zero")]))
        assert smaller.text == first.replace("few of", "one of")
        assert not smaller.missing

    def test_passing_case_of_an_intermittent_entry_stays(self):
        text = TEXT.replace("\nreason = ", "\nintermittent = true\nreason = ")
        assert text != TEXT
        assert update(text, {"test_a1": "pass"}) == text

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
    def test_passing_case_is_removed_from_one_line(self, passing, left):
        new = update(TEXT, dict.fromkeys(passing, "pass"))
        assert new == TEXT.replace('"test_c1", "test_c2", "test_c3"', left)

    def test_few_passing_cases_are_excepted(self):
        new = update(TEXT, {"test_b1": "pass"})
        assert new == TEXT.replace('  "test_b*",\n]\n', '  "test_b*",\n]\nexcept = ["test_b1"]\n')

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('["test_b9"]', '["test_b9", "test_b1"]'),
            ('[\n  "test_b9",\n]', '[\n  "test_b9",\n  "test_b1",\n]'),
            ('"test_b9"', '["test_b9", "test_b1"]'),
        ],
    )
    def test_exception_is_added_to_a_list_or_a_string(self, old, new):
        before, after = (TEXT.replace("fail = [", f"except = {names}\nfail = [") for names in (old, new))
        assert update(before, {"test_b1": "pass"}) == after

    def test_pattern_of_mostly_passing_cases_is_replaced(self):
        new = update(TEXT, {"test_b1": "pass", "test_b3": "pass"})
        assert new == TEXT.replace('"test_b*"', '"test_b2"')

    def test_single_pattern_is_replaced_by_a_list(self):
        before = HEAD + '[[expect]]\nreason = "known"\nfail = "test_b*"\n'
        run = ran({"test_b1": "fail", "test_b2": "fail", **{f"test_b{number}": "pass" for number in range(3, 9)}})
        assert update_expectations(before, NAME, run).text == before.replace('"test_b*"', '["test_b1", "test_b2"]')

    def test_passing_entry_is_removed_and_comments_stay(self):
        new = update(TEXT, dict.fromkeys(("test_c1", "test_c2", "test_c3"), "pass"))
        assert new == TEXT[: TEXT.index("# Something else.")] + "# Something else.\n"

    def test_pattern_without_match_is_removed(self):
        before = TEXT.replace('  "test_b*",\n', '  "test_gone_*",\n  "test_b*",\n')
        assert update(before) == TEXT

    def test_verdict_is_changed_if_all_cases_have_it(self):
        new = update(TEXT, dict.fromkeys(("test_c1", "test_c2", "test_c3"), "crash"))
        assert new == TEXT.replace("error = [", "crash = [")

    def test_new_verdict_of_some_cases_is_a_key_of_the_same_cause(self):
        new = update(TEXT, {"test_a1": "timeout"})
        expected = TEXT.replace('  "test_a1",  # the first\n', "")
        assert new == expected.replace('  "test_b*",\n]\n', '  "test_b*",\n]\ntimeout = ["test_a1"]\n')

    def test_new_verdict_of_a_case_of_a_pattern_is_a_key_of_the_same_cause(self):
        when = 'when = { version = "<2", platform = ["linux"] }\n'
        before = HEAD + f'[[expect]]\nreason = "known"\nfail = ["test_a*"]\n{when}'
        new = update_expectations(before, NAME, ran({"test_a1": "fail", "test_a2": "error"})).text
        assert new.startswith(before.replace("test_a*", "test_a1").replace(when, f'error = ["test_a2"]\n{when}'))

    def test_passing_case_is_excepted_from_a_later_entry(self):
        before = TEXT + '\n[[expect]]\nreason = "all"\ncrash = ["test_*"]\n'
        verdicts = {**AS_TOLD, "test_a1": "pass", **{f"test_z{number}": "crash" for number in range(3)}}
        new = update_expectations(before, NAME, ran(verdicts)).text
        assert 'crash = ["test_*"]\nexcept = ["test_a1"]\n' in new

    def test_windows_line_ends_are_kept(self):
        before = TEXT.replace("\n", "\r\n")
        assert update(before, {"test_a1": "pass"}) == before.replace('  "test_a1",  # the first\r\n', "")


class TestUnchanged:
    def test_partial_run_keeps_unreached_patterns(self):
        run = ran({"test_a1": "pass", "test_b1": "pass"}, of=100)
        new = update_expectations(TEXT, NAME, run).text
        assert '"test_b*"' in new
        assert 'except = ["test_b1"]' in new
        assert '"test_c1"' in new

    def test_inapplicable_entry_is_kept(self):
        before = TEXT.replace('reason = "known"\n', 'reason = "known"\nwhen = { version = ">=2" }\n')
        verdicts = {**AS_TOLD, **dict.fromkeys(("test_a1", "test_b1", "test_b2", "test_b3"), "pass")}
        assert update_expectations(before, NAME, ran(verdicts)).text == before

    def test_unjudged_levels_change_nothing(self):
        assert update_expectations(TEXT, NAME, ran(dict.fromkeys(AS_TOLD, "pass"), level="should")).text == TEXT

    def test_varying_verdict_is_reported(self):
        done = update_expectations(TEXT, NAME, ran(AS_TOLD, repeats={"pass": 1, "fail": 1}))
        assert (done.text, done.varying) == (TEXT, tuple(sorted(AS_TOLD)))


NEW = {"test_n1": "fail", "test_n2": "fail", "test_o1": "error"}


def diagnosis(mutant, *cases, **more):
    return with_fields(DIAGNOSIS, mutant=f"adam.{mutant}", cases=cases, **{"indistinguishable": []} | more)


class TestNewFailures:
    def test_failures_without_reason_are_reported(self):
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}))
        assert done.text == TEXT
        assert [(one.verdict, one.cases) for one in done.missing] == [
            ("fail", ("test_n1", "test_n2")),
            ("error", ("test_o1",)),
        ]

    def test_reason_is_written_on_all_cases_of_its_cause(self):
        new = tuple(f"test_n{number:03}" for number in range(500))
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, **dict.fromkeys(new, "fail")}), NewEntries('said "so"'))
        assert done.missing == ()
        assert done.text.startswith(TEXT)
        added = parse_expectations(done.text, NAME).entries[2:]
        assert [(entry.cases, entry.reason) for entry in added] == [(new, 'said "so"')]

    def test_one_reason_for_several_causes_is_refused(self):
        with assert_raises("usage.reason-for-several-causes", "2 causes"):
            update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}), NewEntries("so"))

    def test_several_verdicts_of_one_reason_are_one_table(self):
        run = ran({**AS_TOLD, **NEW})
        new = NewEntries("so", numbers=frozenset(one.number for one in update_expectations(TEXT, NAME, run).missing))
        done = update_expectations(TEXT, NAME, run, new)
        added = parse_expectations(done.text, NAME).entries[2:]
        assert [(entry.cases, entry.verdict, entry.table) for entry in added] == [
            (("test_n1", "test_n2"), "fail", 2),
            (("test_o1",), "error", 2),
        ]

    def test_joint_cause_has_the_mutants_of_its_partners(self):
        w, x, y, z = "alpha_not_read", "default_beta_0", "never_corrected", "norm_ignored"
        joint = {w: [], x: ["test_n1"], y: ["test_n1", "test_n2"], z: ["test_n2"]}
        records = [diagnosis(one, f"test_{one}", jointly_explained=cases) for one, cases in joint.items()]
        run = ran(dict.fromkeys((f"test_{one}" for one in joint), "fail"), diagnoses=records)
        text = update_expectations(HEAD, NAME, run, NewEntries(by_cause=True)).text
        assert [entry.mutants for entry in parse_expectations(text, NAME).entries] == [
            tuple(f"adam.{one}" for one in mutants) for mutants in ((w,), (x, y), (y, x, z), (z, y))
        ]

    def test_entries_with_one_first_mutant_are_joined_with_all_mutants(self):
        entry = '[[expect]]\nreason = "known"\nmutants = {}\nfail = "{}"\n'
        given = {"test_n1": ["x", "y"], "test_n2": ["x", "z"], "test_n3": ["y"]}
        text = HEAD + "".join(entry.format(json.dumps(mutants), case) for case, mutants in given.items())
        joined = update_expectations(text, NAME, ran(dict.fromkeys(given, "fail"))).text
        assert [(one.cases, one.mutants) for one in parse_expectations(joined, NAME).entries] == [
            (("test_n1", "test_n2"), ("x", "y", "z")),
            (("test_n3",), ("y",)),
        ]

    def test_unexplained_cause_has_the_failure_as_reason(self):
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, "test_n1": "fail"}), NewEntries(by_cause=True))
        (entry,) = parse_expectations(done.text, NAME).entries[2:]
        assert entry.reason.startswith("unexplained: ")

    def test_reason_is_written_for_the_chosen_cause_only(self):
        run = ran({**AS_TOLD, **NEW})
        first, second = update_expectations(TEXT, NAME, run).missing
        done = update_expectations(TEXT, NAME, run, NewEntries("no kernel", numbers=frozenset({second.number})))
        assert [entry.cases for entry in parse_expectations(done.text, NAME).entries[2:]] == [("test_o1",)]
        assert done.missing == (first,)

    def test_causes_have_the_numbers_of_the_report_whatever_the_file_lists(self):
        run = ran({**AS_TOLD, **NEW})
        reported = {cases: number for number, cases in enumerate((group.cases for group in group_failures(run)), 1)}
        for text in (HEAD, TEXT):
            missing = update_expectations(text, NAME, run).missing
            assert missing
            assert {one.cases: one.number for one in missing}.items() <= reported.items()
        first, second = missing
        done = update_expectations(TEXT, NAME, run, NewEntries("so", numbers=frozenset({first.number})))
        assert done.missing == (second,)

    def test_reason_is_written_for_the_selected_cases_only(self):
        new = NewEntries("no luck", is_selected=lambda case: case == "test_n2")
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}), new)
        assert [entry.cases for entry in parse_expectations(done.text, NAME).entries[2:]] == [("test_n2",)]
        assert [one.cases for one in done.missing] == [("test_n1",), ("test_o1",)]

    def test_unknown_cause_is_refused(self):
        with assert_raises("usage.no-such-cause", "7", NAME, "2 causes"):
            update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}), NewEntries("x", numbers=frozenset({7})))

    def test_diagnosed_cause_has_the_mutant_as_reason(self):
        run = ran({**AS_TOLD, **NEW}, diagnoses=[diagnosis("x", "test_n1", "test_o1")])
        done = update_expectations(TEXT, NAME, run, NewEntries(by_cause=True))
        added = parse_expectations(done.text, NAME).entries[2:]
        assert [(entry.cases, entry.verdict) for entry in added[:2]] == [
            (("test_n1",), "fail"),
            (("test_o1",), "error"),
        ]
        assert {entry.reason for entry in added[:2]} == {mutant_sentence(run.footer.diagnoses[0])}
        assert (added[2].cases, done.missing) == (("test_n2",), ())

    @pytest.mark.parametrize("by_cause", [True, False])
    @pytest.mark.parametrize(
        "reason",
        ["Adam: adds epsilon inside the square root", "Adam: ignores norm_coefficient_post", "Adam: our own words"],
    )
    def test_reason_of_an_earlier_diagnosis_is_replaced_by_cause(self, reason, by_cause):
        joint = "; 2 cases only together with another mistake: ignores norm_coefficient_post"
        text = f'{HEAD}\n[[expect]]\nreason = "{reason}{joint}"\nfail = ["test_n1", "test_n2"]\n'
        record = diagnosis("post_ignored", "test_n1", text="ignores norm_coefficient_post")
        run = ran({"test_n1": "fail", "test_n2": "fail"}, diagnoses=[record])
        done = update_expectations(text, NAME, run, NewEntries(by_cause=by_cause))
        reasons = {case: entry.reason for entry in parse_expectations(done.text, NAME).entries for case in entry.cases}
        is_replaced = by_cause and "own words" not in reason
        assert reasons["test_n1"] == ("Adam: ignores norm_coefficient_post" if is_replaced else reason + joint)
        assert reasons["test_n2"] == reason + joint
        assert done.missing == ()
        assert update_expectations(done.text, NAME, run, NewEntries(by_cause=by_cause)).text == done.text

    def test_known_fault_gives_reason_and_issue(self, monkeypatch):
        fault = replace(known_faults()[0], title="T is kept", upstream="see onnx/onnx#7, open", case="test_n2")
        fault = replace(fault, cases=frozenset({"test_n1", "test_n2"}), runtime="acme 1.0", verdict=Verdict.FAIL)
        monkeypatch.setattr(update_module, "known_faults_in", lambda *_: [fault])
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}), NewEntries("another", by_cause=True))
        added = parse_expectations(done.text, NAME).entries[2:]
        assert [(entry.cases, entry.issue) for entry in added] == [
            (("test_n1", "test_n2"), "https://github.com/onnx/onnx/issues/7"),
            (("test_o1",), ""),
        ]
        assert ("T is kept" in added[0].reason, added[1].reason) == (True, "another")

    def test_known_fault_of_another_version_gives_no_reason(self, monkeypatch):
        fault = replace(known_faults()[0], cases=frozenset(NEW), runtime="acme 2.0", verdict=Verdict.FAIL)
        monkeypatch.setattr(update_module, "known_faults_in", lambda *_: [fault])
        done = update_expectations(TEXT, NAME, ran({**AS_TOLD, **NEW}), NewEntries(by_cause=True))
        assert all(
            entry.reason.startswith("unexplained: ") for entry in parse_expectations(done.text, NAME).entries[2:]
        )


OLDER = """subject = "acme"

# The learning rate.
[[expect]]
cases = ["test_a1"] # the first
verdict = "fail"
reason = "known"

# Later.
[[expect]]
cases = ["test_c*"]
verdict = "unsupported"
reason = "no kernel"

# The same fault.
[[expect]]
cases = "test_b1"
verdict = "error"
reason = "known"
"""
OLDER_VERDICTS = {"test_a1": "fail", "test_b1": "error", "test_c1": "unsupported", "test_c2": "unsupported"}


class TestOlderFiles:
    def test_older_file_is_converted_without_unsupported_cases(self):
        done = update_expectations(OLDER, NAME, ran(OLDER_VERDICTS))
        assert done.missing == ()
        assert done.text == (
            'subject = "acme"\nsupports = []\n\n# The learning rate.\n[[expect]]\nreason = "known"\n'
            'fail = ["test_a1"] # the first\nerror = ["test_b1"]\n\n# Later.\n# The same fault.\n'
        )

    def test_converted_file_is_not_changed_again(self):
        text = update_expectations(OLDER, NAME, ran(OLDER_VERDICTS)).text
        assert update_expectations(text, NAME, ran(OLDER_VERDICTS)).text == text

    def test_unsupported_cases_are_pinned_on_request(self):
        verdicts = {**OLDER_VERDICTS, "test_d1": "unsupported"}
        done = update_expectations(OLDER, NAME, ran(verdicts), NewEntries(pins_unsupported=True))
        entries = parse_expectations(done.text, NAME).entries
        pinned = [entry for entry in entries if entry.verdict is Verdict.UNSUPPORTED]
        assert [(entry.cases, entry.reason) for entry in pinned] == [
            (("test_c*",), "no kernel"),
            (("test_d1",), "unsupported d"),
        ]

    def test_pinned_case_stays_without_the_request(self):
        text = update_expectations(OLDER, NAME, ran(OLDER_VERDICTS), NewEntries(pins_unsupported=True)).text
        assert update_expectations(text, NAME, ran(OLDER_VERDICTS)).text == text


class TestRefusals:
    def test_update_for_subject_not_in_run_is_refused(self):
        with assert_raises("expectations.subject-not-run", "other", "results.jsonl"):
            update_expectations('subject = "other"\n', NAME, ran(AS_TOLD))

    def test_inline_entries_are_rejected(self):
        text = 'subject = "acme"\nexpect = [{cases = "test_a1", verdict = "error", reason = "known"}]\n'
        with assert_raises("expectations.cannot-edit", NAME):
            update_expectations(text, NAME, ran(AS_TOLD))


CASES = [f"test_{letter}{number}" for letter in "abc" for number in "123"]
PATTERNS = ["test_*", "test_a*", "test_b*", "test_?1", "test_[ab]2", "test_gone", *CASES]
DEFECTS = ["fail", "error", "unsupported"]


def entries():
    """Strategy for valid entries of all kinds, as text."""
    lists = st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4, unique=True)
    exceptions = st.lists(st.sampled_from(CASES), max_size=2)
    return st.builds(_entry, lists, exceptions, st.sampled_from(DEFECTS), st.booleans(), st.booleans())


def numbered(texts: list[str]) -> str:
    """Return the entries with different reasons, as one text."""
    return "".join(text.replace("known", f"known {number}") for number, text in enumerate(texts))


def _entry(cases, exceptions, verdict, wide, older):
    listed = json.dumps(cases) if wide else "[\n" + "".join(f'  "{case}", # {case}\n' for case in cases) + "]"
    excepted = f"except = {json.dumps(exceptions)}\n" if exceptions else ""
    if older:
        return f'\n# about\n[[expect]]\ncases = {listed}\n{excepted}verdict = "{verdict}"\nreason = "known"\n'
    return f'\n# about\n[[expect]]\nreason = "known"\n{excepted}{verdict} = {listed}\n'


def reasons(text: str, verdicts) -> list[str]:
    """Return the reasons for which a run with these verdicts fails under these expectations."""
    criterion = PassCriterion(CriterionSettings(Level.MUST, {"acme": parse_expectations(text, NAME)}), {})
    criterion.verdicts["acme"] = {level: dict.fromkeys(Verdict, 0) for level in Level}
    for case, verdict in verdicts.items():
        result = make_result(case=case, verdict=verdict)
        expected = criterion.find_expectation(result, lambda: pytest.fail("the entries have no mutants"))
        criterion.assess(with_fields(result, expected=expected), lambda: CaseFacts("Adam", frozenset()))
    return criterion.reasons()


@given(
    st.lists(entries(), max_size=4).map("".join),
    st.fixed_dictionaries({case: st.sampled_from(["pass", *DEFECTS]) for case in CASES}),
)
def test_run_passes_after_an_update(body, verdicts):
    text = HEAD + body
    new = update_expectations(text, NAME, ran(verdicts), NewEntries(by_cause=True)).text
    assert reasons(new, verdicts) == []
    assert update_expectations(new, NAME, ran(verdicts), NewEntries(by_cause=True)).text == new
    assert new.count("# about\n") == text.count("# about\n")


@given(
    st.lists(entries(), max_size=3).map(numbered), st.fixed_dictionaries({c: st.sampled_from(DEFECTS) for c in CASES})
)
def test_passing_run_changes_only_the_form_of_entries(body, verdicts):
    text = HEAD + body
    if not reasons(text, verdicts):
        new = update_expectations(text, NAME, ran(verdicts), NewEntries()).text
        entries = (parse_expectations(one, NAME).entries for one in (text, new))
        before, after = ([(one.reason, one.verdict, one.cases, one.exceptions) for one in each] for each in entries)
        assert before == after


class TestVerb:
    @pytest.fixture
    def results(self, command, small_corpus, here):
        command("run", "-b", "fake_subject:wrong_on_argmax", "--data", small_corpus, "--results", "out.jsonl")
        return here

    def test_new_file_is_written_by_cause(self, command, results, small_corpus):
        ended = command("update-expectations", "out.jsonl", "--expect", "e.toml", "--by-cause")
        assert (ended.status, ended.out) == (0, "e.toml is written.\n")
        told = ("-b", "fake_subject:wrong_on_argmax", "--data", small_corpus, "--expect", "e.toml")
        assert command("run", *told).status == 0

    @pytest.mark.parametrize("before", [None, 'subject = "fake_subject:wrong_on_argmax"\n# mine\n'])
    def test_missing_reason_is_rejected_and_nothing_written(self, command, results, before):
        if before is not None:
            (results / "e.toml").write_text(before)
        ended = command("update-expectations", "out.jsonl", "--expect", "e.toml", "-v")
        assert ended.status == 2
        assert "test_argmax" in ended.out
        assert "error[usage.reason-missing]" in ended.err
        assert (before is None) is not (results / "e.toml").exists()
        assert before is None or (results / "e.toml").read_text() == before

    def test_by_cause_writes_all_causes(self, command, results):
        assert command("update-expectations", "out.jsonl", "--expect", "e.toml", "--by-cause").status == 0
        assert command("update-expectations", "out.jsonl", "--expect", "e.toml", "--check").status == 0

    @pytest.mark.parametrize("choice", [("--cause", "1"), ("-k", "argmax")])
    def test_choice_without_reason_is_rejected(self, command, results, choice):
        ended = command("update-expectations", "out.jsonl", "--expect", "e.toml", *choice, "-v")
        assert (ended.status, (results / "e.toml").exists()) == (2, False)
        assert "error[usage.reason-missing]" in ended.err

    def test_check_prints_the_diff_and_writes_nothing(self, command, results):
        ended = command("update-expectations", "out.jsonl", "--expect", "e.toml", "--by-cause", "--check")
        assert ended.status == 1
        assert "+fail = [" in ended.out
        assert not (results / "e.toml").exists()

    def test_unreadable_results_are_rejected(self, command, here):
        (here / "out.jsonl").write_text("")
        assert command("update-expectations", "out.jsonl", "--expect", "e.toml").status == 2
        assert not (here / "e.toml").exists()


def test_update_leaves_out_failures_of_the_baseline():
    verdicts = {"test_a1": "fail", "test_a2": "fail"}
    run = ran(verdicts, baseline=Verdict.FAIL)
    updated = update_expectations(HEAD, NAME, run, NewEntries("known"))
    assert (updated.missing, updated.accepted, "[[expect]]" in updated.text) == ((), 2, False)
    worse = update_expectations(HEAD, NAME, ran(verdicts, baseline=Verdict.PASS), NewEntries("known"))
    assert (worse.accepted, "[[expect]]" in worse.text) == (0, True)
