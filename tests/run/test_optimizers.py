"""Graph optimizers in a run: which cases they get, what claims do, and that results, reports and gate know them."""

from __future__ import annotations

import numpy as np
import pytest
from argmax_models import fed_by
from corpora import ADAM, write_corpus
from onnx import helper
from outputs import records, results_of

from conformance.corpus.case import Case, Firing, Rewrite
from conformance.results.file import read
from conformance.verdicts import Level

FIRES, STAYS, DOCUMENTED = "test_pass_fires", "test_pass_stays", "test_pass_documented"
PASS = "eliminate_nop_monotone_argmax"


def _case(id, operator, rewrite):
    proto = fed_by(operator)
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
    """Three cases of the pass, and one of an operator."""
    directory = tmp_path_factory.mktemp("corpora") / "pass"
    fires = Rewrite(Firing.FIRES, ("Y",), ("Y",))
    cases = [
        _case(FIRES, "Exp", fires),
        _case(STAYS, "Relu", Rewrite(Firing.STAYS)),
        _case(DOCUMENTED, "Exp", fires),
        defined[ADAM][1],
    ]
    write_corpus(directory, cases)
    return directory


@pytest.fixture
def run(command, corpus):
    """Runs graph optimizers on it."""
    return lambda *arguments: command("run", "--data", corpus, "--results", "r.jsonl", *arguments)


def verdicts(subject):
    return {case: result["verdict"] for (name, case), result in results_of_here().items() if name == subject}


def results_of_here():
    from pathlib import Path

    return results_of(Path("r.jsonl"))


def test_a_graph_optimizer_gets_the_cases_of_the_pass_alone(run):
    assert run("-o", "reference-pass").status == 0
    assert verdicts("reference-pass") == dict.fromkeys([FIRES, STAYS, DOCUMENTED], "pass")


def test_backends_beside_it_get_all_cases(run):
    assert run("-b", "reference", "-o", "identity").status == 0
    assert set(verdicts("reference")) == {FIRES, STAYS, DOCUMENTED, ADAM}
    assert set(verdicts("identity")) == {FIRES, STAYS, DOCUMENTED}


def test_checks_and_hazards_are_in_the_results(run, here):
    run("-o", "reference-pass")
    result = results_of(here / "r.jsonl")["reference-pass", FIRES]
    assert {"name": "structure", "run": "fixed_point", "level": "must"} in result["checks"]
    assert {change["class"] for change in result["hazards"]} == {"rounding_tie"}
    assert read(here / "r.jsonl").footer["gate"] == "pass"


def test_the_header_says_what_is_claimed(run, here):
    run("-o", "reference-pass", "-o", "identity")
    subjects = records(here / "r.jsonl")[0]["subjects"]
    assert [(one["kind"], one.get("passes")) for one in subjects] == [("optimizer", [PASS]), ("optimizer", None)]


@pytest.mark.parametrize(("claims", "status"), [((), 0), (("--claims", PASS), 1)])
def test_a_claim_on_the_command_line_has_structure_judged(run, claims, status):
    assert run("-o", "fake_optimizers:never_fires", *claims).status == status


def test_a_claim_on_the_command_line_is_not_for_those_that_say_it_themselves(run):
    assert run("-o", "identity", "-o", "fake_optimizers:fires", "--claims", PASS).status == 0


def test_what_fails_says_which_check_and_why(run):
    ended = run("-o", "fake_optimizers:drops_metadata", "--level", "should")
    assert ended.status == 1
    message = results_of_here()["fake_optimizers:drops_metadata", DOCUMENTED]["message"]
    assert message == "preservation: metadata author of the model is gone"


@pytest.mark.parametrize("name", ["fake_optimizers:drops_metadata", "fake_optimizers:names_nodes_of_the_caller"])
@pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
def test_what_no_passage_demands_shuts_no_gate_at_must(run, name, level, status):
    assert run("-o", name, "--level", level).status == status
    failed = {result["level"] for result in results_of_here().values() if result["verdict"] == "fail"}
    assert failed == {"should"}


@pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
def test_what_fails_by_weaker_checks_alone_has_passed_something(run, level, status):
    assert run("-o", "fake_optimizers:drops_metadata", "--case", DOCUMENTED, "--level", level).status == status


def test_what_a_passage_demands_shuts_it_though_weaker_checks_complain_too(run):
    assert run("-o", "fake_optimizers:renames_the_input_of_the_caller").status == 1
    failed = {result["level"] for result in results_of_here().values() if result["verdict"] == "fail"}
    assert failed == {"must"}


def test_what_raises_is_an_error_of_the_phase_optimize(run):
    run("-o", "fake_optimizers:raises")
    result = results_of_here()["fake_optimizers:raises", FIRES]
    assert (result["verdict"], result["phase"]) == ("error", "optimize")


def test_expectations_are_kept_for_graph_optimizers_too(run, here):
    name = "fake_optimizers:drops_metadata"
    (here / "e.toml").write_text(
        f'subject = "{name}"\n[[expect]]\ncases = "{DOCUMENTED}"\nverdict = "fail"\nreason = "known"\n'
    )
    assert run("-o", name, "--expect", "e.toml").status == 0


def test_two_processes_give_the_same(run):
    assert run("-b", "reference", "-o", "reference-pass", "-n", "2").status == 0
    assert len(results_of_here()) == 4 + 3


def test_the_html_report_is_written(run, here):
    told = ("-o", "reference-pass", "-o", "fake_optimizers:drops_metadata", "--level", "should")
    assert run(*told, "--html", "r.html").status == 1
    assert "metadata author of the model is gone" in (here / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "Nothing to run is named"),
        (("-o", "acme"), "There is no graph optimizer acme"),
        (("-o", "json"), "Graph optimizer json cannot be called"),
        (("-o", "identity", "--claims", "eliminate_everything"), "There is no pass eliminate_everything"),
        (("-b", "reference", "--claims", PASS), "no graph optimizer is named"),
        (("-b", "onnxruntime", "-o", "onnxruntime"), "onnxruntime is named twice"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_told(run, arguments, problem):
    ended = run(*arguments)
    assert (ended.status, problem in ended.err) == (2, True)


@pytest.mark.parametrize(("claims", "status"), [((), 0), ((f"--onnx-claims={PASS}",), 1)])
def test_another_suite_s_pytest_runs_graph_optimizers(process, here, corpus, claims, status):
    name = "fake_optimizers:never_fires"
    ended = process(
        "pytest", "-p", "no:hypothesispytest", "-rA", f"--onnx-optimizer={name}", f"--onnx-data={corpus}", *claims
    )
    assert ended.status == status
    assert f"{STAYS}[{name}]" in ended.out
