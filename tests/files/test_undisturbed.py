"""What belongs together is done together, and an interruption comes after it."""

from __future__ import annotations

import os
import signal

import pytest

from conformance.files.undisturbed import undisturbed


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


def together(done):
    with undisturbed():
        done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("written")
