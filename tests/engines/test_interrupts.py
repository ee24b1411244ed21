"""Ctrl-C while processes are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from wolfpack.engines._interrupts import interrupts_held

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def interrupted() -> bool:
    """Interrupt this process while that is held back; tell whether what followed was reached."""
    reached = False
    try:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            reached = True
    except KeyboardInterrupt:
        return reached
    pytest.fail("the interrupt was lost")


def test_ctrl_c_is_held_back_until_all_has_started():
    assert interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_another_thread_that_receives_it_does_not_interrupt_either():
    done = threading.Event()
    thread = threading.Thread(target=done.wait, args=(10,))  # it does not block the signal
    thread.start()
    try:
        assert interrupted()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("held", [True, False])
def test_processes_that_start_meanwhile_are_left_alone_for_good(held):
    def ask() -> str:
        return subprocess.run(
            [sys.executable, "-c", BLOCKED], capture_output=True, text=True
        ).stdout

    if not held:
        assert ask() == "False\n"
        return
    with interrupts_held():
        assert ask() == "True\n"


def test_in_another_thread_nothing_is_raised():
    found = []

    def start() -> None:
        with interrupts_held():
            found.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert found == [True]
