"""Files of results as sides: what a file counts for, what is refused and with which exit code."""

from __future__ import annotations

import json
import math
import platform
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness.gate.rank_sums import tails
from scipy import stats

from harness.errors import UserError
from harness.gate.cell import Metric
from harness.gate.environment import clean_environment
from harness.gate.errors import NoBase, NothingMeasured
from harness.gate.results import compare_files, read_results, write_json
from harness.gate.results.sessions import one_say
from harness.gate.verdict import CellDecision, CellResult, Exit, Side, Verdict, exit_code
from tests.gate.made_comparisons import HOST, comparison, result

MACHINE = {
    "python_implementation": "CPython",
    "python_version": "3.11.2",
    "system": "Linux",
    "release": "6.1.0-13",
    "cpu": {"brand_raw": "Aligned 9000", "count": 2},
}


class Runs:
    """Writes files as pytest-benchmark does: one a process."""

    def __init__(self, directory):
        self.directory = directory
        self.written = 0

    def write(self, medians, machine=MACHINE, **changes):
        stats = [
            {"fullname": name, "name": name, "stats": {"median": median}}
            for name, median in medians.items()
        ]
        document = {
            "machine_info": machine,
            "commit_info": {"id": "c" * 40, "dirty": False},
            "benchmarks": stats,
            **changes,
        }
        self.written += 1
        path = self.directory / f"{self.written}.json"
        path.write_text(json.dumps(document))
        return str(path)

    def side(self, processes, factor=1.0, names=("a", "b"), seed=1):
        draw = random.Random(seed)
        return [
            self.write({name: 1e-3 * factor * draw.uniform(0.995, 1.005) for name in names})
            for _ in range(processes)
        ]


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def judged(base, head, **changes):
    return compare_files(base, head, **{"factor": 1.05, "alpha": 0.01, "in_turns": True, **changes})


def verdicts(made):
    return {each.cell.name: each.verdict for each in made.cells}


def test_files_of_one_process_each_are_samples_in_the_order_given(runs):
    base, head = runs.side(4), runs.side(4, seed=2)
    made = judged(base, head)
    assert made.cells[0].base == tuple(read_results(path).answers["a"].values[0] for path in base)
    assert made.cells[0].decision.blocks == 2
    assert (made.base.label, made.head.label) == (f"{base[0]} and 3 more", f"{head[0]} and 3 more")
    assert judged(base[:1], head[:2]).base.label == base[0]
    assert not made.interleaved and "different times" in made.notes[0]
    assert made.control is None


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, Verdict.OK), (1.2, Verdict.REGRESSED), (0.8, Verdict.IMPROVED)]
)
def test_enough_processes_decide(runs, factor, expected):
    made = judged(runs.side(24), runs.side(24, factor, seed=2))
    assert set(verdicts(made).values()) == {expected}
    assert made.cells[0].decision.ratio == pytest.approx(factor, rel=0.01)


def test_copies_of_a_file_count_once_whatever_they_are_called(runs, tmp_path):
    base, head = runs.write({"a": 1.0}), runs.write({"a": 2.0})
    copies = {}
    for side, path in (("base", base), ("head", head)):
        document = json.loads(Path(path).read_text())
        copies[side] = [str(tmp_path / f"{side}{n}.json") for n in range(14)]
        for n, copy in enumerate(copies[side]):
            Path(copy).write_text(json.dumps(document, indent=n))
    made = judged(copies["base"], copies["head"])
    assert exit_code(made) == Exit.INCONCLUSIVE
    assert (made.cells[0].base, made.cells[0].head) == ((1.0,), (2.0,))
    assert any(
        "13 of 14 files of base hold the same as one before, and do not count: " in note
        for note in made.notes
    )


def test_files_that_are_on_both_sides_prove_nothing(runs):
    files = runs.side(14)
    made = judged(files, list(reversed(files)))
    assert set(verdicts(made).values()) == {Verdict.INCONCLUSIVE}
    assert made.cells[0].reason.startswith("a file of head holds the same as one of base")
    assert any("14 files of head hold the same as one of base" in note for note in made.notes)


def timed(runs, plan, factor=1.2, seed=1):
    """Files whose times are in the order of `plan`, "b" and "h" a file; the sides are given in a
    wrong order.
    """
    draw, sides = random.Random(seed), {"b": [], "h": []}
    for second, side in enumerate(plan):
        median = draw.uniform(0.995, 1.005) * (factor if side == "h" else 1.0)
        at = f"2026-03-01T10:{second // 60:02}:{second % 60:02}"
        sides[side].insert(0, runs.write({"a": median}, datetime=at))
    return judged(sides["b"], sides["h"])


