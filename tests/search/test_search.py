"""Draws repeat, are judged as cases are, and what they find becomes small and stays what it was."""

from __future__ import annotations

import json
from dataclasses import replace

import fake_backends as fakes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.backends.reference import ReferenceBackend
from conformance.campaigns.campaign import campaign
from conformance.campaigns.processes import ProcessWorkers
from conformance.dimensions.contexts import Context
from conformance.judging.outcome import Outcome
from conformance.search.choice import Choice, built
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError, filled
from conformance.search.finds import Finds
from conformance.search.job import SearchJob
from conformance.search.judged import Draw, cause, judged, rewrite_of
from conformance.search.shrinking import shrunk
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level, Verdict

OPERATORS = ("Adam", "Momentum", "Adagrad", "ArgMax")


@pytest.fixture(scope="module")
def drawn():
    """The first piece of a seed."""
    return choices(OPERATORS, 0, 0, 40)


def subject(name, kind=SubjectKind.BACKEND):
    return load_subject(SubjectName.of(name, kind))


def job(name, examples=40, **options):
    return SearchJob(((name, SubjectKind.BACKEND),), ("Adagrad", "ArgMax"), 0, examples, isolated=False, **options)


def found(job, workers=1):
    finds = Finds(job)
    for piece in campaign(job, ProcessWorkers(workers, lambda _: None)):
        finds.add(piece)
    return finds


def told(finds):
    return [{key: value for key, value in find.items() if key != "seconds"} for find in finds]


def test_the_same_seed_gives_the_same_draws(drawn):
    assert [one.document() for one in choices(OPERATORS, 0, 0, 40)] == [one.document() for one in drawn]


def test_another_piece_gives_others(drawn):
    assert [one.document() for one in choices(OPERATORS, 0, 1, 40)] != [one.document() for one in drawn]


def test_a_choice_is_read_as_it_was_written(drawn):
    for choice in drawn:
        again = Choice.of(json.loads(json.dumps(choice.document())))
        assert built(again).model == built(choice).model


def test_draws_vary_every_dimension(drawn):
    contexts = [choice.context for choice in drawn]
    assert {choice.operator for choice in drawn} == set(OPERATORS)
    assert len({context.place for context in contexts}) > 5
    assert len({word for context in contexts for word in context.origins.values()}) > 4
    assert len({word for context in contexts for word in context.uses.values()}) > 3
    assert {len(choice.runs) for choice in drawn} > {1}


def test_attributes_stand_in_the_order_of_the_choice(drawn):
    choice = replace(next(one for one in drawn if one.operator == "Adagrad"), context=Context())
    reordered = replace(choice, attributes={"norm_coefficient": 0.5, "decay_factor": 0.25})
    (node,) = onnx.load_model_from_string(built(reordered).model).graph.node
    assert [attribute.name for attribute in node.attribute] == ["norm_coefficient", "decay_factor"]


def test_most_draws_have_an_answer_and_the_reference_gives_it(drawn):
    right = subject("reference")
    verdicts = []
    for choice in drawn:
        try:
            verdicts.append(judged(right, filled(choice)).verdict)
        except NoAnswerError:
            continue
    assert len(verdicts) > len(drawn) / 2
    assert set(verdicts) == {Verdict.PASS}


def test_who_answers_as_the_native_reference_to_the_bit_is_right_without_the_oracle(drawn):
    draw = Draw(drawn[0])
    assert draw.outcome(subject("reference")).verdict is Verdict.PASS
    assert not draw.is_filled


def test_who_answers_otherwise_is_judged_by_the_oracle(drawn):
    draw = Draw(drawn[0])
    assert draw.outcome(subject("fake_backends:AlwaysWrong")).verdict is Verdict.FAIL
    assert draw.is_filled


def test_below_must_the_oracle_is_always_asked(drawn):
    draw = Draw(drawn[0], Level.SHOULD)
    assert draw.outcome(subject("reference")).verdict is Verdict.PASS
    assert draw.is_filled


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 39), st.integers(0, 3))
def test_what_is_smaller_is_a_choice_of_which_a_model_can_be_made(drawn, place, seed):
    chance = np.random.default_rng(seed)
    small, _ = shrunk(drawn[place], lambda smaller: bool(built(smaller).model) and chance.random() < 0.5)
    assert small.size <= drawn[place].size
    onnx.checker.check_model(onnx.load_model_from_string(built(small).model))


