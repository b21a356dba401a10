"""`millrace advise`, end to end on simulated machines."""

from __future__ import annotations

import itertools
import json
import shlex

import pytest

from harness.cli import main
from harness.cli.advise import add_arguments, compare_terms_of, terms_of
from harness.cli.parser import OneLineParser
from harness.errors import RunFailed
from harness.measurement import spec

SIMULATED = ["--machine", "cstream", "--budget", "40s"]


TICK_S = 0.2  # between two looks at the clock: a run has about four


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """No run on this machine and no clock, whose time would depend on who else is there."""
    from harness.advise.adviser import Adviser
    from harness.cli import advise

    monkeypatch.setattr(spec, "EVENTS", 2_000_000)  # enough for few operators
    ticks = itertools.count()
    made = Adviser._contest

    def ticking(self, *args, **options):
        contest = made(self, *args, **options)
        contest.clock = lambda: TICK_S * next(ticks)
        return contest

    monkeypatch.setattr(advise, "_of_here", lambda asked: iter(["a profile on this machine"]))
    monkeypatch.setattr(Adviser, "_contest", ticking)


def advised(capsys, *words):
    assert main(["advise", *words, *SIMULATED, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_its_command_runs(capsys):
    found = advised(capsys, "pipeline", "--set", "operators=4", "--set", "cost=1000")
    assert found["gain"]["over"] == "manual"
    assert found["gain"]["estimate"] > 2.0
    assert found["why"].startswith(
        "manual is bound by the path `source` > ... > `sink`: one thread at a time executes these "
        f"6 operators. {found['model']} with "
    )
    assert f": {found['gain']['estimate']:.3g} times " in found["why"]
    assert " as fast as manual (" in found["why"]
    words = shlex.split(found["command"])
    assert words[:3] == ["millrace", "run", "pipeline"] and "--machine" in words
    assert main([*words[1:], "--duration", "0.002"]) == 0
    assert "yes" in capsys.readouterr().out


def test_the_budget_counts_the_profile_of_this_machine(monkeypatch, capsys):
    from harness.cli import advise

    now_s, asked = 0.0, []

    def slow(args, given):
        nonlocal now_s
        now_s += 35.0
        return given

    def no_advice(given, audience):
        asked.append(given)
        raise RunFailed("none")

    monkeypatch.setattr(advise, "_simulable", slow)
    monkeypatch.setattr(advise, "measuring_clock", lambda: now_s)
    monkeypatch.setattr(advise, "Adviser", no_advice)
    assert main(["advise", "pipeline", *SIMULATED]) == 1
    assert [each.budget_s for each in asked] == [5.0]


def test_an_undecided_advice_says_what_would_help_and_names_its_arms(capsys):
    words = ["advise", "pipeline", "--set", "operators=3", "--set", "cost=1000", *SIMULATED]
    assert main([*words[:-1], "6s"]) == 0
    out = capsys.readouterr().out
    assert "arms as options of millrace compare:" in out
    assert "--model dynamic:threads=" in out
    *_, last = out.rstrip().splitlines()
    assert last.startswith("what would help: millrace compare pipeline --set operators=3")
    assert "--machine cstream --budget " in last


def test_its_command_has_the_seed_and_the_place_of_the_call():
    def terms(*words):
        parser = OneLineParser()
        add_arguments(parser)
        return terms_of(parser.parse_args(["mix", *words]))

    assert terms() == []
    words = ["--machine", "xeon", "--cpus", "8", "--seed", "3", "--set-constant", "cache.l3=1"]
    assert terms(*words) == words
    assert terms("--simulated") == ["--simulated"]


def test_the_comparison_that_it_proposes_asks_the_same():
    def terms(*words):
        parser = OneLineParser()
        add_arguments(parser)
        return compare_terms_of(parser.parse_args(["mix", *words]))

    assert terms() == []
    words = ["--by", "latency", "--duration", "0.5", "--profile", "mine.json"]
    assert terms(*words) == words


def interrupted(monkeypatch, capsys, runs, *words):
    """Output of an advice that is interrupted in the run after so many."""
    from harness.advise import adviser

    left, execute = itertools.count(runs, -1), adviser.execute

    def until(run, announce):
        if next(left) == 0:
            raise KeyboardInterrupt
        return execute(run, announce)

    monkeypatch.setattr(adviser, "execute", until)
    given = ["advise", "pipeline", "--set", "operators=3", "--set", "cost=1000", *words]
    assert main([*given, *SIMULATED]) == 130
    return capsys.readouterr().out


def test_an_advice_that_is_interrupted_says_what_it_has_found(monkeypatch, capsys, tmp_path):
    kept = tmp_path / "records.json"
    out = interrupted(monkeypatch, capsys, 40, "--record", f"{kept}")
    assert out.splitlines()[-1].startswith("interrupted: ")
    assert "seems best so far" in out
    assert "to best" in out and "compared to the end" not in out.rsplit("\n", 2)[0]
    assert len(kept.read_text().splitlines()) >= 20


def test_an_advice_that_is_interrupted_before_arms_were_compared_says_nothing(monkeypatch, capsys):
    assert interrupted(monkeypatch, capsys, 2) == ""


def test_cheap_work_stays_on_one_thread(capsys):
    found = advised(capsys, "pipeline", "--set", "operators=3", "--set", "cost=1")
    assert found["model"] == "manual" and found["gain"] is None
    assert "No other arm was found to be faster: all operators together take" in found["why"]
    assert found["in_your_runtime"] == [
        "Threads: one for each source. It executes everything behind it by plain calls, without "
        "queues.",
        "Fuse `source`, `work1`, `work2`, `work3` and `sink`: one call after the other.",
    ]


def test_the_report_says_what_to_do_and_what_it_rests_on(capsys, tmp_path):
    table = tmp_path / "costs.csv"
    table.write_text(
        "operator,ns,selectivity,stream,keys\nread,100,1,parse,\nparse,4000,1,store,1\nstore,100,1,,1\n"
    )
    assert main(["advise", "--from", str(table), *SIMULATED, "--baseline", "dedicated"]) == 0
    out = capsys.readouterr().out
    for part in (
        "in a runtime of your own:",
        "Threads:",
        "this rests on:",
        "runs on simulated cstream",
        "certainty:",
        f"millrace run {table} --model",
        "what bounds it: bound by",
        "\nwhy: dedicated is bound by `parse`: it can use only one thread. ",
    ):
        assert part in out


OWN = """\
from harness.graph import Graph


def graph():
    graph = Graph("own")
    own = graph.python("own", lambda sequence, value: value, stateless=True)
    graph.connect(graph.source("source"), own)
    graph.connect(own, graph.sink("sink"))
    return graph
"""


def test_a_users_function_is_simulated_with_the_time_that_it_takes_here(
    capsys, tmp_path, monkeypatch
):
    from harness.engine.profiled import Profiled
    from harness.measurement import profiling

    costs = Profiled("this CPU", (2000.0, 50.0, 10.0), ((1.0,), (1.0,), ()), (8, 8, 8))
    monkeypatch.setattr(profiling, "profile", lambda graph: costs)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(profiling, "PROFILE_FOLDER", tmp_path / "profiled")
    file = tmp_path / "own.py"
    file.write_text(OWN)
    found = advised(capsys, str(file))
    assert any(
        "a profile of real threads (this CPU): what own take" in t for t in found["rests_on"]
    )
    operators = {each["name"]: each["tuple_ns"] for each in found["operators"]}
    assert operators["own"] > 1500
    assert str(file) in found["command"]
