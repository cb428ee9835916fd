"""Prefetching of the next case: idle work while a subject works, and early load and first run of the next model."""

from __future__ import annotations

import select
import sys
import time

import pytest
from command_outputs import results_by_key
from corpora import ADAM, EXACT
from isolation_support import isolated_subject

from conformance.isolation.child_process import SubjectProcess
from conformance.isolation.limits import Limits
from conformance.isolation.protocol import Crashed, Raised, TimedOut
from conformance.isolation.start_subjects import client_of
from conformance.judging.backend import judge_backend
from conformance.verdicts import Verdict

ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: print(line, end='')")


@pytest.fixture
def echo():
    """Process that answers each line with the same line."""
    process = SubjectProcess(ECHO, Limits())
    yield process
    process.end()


@pytest.fixture
def waiting(here):
    """Process that answers a line when a file exists."""
    wait = f"while not os.path.exists({str(here / 'go')!r}): time.sleep(0.01)"
    source = (
        f"import os, sys, time\nline = input()\n{wait}\nsys.stdout.write(line + chr(10))"  # at once: print writes twice
    )
    process = SubjectProcess((sys.executable, "-u", "-c", source), Limits())
    yield process
    process.end()


def answer_of(process, seconds, steps):
    """Return the answer of a process to a line."""
    return process.receive(process.send(b"1\n", "echo"), "echo", seconds, steps)


@pytest.fixture
def backend():
    """Backend in a separate process. The name of a model decides what the backend does with the model."""
    subject = isolated_subject("fake_subject:by_graph_name")
    yield subject.target
    client_of(subject).stop()


@pytest.fixture
def named(case_of):
    """Return a function that makes a model with a name. The name decides what the backend does."""

    def model(name):
        made = case_of(ADAM).model
        made.graph.name = name
        return made

    return model


class TestIdleSteps:
    def test_steps_are_taken_until_there_is_an_answer(self, waiting, here):
        def steps():
            yield taken.append("first")
            (here / "go").touch()
            select.select([waiting._out], [], [])
            yield taken.append("second")
            yield taken.append("third")

        taken = []
        assert answer_of(waiting, 60, steps()) == b"1"
        assert taken == ["first", "second"]

    def test_answer_during_idle_step_is_not_late(self, echo):
        def step():
            select.select([echo._out], [], [])
            yield

        assert answer_of(echo, 0, step()) == b"1"

    def test_answer_missing_after_last_idle_step_times_out(self):
        silent = SubjectProcess((sys.executable, "-c", "import time; time.sleep(600)"), Limits(timeout=0.1))
        with pytest.raises(TimedOut, match=r"`echo` .*\b0\.1 s"):
            answer_of(silent, 0.1, iter([None] * 3))


class TestPrefetchedModel:
    """Prefetched models, on a backend in a separate process. Standard error belongs to the case that caused it."""

    @pytest.fixture
    def first(self, backend, case_of):
        return backend.prepare(case_of(EXACT).model)

    def test_prefetched_model_is_returned_by_prepare(self, backend, first, case_of):
        case = case_of(ADAM)
        backend.prefetch(case.model)
        assert backend.client.is_prefetching
        outcome = judge_backend(backend, case)
        assert (outcome.verdict, backend.client.is_prefetching) == (Verdict.PASS, False)

    def test_prefetch_time_is_counted_without_waiting(self, backend, first, named):
        model = named("sleeps")
        backend.prefetch(model)
        select.select([backend.client.process._out], [], [])
        assert backend.prepare(model).prefetched_seconds >= 0.1

    def test_prefetched_model_is_loaded_after_different_model(self, backend, first, case_of):
        case = case_of(ADAM)
        backend.prefetch(case.model)
        assert [judge_backend(backend, one).verdict for one in (case_of(EXACT), case)] == [Verdict.PASS] * 2

    def test_previous_model_is_reloaded_for_second_run(self, backend, case_of):
        case = case_of(EXACT)
        first = backend.prepare(case.model)
        inputs = next(case.data_sets()).inputs
        before = first.run(inputs)
        backend.prefetch(case_of(ADAM).model)
        assert [array.tobytes() for array in first.run(inputs)] == [array.tobytes() for array in before]

    @pytest.mark.parametrize(("name", "kind"), [("raises", Raised), ("is_killed", Crashed), ("hangs", TimedOut)])
    def test_prefetch_failure_is_raised_by_prepare(self, name, kind, named):
        subject = isolated_subject("fake_subject:by_graph_name", Limits(timeout=4.0 if name == "hangs" else 30.0))
        subject.target.prepare(named("is_fine"))
        model = named(name)
        subject.target.prefetch(model)
        with pytest.raises(kind):
            subject.target.prepare(model)
        assert subject.target.prepare(named("is_fine")).placement is None
        client_of(subject).stop()

    def test_stderr_tail_switches_model_at_prepare(self, backend, named):
        backend.prepare(named("says_one"))
        model = named("says_two")
        backend.prefetch(model)
        select.select([backend.client.process._out], [], [])
        before = backend.client.stderr_tail()
        backend.prepare(model)
        assert (before.split(), backend.client.stderr_tail().split()) == (["says_one"], ["says_two"])

    def test_prefetch_in_ended_process_is_skipped(self, backend, first, named):
        backend.client.end()
        backend.prefetch(named("is_fine"))
        assert not backend.client.is_prefetching

    def test_client_stop_ends_prefetching_process(self, backend, first, named):
        backend.prefetch(named("sleeps"))
        child = backend.client.process
        backend.client.stop()
        assert not backend.client.is_running(child)