def has(backend, verdict):
    """Whether a choice has this verdict on a backend."""

    def is_so(choice):
        try:
            return judged(backend, filled(choice)).verdict is verdict
        except (NoAnswerError, ValueError, IndexError, KeyError):
            return False

    return is_so


def test_a_fault_of_everything_becomes_one_element(drawn):
    is_wrong = has(subject("fake_backends:AlwaysWrong"), Verdict.FAIL)
    for choice in filter(is_wrong, drawn[:8]):
        small, _ = shrunk(choice, is_wrong)
        assert (small.context, small.tensors) == (Context(), 1)
        assert all(array.size == 1 for array in small.operands.values())


class WrongInALoop(ReferenceBackend):
    """Answers wrongly where a model has a Loop."""

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        inner = fakes.AlwaysWrong if any(n.op_type == "Loop" for n in model.graph.node) else fakes.AlwaysRight
        return inner.prepare(model)


def test_what_the_fault_needs_stays(drawn):
    is_wrong = has(replace(subject("reference"), target=WrongInALoop), Verdict.FAIL)
    in_loop = next(choice for choice in drawn if choice.operator != "ArgMax" and is_wrong(choice))
    small, _ = shrunk(in_loop, is_wrong)
    assert small.context.place in {"loop", "if_in_loop"}
    assert (small.context.origins, small.context.uses, small.tensors) == ({}, {}, 1)


def test_equal_causes_are_one_find():
    finds = found(job("fake_backends:WrongOnArgMax"))
    assert {find["about"] for find in finds} == {"ArgMax"}
    keys = [(find["subject"], find["about"], find["complaint"]) for find in finds]
    assert len(keys) == len(set(keys))


def test_finds_are_the_same_for_one_and_for_two_workers():
    search = job("fake_backends:AlwaysWrong", 80)
    assert told(found(search)) == told(found(search, workers=2))


def test_a_right_backend_has_no_find():
    finds = found(job("reference"))
    assert len(finds) == 0
    assert finds.unsupporting() == []


def test_nothing_is_drawn_when_the_time_is_over():
    assert found(job("reference", until=0.0)).draws == 0


def test_a_backend_that_supports_nothing_is_told_apart():
    assert found(job("raising_backends:SaysUnsupported")).unsupporting() == ["raising_backends:SaysUnsupported"]


def test_the_pass_fires_where_it_takes_something_away(drawn):
    chained = [choice for choice in drawn if choice.operator == "ArgMax" and choice.context.place == "main"]
    models = {len(choice.chain): rewrite_of(onnx.load_model_from_string(built(choice).model)) for choice in chained}
    assert {length: bool(rewrite.fixed_point) for length, rewrite in models.items() if not length} in ({}, {0: False})
    assert any(rewrite.fixed_point for rewrite in models.values())


@pytest.mark.parametrize(
    ("message", "other"),
    [
        (
            'Evaluating #1 "index"\n\nCaused by:\n    U64 is no number\n\nStack backtrace:\n   0: run',
            "Evaluating If\n\nCaused by:\n    0: Evaluating #2\n    1: U64 is no number\n\nStack backtrace:\n   0: go",
        ),
        ("got ((), (0, 1)) (while lowering if_1, inputs=[no: (", "got ((), (0,)) (while lowering if_3, inputs=[no"),
        ("no kernel for if_3_select_0", "no kernel for if_12_select_1"),
    ],
)
def test_causes_are_told_apart_by_what_came_first_and_not_by_what_a_subject_names(message, other):
    choice, right = choices(OPERATORS, 0, 0, 1)[0], subject("reference")
    told, too = (cause(right, choice, Outcome(Verdict.ERROR, "load", text, 0.0)) for text in (message, other))
    assert told == too
    assert told != cause(right, choice, Outcome(Verdict.ERROR, "load", "U32 is no number", 0.0))
