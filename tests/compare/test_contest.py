"""A comparison runs its arms in turns, stops when the best is known, and says what it found."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from dataclasses import replace

import pytest

from harness.compare import report, would_help
from harness.compare.contest import By, ContestEnd
from harness.compare.export import FORMATS, export
from harness.compare.standing import ArmRatio
from harness.compare.would_help import budget_text, clearly_out, help_of, more_of
from harness.graph.schedule import Schedule
from harness.models import Dynamic, Manual, Multilevel
from tests.compare.made_contests import Host, Silent, compared, contest, made_record


def test_it_ends_when_the_best_is_known():
    made, host = compared({"a": 100.0, "b": 150.0, "c": 90.0})
    assert made.ended is ContestEnd.KNOWN
    assert [arm.name for arm in made.leaders] == ["b"]
    assert host.now_s < 60


def test_it_ends_within_the_budget_and_says_so():
    made, host = compared({"a": 100.0, "b": 100.0}, budget_s=40.0)
    assert made.ended is ContestEnd.BUDGET
    assert host.now_s <= 40.0
    assert "cannot be distinguished: the budget of 40 s is used up" in report.sentence(made)


def test_a_budget_for_no_look_says_how_much_is_needed():
    made, _ = compared({"a": 100.0, "b": 900.0}, budget_s=9.0)
    assert report.sentence(made).endswith("and a first look takes 3")
    assert report.lines_of([made])[-3:] == [
        "what would help:",
        "* about 5 s more of budget: --budget 20s",
        "* fewer arms: a is far behind in every run, so b seems the best",
    ]


def test_arms_that_are_far_behind_are_left_out_of_the_proposal():
    made, _ = compared({"a": 100.0, "b": 101.0, "c": 10.0}, budget_s=14.0)
    (found,) = (line for line in report.lines_of([made]) if "fewer arms" in line)
    assert "c is far behind in every run; compare --model manual:name=" in found
    assert "name=c" not in found


@pytest.mark.parametrize(
    ("p99", "far"), [({"a": 1e6, "b": 5e6}, ["b"]), ({"a": 1e6, "b": 1e6}, [])]
)
def test_an_arm_with_far_longer_latencies_is_far_behind(p99, far):
    def make(run, rate):
        return made_record(run, rate, p99=p99[run.arm] * rate)

    made, _ = compared({"a": 1.0, "b": 1.0}, by=By.LATENCY, make=make, budget_s=9.0)
    assert [arm.name for arm in clearly_out(made)] == far


def test_a_close_rival_takes_a_look_that_comes_later():
    made, _ = compared({"a": 100.0, "b": 102.0}, noise=0.05, budget_s=20.0)
    assert made.ended is ContestEnd.BUDGET
    more_s = more_of(made)
    assert 0.0 < more_s < math.inf
    (first,) = help_of([made], 20.0)
    assert first.endswith(f"--budget {budget_text(20.0 + more_s)}")


def test_of_arms_that_are_about_equal_any_may_be_taken():
    made, _ = compared({"a": 100.0, "b": 100.0}, noise=0.001, budget_s=60.0)
    (line,) = help_of([made], 60.0)
    assert line.endswith("seem to differ by less than 1 %: take any of them")


def test_several_comparisons_share_a_longer_budget():
    contests = [compared({"a": 1.0, "b": 2.0}, budget_s=9.0, cost=cost)[0] for cost in (1, 10)]
    first, *fewer = help_of(contests, 18.0)
    assert first.endswith("--budget 30s")
    assert [line[:20] for line in fewer] == ["cost=1: fewer arms: ", "cost=10: fewer arms:"]


def test_a_comparison_that_no_budget_decides_hides_no_budget_of_another(monkeypatch):
    contests = [compared({"a": 1.0, "b": 2.0}, budget_s=9.0, cost=cost)[0] for cost in (1, 10)]
    more_s = {id(contests[0]): math.inf, id(contests[1]): 6.0}
    monkeypatch.setattr(would_help, "more_of", lambda each: more_s[id(each)])
    assert help_of(contests, 18.0)[0].endswith("--budget 30s")


def test_a_comparison_that_knows_the_best_needs_no_help():
    made, _ = compared({"a": 100.0, "b": 150.0})
    assert help_of([made], 1000.0) == []


@pytest.mark.parametrize(("seconds", "text"), [(5.0, "10s"), (90.0, "90s"), (121.0, "3m")])
def test_a_proposed_budget_is_rounded_up(seconds, text):
    assert budget_text(seconds) == text


def test_the_budget_of_the_call_is_the_one_that_is_named():
    made, _ = compared({"a": 100.0, "b": 100.0}, budget_s=40.0)
    assert "the budget of 1 min 00 s" in report.sentence(replace_budget(made, 60.0))


def replace_budget(made, whole_s):
    made.whole_budget_s = whole_s
    return made


def test_names_of_arms_can_be_decoded():
    made, _ = compared({"a": 100.0, "b": 150.0})
    lines = report.lines_of([made])
    begin = lines.index("arms as options of millrace compare:")
    assert [line.split() for line in lines[begin + 1 : begin + 3]] == [
        ["b", "--model", "manual:name=b"], ["a", "--model", "manual:name=a"],
    ]  # fmt: skip
    assert next(csv.DictReader(io.StringIO(export([made], "csv"))))["options"] == (
        "--model manual:name=b"
    )


def test_a_budget_for_no_block_says_nothing_of_changed_ratios():
    made, _ = compared({"a": 100.0, "b": 900.0}, budget_s=1.0)
    assert made.blocks == 0
    assert not any("its ratio to the best changed" in note for note in report.notes(made))
    assert not any(row[1] != report.MISSING for row in report.table_of(made)[1])


def test_a_block_has_two_runs_of_each_arm_in_random_order():
    _, host = compared({"a": 1.0, "b": 1.0, "c": 1.0}, budget_s=300.0)
    blocks = [
        tuple(run.arm for run in host.runs[first : first + 6])
        for first in range(0, len(host.runs) - 5, 6)
    ]
    assert all(Counter(block) == {"a": 2, "b": 2, "c": 2} for block in blocks)
    assert len(set(blocks)) > len(blocks) / 2


def test_an_arm_that_is_proven_worse_is_not_run_any_more():
    made, host = compared({"a": 1.0, "b": 1.0, "slow": 0.3}, budget_s=120.0)
    of = Counter(run.arm for run in host.runs)
    assert of["slow"] == 2 * made.standing.looks.first
    assert of["a"] > of["slow"]
    assert report.sentence(made).endswith("cannot be distinguished from it")
    assert "times as fast as arm slow [" in report.sentence(made)


def test_the_sentence_names_best_ratio_and_interval():
    made, _ = compared({"a": 100.0, "b": 153.0}, noise=0.001)
    assert report.sentence(made).startswith("arm b is 1.53 times as fast as arm a [1.5")


def failing(run, rate):
    return made_record(run, rate, error="lost 3 tuples\nmore" if run.arm == "b" else None)


def test_an_arm_that_fails_is_left_out_and_named():
    made, _ = compared({"a": 1.0, "b": 5.0, "c": 2.0}, make=failing)
    assert [arm.name for arm in made.leaders] == ["c"]
    assert "b is left out: lost 3 tuples" in report.notes(made)
    assert len(made.contenders[1].records) == 0


def test_one_arm_left_is_no_comparison():
    made, _ = compared({"a": 1.0, "b": 5.0}, make=failing)
    assert made.ended is ContestEnd.FAILED
    assert report.sentence(made).startswith("nothing is compared")


def test_an_arm_through_which_no_tuple_comes_has_failed():
    made, _ = compared({"a": 1.0, "b": 0.0, "c": 3.0})
    assert "no tuple arrived" in made.contenders[1].failure


def test_an_interrupt_keeps_what_was_found():
    host = Host({"a": 1.0, "b": 1.0})
    made = contest(host)

    def execute(run, announce):
        if len(host.runs) == 5:
            raise KeyboardInterrupt
        return host.execute(run, announce)

    with pytest.raises(KeyboardInterrupt):
        made.compare(execute, Silent())
    assert made.ended is ContestEnd.INTERRUPTED
    assert "interrupted after 1 block" in report.sentence(made)


# -- simulated arms that do not become stationary --------------------------------------------------


def without(*names, full_speed=False):
    """Runs of which those of some arms are not stationary."""

    def make(run, rate):
        settled = run.arm not in names or run.full_speed is not full_speed
        return made_record(run, rate, settled=settled, sent=200.0)

    return make


def test_a_simulated_arm_that_is_not_stationary_is_marked_and_never_the_best():
    made, host = compared({"a": 100.0, "b": 500.0, "c": 90.0}, make=without("b"), machine="xeon")
    assert [arm.name for arm in made.leaders] == ["a"]
    assert Counter(run.arm for run in host.runs)["b"] == len(made.contenders[1].records) == 1
    assert report.table_of(made)[1][-1][:4] == ["b", "-", "-", "not stationary"]
    assert "arm b did not become stationary (simulated on xeon)" in report.sentence(made)
    assert any(note.startswith("b: not stationary after 5,000") for note in report.notes(made))
    rows = json.loads(export([made], "json"))[0]["arms"]
    assert {row["arm"]: (row["stationary"], row["may_be_best"]) for row in rows} == {
        "a": (True, True), "b": (False, False), "c": (True, False),
    }  # fmt: skip


def test_what_may_make_an_arm_stationary_is_said_if_there_is_something():
    def noted(arm, **changes):
        made = contest(Host({"a": 1.0, "b": 2.0}, make=without("b")), machine="xeon")
        made.contenders[1].run = replace(made.contenders[1].run, model=arm)
        record = made_record(made.contenders[1].run, 0.0, settled=False) | changes
        made._done(
            made.contenders[1],
            made.contenders[1].run,
            By.THROUGHPUT,
            "",
            lambda *_: record,
            Silent(),
        )
        (note,) = (line for line in report.notes(made) if line.startswith("b: "))
        length = "1 s of virtual time" if getattr(arm, "elastic", False) else "5,000 events"
        return note.removeprefix(f"b: not stationary after {length}, so it has no rate to compare")

    assert noted(Manual()) == noted(Dynamic(threads=2, queue_capacity=64)) == ""
    shorter = "; shorter queues (queue_capacity=64) become stationary sooner"
    assert noted(Dynamic(threads=2)) == noted(Dynamic(threads=2, queue_capacity=65)) == shorter
    longer = "; a longer --duration gives its law more time"
    assert noted(Multilevel(maximum=2)) == noted(Dynamic(threads=2, elastic=True)) == longer
    users = {"simulation": {"passed_tuples_per_s": None, "profiled": {"cpu": "a CPU"}}}
    assert noted(Dynamic(threads=2), **users) == (
        "; no tuple reached its sinks; a simulated source has no end, so results that operators "
        "send at the end of their input never come: run the graph without --machine"
    )
    few = noted(Manual(), **users, sink_tuples_per_s=500.0)
    assert few.startswith("; only 500 tuples reached its sinks; a simulated source has no end")
    assert noted(Manual(), **users, sink_tuples_per_s=5000.0) == ""


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_fewer_than_two_stationary_arms_are_no_comparison(names):
    made, _ = compared({"a": 1.0, "b": 2.0, "c": 3.0}, make=without(*names), machine="xeon")
    assert made.ended is ContestEnd.UNSETTLED
    assert report.sentence(made).startswith("nothing is compared; arm a")
    assert not any(row[3] == "best" for row in report.table_of(made)[1])


def test_an_arm_that_is_not_stationary_when_it_is_explained_is_not_run_again():
    host = Host({"a": 100.0, "b": 500.0, "c": 90.0}, make=without("b"))
    made = replace(contest(host, machine="xeon"), explains=True)
    made.compare(host.execute, Silent())
    assert Counter(run.arm for run in host.runs)["b"] == 1
    assert [arm.name for arm in made.leaders] == ["a"]


def test_an_arm_that_is_not_stationary_takes_no_place_of_those_that_go_on():
    made = contest(Host({"a": 1.0, "b": 2.0, "c": 3.0}), machine="xeon")
    made.contenders[0].unsettled = "5,000 events"
    made.narrow(2)
    assert [arm.name for arm in made.leaders] == ["b", "c"]
    assert not any(arm.is_left_out for arm in made.contenders)


def test_a_rate_at_full_speed_that_is_not_stationary_is_none():
    unsettled = without("b", full_speed=True)
    made, host = compared({"a": 1.0, "b": 2.0}, make=unsettled, machine="xeon", offered=200.0)
    assert [arm.name for arm in made.leaders] == ["b"]
    rows = {arm.name: arm.sustained for arm in made.contenders}
    assert rows["a"] is not None and rows["b"] is None
    assert sum(run.full_speed for run in host.runs if run.arm == "b") == 1
    assert any("b: its highest rate is not known" in note for note in report.notes(made))


def test_real_runs_that_have_not_settled_are_compared_and_noted():
    made, _ = compared({"a": 1.0, "b": 2.0}, make=without("b"))
    assert [arm.name for arm in made.leaders] == ["b"]
    assert any("had not settled" in note for note in report.notes(made))


def test_no_arm_that_ran_correctly_is_said_without_a_ratio():
    made, _ = compared({"a": 0.0, "b": 0.0})
    assert made.ended is ContestEnd.FAILED
    assert all(row[1] == report.MISSING for row in report.table_of(made)[1])


# -- a paced source --------------------------------------------------------------------------------


def paced(run, rate):
    """Arm b answers faster, but a sustains more."""
    if run.full_speed:
        return made_record(run, 900.0 if run.arm == "a" else 400.0)
    sent = 200.0 if run.arm == "a" else 150.0
    return made_record(run, 200.0, p99=rate, sent=sent)


def test_a_paced_source_is_compared_by_latency_and_run_at_full_speed():
    made, host = compared({"a": 2e6, "b": 1e6}, make=paced, by=By.LATENCY, offered=200.0)
    assert [arm.name for arm in made.leaders] == ["b"]
    assert Counter(run.full_speed for run in host.runs)[True] == len(host.runs) / 2
    assert report.sentence(made).startswith("arm b has the least p99 latency: that of arm a is 2")
    rows = {arm.name: arm for arm in made.contenders}
    assert (rows["a"].sustained, rows["b"].sustained) == (900.0, 400.0)
    titles, cells = report.table_of(made)
    keeps = {row[0]: row[titles.index("keeps up")] for row in cells}
    assert keeps == {"a": "yes", "b": "NO"}


def test_arms_that_all_keep_up_are_not_told_apart_by_throughput():
    def steady(run, rate):
        return made_record(run, rate if run.full_speed else 200.0)

    told = "throughput is the rate offered"
    made, _ = compared({"a": 900.0, "b": 400.0}, make=steady, offered=200.0)
    assert any(told in note for note in report.notes(made))
    for options in ({"by": By.LATENCY, "make": steady}, {"make": paced}):
        made, _ = compared({"a": 900.0, "b": 400.0}, offered=200.0, **options)
        assert not any(told in note for note in report.notes(made))


def test_a_highest_rate_below_the_rate_that_an_arm_keeps_up_with_is_noted():
    def slow_at_full_speed(run, rate):
        return made_record(run, rate if run.full_speed else 200.0)

    made, _ = compared(
        {"a": 900.0, "b": 50.0}, make=slow_at_full_speed, by=By.LATENCY, offered=200.0
    )
    (note,) = (note for note in report.notes(made) if "above its highest one" in note)
    assert note.startswith("b: ")


@pytest.mark.parametrize(("begin_s", "keeps_up"), [(0.0, "NO"), (3.0, "yes")])
def test_an_arm_keeps_up_if_it_sends_what_the_bursts_of_its_window_have(begin_s, keeps_up):
    """A cycle of four seconds: 400 tuples in the first one, and none later."""

    def late(run, rate):
        made = made_record(run, rate, sent=100.0)
        made["samples"][0]["time_s"] = begin_s + 1.0
        return made

    made, _ = compared({"a": 2e6, "b": 1e6}, make=late, by=By.LATENCY, offered=200.0)
    bursts = replace(made.schedule.sources[0], rate=None, rates=((1.0, 400.0), (3.0, 0.0)))
    made.schedule = Schedule((bursts,))
    titles, cells = report.table_of(made)
    assert {row[titles.index("keeps up")] for row in cells} == {keeps_up}
    assert "offered 100 tuples/s on average, in bursts" in report.heading(made)


def test_the_highest_rate_of_several_sources_is_said_to_be_that_of_all_together():
    made, _ = compared({"a": 2e6, "b": 1e6}, make=paced, by=By.LATENCY, offered=200.0)
    assert not any("of all sources together" in note for note in report.notes(made))
    made.schedule = Schedule(made.schedule.sources * 2)
    assert any("of all sources together" in note for note in report.notes(made))


def test_columns_of_paced_sources_are_shown_there_only():
    made, _ = compared({"a": 1.0, "b": 2.0})
    assert "highest rate" not in report.table_of(made)[0]


# -- reports ---------------------------------------------------------------------------------------


def test_each_format_holds_each_arm():
    made, _ = compared({"a_1": 1.0, "b": 2.0})
    for kind in FORMATS:
        text = export([made], kind)
        assert text.endswith("\n")
        assert ("a\\_1" if kind == "latex" else "a_1") in text, kind


def test_a_picture_shows_an_estimate_that_has_left_its_interval():
    from harness.compare.picture import figure_of_contests

    made, _ = compared({"a": 100.0, "b": 150.0})
    made.to_best = lambda arm: ArmRatio(0.9, 0.92, 0.95)
    (axes,) = figure_of_contests([made]).axes
    ends = [list(line.get_xdata()) for line in axes.lines]
    assert ends.count([0.92, 0.95]) == 2


def test_a_parameter_with_the_name_of_a_column_has_a_column_of_its_own():
    made, _ = compared({"a": 100.0, "b": 150.0})
    made.parameters = {"threads": 4, "cost": 1}
    best, _ = csv.DictReader(io.StringIO(export([made], "csv")))
    assert (best["parameter_threads"], best["threads"], best["cost"]) == ("4", "3", "1")


def test_csv_and_json_hold_the_numbers_unrounded():
    made, _ = compared({"a": 1.0, "b": 2.0})
    (best, worse) = csv.DictReader(io.StringIO(export([made], "csv")))
    assert (best["arm"], worse["arm"], best["cost"]) == ("b", "a", "1")
    data = json.loads(export([made], "json"))[0]
    assert data["sentence"] == report.sentence(made)
    found = data["arms"][1]
    assert found["to_best_low"] < found["to_best"] < found["to_best_high"] < 1.0
    assert float(worse["to_best"]) == found["to_best"]


def test_an_export_has_no_interval_of_two_runs():
    host = Host({"a": 100.0, "b": 101.0})
    made = contest(host)
    with made.timed():
        made.run_block(host.execute, Silent())
    assert [len(arm.records) for arm in made.contenders] == [2, 2]
    for row in json.loads(export([made], "json"))[0]["arms"]:
        assert row["tuples_per_s"] and row["tuples_per_s_low"] is row["tuples_per_s_high"] is None
        assert row["to_best"] and row["to_best_low"] is row["to_best_high"] is None
    assert not any("±" in cell for row in report.table_of(made)[1] for cell in row)


def test_parameters_make_a_table_over_them():
    first, _ = compared({"a": 1.0, "b": 2.0}, cost=1)
    second, _ = compared({"a": 2.0, "b": 1.0}, cost=10)
    head, *rows = [line.split() for line in report.overview([first, second])]
    assert head == ["cost", "a", "b", "best"]
    assert [(row[0], row[-1]) for row in rows] == [("1", "b"), ("10", "a")]
    assert "cost=10: arm a is " in "\n".join(report.lines_of([first, second]))


def test_the_page_holds_sentence_table_and_picture():
    from harness.compare.picture import page_of

    made, _ = compared({"a": 1.0, "b": 2.0})
    page = page_of([made])
    assert report.sentence(made) in page
    assert page.count("<svg") == 1
    assert "http://" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")


def test_a_run_that_is_explained_comes_first_and_is_not_compared():
    host = Host({"a": 100.0, "b": 150.0})
    made = replace(contest(host), explains=True)
    made.compare(host.execute, Silent())
    assert [run.explained for run in host.runs[:3]] == [True, True, False]
    assert {run.arm for run in host.runs[:2]} == {"a", "b"}
    assert all(arm.explained is not None for arm in made.contenders)
    compared = [record for arm in made.contenders for record in arm.records]
    assert len(compared) == len(host.runs) - 2
