"""What takes too long is stopped, in the main thread and in others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from steps import steps

from conformance.search.limit import TookTooLongError, limited


def counted(number):
    return sum(1 for _ in range(number))


def test_what_takes_too_long_is_stopped():
    with pytest.raises(TookTooLongError), limited(0.02):
        counted(10**9)


def test_what_is_done_in_time_is_left_alone():
    with limited(10):
        assert counted(10) == 10


def in_a_thread(work):
    """What work gives, done in a thread as a worker of Dask's has it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_what_takes_too_long_is_stopped_in_another_thread():
    def work():
        with limited(0.02):
            counted(10**9)

    with pytest.raises(TookTooLongError):
        in_a_thread(work)


def test_what_is_done_in_time_is_left_alone_in_another_thread():
    def work():
        with limited(10):
            return counted(10)

    assert in_a_thread(work) == 10


def test_a_thread_is_not_stopped_for_what_it_does_after():
    def work():
        with limited(0.01):
            pass
        return counted(10**6)

    assert in_a_thread(work) == 10**6


def test_waiting_takes_no_processor_time():
    def work():
        with limited(0.05):
            return Event().wait(0.2)

    assert in_a_thread(work) is False


def test_tracing_goes_on_afterwards_in_every_thread():
    def work():
        with limited(10):
            return counted(10)

    in_a_thread(work)
    assert steps(lambda: counted(1000)) > 1000