class TestPrefetchedRun:
    """First run of a prefetched model, if the harness supports it."""

    @pytest.fixture
    def prefetched_case(self, backend, case_of):
        """Case whose load and first run are in progress."""
        backend.prepare(case_of(EXACT).model)
        case = case_of(ADAM).with_prefetched_inputs()
        backend.prefetch(case.model, case.prefetched_inputs)
        return case

    def test_prefetched_run_returns_outputs(self, backend, prefetched_case, monkeypatch):
        prepared = backend.prepare(prefetched_case.model)
        monkeypatch.setattr(backend.client, "_send", None)  # nothing more is sent
        (data_set,) = prefetched_case.data_sets()
        outputs = prepared.run(data_set.inputs)
        assert [array.shape for array in outputs] == [output.expected.shape for output in data_set.outputs]

    def test_prefetched_case_passes(self, backend, prefetched_case):
        assert judge_backend(backend, prefetched_case).verdict is Verdict.PASS
        assert backend.client.can_prefetch

    def test_run_with_different_inputs_ignores_prefetched_run(self, backend, prefetched_case):
        prepared, given = (
            backend.prepare(prefetched_case.model),
            [array.copy() for array in prefetched_case.prefetched_inputs],
        )
        given[0] = given[0] * 0
        outputs = [array.tobytes() for array in prepared.run(given)]
        prepared.run(prefetched_case.prefetched_inputs)
        assert [array.tobytes() for array in prepared.run(given)] == outputs

    def test_unused_prefetched_run_leaves_next_case_unchanged(self, backend, prefetched_case, case_of):
        backend.prepare(prefetched_case.model)
        assert not backend.client.can_prefetch
        assert judge_backend(backend, case_of(EXACT)).verdict is Verdict.PASS

    def test_failed_load_skips_prefetched_run(self, backend, case_of, named):
        backend.prepare(case_of(EXACT).model)
        model = named("raises")
        backend.prefetch(model, case_of(ADAM).with_prefetched_inputs().prefetched_inputs)
        with pytest.raises(Raised):
            backend.prepare(model)
        assert backend.client.can_prefetch
        assert judge_backend(backend, case_of(EXACT)).verdict is Verdict.PASS

    @pytest.mark.parametrize("factor", [1, 0], ids=["it", "another"])
    def test_crash_in_prefetched_run_is_raised_by_run(self, backend, case_of, named, factor):
        backend.prepare(case_of(EXACT).model)
        model, inputs = named("dies_as_it_runs"), case_of(ADAM).with_prefetched_inputs().prefetched_inputs
        backend.prefetch(model, inputs)
        prepared = backend.prepare(model)
        with pytest.raises(Crashed, match="`run`"):
            prepared.run([array * factor for array in inputs])

    def test_prefetch_time_is_counted_without_waiting(self, backend, case_of, named):
        backend.prepare(case_of(EXACT).model)
        model, inputs = named("sleeps_as_it_runs"), case_of(ADAM).with_prefetched_inputs().prefetched_inputs
        backend.prefetch(model, inputs)
        prepared = backend.prepare(model)
        select.select([backend.client.process._out], [], [])
        began = time.perf_counter()
        prepared.run(inputs)
        waited = time.perf_counter() - began  # for what has come, which is little, and is not counted as ahead
        assert prepared.prefetched_seconds > 0
        assert prepared.prefetched_seconds + waited >= 0.1

    def test_prefetch_is_repeated_in_new_process(self, backend, case_of):
        backend.prepare(case_of(EXACT).model)
        case = case_of(ADAM).with_prefetched_inputs()
        backend.prepare_prefetch(case.model, case.prefetched_inputs)
        backend.client.end()
        backend.prepare(case_of(EXACT).model)
        backend.prefetch(case.model, case.prefetched_inputs)
        assert judge_backend(backend, case).verdict is Verdict.PASS


class RefusesOnly:
    """Backend that supports no operator."""

    def prepare(self, model, device="CPU"):
        raise NotImplementedError("no operator")


def test_unsupported_case_starts_prefetch_of_next_case(case_of):
    begun = []
    outcome = judge_backend(RefusesOnly(), case_of(ADAM), once_answered=lambda: begun.append("next"))
    assert (outcome.verdict, begun) == (Verdict.UNSUPPORTED, ["next"])


@pytest.mark.parametrize("where", ["--isolated", "--no-isolation"])
def test_prefetching_run_has_same_verdicts(command, small_corpus, here, where):
    isolation = () if where == "--isolated" else (where,)
    ended = command(
        "run", "-b", "fake_subject:wrong_on_argmax", "--data", small_corpus, *isolation, "--results", "r.jsonl"
    )
    assert ended.status == 1
    verdicts = [result["verdict"] for result in results_by_key(here / "r.jsonl").values()]
    assert sorted(verdicts) == ["fail"] * 2 + ["pass"] * 5
