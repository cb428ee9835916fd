"""Deferred signals: an interruption is handled after the block, not inside it."""

from __future__ import annotations

import os
import signal

import pytest

from conformance.files.atomic_write import deferred_signals, install_signal_deferral


@pytest.fixture
def interruptible():
    """Install the default SIGINT handler, which a shell disables for background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interruption_waits_for_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        run_interrupted_block(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_is_handled_between_blocks():
    done = []
    with pytest.raises(KeyboardInterrupt), install_signal_deferral():
        run_interrupted_block(done)
        run_interrupted_block(done)
    assert done == ["counted", "written"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_waits_for_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with install_signal_deferral(), deferred_signals():
            run_interrupted_block(done)
            done.append("done")
        done.append("never")
    assert done == ["counted", "written", "done"]


@pytest.mark.usefixtures("interruptible")
def test_interruption_outside_blocks_is_immediate():
    done = []
    with pytest.raises(KeyboardInterrupt), install_signal_deferral():
        with deferred_signals():
            done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never")
    assert done == ["counted"]


@pytest.mark.usefixtures("interruptible")
def test_previous_handler_is_restored():
    with install_signal_deferral(), deferred_signals():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def run_interrupted_block(done):
    with deferred_signals():
        done.append("counted")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("written")
