"""A call's measuring, with made-up samples: the order of processes, when it stops, and what becomes
of sides that fail.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.gate.cell import GateCell, Metric, Program
from harness.gate.compare import compare
from harness.gate.decide import Control
from harness.gate.errors import Interrupted
from harness.gate.report.words import conclusion, remarks
from harness.gate.sample import ProcessSample, take
from harness.gate.series import REPEATS, SampleRow, Series
from harness.gate.suite import Suite, load_suite
from harness.gate.tree import Tree, prepare
from harness.gate.verdict import Comparison, Exit, Side, Verdict, exit_code

ROOT = Path(__file__).resolve().parents[2]

Answer = Callable[[str, Program, int], ProcessSample]
"""Output of a process of a side ("base", "head") and program, by the number of the pair."""


def program(name: str, cells: int = 1) -> Program:
    return Program(
        name,
        (name,),
        tuple(GateCell(name if cells == 1 else f"{name}:{k}", Metric()) for k in range(cells)),
    )


def suite_of(*programs: Program, **options: object) -> Suite:
    return Suite("mine", programs, programs[0].cells[0].name, **options)


class Machine:
    """Plays answers, on a clock that only they move; writes down what was run."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.base, self.head = (
            Tree(Path("/", side), "", Side(side, f"c0ffee of {side}")) for side in ("base", "head")
        )
        self.now_s = 1000.0
        self.rows: list[SampleRow] = []
        self.calls: list[tuple[str, str, int]] = []
        self.environments: list[Mapping[str, str]] = []
        self.told: list[tuple[int, float, Mapping[str, Verdict]]] = []
        self.is_control = False  # for tests that must know

    def take(
        self, tree: Tree, asked: Program, environment: Mapping[str, str], pair: int
    ) -> ProcessSample:
        side = "base" if tree is self.base else "head"
        self.calls.append((side, asked.name, pair))
        self.environments.append(environment)
        sample = self.answer(side, asked, pair)
        self.now_s += sample.seconds
        return sample

    def compare(self, suite: Suite, **options: object) -> Comparison:
        terms = {
            "factor": 1.05,
            "alpha": 0.01,
            "pairs": None,
            "time_budget_s": 1000.0,
            "seed": 7,
        } | options
        return compare(
            self.base,
            self.head,
            suite,
            progress=lambda *words: self.told.append(words),
            keep=self.rows.append,
            take=self.take,
            lock=lambda notify: nullcontext(),
            clock=lambda: self.now_s,
            **terms,
        )


def noisy(
    ratio: float = 1.0,
    seed: int = 1,
    seconds: float = 1.0,
    host: dict | None = None,
    noise: float = 0.01,
) -> Answer:
    """About 100 in every cell, `ratio` times as much of head, with 1 % of noise or so."""
    draw = random.Random(seed)

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        level = 100.0 * (ratio if side == "head" else 1.0)
        return ProcessSample(
            {cell.name: level * draw.lognormvariate(0, noise) for cell in asked.cells},
            seconds=seconds,
            host=host or {},
        )

    return answer


def verdicts(comparison: Comparison) -> dict[str, Verdict]:
    return {result.cell.name: result.verdict for result in comparison.cells}


def test_blocks_have_all_six_orders() -> None:
    machine = Machine(noisy())
    machine.compare(suite_of(program("a"), program("b")))
    blocks: dict[tuple, list[SampleRow]] = {}
    for row in machine.rows:
        blocks.setdefault((row.program, row.control, row.block), []).append(row)
    orders = Counter("".join(row.arm[0] for row in rows) for rows in blocks.values())
    assert {"".join(sorted(order)) for order in orders} == {"bbhh"}
    assert len(orders) == 6
    assert all([row.position for row in rows] == [0, 1, 2, 3] for rows in blocks.values())
    positions = [machine.rows.index(rows[0]) for rows in blocks.values()]
    assert all(
        machine.rows[i : i + 4] == rows for i, rows in zip(positions, blocks.values(), strict=True)
    )  # nothing in between


def test_both_sides_of_a_pair_have_its_number() -> None:
    machine = Machine(noisy())
    machine.compare(suite_of(program("a")), pairs=20)
    numbers = Counter(
        pair
        for (_, name, pair), row in zip(machine.calls, machine.rows, strict=True)
        if not row.control
    )
    assert numbers == dict.fromkeys(range(20), 2)


