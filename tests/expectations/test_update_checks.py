"""`expect update` and the checks that an entry names."""

from __future__ import annotations

from runs_in_memory import run_of

from conformance.expectations.file import parse_expectations
from conformance.expectations.update import updated
from conformance.results.file import Results
from conformance.verdicts import Verdict

NAME = "acme.toml"
HEAD = 'subject = "acme"\n'


def run(*verdicts: tuple[str, str], **more) -> Results:
    """A run of acme that gave cases these verdicts."""
    header = {
        "corpus": {"version": "1.0.0", "digest": "0", "cases": len(verdicts), "selected": len(verdicts)},
        "subjects": [{"id": "acme", "kind": "optimizer", "version": "1.0"}],
        "selection": {"--level": "must"},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    told = {"subject": "acme", "level": "must", "message": "it is wrong"}
    results = tuple({**told, "case": case, "verdict": verdict} for case, verdict in verdicts)
    results[0].update(more)
    return run_of("results.jsonl", header, [], results, {"results": len(results)})


def complaining(*checks: str, level: str = "must") -> Results:
    """A run in which checks of a graph optimizer complain of one case, and another passes."""
    complaints = [{"name": name, "run": "once", "level": level, "complaint": "it is wrong"} for name in checks]
    return run(("test_a1", "fail"), ("test_z9", "pass"), checks=complaints)


class TestChecks:
    TEXT = HEAD + '\n[[expect]]\ncases = ["test_a1"]\nverdict = "fail"\nchecks = ["answers"]\nreason = "known"\n'

    def test_a_failure_by_the_named_checks_stays(self):
        assert updated(self.TEXT, NAME, complaining("answers")).text == self.TEXT

    def test_a_failure_by_another_leaves_and_needs_a_reason(self):
        done = updated(self.TEXT, NAME, complaining("answers", "checker"))
        assert (parse_expectations(done.text, NAME).entries, done.missing[0].checks) == ((), ("answers", "checker"))

    def test_a_new_entry_names_the_checks(self):
        text = updated(HEAD, NAME, complaining("answers"), "known").text
        assert text == self.TEXT
        assert updated(text, NAME, complaining("answers")).missing == ()

    def test_a_complaint_that_the_gate_does_not_judge_is_not_asked_for(self):
        assert updated(self.TEXT, NAME, complaining("mutation", level="should")).text == self.TEXT

    def test_another_verdict_takes_the_checks_away(self):
        done = updated(self.TEXT, NAME, run(("test_a1", "error"), ("test_z9", "pass")))
        (entry,) = parse_expectations(done.text, NAME).entries
        assert (entry.verdict, entry.checks) == (Verdict.ERROR, ())

    def test_an_entry_without_checks_is_about_any(self):
        text = self.TEXT.replace('checks = ["answers"]\n', "")
        assert updated(text, NAME, complaining("mutation", "checker")).text == text
