"""What belongs together is done together, and an interruption comes after it."""

from __future__ import annotations

import os
import signal

import pytest

from conformance.files.undisturbed import often_undisturbed, undisturbed


@pytest.fixture
def interruptible():
    """SIGINT interrupts, even where it is ignored, as in what a shell starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_waits_for_what_belongs_together():
    done = []
    with pytest.raises(KeyboardInterrupt):
        together(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_of_many_things_done_together_it_comes_after_the_first():
    done = []
    with pytest.raises(KeyboardInterrupt), often_undisturbed():
        together(done)
        together(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_it_comes_after_the_outermost_of_what_is_done_together():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with often_undisturbed(), undisturbed():
            together(done)
            done.append("told")
        done.append("never")
    assert done == ["counted", "written", "told"]


@pytest.mark.usefixtures("interruptible")
def test_between_what_is_done_together_it_comes_at_once():
    done = []
    with pytest.raises(KeyboardInterrupt), often_undisturbed():
        with undisturbed():
            done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never")
    assert done == ["counted"]


@pytest.mark.usefixtures("interruptible")
def test_who_handled_interruptions_before_does_so_afterwards():
    with often_undisturbed(), undisturbed():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def together(done):
    with undisturbed():
        done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("written")
