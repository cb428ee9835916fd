"""Judgement of backends: companions, placement, interpretations, and rules of profiles."""

from __future__ import annotations

import json

import fake_subject as fakes
import numpy as np
import pytest
from argmax_cases import argmax_case
from command_outputs import read_records, results_by_key
from corpora import ADAM, EXACT, SMALL, rehash, write_corpus
from isolation_support import isolated_subject
from msgspec.structs import replace
from onnx import helper

from conformance.base.errors import CorpusError
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import COMPANION_FILE, load_case, verify_companions
from conformance.corpus.cases.corpus import MANIFEST, open_corpus
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info
from conformance.run.judging.backend import judge_backend, placement_violation, reported_placement
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.judging.profile_rules import applicable_rules, data_sets_with_profile, load_profile
from conformance.subjects.calling.subject_loading import load_backend
from conformance.subjects.isolation.start_subjects import client_of
from generators.argmax.argmax_preparation import cases

# Models prepared beside each other: what they share shows, and what they do not share is no accusation.


TWICE, FIRST, LAST = "test_argmax_prepared_twice", "test_argmax_in_turns_first", "test_argmax_in_turns_last"


@pytest.fixture
def corpus(tmp_path):
    write_corpus(tmp_path / "corpus", cases())
    return open_corpus(tmp_path / "corpus")


@pytest.fixture
def outcome(corpus):
    """Return the result of a case on a backend, in this process or apart from it."""
    started = []

    def outcome(fake, id, *, isolated):
        target = fake
        if isolated:
            started.append(isolated_subject(f"{fake.__module__}:{fake.__name__}"))
            target = started[-1].target
        return judge_backend(target, load_case(corpus, corpus.cases[id]))

    yield outcome
    for subject in started:
        client_of(subject).stop()


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("id", [TWICE, FIRST, LAST])
def test_correct_backend_passes_with_a_companion(outcome, id, isolated):
    assert outcome(fakes.always_right, id, isolated=isolated).verdict is Verdict.PASS


NEWEST, LAST_INPUT = fakes.keeps_the_newest_model, fakes.keeps_the_last_input


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(("fake", "id"), [(NEWEST, FIRST), (NEWEST, LAST), (LAST_INPUT, TWICE)])
def test_backend_that_runs_the_newest_model_or_shares_an_input_fails(outcome, fake, id, isolated):
    assert outcome(fake, id, isolated=isolated).verdict is Verdict.FAIL


@pytest.mark.parametrize("isolated", [False, True])
def test_overwritten_output_fails_at_should(outcome, isolated):
    result = outcome(fakes.reuses_its_buffers, TWICE, isolated=isolated)
    assert (result.verdict, result.phase) == (Verdict.FAIL, "compare")
    assert result.message == (
        "kept_outputs: index of data set 0 has been overwritten by a later run (and 1 more output)"
    )
    assert [(check.name, check.level) for check in result.checks] == [("kept_outputs", "should")]


def test_wrong_answer_precedes_an_overwritten_output(outcome):
    class ReusesItsBuffersWrongly(fakes.reuses_its_buffers):
        def answer(self, inputs, outputs):
            return super().answer(inputs, [output + 1 for output in outputs])

    result = outcome(ReusesItsBuffersWrongly, TWICE, isolated=False)
    assert (result.verdict, result.checks) == (Verdict.FAIL, [])


@pytest.mark.parametrize("content", [b"{}", b"[", b'{"case": "test_no_such"}', b'{"case": 1}'])
def test_malformed_companion_is_rejected(corpus, content):
    (corpus.path / f"node/{TWICE}/{COMPANION_FILE}").write_bytes(content)
    cases = json.loads((corpus.path / MANIFEST).read_text())["cases"]
    rehash(corpus.path, cases)
    spoilt = open_corpus(corpus.path)
    with pytest.raises(CorpusError):
        verify_companions(spoilt)
    with pytest.raises(CorpusError):
        judge_backend(fakes.always_right, load_case(spoilt, spoilt.cases[TWICE]))


def test_harness_with_one_model_gets_no_companion(corpus):
    subject = isolated_subject(f"{fakes.__name__}:keeps_the_newest_model")
    client = client_of(subject)
    client.known_info = replace(client.info(), models=1)
    assert judge_backend(subject.target, load_case(corpus, corpus.cases[FIRST])).verdict is Verdict.PASS
    client.stop()


# A backend that was given a provider passes a case only where every node ran on it.


