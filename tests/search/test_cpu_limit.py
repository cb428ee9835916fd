"""The limit of processor time stops a computation, in the main thread and in other threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from instruction_count import count_instructions

from conformance.search.cases import CpuTimeoutError, limit_cpu_time


def count_up(number):
    return sum(1 for _ in range(number))


def test_limit_stops_a_long_computation():
    with pytest.raises(CpuTimeoutError), limit_cpu_time(0.02):
        count_up(10**9)


def test_limit_does_not_affect_a_short_computation():
    with limit_cpu_time(10):
        assert count_up(10) == 10


def run_in_thread(work):
    """Return the result of `work` in another thread, as in a worker of Dask."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_limit_stops_a_long_computation_in_another_thread():
    def work():
        with limit_cpu_time(0.02):
            count_up(10**9)

    with pytest.raises(CpuTimeoutError):
        run_in_thread(work)


def test_limit_does_not_affect_a_short_computation_in_another_thread():
    def work():
        with limit_cpu_time(10):
            return count_up(10)

    assert run_in_thread(work) == 10


def test_limit_ends_with_its_block():
    def work():
        with limit_cpu_time(0.01):
            pass
        return count_up(10**6)

    assert run_in_thread(work) == 10**6


def test_limit_does_not_count_waiting():
    def work():
        with limit_cpu_time(0.05):
            return Event().wait(0.2)

    assert run_in_thread(work) is False


def test_limit_keeps_tracing_in_every_thread():
    def work():
        with limit_cpu_time(10):
            return count_up(10)

    run_in_thread(work)
    assert count_instructions(lambda: count_up(1000)) > 1000
