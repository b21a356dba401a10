"""Replicas that come and go, modelled for Spin, in all interleavings; planted faults are found.

What the invariants are is said in harness/runtime/model/replicas.pml.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.exhaustive import Broken, check

MODEL = (Path(__file__).parents[2] / "harness" / "runtime" / "model" / "replicas.pml").read_text()

SMALL = {"TUPLES": 2, "CHANGES": 1}
KEYED = {"TUPLES": 3, "WINDOW": 3, "CHANGES": 1, "KEYED": 1}
SIZES = {
    "two replicas": {"TUPLES": 3, "CHANGES": 1},
    "one ticket at a time": {"TUPLES": 2, "WINDOW": 1, "CHANGES": 2},
    "by key": KEYED,
    "two replicas that go again": {"TUPLES": 3, "CHANGES": 2},
    "three replicas": {"REPLICAS": 3, "TUPLES": 2, "CHANGES": 1},
    "by key, one that goes again": {"TUPLES": 4, "WINDOW": 4, "CHANGES": 2, "KEYED": 1},
}
QUICK = 3
"""Sizes that every test run looks at; the others take as long as all the rest of this file."""


def some_slow(names: dict[str, object], quick: int) -> list[object]:
    return [
        pytest.param(name, marks=() if number < quick else pytest.mark.slow)
        for number, name in enumerate(names)
    ]


@pytest.mark.parametrize("sizes", some_slow(SIZES, QUICK))
def test_the_stream_is_that_of_one_replica_and_every_run_ends(sizes: str) -> None:
    assert check(MODEL, **SIZES[sizes]) > 1000


HANDED_ON = ":: atomic { MAY_SEND(owner[SLOT(at)]) -> blocked[owner[SLOT(at)]] = 0; at = 0 }"
DROP = "filled[MINE] = 0; made = MANY(number) }"
ONE_WORD = ":: atomic { !first[MINE] -> shut[MINE] = true; mine[_pid] = 0 }"
LEAVE = "LEAVES -> begun[_pid] = false; living-- };\n      wake_one()"
DRAINED = "ended = ended || left };\n      wake_one()"

PLANTED = {
    "the one whose turn it is now is not woken": (
        {"TUPLES": 4, "CHANGES": 1},
        {HANDED_ON: HANDED_ON.replace("blocked[owner[SLOT(at)]] = 0; ", "")},
        "deadlock",
    ),
    "the one who leaves at the end wakes nobody": (
        SMALL,
        {DRAINED: DRAINED.split("\n")[0]},
        "deadlock",
    ),
    "who finds that it is its turn leaves what is in its slot": (
        {"TUPLES": 4, "CHANGES": 1},
        {
            "SEND(number, MANY(number)); filled[MINE] = 0": "SEND(number, MANY(number) - filled[MINE]); filled[MINE] = 0"
        },
        "assert",
    ),
    "it looks for its turn before it closes its ticket": (
        SMALL,
        {ONE_WORD: ":: !first[MINE] -> shut[MINE] = true; mine[_pid] = 0"},
        "deadlock",
    ),
    "the window is not heeded": (
        {"TUPLES": 3, "WINDOW": 1, "CHANGES": 1},
        {"issued - passed < WINDOW)": "issued - passed <= WINDOW)"},
        "assert",
    ),
    "the first one ends while tickets are open": (
        SMALL,
        {"queued == 0 && (r != 0 || passed == issued))": "queued == 0)"},
        "assert",
    ),
    "the first one is alone while tickets are open": (
        {**KEYED, "CHANGES": 2},
        {"living == 1 && passed == issued)": "living == 1)"},
        "assert",
    ),
    "one that is too many stays where the first one is alone": (
        {"TUPLES": 1, "CHANGES": 2},
        {":: atomic { !(_pid == 0 && alone) && LEAVES ->": ":: atomic { !alone && LEAVES ->"},
        "deadlock|livelock",
    ),
    "two work on one bin": (
        KEYED,
        {"#define FREE(n) (!KEYED ||": "#define FREE(n) (true ||"},
        "assert",
    ),
    "one leaves with whom all others wait for": (
        SIZES["by key, one that goes again"],
        {"#define MAY_LEAVE (": "#define MAY_LEAVE (true || "},
        "deadlock",
    ),
}


@pytest.mark.parametrize("fault", some_slow(PLANTED, len(PLANTED) - 1))
def test_a_planted_fault_is_found(fault: str) -> None:
    sizes, changes, what = PLANTED[fault]
    model = MODEL
    for before, after in changes.items():
        assert model.count(before) == 1, before
        model = model.replace(before, after)
    with pytest.raises(Broken, match=what) as found:
        check(model, **sizes)
    assert len(found.value.trace) > 5
