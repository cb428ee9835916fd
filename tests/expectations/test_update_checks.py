"""`update-expectations` and the checks that an entry names."""

from __future__ import annotations

from runs_in_memory import make_run, plain_case, plain_result, with_fields

from conformance.expectations.file import parse_expectations
from conformance.expectations.update import NewEntries, update_expectations
from conformance.results.file import Results
from conformance.verdicts import Verdict

NAME = "acme.toml"
HEAD = 'subject = "acme"\nsupports = []\n'


def run(*verdicts: tuple[str, str], **more) -> Results:
    """Return a run of acme with these verdicts."""
    header = {
        "corpus": {"version": "1.0.0", "digest": "0", "cases": len(verdicts), "selected": len(verdicts)},
        "subjects": [{"id": "acme", "kind": "optimizer", "version": "1.0"}],
        "selection": {"--fail-level": "must"},
        "criterion": {"level": "must", "require": [], "expected_results": len(verdicts), "expectations": []},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    first, *rest = (plain_result("acme", case, verdict, message="it is wrong") for case, verdict in verdicts)
    results = with_fields(first, **more), *rest
    cases = [plain_case(case) for case, _ in verdicts]
    return make_run("results.jsonl", header, cases, results, {"results": len(results), "diagnoses": ()})


def run_with_violations(*checks: str, level: str = "must") -> Results:
    """Return a run in which a graph optimizer violates checks in one case and passes another case."""
    violations = [{"name": name, "run": "once", "level": level, "violation": "it is wrong"} for name in checks]
    return run(("test_a1", "fail"), ("test_z9", "pass"), checks=violations)


class TestChecks:
    TEXT = HEAD + '\n[[expect]]\nreason = "known"\nchecks = ["answers"]\nfail = ["test_a1"]\n'

    def test_entry_with_checks_that_still_fail_is_kept(self):
        assert update_expectations(self.TEXT, NAME, run_with_violations("answers")).text == self.TEXT

    def test_entry_failing_another_check_is_removed_and_needs_reason(self):
        done = update_expectations(self.TEXT, NAME, run_with_violations("answers", "checker"))
        assert (parse_expectations(done.text, NAME).entries, done.missing[0].checks) == ((), ("answers", "checker"))

    def test_new_entry_names_the_violated_checks(self):
        text = update_expectations(HEAD, NAME, run_with_violations("answers"), NewEntries("known")).text
        assert text == self.TEXT
        assert update_expectations(text, NAME, run_with_violations("answers")).missing == ()

    def test_violation_below_fail_level_changes_no_entry(self):
        assert update_expectations(self.TEXT, NAME, run_with_violations("mutation", level="should")).text == self.TEXT

    def test_entry_with_changed_verdict_loses_its_checks(self):
        done = update_expectations(self.TEXT, NAME, run(("test_a1", "error"), ("test_z9", "pass")))
        (entry,) = parse_expectations(done.text, NAME).entries
        assert (entry.verdict, entry.checks) == (Verdict.ERROR, ())

    def test_entry_without_checks_matches_all_violations(self):
        text = self.TEXT.replace('checks = ["answers"]\n', "")
        assert update_expectations(text, NAME, run_with_violations("mutation", "checker")).text == text
