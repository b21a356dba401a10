"""The checker against small programs of which it is known what they do."""

from __future__ import annotations

import pytest

from tests.runtime.exhaustive import Broken, check

PETERSON = """
bool wants[2], inside; byte turn;
active [2] proctype worker() {
  byte rounds;
  do
  :: rounds < 2 ->
    wants[_pid] = true;
    turn = 1 - _pid;
    if
    :: !wants[1 - _pid] || turn == _pid -> skip
    fi;
    assert(!inside); inside = true; inside = false;
    wants[_pid] = false;
    rounds++
  :: else -> break
  od
}
"""


def test_mutual_exclusion_by_peterson_holds_and_without_its_turn_fails() -> None:
    assert check(PETERSON) > 50
    with pytest.raises(Broken, match="deadlock of worker 0, worker 1"):
        check(PETERSON.replace("|| turn == _pid", ""))
    with pytest.raises(Broken, match="assert") as found:
        check(PETERSON.replace("!wants[1 - _pid] || turn == _pid", "turn < 2"))
    assert any("worker 0" in step for step in found.value.trace) and any(
        "worker 1" in step for step in found.value.trace
    )


def test_all_interleavings_of_counters_are_as_many_as_there_are() -> None:
    """Two processes that have nothing to do with each other: every pair of what each can be in."""
    counters = (
        "byte x[2]; active [2] proctype p() { do :: x[_pid] < 3 -> x[_pid]++ :: else -> break od }"
    )
    # a state is where each is: about to look (4 values), about to count (3), at its end (1)
    assert check(counters) == (4 + 3 + 1) ** 2


WAITING = (
    "bool go; active proctype starter() { go = true } active proctype waiter() { do :: go "
    "-> break :: else -> skip od }"
)


def test_a_loop_that_ends_unless_somebody_is_neglected_is_no_livelock() -> None:
    assert check(WAITING) >= 3


def test_a_loop_that_nobody_ends_is_a_livelock() -> None:
    with pytest.raises(Broken, match="livelock of waiter"):
        check(WAITING.replace("go = true", "go = false"))


def test_weak_fairness_does_not_help_who_can_step_only_now_and_then() -> None:
    """The taker may look at the flag each time that it is held; the holder never ends unless it
    does.
    """
    model = """
    bool held, done;
    active proctype holder() { do :: !done -> held = true; held = false :: done -> break od }
    active proctype taker() { !held -> done = true }
    """
    with pytest.raises(Broken, match="livelock of holder"):
        check(model)


def test_else_is_for_when_no_other_option_is() -> None:
    model = (
        "byte x = 2, y; active proctype p() { if :: x == 1 -> y = 1 :: x == 2 -> y = 2 :: "
        "else -> y = 3 fi; assert(y == 2) }"
    )
    check(model)
    with pytest.raises(Broken, match="assert"):
        check(model.replace("x = 2, y", "x = 3, y"))


@pytest.mark.parametrize(
    ("fault", "what"),
    [("x = 255; x++", "no byte"), ("x = 3; a[x] = 1", "index 3 of 2"), ("x--", "no byte")],
)
def test_what_no_byte_and_no_array_can_hold_is_an_error(fault: str, what: str) -> None:
    with pytest.raises(Broken, match=what):
        check(f"byte x; byte a[2]; active proctype p() {{ {fault} }}")


@pytest.mark.parametrize(
    "text",
    [
        "byte x; active proctype p() { y = 1 }",
        "chan c;",
        "active proctype p() { if :: do :: skip od fi }",
    ],
)
def test_what_is_not_taken_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        check(text)
