"""Tests of how far a long command is: a line that is overwritten on a terminal, and one now and
then in a log.
"""

from __future__ import annotations

import io
import sys

import pytest

from harness.terminal import countdown
from harness.terminal.countdown import QUIET_S, Countdown
from tests.terminal.screen import seen


class Clock:
    """A clock that goes on when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(countdown, "time", clock)
    return clock


def test_a_log_has_a_line_now_and_then_and_what_is_left_is_by_what_parts_have_taken(clock, capsys):
    with Countdown("laws bench", 100.0, 100) as line:
        clock.now_s += QUIET_S - 1.0
        line.reached(5, "laws")
        assert capsys.readouterr().err == ""
        clock.now_s += 6.0
        line.reached(10, "laws")  # two seconds each
        assert capsys.readouterr().err == "millrace laws bench: [10/100] 3 min 00 s left; laws\n"
        clock.now_s += 1.0
        line.reached(20, "laws")
    assert capsys.readouterr().err == ""


def test_a_log_that_has_begun_ends_with_all_that_was_to_do(clock, capsys):
    with Countdown("laws bench", 4.0, 4) as line:
        clock.now_s += QUIET_S
        line.reached(3, "laws")
        clock.now_s += 1.0
        line.reached(4, "laws")
    assert capsys.readouterr().err.splitlines()[-1] == "millrace laws bench: [4/4] 0 s left; laws"


def test_what_is_over_before_anybody_asks_says_nothing_in_a_log(clock, capsys):
    with Countdown("laws bench", 4.0, 4) as line:
        for done in range(1, 5):
            clock.now_s += 1.0
            line.reached(done, "laws")
    assert capsys.readouterr().err == ""


def test_on_a_terminal_each_part_is_seen_at_once_and_the_line_is_taken_away(clock, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with Countdown("laws bench", 4.0, 4) as line:
        clock.now_s += 3.0
        line.reached(1, "laws")
        (shown,) = seen(terminal.getvalue())
        assert shown.endswith("[1/4] 9 s left; laws")
    assert seen(terminal.getvalue()) == []
