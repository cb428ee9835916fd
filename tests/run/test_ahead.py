"""What is done ahead of the next case: steps while a subject works; its model is loaded, and run for the first time,
while answers are compared, and what comes of that is told of in its own turn.
"""

from __future__ import annotations

import select
import sys
import time

import pytest
from corpora import ADAM, EXACT
from isolation_support import apart
from outputs import results_of

from conformance.isolation.failures import Crashed, Raised, TimedOut
from conformance.isolation.limits import Limits
from conformance.isolation.process import SubjectProcess
from conformance.isolation.starting import host_of
from conformance.judging.backend import judge_backend
from conformance.verdicts import Verdict

ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: print(line, end='')")


@pytest.fixture
def echo():
    """A process that answers each line with the same line."""
    process = SubjectProcess(ECHO, Limits())
    yield process
    process.end()


@pytest.fixture
def waiting(here):
    """A process that answers a line once there is a file."""
    wait = f"while not os.path.exists({str(here / 'go')!r}): time.sleep(0.01)"
    source = (
        f"import os, sys, time\nline = input()\n{wait}\nsys.stdout.write(line + chr(10))"  # at once: print writes twice
    )
    process = SubjectProcess((sys.executable, "-u", "-c", source), Limits())
    yield process
    process.end()


def asked(process, seconds, steps):
    """What a process answers to a line."""
    return process.answer(process.send(b"1\n", "echo"), "echo", seconds, steps)


@pytest.fixture
def backend():
    """Loads a first model, in a process of its own, and then makes of the next what it is told to."""
    subject = apart("early_backends:ByName")
    yield subject.target
    host_of(subject).stop()


@pytest.fixture
def named(case_of):
    """Makes a model of a name, which says what becomes of it."""

    def model(name):
        made = case_of(ADAM).model
        made.graph.name = name
        return made

    return model


class TestTheWait:
    def test_steps_are_taken_until_there_is_an_answer(self, waiting, here):
        def steps():
            yield taken.append("first")
            (here / "go").touch()
            select.select([waiting._out], [], [])
            yield taken.append("second")
            yield taken.append("third")

        taken = []
        assert asked(waiting, 60, steps()) == b"1"
        assert taken == ["first", "second"]

    def test_an_answer_that_waits_for_a_step_is_not_late(self, echo):
        def step():
            select.select([echo._out], [], [])
            yield

        assert asked(echo, 0, step()) == b"1"

    def test_one_that_has_not_come_after_the_last_step_is(self):
        silent = SubjectProcess((sys.executable, "-c", "import time; time.sleep(600)"), Limits(timeout=0.1))
        with pytest.raises(TimedOut, match=r"did not answer `echo` within 0.1 s"):
            asked(silent, 0.1, iter([None] * 3))


class TestTheNextModel:
    """On a backend in a process of its own; what it says on standard error is told with the case it said it in."""

    @pytest.fixture
    def first(self, backend, case_of):
        return backend.prepare(case_of(EXACT).model)

    def test_it_is_what_prepare_then_returns(self, backend, first, case_of):
        case = case_of(ADAM)
        backend.prepare_ahead(case.model)
        assert backend.host.is_asked_ahead
        outcome = judge_backend(backend, case)
        assert (outcome.verdict, backend.host.is_asked_ahead) == (Verdict.PASS, False)

    def test_the_time_that_it_took_is_counted_though_nobody_waited(self, backend, first, named):
        model = named("sleeps")
        backend.prepare_ahead(model)
        select.select([backend.host.child._out], [], [])
        assert backend.prepare(model).seconds_ahead >= 0.1

    def test_another_model_comes_first_and_this_one_is_loaded_in_its_turn(self, backend, first, case_of):
        case = case_of(ADAM)
        backend.prepare_ahead(case.model)
        assert [judge_backend(backend, one).verdict for one in (case_of(EXACT), case)] == [Verdict.PASS] * 2

    def test_the_model_before_is_loaded_again_where_it_is_run_again(self, backend, case_of):
        case = case_of(EXACT)
        first = backend.prepare(case.model)
        inputs = next(case.data_sets()).inputs
        before = first.run(inputs)
        backend.prepare_ahead(case_of(ADAM).model)
        assert [array.tobytes() for array in first.run(inputs)] == [array.tobytes() for array in before]

    @pytest.mark.parametrize(("name", "kind"), [("raises", Raised), ("is_killed", Crashed), ("hangs", TimedOut)])
    def test_what_becomes_of_it_is_told_in_its_turn(self, name, kind, named):
        subject = apart("early_backends:ByName", Limits(timeout=1.0 if name == "hangs" else 30.0))
        subject.target.prepare(named("is_fine"))
        model = named(name)
        subject.target.prepare_ahead(model)
        with pytest.raises(kind):
            subject.target.prepare(model)
        assert subject.target.prepare(named("is_fine")).placement is None
        host_of(subject).stop()

    def test_what_was_said_before_is_told_until_then_and_not_after(self, backend, named):
        backend.prepare(named("says_one"))
        model = named("says_two")
        backend.prepare_ahead(model)
        select.select([backend.host.child._out], [], [])
        before = backend.host.said()
        backend.prepare(model)
        assert (before.split(), backend.host.said().split()) == (["says_one"], ["says_two"])

    def test_a_process_that_has_ended_is_not_asked(self, backend, first, named):
        backend.host.end()
        backend.prepare_ahead(named("is_fine"))
        assert not backend.host.is_asked_ahead

    def test_a_run_stops_a_subject_that_was_asked_ahead(self, backend, first, named):
        backend.prepare_ahead(named("sleeps"))
        child = backend.host.child
        backend.host.stop()
        assert not backend.host.is_running(child)


