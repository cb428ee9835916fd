"""What takes too long is stopped, in the main thread."""

from __future__ import annotations

from threading import Thread

import pytest

from conformance.search.limit import TookTooLongError, limited


def counted(number):
    return sum(1 for _ in range(number))


def test_what_takes_too_long_is_stopped():
    with pytest.raises(TookTooLongError), limited(0.02):
        counted(10**9)


def test_what_is_done_in_time_is_left_alone():
    with limited(10):
        assert counted(10) == 10


def test_another_thread_is_not_limited():
    done = []

    def work():
        with limited(1e-6):
            done.append(counted(10**5))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [10**5]
