"""Graph optimizers in a run: selected cases, `--implements`, results, reports and pass criterion."""

from __future__ import annotations

import numpy as np
import pytest
from argmax_models import argmax_after
from command_outputs import read_records, results_by_key
from corpora import ADAM, write_corpus
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case, PassEffect, Rewrite
from conformance.run.results.results_file import read_results

FIRES, STAYS, DOCUMENTED = "test_pass_fires", "test_pass_stays", "test_pass_documented"
PASS = "eliminate_nop_monotone_argmax"


def _case(id, operator, rewrite):
    proto = argmax_after(operator)
    helper.set_model_props(proto, {"author": "somebody"} if id == DOCUMENTED else {})
    X = np.array([[1, 3, 2], [5, 1, 4]], dtype=np.float32)
    hazard = np.array([[0, 1e-8, -1], [0, 1e-8, -1]], dtype=np.float32)
    sets, hazards = ((X,), (hazard,)), (None, "rounding_tie")
    return Case(
        *(id, "A title", Level.MUST, ("monotone.exp",), ("pass",), proto.SerializeToString()),
        *(sets if rewrite.once else sets[:1], "pass", rewrite, hazards if rewrite.once else ()),
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, defined):
    """Corpus of three cases of the pass and one case of an operator."""
    directory = tmp_path_factory.mktemp("corpora") / "pass"
    fires = Rewrite(PassEffect.APPLIES, ("Y",), ("Y",))
    cases = [
        _case(FIRES, "Exp", fires),
        _case(STAYS, "Relu", Rewrite(PassEffect.DOES_NOT_APPLY)),
        _case(DOCUMENTED, "Exp", fires),
        defined[ADAM][1],
    ]
    write_corpus(directory, cases)
    return directory


@pytest.fixture
def run(command, corpus):
    """Return a function that runs graph optimizers on the corpus."""
    return lambda *arguments: command("run", "--data", corpus, "--results", "r.jsonl", *arguments)


def verdicts(subject):
    return {case: result["verdict"] for (name, case), result in results_of_here().items() if name == subject}


def results_of_here():
    from pathlib import Path

    return results_by_key(Path("r.jsonl"))


def test_graph_optimizer_gets_only_pass_cases(run):
    assert run("-o", "reference-pass").status == 0
    assert verdicts("reference-pass") == dict.fromkeys([FIRES, STAYS, DOCUMENTED], "pass")


def test_backends_beside_it_get_all_cases(run):
    assert run("-b", "reference", "-o", "identity").status == 0
    assert set(verdicts("reference")) == {FIRES, STAYS, DOCUMENTED, ADAM}
    assert set(verdicts("identity")) == {FIRES, STAYS, DOCUMENTED}


def test_checks_and_hazards_are_in_the_results(run, here):
    run("-o", "reference-pass")
    result = results_by_key(here / "r.jsonl")["reference-pass", FIRES]
    assert {"name": "structure", "run": "fixed_point", "level": "must"} in result["checks"]
    assert {change["class"] for change in result["hazards"]} == {"rounding_tie"}
    assert read_results(here / "r.jsonl").footer.outcome == "pass"


def test_header_names_implemented_passes(run, here):
    run("-o", "reference-pass", "-o", "identity")
    subjects = read_records(here / "r.jsonl")[0]["subjects"]
    assert [(one["kind"], one.get("passes")) for one in subjects] == [("optimizer", [PASS]), ("optimizer", None)]


@pytest.mark.parametrize(("claims", "status"), [((), 0), (("--implements", PASS), 1)])
def test_implements_option_enables_structure_check(run, claims, status):
    assert run("-o", "fake_subject:never_fires", *claims).status == status


def test_implements_option_skips_subjects_that_declare_passes(run):
    assert run("-o", "identity", "-o", "fake_subject:fires", "--implements", PASS).status == 0


def test_failure_message_names_check_and_cause(run):
    ended = run("-o", "fake_subject:drops_metadata", "--fail-level", "should")
    assert ended.status == 1
    message = results_of_here()["fake_subject:drops_metadata", DOCUMENTED]["message"]
    assert message == "preservation: metadata author of the model is gone"


@pytest.mark.variants(2)
@pytest.mark.parametrize("name", ["fake_subject:drops_metadata", "fake_subject:names_nodes_of_the_caller"])
@pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
def test_violation_of_should_check_fails_at_should(run, name, level, status):
    assert run("-o", name, "--fail-level", level).status == status
    failed = {result["level"] for result in results_of_here().values() if result["verdict"] == "fail"}
    assert failed == {"should"}


@pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
def test_violation_of_should_check_alone_passes_at_must(run, level, status):
    assert run("-o", "fake_subject:drops_metadata", "--case", DOCUMENTED, "--fail-level", level).status == status


def test_violation_of_must_check_sets_level_must(run):
    assert run("-o", "fake_subject:renames_the_input_of_the_caller").status == 1
    failed = {result["level"] for result in results_of_here().values() if result["verdict"] == "fail"}
    assert failed == {"must"}


def test_exception_is_error_of_phase_optimize(run):
    run("-o", "fake_subject:raises")
    result = results_of_here()["fake_subject:raises", FIRES]
    assert (result["verdict"], result["phase"]) == ("error", "optimize")


def test_expectations_are_kept_for_graph_optimizers_too(run, here):
    name = "fake_subject:drops_metadata"
    (here / "e.toml").write_text(f'subject = "{name}"\n[[expect]]\nfail = "{DOCUMENTED}"\nreason = "known"\n')
    assert run("-o", name, "--expect", "e.toml").status == 0


@pytest.mark.long
def test_run_with_two_workers_has_all_results(run):
    assert run("-b", "reference", "-o", "reference-pass", "-n", "2").status == 0
    assert len(results_of_here()) == 4 + 3


def test_html_report_has_optimizer_failure(run, here):
    told = ("-o", "reference-pass", "-o", "fake_subject:drops_metadata", "--fail-level", "should")
    assert run(*told, "--html", "r.html").status == 1
    assert "preservation" in (here / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "usage.subject-missing"),
        (("-o", "acme"), "name.unknown-subject"),
        (("-o", "json"), "subject.not-callable"),
        (("-o", "identity", "--implements", "eliminate_everything"), "name.no-such-pass"),
        (("-b", "reference", "--implements", PASS), "usage.optimizer-missing"),
        (("-b", "onnxruntime", "-o", "onnxruntime"), "usage.subject-twice"),
    ],
)
def test_wrong_command_line_is_rejected(run, arguments, code):
    ended = run(*arguments)
    assert (ended.status, ended.code) == (2, code)


@pytest.mark.variants(1)
@pytest.mark.parametrize(("claims", "status"), [((), 0), ((f"--onnx-implements={PASS}",), 1)])
def test_pytest_plugin_runs_graph_optimizers(process, here, corpus, claims, status):
    name = "fake_subject:never_fires"
    ended = process(
        "pytest", "-p", "no:hypothesispytest", "-rA", f"--onnx-optimizer={name}", f"--onnx-data={corpus}", *claims
    )
    assert ended.status == status
    assert f"{STAYS}[{name}]" in ended.out