def test_every_round_has_each_open_program_and_the_control_in_random_order() -> None:
    machine = Machine(noisy())
    machine.compare(suite_of(*map(program, "abc")), pairs=20)
    firsts = [(row.program, row.control) for row in machine.rows if row.position == 0]
    rounds = [tuple(firsts[i : i + 4]) for i in range(0, 40, 4)]
    assert all(len(set(each)) == 4 for each in rounds)
    assert len(set(rounds)) > 1
    control = [call for call, row in zip(machine.calls, machine.rows, strict=True) if row.control]
    assert {side for side, *_ in control} == {"base"}
    assert {name for _, name, _ in control} == {"a"}
    assert len(firsts) == 40


def test_the_control_keeps_its_share_when_few_programs_are_open() -> None:
    """Three are soon ok, one is at the factor, which cannot be decided: the control has one block
    in five, not one in two.
    """

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return (at_the_factor if asked.name == "d" else same)(side, asked, pair)

    same, at_the_factor = noisy(seed=1), noisy(1.05, seed=2)
    comparison = Machine(answer).compare(suite_of(*map(program, "abcd")), time_budget_s=800.0)
    assert comparison.control is not None
    blocks = {result.cell.name: result.decision.blocks for result in comparison.cells}
    assert blocks["d"] > 3 * blocks["a"]
    assert comparison.control.decision.blocks == pytest.approx(sum(blocks.values()) / 4, abs=1)


def test_a_cell_that_looks_slower_gets_three_quarters_of_the_time() -> None:
    """All are so noisy that nothing is decided; d looks slower than the factor from the first look
    on.
    """

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return (slower if asked.name == "d" else faster)(side, asked, pair)

    slower, faster = noisy(1.1, seed=2, noise=0.15), noisy(0.99, seed=1, noise=0.15)
    comparison = Machine(answer).compare(suite_of(*map(program, "abcd")), time_budget_s=600.0)
    blocks = {result.cell.name: result.decision.blocks for result in comparison.cells}
    assert set(verdicts(comparison).values()) == {Verdict.INCONCLUSIVE}
    assert blocks["d"] - 12 >= 4 * (max(blocks[name] for name in "abc") - 12) > 0


def test_seed_decides_everything() -> None:
    machines = [Machine(noisy()) for _ in range(3)]
    comparisons = [
        machine.compare(suite_of(program("a")), seed=seed)
        for machine, seed in zip(machines, (1, 1, 2), strict=True)
    ]
    assert machines[0].calls == machines[1].calls != machines[2].calls
    assert machines[0].environments == machines[1].environments
    assert comparisons[0].cells == comparisons[1].cells
    assert comparisons[0].seed == 1


def test_process_learns_nothing_of_its_side_but_finds_an_environment_of_random_size() -> None:
    machine = Machine(noisy())
    machine.compare(suite_of(program("a")))
    assert {tuple(environment) for environment in machine.environments} == {
        ("MILLRACE_PADDING", "PYTHONHASHSEED")
    }
    assert len({len(environment["MILLRACE_PADDING"]) for environment in machine.environments}) > 30


def hash_seeds(*programs: Program) -> dict[tuple[bool, int, int], set[str]]:
    """The seeds of Python's hashes, by whether it is the control, block, and pair in it."""
    machine = Machine(noisy())
    machine.compare(suite_of(*programs))
    found: dict[tuple[bool, int, int], set[str]] = {}
    numbers: Counter[tuple[str, bool, int, str]] = Counter()
    for row, environment in zip(machine.rows, machine.environments, strict=True):
        of_side = (row.program, row.control, row.block, row.arm)
        place = (row.control, row.block, numbers[of_side])
        numbers[of_side] += 1
        found.setdefault(place, set()).add(environment["PYTHONHASHSEED"])
    return found


def test_both_sides_of_a_pair_have_one_seed_of_hashes_and_each_pair_another() -> None:
    """With one seed for all pairs, the luck of that seed would count as a difference."""
    seeds = hash_seeds(program("a"))
    assert all(len(each) == 1 for each in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) > 30


def test_deterministic_cell_has_one_seed_of_hashes_in_a_block_and_one_block_of_control() -> None:
    exact = Program("n", ("n",), (GateCell("n", Metric("n", "", deterministic=True)),))
    seeds = hash_seeds(exact, program("a"))
    control = {place: each for place, each in seeds.items() if place[0]}
    assert len(control) == 2
    assert len(set.union(*control.values())) == 1