@pytest.mark.parametrize(
    "plan", ["b" * 24 + "h" * 24, "h" * 24 + "b" * 24, ("b" * 12 + "h" * 12) * 2]
)
@pytest.mark.parametrize("factor", [1.2, 1.0, 0.8])
def test_sessions_one_after_the_other_never_decide_as_nothing_tells_how_far_they_are_apart(
    runs, plan, factor
):
    made = timed(runs, plan, factor)
    (cell,) = made.cells
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.reason.startswith(f"measured in {1 if plan[12] == plan[0] else 2} session")
    assert (
        "without the other side in between: what the host was like then counts as a difference"
        in cell.reason
    )
    assert cell.decision.ratio == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("plan", ["bhhb" * 8, "hbbh" * 8, "bh" * 16, "bbbhhh" * 16])
def test_sides_measured_in_turns_decide_also_if_files_are_given_in_another_order(runs, plan):
    assert verdicts(timed(runs, plan)) == {"a": Verdict.REGRESSED}


def test_sides_of_one_commit_are_told(runs):
    made = judged(runs.side(2), runs.side(2, seed=2))
    assert any(
        note.startswith("base and head are the same commit, cccccccccccc: ") for note in made.notes
    )


@pytest.mark.parametrize("word", ["unversioned", "unknown"])
def test_files_made_outside_a_repository_have_no_commit(runs, word):
    commit = {"id": word, "dirty": False}
    made = judged(
        *(
            [runs.write({"a": value}, commit_info=commit) for value in pair]
            for pair in ((1.0, 1.1), (1.2, 1.3))
        )
    )
    assert not any("same commit" in note for note in made.notes)
    assert (made.base.commit, made.head.commit) == (None, None)


def test_sessions_that_differ_are_called_no_more_often_than_promised():
    """Twelve sessions a side, of five processes, whose hosts differ by 3 %; taken process by
    process they are called more.
    """
    draw = np.random.default_rng(3)
    alpha, calls, called = 0.05, 400, {"sessions": 0, "processes": 0}
    for _ in range(calls):
        values = np.exp(draw.normal(0, 0.03, (24, 1)) + draw.normal(0, 0.005, (24, 5)))
        by_session = np.array([one_say(row.tolist()) for row in values])
        for name, taken in (("sessions", by_session), ("processes", values[:, :4])):
            base, head = (np.log(taken[first::2]).reshape(-1, 2) for first in (0, 1))
            called[name] += tails(base, head, 0.0, 0)[0] <= alpha
    assert called["sessions"] <= stats.binom.ppf(0.999, calls, alpha) < called["processes"]


def test_one_process_a_side_is_inconclusive_however_far_apart(runs):
    made = judged(runs.side(1), runs.side(1, factor=3.0))
    assert set(verdicts(made).values()) == {Verdict.INCONCLUSIVE}
    assert made.cells[0].decision.ratio == pytest.approx(3.0, rel=0.02)
    assert made.cells[0].decision.blocks == 0
    assert "one process" in made.cells[0].reason
    assert exit_code(made) == Exit.INCONCLUSIVE


def test_too_few_processes_say_how_many_it_takes(runs):
    made = judged(runs.side(6), runs.side(6, factor=3.0))
    assert set(verdicts(made).values()) == {Verdict.INCONCLUSIVE}
    assert made.cells[0].reason == "6 processes a side, of which it takes 16 to decide anything"
    assert set(verdicts(judged(runs.side(16), runs.side(16, factor=3.0))).values()) == {
        Verdict.REGRESSED
    }


def test_a_benchmark_that_is_on_one_side_only_is_never_a_pass(runs):
    made = judged(runs.side(2, names=("both", "gone")), runs.side(2, names=("both", "new")))
    assert verdicts(made) == {
        "both": Verdict.INCONCLUSIVE,
        "new": Verdict.FIXED,
        "gone": Verdict.FAILED,
    }
    assert exit_code(made) == Exit.NOTHING_MEASURED


def test_a_benchmark_that_is_missing_in_one_file_names_it(runs):
    base, head = runs.side(3), runs.side(2)
    head.append(runs.write({"a": 1e-3}))
    made = judged(base, head)
    assert verdicts(made)["b"] is Verdict.FAILED
    assert made.cells[1].reason == f"missing in {head[2]}"