class TestItsFirstRun:
    """Which goes with the load, to a harness that takes it."""

    @pytest.fixture
    def early(self, backend, case_of):
        """A case that is being loaded and run."""
        backend.prepare(case_of(EXACT).model)
        case = case_of(ADAM).with_early_inputs()
        backend.prepare_ahead(case.model, case.early)
        return case

    def test_it_is_done_before_it_is_asked_for(self, backend, early, monkeypatch):
        prepared = backend.prepare(early.model)
        monkeypatch.setattr(backend.host, "_sent", None)  # nothing more is sent
        (data_set,) = early.data_sets()
        outputs = prepared.run(data_set.inputs)
        assert [array.shape for array in outputs] == [output.expected.shape for output in data_set.outputs]

    def test_a_case_comes_to_the_same_verdict(self, backend, early):
        assert judge_backend(backend, early).verdict is Verdict.PASS
        assert backend.host.is_ready

    def test_other_inputs_are_run_instead(self, backend, early):
        prepared, given = backend.prepare(early.model), [array.copy() for array in early.early]
        given[0] = given[0] * 0
        outputs = [array.tobytes() for array in prepared.run(given)]
        prepared.run(early.early)
        assert [array.tobytes() for array in prepared.run(given)] == outputs

    def test_one_that_nobody_asks_for_leaves_nothing(self, backend, early, case_of):
        backend.prepare(early.model)
        assert not backend.host.is_ready
        assert judge_backend(backend, case_of(EXACT)).verdict is Verdict.PASS

    def test_there_is_none_after_a_load_that_fails(self, backend, case_of, named):
        backend.prepare(case_of(EXACT).model)
        model = named("raises")
        backend.prepare_ahead(model, case_of(ADAM).with_early_inputs().early)
        with pytest.raises(Raised):
            backend.prepare(model)
        assert backend.host.is_ready
        assert judge_backend(backend, case_of(EXACT)).verdict is Verdict.PASS

    @pytest.mark.parametrize("factor", [1, 0], ids=["it", "another"])
    def test_a_process_that_it_ends_is_told_of_as_a_run_is_asked_for(self, backend, case_of, named, factor):
        backend.prepare(case_of(EXACT).model)
        model, inputs = named("dies_as_it_runs"), case_of(ADAM).with_early_inputs().early
        backend.prepare_ahead(model, inputs)
        prepared = backend.prepare(model)
        with pytest.raises(Crashed, match="before it answered `run`"):
            prepared.run([array * factor for array in inputs])

    def test_the_time_that_it_took_is_counted_though_nobody_waited(self, backend, case_of, named):
        backend.prepare(case_of(EXACT).model)
        model, inputs = named("sleeps_as_it_runs"), case_of(ADAM).with_early_inputs().early
        backend.prepare_ahead(model, inputs)
        prepared = backend.prepare(model)
        select.select([backend.host.child._out], [], [])
        began = time.perf_counter()
        prepared.run(inputs)
        waited = time.perf_counter() - began  # for what has come, which is little, and is not counted as ahead
        assert prepared.seconds_ahead > 0
        assert prepared.seconds_ahead + waited >= 0.1

    def test_what_was_made_ready_for_a_process_that_has_ended_is_made_anew(self, backend, case_of):
        backend.prepare(case_of(EXACT).model)
        case = case_of(ADAM).with_early_inputs()
        backend.make_ready(case.model, case.early)
        backend.host.end()
        backend.prepare(case_of(EXACT).model)
        backend.prepare_ahead(case.model, case.early)
        assert judge_backend(backend, case).verdict is Verdict.PASS


class RefusesOnly:
    """A backend that has no operator."""

    def prepare(self, model, device="CPU"):
        raise NotImplementedError("no operator")


def test_the_next_case_is_begun_after_one_that_is_unsupported_too(case_of):
    begun = []
    outcome = judge_backend(RefusesOnly(), case_of(ADAM), once_answered=lambda: begun.append("next"))
    assert (outcome.verdict, begun) == (Verdict.UNSUPPORTED, ["next"])


@pytest.mark.parametrize("where", ["--isolated", "--in-process"])
def test_a_run_has_the_same_verdicts(command, small_corpus, here, where):
    apart = () if where == "--isolated" else (where,)
    ended = command("run", "-b", "fake_backends:WrongOnArgMax", "--data", small_corpus, *apart, "--results", "r.jsonl")
    assert ended.status == 1
    verdicts = [result["verdict"] for result in results_of(here / "r.jsonl").values()]
    assert sorted(verdicts) == ["fail"] * 2 + ["pass"] * 5