def test_faster_and_same_are_told_and_decided_cells_are_measured_no_further() -> None:
    answers = {"same": noisy(seed=5), "fast": noisy(0.8), "near": noisy(1.05)}
    machine = Machine(lambda side, asked, pair: answers[asked.name](side, asked, pair))
    comparison = machine.compare(suite_of(*map(program, answers)))
    assert verdicts(comparison) == {
        "same": Verdict.OK,
        "fast": Verdict.IMPROVED,
        "near": Verdict.INCONCLUSIVE,
    }
    counts = Counter(row.program for row in machine.rows if not row.control)
    assert counts["same"] == counts["fast"] < counts["near"]
    assert len(comparison.cells[2].base) == counts["near"] / 2
    assert comparison.control is not None
    assert not comparison.control_failed
    assert comparison.notes == ("the time budget of 1000 s ended before 1 cell(s) were decided",)
    assert exit_code(comparison) == Exit.INCONCLUSIVE


def test_a_head_that_is_twice_as_slow_ends_the_call_within_30_processes() -> None:
    for seed in range(10):
        machine = Machine(noisy(2.0, seed=seed, noise=0.05))
        comparison = machine.compare(suite_of(program("a")), factor=1.02, seed=seed)
        assert exit_code(comparison) == Exit.REGRESSED
        assert len(machine.rows) <= 30


def test_a_proof_of_a_slowdown_ends_the_call_as_nothing_else_changes_its_exit_code() -> None:
    answers = {"slow": noisy(2.0), "near": noisy(1.05)}
    machine = Machine(lambda side, asked, pair: answers[asked.name](side, asked, pair))
    comparison = machine.compare(suite_of(*map(program, answers)))
    assert verdicts(comparison)["slow"] is Verdict.REGRESSED
    assert exit_code(comparison) == Exit.REGRESSED
    assert any("was proven slower, which decides the call" in note for note in comparison.notes)
    assert len(machine.rows) <= 3 * 4 * 5


def test_measuring_ends_when_all_is_decided() -> None:
    machine = Machine(noisy())
    comparison = machine.compare(suite_of(program("a")), time_budget_s=float("inf"))
    assert verdicts(comparison) == {"a": Verdict.OK}
    assert (comparison.seconds, len(comparison.notes)) == (len(machine.calls), 0)
    assert (comparison.suite, comparison.factor, comparison.alpha, comparison.interleaved) == (
        "mine",
        1.05,
        0.01,
        True,
    )


def test_fixed_pairs_are_measured_to_the_end_also_of_the_control() -> None:
    machine = Machine(noisy(1.05))
    comparison = machine.compare(
        suite_of(program("a"), program("b")), pairs=24, time_budget_s=float("inf")
    )
    assert [len(result.base) for result in comparison.cells] == [24, 24]
    assert comparison.control is not None
    assert comparison.control.decision.blocks == 12
    assert comparison.control.verdict is Verdict.OK
    assert set(verdicts(comparison).values()) == {Verdict.INCONCLUSIVE}


def test_block_that_would_not_end_in_time_is_not_begun() -> None:
    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        seconds = 10.0 if asked.name == "long" and pair >= 2 else 1.0
        return noisy(1.05, seed=pair, seconds=seconds)(side, asked, pair)

    machine = Machine(answer)
    comparison = machine.compare(suite_of(program("short"), program("long")), time_budget_s=160.0)
    assert comparison.seconds <= 160.0
    blocks = {result.cell.name: result.decision.blocks for result in comparison.cells}
    assert 1 < blocks["long"] < 10
    assert blocks["short"] > blocks["long"]  # goes on in what is left
    assert "ended before 2 cell(s)" in comparison.notes[0]


def test_cell_that_there_was_no_time_for_is_not_measured() -> None:
    comparison = Machine(noisy(seconds=5.0)).compare(
        suite_of(program("a"), program("b"), program("c")), time_budget_s=10.0
    )
    unmeasured = [result for result in comparison.cells if result.verdict is Verdict.UNMEASURED]
    assert unmeasured
    assert {result.reason for result in unmeasured} == {"there was no time for a block of it"}
    assert exit_code(comparison) == Exit.NOTHING_MEASURED


def failing(side: str, sample: ProcessSample, after: int = 0) -> Answer:
    good = noisy()
    return lambda s, asked, pair: (
        sample if s == side and asked.name == "a" and pair >= after else good(s, asked, pair)
    )


CRASH = ProcessSample({}, error="killed by SIGSEGV", seconds=1.0)
WRONG = ProcessSample({}, wrong="tuples lost", seconds=1.0)


OUTCOMES = st.sampled_from(["good"] * 6 + ["crash", "wrong", "missing"])