def test_more_files_on_one_side_are_left_out_with_a_note(runs):
    made = judged(runs.side(5), runs.side(4))
    assert len(made.cells[0].base) == len(made.cells[0].head) == 4
    assert any("more samples on one side" in note for note in made.notes)


def test_a_verdict_gives_the_samples_of_its_head(tmp_path):
    made = comparison(result("a", Verdict.REGRESSED), result("b"))
    write_json(made, tmp_path / "old.json")
    write_json(comparison(result("a"), result("b")), tmp_path / "new.json")
    again = judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")])
    assert again.cells[0].base == one_say(made.cells[0].head)
    assert set(verdicts(again).values()) == {Verdict.INCONCLUSIVE}  # a verdict is one session
    assert again.base.commit == "b" * 40 and again.base.dirty


def test_cells_with_different_numbers_of_blocks_are_decided_each_with_its_own(tmp_path):
    def cut(each, pairs):
        return CellResult(each.cell, each.decision, each.base[:pairs], each.head[:pairs])

    for name, verdict in (("old", Verdict.OK), ("new", Verdict.REGRESSED)):
        for n in range(14):
            made = comparison(
                result("long", verdict), cut(result("short", verdict), 2 if n else 1), seed=n
            )
            write_json(made, tmp_path / f"{name}{n}.json")
    files = {
        name: [str(tmp_path / f"{name}{n}.json") for n in range(14)] for name in ("old", "new")
    }
    again = judged(files["old"], files["new"])
    assert [len(each.base) for each in again.cells] == [28, 27]
    assert set(verdicts(again).values()) == {Verdict.REGRESSED}


def test_wrong_results_in_heads_file_stay_wrong(tmp_path):
    write_json(comparison(result("a")), tmp_path / "old.json")
    write_json(
        comparison(result("a", Verdict.WRONG, reason="3 tuples lost")), tmp_path / "new.json"
    )
    again = judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")])
    assert exit_code(again) == Exit.WRONG_RESULTS
    assert "3 tuples lost" in again.cells[0].reason