INVALID = "test_invalid_adam_r_vector"

OUTCOMES = {
    fakes.runs_all: ("pass", None, ""),
    fakes.runs_nothing: ("unsupported", "load", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    fakes.runs_some: ("unsupported", "load", "1 of 3 nodes ran on CPU: ArgMax"),
    fakes.leaves_casts: ("pass", None, ""),
    fakes.has_nothing_to_run: ("unsupported", "load", "no node ran on Acme"),
    fakes.tells_nothing: ("unsupported", "run", "the backend does not report whether its nodes ran on Acme"),
    fakes.tells_late: ("unsupported", "run", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    fakes.may_fall_back: ("pass", None, ""),
    fakes.refuses_all: ("error", "load", "ValueError: this is no model"),
    fakes.refuses_when_run: ("error", "run", "ValueError: this is no input"),
}


def named(fake):
    return f"{fake.__module__}:{fake.__name__}"


def judged(subject, case):
    outcome = judge_backend(subject.target, case, provider=subject.provider)
    return outcome.verdict, outcome.phase, outcome.message, outcome.placement


@pytest.mark.parametrize("fake", OUTCOMES, ids=lambda fake: fake.__name__)
def test_placement_determines_the_verdict(case_of, fake):
    verdict, phase, message, _ = judged(load_backend(named(fake)), case_of(EXACT))
    assert (verdict, phase, message) == OUTCOMES[fake]


@pytest.mark.parametrize(
    "fake", [fakes.runs_some, fakes.tells_late, fakes.may_fall_back], ids=lambda fake: fake.__name__
)
def test_isolated_backend_has_the_same_verdict(case_of, fake):
    subject = isolated_subject(named(fake))
    there = judged(subject, case_of(EXACT))
    client_of(subject).stop()
    assert there == judged(load_backend(named(fake)), case_of(EXACT))
    assert there[3] is not None


@pytest.mark.parametrize(
    ("fake", "verdict", "part"),
    [(fakes.refuses_all, "unsupported", "assigned to Acme"), (fakes.refuses_when_run, "pass", "this is no input")],
    ids=["at load", "on the provider"],
)
def test_rejection_before_placement_is_unsupported(whole_corpus, fake, verdict, part):
    case = load_case(whole_corpus, whole_corpus.cases[INVALID])
    came, _, message, _ = judged(load_backend(named(fake)), case)
    assert (came, part in message) == (verdict, True)


def test_malformed_placement_is_an_error(case_of):
    verdict, _, message, _ = judged(load_backend(named(fakes.tells_nonsense)), case_of(EXACT))
    assert (verdict, "placement" in message) == ("error", True)


def test_placement_attribute_of_another_type_is_ignored():
    assert reported_placement(type("Rep", (), {"placement": "row-major"})()) is None


def test_provider_without_nodes_fails_the_run(command, small_corpus, here):
    ended = command(
        "run", "-b", named(fakes.runs_nothing), "--no-isolation", "--data", small_corpus, "--results", "r.jsonl"
    )
    verdicts = {result["verdict"] for result in results_by_key(here / "r.jsonl").values()}
    assert (ended.status, verdicts) == (1, {"unsupported"})
    assert "passed nothing" in ended.out


@pytest.mark.parametrize(
    "workers", [("--no-isolation",), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["here", "in workers"]
)
def test_results_have_provider_and_placement(process, here, small_corpus, workers):
    arguments = ("--data", small_corpus, "--results", "r.jsonl", "--html", "r.html")
    ended = process("fork", "run", "-b", named(fakes.runs_all), *arguments, *workers)
    assert ended.status == 0, ended.err
    header = read_records(here / "r.jsonl")[0]
    placements = [result["placement"] for result in results_by_key(here / "r.jsonl").values()]
    assert placements == [fakes.runs_all.placement] * len(SMALL)
    assert (header["subjects"][0]["provider"], header["subjects"][0]["placement"]) == ("Acme", "reported")
    assert "Acme" in (here / "r.html").read_text()


def test_subject_without_placement_report_is_marked(command, small_corpus, here):
    subject = f"{named(fakes.always_right)}[device=TPU]"
    ended = command("run", "-b", subject, "--case", ADAM, "--data", small_corpus, "--results", "r.jsonl")
    assert read_records(here / "r.jsonl")[0]["subjects"][0]["placement"] == "not reported"
    assert subject in ended.out


def test_placement_of_one_node_is_singular():
    assert placement_violation("Acme", {"CPU": {"ArgMax": 1}}) == "1 of 1 node ran on CPU: ArgMax"


# Rules of a profile: the indices that they accept for ArgMax of NaN, and the cases to which they apply.


NAN = np.nan
ROWS = np.array([[1, NAN, NAN, 2], [3, 4, 4, 1]], dtype=np.float32)


@pytest.fixture(scope="module")
def sonnx():
    return load_profile("sonnx")


@pytest.fixture
def case(tmp_path):
    """Return a function that makes a loaded case of one ArgMax node from data."""

    def made(data, *, level=Level.SILENT, before=(), clauses=("argmax.index",), **attributes):
        keepdims, axis = attributes.get("keepdims", 1), attributes.get("axis", 0)
        shape = [1 if at == axis % data.ndim else size for at, size in enumerate(data.shape)]
        shape = shape if keepdims else [size for at, size in enumerate(data.shape) if at != axis % data.ndim]
        node = helper.make_node("ArgMax", ["Y" if before else "X"], ["index"], **attributes)
        nodes = [*(helper.make_node(name, ["X"], ["Y"]) for name in before), node]
        inputs, outputs = [array_value_info("X", data)], [make_value_info("index", "int64", shape)]
        proto = build_model("test_small", nodes, inputs, outputs, {"": 13})
        given = argmax_case(model=proto, data_sets=((data,),), level=level, clauses=clauses)
        write_corpus(tmp_path / "corpus", [given])
        corpus = open_corpus(tmp_path / "corpus")
        return load_case(corpus, corpus.cases["test_small"])

    return made


class Answers:
    """Backend that always returns one answer."""

    def __init__(self, index) -> None:
        self._index = np.array(index, dtype=np.int64)

    def prepare(self, model, device):
        return self

    def run(self, inputs):
        return [self._index]


@pytest.mark.parametrize(
    ("attributes", "index"),
    [
        ({"axis": 1}, [[1], [1]]),
        ({"axis": -1, "select_last_index": 1}, [[2], [2]]),
        ({"axis": 1, "keepdims": 0}, [1, 1]),
        ({"axis": 0, "keepdims": 0}, [1, 0, 0, 0]),
        ({}, [[1, 0, 0, 0]]),
    ],
)
def test_profile_accepts_only_the_first_or_last_nan(case, sonnx, attributes, index):
    (data_set,) = data_sets_with_profile(sonnx, case(ROWS, **attributes))
    choices = data_set.outputs[0].choices
    assert choices.sum(axis=-1).tolist() == np.ones_like(index).tolist()
    assert choices.argmax(axis=-1).tolist() == index


@pytest.mark.parametrize(("index", "verdict"), [([[1], [1]], Verdict.PASS), ([[2], [1]], Verdict.FAIL)])
def test_profile_decides_verdict_of_index(case, sonnx, index, verdict):
    assert judge_backend(Answers(index), case(ROWS, axis=1), ExecutionOptions(profile=sonnx)).verdict is verdict


def test_any_index_passes_without_a_profile(case):
    assert judge_backend(Answers([[3], [1]]), case(ROWS, axis=1)).verdict is Verdict.PASS


def test_rule_applies_to_a_case_with_nan(case, sonnx):
    assert [rule.id for rule in applicable_rules(sonnx, case(ROWS, axis=1))] == ["sonnx.argmax_nan"]


def test_rule_does_not_apply_without_nan(case, sonnx):
    assert applicable_rules(sonnx, case(np.ones((2, 3), np.float32), level=Level.MUST, axis=1)) == ()


def test_rule_ignores_nan_of_other_operators(case, sonnx):
    data = np.array([[-1, 2]], dtype=np.float32)
    assert applicable_rules(sonnx, case(data, before=["Log"], axis=1)) == ()


@pytest.mark.parametrize(("clause", "rules"), [("argmax.index", 1), ("argmax.first_index", 0)])
def test_clause_rule_applies_to_cases_with_the_clause(case, tmp_path, clause, rules):
    file = tmp_path / "house.toml"
    rule = 'id = "house.index"\nlevel = "must"\ntext = "x"\nsource = "y"\nclauses = "argmax.index"\n'
    file.write_text(f'name = "house"\ntitle = "x"\nsource = "y"\n[[rule]]\n{rule}')
    given = case(np.ones((2, 3), np.float32), level=Level.SHOULD, axis=1, clauses=(clause, "argmax.axis"))
    assert len(applicable_rules(load_profile(str(file)), given)) == rules