@given(
    st.lists(st.lists(OUTCOMES, min_size=1, max_size=12), min_size=2, max_size=6),
    st.integers(0, 1000),
)
@settings(max_examples=60)
def test_whatever_fails_every_cell_gets_its_verdict_and_no_failed_side_is_asked_again(
    scripts: list[list[str]], seed: int
) -> None:
    """Script 2k is base's of program k, 2k + 1 head's: the outcomes of its processes, good ones
    after the last.

    A crash is repeated, twice on each side.
    """
    names = "abc"[: len(scripts) // 2]
    left = {
        (side, name): iter(scripts[2 * k + s])
        for k, name in enumerate(names)
        for s, side in enumerate(("base", "head"))
    }
    bad: dict[tuple[str, str], str] = {}
    crashes: Counter[tuple[str, str]] = Counter()
    good = noisy()

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        if machine.is_control:
            return good(side, asked, pair)
        assert (side, asked.name) not in bad, "asked again"
        outcome = next(left[side, asked.name], "good")
        if outcome == "good":
            return good(side, asked, pair)
        crashes[side, asked.name] += outcome == "crash"
        if outcome != "crash" or crashes[side, asked.name] > REPEATS:
            bad[side, asked.name] = outcome
        return {
            "crash": CRASH,
            "wrong": WRONG,
            "missing": ProcessSample({}, missing={asked.name: "gone"}, seconds=1.0),
        }[outcome]

    machine = Machine(answer)
    block = Series.block

    def watched(series: Series, *words: object) -> object:
        machine.is_control = series.control
        return block(series, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Series, "block", watched)
        comparison = machine.compare(suite_of(*map(program, names)), seed=seed, time_budget_s=600.0)
    for result in comparison.cells:
        base, head = bad.get(("base", result.cell.name)), bad.get(("head", result.cell.name))
        expected = (
            Verdict.WRONG
            if head == "wrong"
            else Verdict.UNMEASURED
            if base and head
            else Verdict.FAILED
            if head
            else Verdict.FIXED
            if base
            else Verdict.OK
        )
        assert result.verdict is expected
        assert bool(result.reason) == (expected is not Verdict.OK)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])  # either side is first
@pytest.mark.parametrize(
    ("side", "sample", "verdict", "reason", "code"),
    [
        ("head", CRASH, Verdict.FAILED, "head: killed by SIGSEGV", Exit.NOTHING_MEASURED),
        ("base", CRASH, Verdict.FIXED, "base: killed by SIGSEGV", Exit.NO_BASE),
        ("head", WRONG, Verdict.WRONG, "head: tuples lost", Exit.WRONG_RESULTS),
        ("base", WRONG, Verdict.FIXED, "base: tuples lost", Exit.NO_BASE),
    ],
)
def test_side_that_fails_ends_its_program_at_once_and_no_other(
    seed: int, side: str, sample: ProcessSample, verdict: Verdict, reason: str, code: Exit
) -> None:
    machine = Machine(failing(side, sample))
    comparison = machine.compare(suite_of(program("b"), program("a")), seed=seed)
    assert verdicts(comparison) == {"b": Verdict.OK, "a": verdict}
    assert comparison.cells[1].reason == reason
    calls = Counter(s for s, name, _ in machine.calls if name == "a")
    assert calls[side] == (1 + REPEATS if sample is CRASH else 1)
    assert calls["base" if side == "head" else "head"] in (1, 2)
    assert exit_code(comparison) == code


def test_side_that_fails_late_ends_its_program_and_keeps_the_values() -> None:
    machine = Machine(failing("head", CRASH, after=6))
    (_, result) = machine.compare(suite_of(program("b"), program("a"))).cells
    assert result.verdict is Verdict.FAILED
    assert len(result.head) == 6
    assert len(result.base) in (6, 7)  # who was first in the last block
    assert result.decision.blocks == 3
    assert max(pair for _, name, pair in machine.calls if name == "a") == 6


def test_cell_that_neither_side_answers_is_not_measured() -> None:
    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return (
            ProcessSample({}, error=f"no {side}")
            if asked.name == "a"
            else noisy()(side, asked, pair)
        )

    machine = Machine(answer)
    (_, result) = machine.compare(suite_of(program("b"), program("a"))).cells
    assert (result.verdict, result.reason) == (Verdict.UNMEASURED, "base: no base; head: no head")
    assert sum(name == "a" for _, name, _ in machine.calls) == 2 * (1 + REPEATS)


@pytest.mark.parametrize("control", [False, True])
def test_a_crash_of_one_process_is_repeated_told_and_changes_no_verdict(
    monkeypatch: pytest.MonkeyPatch, control: bool
) -> None:
    good, block, left = noisy(1.2), Series.block, [CRASH]

    def watched(series: Series, *words: object) -> object:
        machine.is_control = series.control
        return block(series, *words)

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return (
            left.pop()
            if left and pair == 5 and machine.is_control is control
            else good(side, asked, pair)
        )

    machine = Machine(answer)
    monkeypatch.setattr(Series, "block", watched)
    comparison = machine.compare(suite_of(program("a")))
    assert not left
    assert verdicts(comparison) == {"a": Verdict.REGRESSED}
    assert (comparison.control_failed, exit_code(comparison)) == (False, Exit.REGRESSED)
    (note,) = [note for note in comparison.notes if "SIGSEGV" in note]
    assert "gave no answer in 1 process, which ran again: killed by SIGSEGV" in note
    assert ("compared with itself" in note) is control