@pytest.mark.parametrize("verdict", [Verdict.WRONG, Verdict.FAILED, Verdict.UNMEASURED])
def test_a_cell_that_was_broken_in_bases_file_is_no_base(tmp_path, verdict):
    write_json(comparison(result("a", verdict), result("b")), tmp_path / "old.json")
    write_json(comparison(result("a"), result("b")), tmp_path / "new.json")
    assert (
        exit_code(judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")]))
        == Exit.NO_BASE
    )


def test_an_interrupted_verdict_can_be_a_side_and_is_told(tmp_path):
    write_json(comparison(result("a")), tmp_path / "old.json", code=130, finished=False)
    write_json(comparison(result("a")), tmp_path / "new.json")
    assert any(
        "interrupted" in note
        for note in judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")]).notes
    )


def test_a_verdict_whose_control_failed_can_be_a_side_and_is_told(tmp_path):
    for name in "ab":
        write_json(comparison(result("one"), control_failed=True), tmp_path / f"{name}.json")
    made = judged([tmp_path / "a.json"], [tmp_path / "b.json"])
    assert sum("whose control failed: no verdict of it counts" in note for note in made.notes) == 2


def test_verdicts_get_the_looks_of_a_call_as_their_lengths_follow_from_their_numbers(tmp_path):
    """One look at seven blocks decides nothing: the first of all looks comes later."""
    for name, level in (("old", 100.0), ("new", 200.0)):
        values = tuple(level + index for index in range(14))
        one = CellResult(
            result("one").cell, CellDecision(Verdict.OK, 1.0, 0.9, 1.1, 7), values, values
        )
        for n in range(12):
            write_json(comparison(one, seed=n), tmp_path / f"{name}{n}.json")
    sides = [[tmp_path / f"{name}{n}.json" for n in range(12)] for name in ("old", "new")]
    (few,) = judged(*(side[:7] for side in sides)).cells
    assert few.verdict is Verdict.INCONCLUSIVE
    assert few.reason.endswith(
        "so there are 14 samples a side, of which it takes 24 to decide anything"
    )
    (many,) = judged(*sides).cells
    assert many.verdict is Verdict.REGRESSED


def test_a_verdict_without_a_sample_holds_no_results(tmp_path):
    write_json(comparison(result("a")), tmp_path / "old.json")
    for cells in ((), (result("a", Verdict.UNMEASURED),)):
        write_json(
            comparison(*cells, head=Side(".", None)),
            tmp_path / "new.json",
            code=130,
            finished=False,
        )
        with pytest.raises(NothingMeasured, match="holds no sample"):
            judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")])


@pytest.mark.parametrize("text", ["", "{", '{"benchmarks": []}', '{"benchmarks": [{"stats": {}}]}'])
def test_a_file_without_results_is_no_base_or_a_head_without_a_measurement(runs, tmp_path, text):
    good, bad = runs.write({"a": 1.0}), tmp_path / "bad.json"
    bad.write_text(text)
    with pytest.raises(NoBase, match=r"bad\.json"):
        judged([str(bad)], [good])
    with pytest.raises(NothingMeasured, match=r"bad\.json") as refusal:
        judged([good], [str(bad)])
    assert "\n" not in str(refusal.value) and str(refusal.value).startswith("--head ")


@pytest.mark.parametrize(
    "text", ["[1, 2]", '{"speed": 5}', '{"gate": {"schema_version": 2}}', '{"gate": {}}']
)
def test_a_file_of_something_else_is_no_base_or_a_wrong_call(runs, tmp_path, text):
    good, bad = runs.write({"a": 1.0}), tmp_path / "bad.json"
    bad.write_text(text)
    with pytest.raises(NoBase, match=r"bad\.json"):
        judged([str(bad)], [good])
    with pytest.raises(UserError, match=r"--head .*bad\.json"):
        judged([good], [str(bad)])


@pytest.mark.parametrize("median", [0, -1.0, "fast", None, True, math.nan, 10**400])
def test_a_time_that_is_none_is_refused(runs, median):
    with pytest.raises(NothingMeasured, match="a: median must be a finite number above 0"):
        judged([runs.write({"a": 1.0})], [runs.write({"a": median})])


def test_a_benchmark_that_is_there_twice_has_no_number(runs):
    twice = [{"fullname": "a", "stats": {"median": 1.0}}] * 2
    with pytest.raises(NoBase, match="a: is there twice"):
        judged([runs.write({}, benchmarks=twice)], [runs.write({"a": 1.0})])


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"fullname": "b", "stats": {"median": 0}}, "must be a finite number above 0, not 0 in"),
        (
            {"fullname": "b", "stats": {"median": math.nan}},
            "must be a finite number above 0, not nan in",
        ),
        ({"stats": {"median": 1.0}}, "fullname is missing, or no text in"),
        ("nothing", "fullname is missing, or no text in"),
    ],
)
def test_one_broken_benchmark_in_a_file_is_its_own_fault_and_the_others_are_judged(
    runs, broken, told
):
    base, head = runs.side(24), runs.side(23, 1.2, seed=2)
    stats = [{"fullname": "a", "stats": {"median": 1.2e-3}}, broken]
    made = judged(base, [*head, runs.write({}, benchmarks=stats)])
    assert verdicts(made)["a"] is Verdict.REGRESSED
    assert exit_code(made) == Exit.REGRESSED
    alone = judged(base, [runs.write({}, benchmarks=stats)])
    assert any(told in f"{each.reason} in" for each in alone.cells if each.cell.name != "a")


def test_results_of_another_host_are_no_base_unless_allowed(runs):
    other = {**MACHINE, "cpu": {"brand_raw": "Aligned 9000", "count": 64}}
    base, head = [runs.write({"a": 1.0}, other)], [runs.write({"a": 1.0})]
    with pytest.raises(NoBase, match=r"cpus_allowed 2, there 64.*--allow-other-host"):
        judged(base, head)
    made = judged(base, head, allow_other_host=True)
    assert any("cpus_allowed" in note for note in made.notes)


def test_files_of_one_side_must_be_of_one_host_too(runs):
    other = {**MACHINE, "python_version": "3.13.1"}
    with pytest.raises(NoBase, match="python"):
        judged(
            [runs.write({"a": 1.0})] * 2, [runs.write({"a": 1.0}), runs.write({"a": 1.0}, other)]
        )


def test_a_kernels_last_number_makes_no_other_host(runs):
    other = {**MACHINE, "release": "6.1.0-99"}
    assert judged([runs.write({"a": 1.0}, other)], [runs.write({"a": 1.0})]).cells