def test_a_process_that_hung_is_not_started_again() -> None:
    machine = Machine(failing("head", replace(CRASH, timed_out=True)))
    comparison = machine.compare(suite_of(program("b"), program("a")))
    assert verdicts(comparison)["a"] is Verdict.FAILED
    assert sum((side, name) == ("head", "a") for side, name, _ in machine.calls) == 1


def two_sides(only: str) -> Answer:
    """A program of two cells, of which one side does not know the second."""
    good = noisy(seconds=0.5)

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        sample = good(side, asked, pair)
        if side == only:
            return sample
        return replace(
            sample,
            values={"a:0": sample.values["a:0"]},
            missing={"a:1": "none"},
            absent=frozenset({"a:1"}),
        )

    return answer


@pytest.mark.parametrize(
    ("only", "option", "verdict", "otherwise"),
    [
        ("head", "new_is_information", Verdict.NEW, Exit.NO_BASE),
        ("base", "removed_is_information", Verdict.REMOVED, Exit.NOTHING_MEASURED),
    ],
)
def test_new_and_removed_cells_are_information_if_the_suite_says_so(
    only: str, option: str, verdict: Verdict, otherwise: Exit
) -> None:
    suite = suite_of(program("a", cells=2))
    assert exit_code(Machine(two_sides(only)).compare(suite)) == otherwise
    comparison = Machine(two_sides(only)).compare(replace(suite, **{option: True}))
    assert verdicts(comparison) == {"a:0": Verdict.OK, "a:1": verdict}
    assert exit_code(comparison) == Exit.OK
    assert conclusion(comparison).startswith("OK: none of 1 cells")
    assert any("for information: a:1" in line for line in remarks(comparison))
    assert exit_code(replace(comparison, cells=comparison.cells[1:])) == Exit.NO_BASE
    assert "nothing was compared" in conclusion(replace(comparison, cells=comparison.cells[1:]))


def test_a_head_that_fails_is_not_taken_for_one_that_has_removed_its_cells() -> None:
    suite = replace(suite_of(program("b"), program("a")), removed_is_information=True)
    assert verdicts(Machine(failing("head", CRASH)).compare(suite))["a"] is Verdict.FAILED


def test_a_cell_whose_means_disagree_with_its_ranks_is_inconclusive() -> None:
    """One process of head in sixteen takes three times as long, which no rank of the others
    shows.
    """
    good = noisy()

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        sample = good(side, asked, pair)
        slow = side == "head" and asked.name == "a" and pair % 16 == 3
        return replace(
            sample,
            values={name: value * (3 if slow else 1) for name, value in sample.values.items()},
        )

    comparison = Machine(answer).compare(suite_of(program("b"), program("a")))
    assert verdicts(comparison) == {"b": Verdict.OK, "a": Verdict.INCONCLUSIVE}
    reason = comparison.cells[1].reason
    assert reason.startswith("typical processes of head are not slower, but the mean of head is 1.")


def test_sides_of_one_commit_are_told() -> None:
    machine = Machine(noisy())
    machine.head = Tree(Path("/other"), "", Side("HEAD", machine.base.side.commit))
    notes = machine.compare(suite_of(program("a"))).notes
    assert notes[0].startswith(
        "base and head are the same commit, c0ffee of ba: there is no difference to be found"
    )