def test_both_kinds_of_files_go_together_as_far_as_they_tell_their_hosts(runs, tmp_path):
    write_json(
        comparison(result("verdict's name", metric=Metric("median", "s"), key="a")),
        tmp_path / "old.json",
    )
    assert HOST["cpu_model"] == MACHINE["cpu"]["brand_raw"]
    made = judged([str(tmp_path / "old.json")], [runs.write({"a": 1.0})])
    assert [each.cell.key for each in made.cells] == ["a"] and made.cells[0].base


def test_numbers_in_different_units_are_not_compared(runs, tmp_path):
    write_json(comparison(result("a")), tmp_path / "old.json")
    made = judged([str(tmp_path / "old.json")], [runs.write({"a": 1.0})])
    assert exit_code(made) == Exit.NO_BASE
    assert made.cells[0].reason == "base has it as ns_per_hop [ns], head as median [s]"


def test_the_least_time_is_not_compared_with_a_median(runs, tmp_path):
    """A suite that asks pytest-benchmark for `min` gives this: the same benchmark in the same unit."""
    write_json(
        comparison(result("a", metric=Metric("min", "s"), key="a")), tmp_path / "verdict.json"
    )
    verdict, run = str(tmp_path / "verdict.json"), runs.write({"a": 410.0})
    assert exit_code(judged([verdict], [run])) == Exit.NO_BASE
    mixed = judged([run], [verdict, run])
    assert exit_code(mixed) == Exit.NOTHING_MEASURED
    assert "has it as median [s], a file before it as min [s]" in mixed.cells[0].reason


def test_a_throughput_that_falls_is_worse(tmp_path):
    def of(value):
        cell = result("a", metric=Metric("rate", "tuples/s", lower_is_better=False)).cell
        return CellResult(
            cell, CellDecision(Verdict.INCONCLUSIVE, 1.0, 0.0, math.inf, 0), (value,), (value,)
        )

    write_json(comparison(of(100.0)), tmp_path / "old.json")
    write_json(comparison(of(50.0)), tmp_path / "new.json")
    made = judged([str(tmp_path / "old.json")], [str(tmp_path / "new.json")])
    assert made.cells[0].decision.ratio == pytest.approx(2.0)


def test_a_file_that_cannot_be_read_is_told(runs, tmp_path):
    with pytest.raises(NoBase, match="cannot be read"):
        judged([str(tmp_path / "none.json")], [runs.write({"a": 1.0})])


def test_files_that_do_not_tell_their_host_are_compared_with_a_note(runs):
    base, head = runs.write({"a": 1.0}, {}), runs.write({"a": 1.0}, {})
    assert any("taken on trust" in note for note in judged([base], [head]).notes)
    with pytest.raises(NoBase, match="cpu_model"):
        judged([base], [runs.write({"a": 1.0})])
    assert not any(
        "taken on trust" in note
        for note in judged([runs.write({"a": 1.0})], [runs.write({"a": 1.0})]).notes
    )


@pytest.mark.heavy
def test_what_pytest_benchmark_writes_today_can_be_read(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_sum(benchmark):\n    benchmark.pedantic(sum, ([1, 2],), rounds=3)\n"
    )
    words = [
        "-m",
        "pytest",
        "test_it.py",
        "-q",
        "-p",
        "no:cacheprovider",
        "--benchmark-json",
        "out.json",
    ]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(tmp_path / "out.json")
    (answer,) = results.answers.values()
    assert (
        answer.cell.key == "test_it.py::test_sum"
        and len(answer.values) == 1
        and 0 < answer.values[0] < 1
    )
    assert results.host["python"] == f"{sys.implementation.name} {platform.python_version()}"
    assert results.host["cpus_allowed"] >= 1 and results.host["cpu_model"]


def test_files_that_do_not_show_their_order_decide_nothing_unless_they_were_measured_in_turns(runs):
    """All of base before all of head, on a host that drifts by 8 %, in whole seconds or without a
    time.
    """
    for stamp in ({}, {"datetime": "2026-01-02T03:04:05"}):
        base, head = (
            [runs.write({"a": level + 1e-6 * at}, **stamp) for at in range(20)]
            for level in (1e-3, 1.08e-3)
        )
        made = judged(base, head, in_turns=False)
        assert verdicts(made) == {"a": Verdict.INCONCLUSIVE}
        assert "measured in 1 session a side" in made.cells[0].reason
        assert "--in-turns" in made.cells[0].reason
        assert verdicts(judged(base, head)) == {"a": Verdict.REGRESSED}