@pytest.mark.parametrize("broken", ["head", "base", "control", "missing"])
def test_a_proven_regression_outranks_whatever_else_has_no_number(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the last line names it, and says what else there is."""
    slower, same = noisy(1.2), noisy()

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        if asked.name == "other" and side == broken:
            return CRASH
        if asked.name == "other" and side == "head" and broken == "missing":
            return ProcessSample(
                {},
                seconds=1.0,
                missing={"other": "ns_per_hop must be a finite number above 0, not 0"},
            )
        return (slower if asked.name == "a" else same)(side, asked, pair)

    if broken == "control":
        monkeypatch.setattr(Control, "failed", True)
    comparison = Machine(answer).compare(suite_of(program("a"), program("other")))
    assert verdicts(comparison)["a"] is Verdict.REGRESSED
    assert exit_code(comparison) == Exit.REGRESSED
    last = conclusion(comparison)
    assert last.startswith("REGRESSED: ") and ("(a" in last or ", a)" in last)
    told = {
        "base": "base has no number of other",
        "control": "the control failed: base differs from itself",
    }
    assert told.get(broken, "; no number of other") in last


def test_missing_number_ends_its_cell_but_not_the_others_of_its_program() -> None:
    good = noisy(seconds=0.5)

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        sample = good(side, asked, pair)
        if side == "base":
            return sample
        return ProcessSample(
            {"a:0": sample.values["a:0"]}, seconds=0.5, missing={"a:1": "there is no benchmark 'x'"}
        )

    comparison = Machine(answer).compare(suite_of(program("a", cells=2)))
    assert verdicts(comparison) == {"a:0": Verdict.OK, "a:1": Verdict.FAILED}
    assert comparison.cells[1].reason == "head: there is no benchmark 'x'"
    assert exit_code(comparison) == Exit.NOTHING_MEASURED


def test_control_that_fails_to_run_is_told() -> None:
    comparison = Machine(failing("base", CRASH)).compare(suite_of(program("a"), program("b")))
    assert comparison.control is not None
    assert comparison.control.reason == "killed by SIGSEGV"
    assert comparison.control_failed
    assert exit_code(comparison) == Exit.NO_BASE


def test_base_that_fails_beside_itself_alone_leaves_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = noisy()
    block = Series.block

    def watched(series: Series, *words: object) -> object:
        machine.is_control = series.control
        return block(series, *words)

    machine = Machine(
        lambda side, asked, pair: (
            CRASH if machine.is_control and pair > 5 else good(side, asked, pair)
        )
    )
    monkeypatch.setattr(Series, "block", watched)
    comparison = machine.compare(suite_of(program("a")))
    assert verdicts(comparison) == {"a": Verdict.OK}
    assert exit_code(comparison) == Exit.HOST_UNSTABLE


def test_sides_that_were_built_in_different_ways_are_told() -> None:
    good = noisy()

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return replace(
            good(side, asked, pair), host={"compiler_flags": "-O0" if side == "base" else "-O3"}
        )

    comparison = Machine(answer).compare(suite_of(program("a")))
    assert (
        "base and head were not built or executed alike: compiler_flags -O3, base had -O0"
        in comparison.notes
    )


def test_time_that_ends_before_the_first_look_is_told_as_such() -> None:
    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return noisy(seconds=0.1 if pair < 2 else 1.0)(side, asked, pair)

    notes = Machine(answer).compare(suite_of(program("a")), time_budget_s=30.0).notes
    assert (
        "the time budget of 30 s ended before 1 cell(s) were decided; 1 of them had fewer than 12 "
        "blocks, which" in notes[0]
    )


def test_base_that_differs_from_itself_makes_the_host_unstable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Control, "failed", True)
    comparison = Machine(noisy()).compare(suite_of(program("a")))
    assert comparison.control_failed
    assert exit_code(comparison) == Exit.HOST_UNSTABLE


def test_disturbed_samples_are_counted_and_sides_know_their_host() -> None:
    host = {"cpu_model": "a CPU", "load_of_others": 0.5, "steal_share": 0.0, "throttled_us": None}
    comparison = Machine(noisy(host=host)).compare(suite_of(program("a")))
    assert comparison.base.host == comparison.head.host == host
    (note,) = comparison.notes
    samples = 4 * (comparison.cells[0].decision.blocks + comparison.control.decision.blocks)
    assert note == (
        f"the host was disturbed while {samples} of {samples} samples were measured: load of other "
        f"processes in {samples}"
    )
    quiet = host | {"load_of_others": 0.1}
    assert Machine(noisy(host=quiet)).compare(suite_of(program("a"))).notes == ()


def test_wide_control_is_a_note() -> None:
    draw = random.Random(5)

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        return ProcessSample(
            {cell.name: draw.lognormvariate(0, 0.3) for cell in asked.cells}, seconds=1.0
        )

    comparison = Machine(answer).compare(suite_of(program("a")), time_budget_s=200.0)
    assert any(
        note.startswith("the host is noisy: base can differ from itself by up to ")
        for note in comparison.notes
    )


def test_dirty_and_unversioned_sides_are_told() -> None:
    machine = Machine(noisy())
    machine.base = Tree(Path("/same"), "", Side("old", None))
    machine.head = Tree(
        Path("/same"), "", Side(".", "c0ffee", dirty=True), notes=("head lacks a submodule",)
    )
    notes = machine.compare(suite_of(program("a"))).notes
    assert notes[:4] == (
        "no commit is known of base 'old'",
        "head '.' has changes that are not committed",
        "head lacks a submodule",
        "base and head are the same directory: there is no difference to be found",
    )


def test_progress_says_blocks_time_left_and_how_cells_stand() -> None:
    machine = Machine(noisy())
    machine.compare(suite_of(program("a"), program("b")), time_budget_s=500.0)
    assert machine.told[0] == (0, 500.0, {"a": Verdict.INCONCLUSIVE, "b": Verdict.INCONCLUSIVE})
    assert machine.told[-1][2] == {"a": Verdict.OK, "b": Verdict.OK}
    blocks, left_s = [told[0] for told in machine.told], [told[1] for told in machine.told]
    assert blocks == list(range(len(blocks)))
    assert left_s == sorted(left_s, reverse=True)


def test_interrupted_call_hands_over_what_it_has() -> None:
    good = noisy()

    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        if pair == 8:
            raise KeyboardInterrupt
        return good(side, asked, pair)

    with pytest.raises(Interrupted) as raised:
        Machine(answer).compare(suite_of(program("a")))
    comparison = raised.value.comparison
    assert comparison.cells[0].verdict is Verdict.INCONCLUSIVE
    assert len(comparison.cells[0].base) == 8
    assert comparison.notes[0] == "interrupted"


def test_a_call_that_ends_in_its_first_block_names_no_budget() -> None:
    def answer(side: str, asked: Program, pair: int) -> ProcessSample:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        Machine(answer).compare(suite_of(program("a")))
    assert raised.value.comparison.needed_s is None


def test_real_processes_never_overlap(tmp_path: Path) -> None:
    """Each process fails if another is at work in the room that they share."""
    code = (
        "import json, os, sys, time\n"
        "os.mkdir(sys.argv[1])\n"  # raises if it is there
        "time.sleep(0.01)\n"
        "os.rmdir(sys.argv[1])\n"
        "print(json.dumps({'ns_per_hop': 1 + os.getpid() % 7 / 1000}))\n"
    )
    trees = []
    for side in ("base", "head"):
        directory = tmp_path / side
        directory.mkdir()
        (directory / "it.py").write_text(code, encoding="utf-8")
        trees.append(Tree(directory, sys.executable, Side(side, None)))
    words = ("{python}", "it.py", str(tmp_path / "busy"))
    suite = suite_of(*(Program(name, words, (GateCell(name, Metric()),)) for name in "ab"))
    rows: list[SampleRow] = []
    comparison = compare(
        *trees,
        suite,
        factor=1.5,
        alpha=0.4,
        pairs=6,
        time_budget_s=1e6,
        seed=1,
        keep=rows.append,
        take=take,
        lock=lambda notify: nullcontext(),
    )
    assert [result.reason for result in comparison.cells] == ["", ""]
    assert len(rows) == 36
    starts = [row.sample.started_at for row in rows]
    assert starts == sorted(starts)


def test_budget_too_small_for_a_look_ends_the_call_after_the_first_round() -> None:
    """A head three times as slow: nothing would tell it from one that is as fast."""
    machine = Machine(noisy(ratio=3.0))
    found = machine.compare(suite_of(program("a"), program("b")), time_budget_s=60.0)
    assert len(machine.rows) == 12  # a block of each, and one of the control
    needed = "a first look at all cells needs at least 2 min 24 s, the time budget is 1 min 00 s"
    assert f"{needed}: nothing is measured further" in found.notes
    assert set(verdicts(found).values()) == {Verdict.INCONCLUSIVE}
    reasons = {result.reason for result in found.cells}
    assert reasons == {"left out: the time budget is too small for it"}
    assert found.needed_s is not None and found.needed_s >= 144.0  # 2 min 24 s


@pytest.mark.parametrize("budget_s", [40.0, 150.0])
def test_the_budget_that_an_inconclusive_call_needs_decides_it(budget_s: float) -> None:
    suite, noise = suite_of(program("a"), program("b")), 0.06
    short = Machine(noisy(noise=noise)).compare(suite, time_budget_s=budget_s)
    assert set(verdicts(short).values()) == {Verdict.INCONCLUSIVE}
    assert short.needed_s is not None and budget_s < short.needed_s < 1500.0
    again = Machine(noisy(noise=noise, seed=2)).compare(suite, time_budget_s=short.needed_s)
    assert set(verdicts(again).values()) == {Verdict.OK}
    assert again.needed_s is None


def test_no_budget_is_named_if_the_number_of_pairs_is_fixed() -> None:
    found = Machine(noisy(noise=0.3)).compare(suite_of(program("a")), pairs=20)
    assert verdicts(found) == {"a": Verdict.INCONCLUSIVE}
    assert found.needed_s is None


def test_ratio_at_the_factor_needs_more_time_than_there_is() -> None:
    found = Machine(noisy(1.05, noise=0.002)).compare(suite_of(program("a")), time_budget_s=600.0)
    assert verdicts(found) == {"a": Verdict.INCONCLUSIVE}
    assert found.needed_s is not None and found.needed_s > 20_000.0


def test_budget_for_a_look_at_some_cells_leaves_out_the_last_programs() -> None:
    machine = Machine(noisy(ratio=0.3))
    found = machine.compare(suite_of(*map(program, "abcd")), time_budget_s=170.0)
    assert verdicts(found) == {
        "a": Verdict.IMPROVED,
        "b": Verdict.IMPROVED,
        "c": Verdict.INCONCLUSIVE,
        "d": Verdict.INCONCLUSIVE,
    }
    assert any("measured further: a, b" in note for note in found.notes)


def test_measuring_lock_is_held_while_it_measures_and_the_budget_does_not_run_before() -> None:
    machine = Machine(noisy())
    events: list[str] = []

    @contextmanager
    def lock(notify: Callable[[str], None]) -> Iterator[None]:
        machine.now_s += 5000.0  # it waits longer than the budget
        events.append("held")
        yield
        events.append(f"released after {len(machine.calls)}")

    compare(
        machine.base,
        machine.head,
        suite_of(program("a")),
        factor=1.05,
        alpha=0.01,
        pairs=None,
        time_budget_s=1000.0,
        seed=1,
        take=machine.take,
        lock=lock,
        clock=lambda: machine.now_s,
    )
    assert events == ["held", f"released after {len(machine.calls)}"]
    assert len(machine.calls) > 40


@pytest.mark.heavy
def test_real_project_in_place_against_itself(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    for duration_s in (0.05, 2.0):  # others may have the CPUs for so short a run
        run = {
            "topology": "pipeline",
            "parameters": {"operators": 4, "cost": 100},
            "model": "manual",
            "duration_s": duration_s,
            "warmup": 0.02,
        }
        programs = {"programs": [{"name": "one", "run": run}], "build": []}
        path.write_text(json.dumps(programs), encoding="utf-8")
        suite = load_suite(path)
        told: list[str] = []
        trees = prepare({"base": ".", "head": "."}, suite, ROOT, told.append)
        assert told == []
        rows: list[SampleRow] = []
        comparison = compare(
            trees["base"],
            trees["head"],
            suite,
            factor=3.0,
            alpha=0.4,
            pairs=6,
            time_budget_s=1e6,
            seed=1,
            keep=rows.append,
            lock=lambda notify: nullcontext(),
        )
        if comparison.cells[0].reason == "" and len(rows) == 24:
            break
    assert comparison.cells[0].reason == ""
    assert len(rows) == 24
    assert all(row.sample.host["cpus_allowed"] >= 1 for row in rows)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    assert comparison.base.commit == comparison.head.commit == (commit or None)
    assert comparison.base.host["cpu_model"]


def test_the_factor_that_the_budget_can_decide_is_said_after_the_first_round() -> None:
    machine, said = Machine(noisy(noise=0.1)), []
    found = machine.compare(suite_of(program("a")), time_budget_s=240.0, notify=said.append)
    assert said[0] in found.notes
    assert "by the first round" in said[0]
    assert said[0].endswith("it is 1.05, and --factor auto takes one that can be decided")
    assert found.factor == 1.05


def test_no_factor_is_said_if_the_one_that_is_asked_for_can_be_decided() -> None:
    found = Machine(noisy(noise=0.001)).compare(suite_of(program("a")), time_budget_s=540.0)
    assert not any("first round" in note for note in found.notes)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, Verdict.OK), (2.0, Verdict.REGRESSED)])
def test_an_automatic_factor_decides_a_noisy_cell(ratio: float, verdict: Verdict) -> None:
    machine = Machine(noisy(ratio, noise=0.05))
    found = machine.compare(suite_of(program("a")), auto=True, time_budget_s=240.0)
    assert found.factor > 1.05
    assert verdicts(found) == {"a": verdict}
    assert any(note.endswith(f"the factor is {found.factor:g}") for note in found.notes)


def test_blocks_that_chose_the_factor_are_not_tested() -> None:
    machine = Machine(noisy(noise=0.05))
    found = machine.compare(suite_of(program("a")), auto=True, pairs=20)
    (result,) = found.cells
    rows = [row for row in machine.rows if not row.control and row.arm == "base"]
    assert len(rows) == 22 and len(result.base) == 20
    assert result.base == tuple(row.sample.values["a"] for row in rows[2:])
