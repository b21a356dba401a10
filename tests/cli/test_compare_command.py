"""`millrace compare`, end to end on simulated machines, which take no time and have no noise."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest

from harness.cli import main
from harness.cli.arguments import span
from harness.cli.contest_arguments import tell_waiting

XEON = ["compare", "pipeline", "--set", "operators=3", "--machine", "xeon", "--duration", "0.002"]
ARMS = ["--model", "manual", "--model", "dynamic:threads=2"]


@pytest.fixture(autouse=True)
def no_clock(monkeypatch):
    """Budgets pass by 0.2 s a look, of which a run has two or so, on a busy machine too."""
    from harness.cli import compare

    made = compare._contests

    def ticking(arguments):
        ticks = itertools.count()
        for contest in (contests := list(made(arguments))):
            contest.clock = lambda: 0.2 * next(ticks)
        return contests

    monkeypatch.setattr(compare, "_contests", ticking)


def test_it_says_which_arm_is_the_fastest(capsys, tmp_path):
    page, picture, log = (tmp_path / name for name in ("a.html", "a.png", "a.jsonl"))
    outputs = ["--html", str(page), "--png", str(picture), "--record", str(log)]
    assert main([*XEON, "--set", "cost=10000", *ARMS, *outputs]) == 0
    out = capsys.readouterr().out
    last = out.rstrip().splitlines()[-1]
    assert last.startswith("dynamic with 2 threads is ")
    assert "times as fast as manual [" in last
    assert last.endswith("(simulated on xeon)")
    assert "SIMULATED" in page.read_text() and picture.stat().st_size > 1000
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum("time_use" in record for record in records) == 2  # one explained run of each arm
    assert "manual     bound by the path `source` > ... > `sink`" in out
    assert "Time of the threads of each arm" in page.read_text()
    assert Counter(record["arm"] for record in records) == {"manual": 7, "dynamic-2": 7}


@pytest.mark.parametrize(
    ("command", "length"),
    [
        ("run", "0.02 s of virtual time"),
        ("compare", "until they are stationary"),
        ("advise", "until they are stationary"),
        ("explain", "until they are stationary"),
    ],
)
def test_the_help_says_how_long_simulated_runs_are(command, length, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"simulated runs: {length})" in " ".join(capsys.readouterr().out.split())


def test_arms_that_are_not_stationary_at_the_bound_are_marked(capsys, monkeypatch):
    from harness.measurement import spec

    monkeypatch.setattr(spec, "EVENTS", 2000)
    assert main([*XEON[:-2], "--set", "cost=30000", *ARMS]) == 0
    out = capsys.readouterr().out
    assert "dynamic-2: not stationary after 2,000 events" in out
    assert out.rstrip().splitlines()[-1].startswith("nothing is compared; ")


def test_several_values_make_a_comparison_of_each(capsys):
    assert main([*XEON, "--set", "cost=1,10000", *ARMS, "--export", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert [each["parameters"]["cost"] for each in (first, second)] == [1, 10000]
    assert first["alpha"] == second["alpha"] == 0.025
    assert second["sentence"].startswith("dynamic with 2 threads is ")


def test_an_export_goes_to_its_file(capsys, tmp_path):
    table = tmp_path / "table.tex"
    assert main([*XEON, *ARMS, "--export", "latex", "-o", str(table)]) == 0
    assert r"\begin{tabular}" in table.read_text()
    assert "manual" in capsys.readouterr().out


def test_the_budget_counts_the_time_before_the_first_run(capsys, monkeypatch):
    from harness.cli import compare

    now_s, found = 0.0, []
    made = compare._contests

    def slow(arguments):
        nonlocal now_s
        now_s += 15.0  # of a profile, say
        found.extend(made(arguments))
        return found

    monkeypatch.setattr(compare, "_contests", slow)
    monkeypatch.setattr(compare, "measuring_clock", lambda: now_s)
    assert main([*XEON, "--set", "cost=1,10", *ARMS, "--budget", "20s"]) == 0
    assert found[0].budget_s == 2.5
    assert "the budget of 20 s is used up" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("notice", "counted"), [("waiting until process 1 has", True), ("cannot open", False)]
)
def test_a_wait_is_said_not_to_count_against_the_budget(capsys, notice, counted):
    tell_waiting(notice)
    assert ("does not count against --budget" in capsys.readouterr().err) is counted


PACED = """\
name: paced
operators:
  - {source: source, rate: 200000}
  - {work: work, cost: 1000}
  - {sink: sink}
streams:
  - source -> work
  - work -> sink
"""


def test_a_paced_source_shows_latency_and_the_highest_rate(capsys, tmp_path):
    graph = tmp_path / "paced.yaml"
    graph.write_text(PACED)
    assert main(["compare", str(graph), *XEON[4:], *ARMS, "--budget", "20s"]) == 0
    out = capsys.readouterr().out
    assert "offered 200 k tuples/s" in out
    assert "highest rate" in out and "keeps up" in out
    assert "p99 latency" in out.splitlines()[-1] or "cannot be distinguished" in out


TWO_PARTS = """\
from harness.graph import Graph


def graph():
    graph = Graph("two")
    fast, slow = graph.source("fast", rate=100_000), graph.source("slow", rate=400)
    graph.chain(fast, *(graph.work(f"quick{n}", 100) for n in range(2)), graph.sink("fast.sink"))
    graph.chain(slow, *(graph.work(f"long{n}", 100) for n in range(20)), graph.sink("slow.sink"))
    return graph
"""


def test_a_slow_part_is_not_hidden_by_one_with_many_tuples(capsys, tmp_path):
    """Queues make a part slow; the part of few tuples has more of them."""
    graph, log = tmp_path / "two.py", tmp_path / "two.jsonl"
    graph.write_text(TWO_PARTS)
    long = ",".join(f"long{n}" for n in range(20))
    arms = [
        f'--model=dynamic:threads=4,queued="{queued}",name={name}'
        for name, queued in (("slow-calls", "quick0,quick1"), ("fast-calls", long))
    ]
    options = ["--machine", "xeon", "--duration", "0.1", "--budget", "20s", "--record", str(log)]
    assert main(["compare", str(graph), *arms, *options]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("slow-calls has the least p99 latency")
    assert "compared by the longest p99 latency of the parts" in out
    p99 = {"slow-calls": [], "fast-calls": []}
    for line in log.read_text().splitlines():
        record = json.loads(line)
        if record["sink_tuples_per_s"] < 200_000:  # else it ran at full speed
            p99[record["arm"]].append(record["latency_ns"]["p99"])
    assert max(p99["fast-calls"]) < min(p99["slow-calls"]), "of all sinks together"


OWN = """\
from harness.graph import Graph


def graph():
    graph = Graph("own")
    own = graph.python("own", lambda tuple, port: tuple)
    graph.connect(graph.source("source"), own)
    graph.connect(own, graph.sink("sink"))
    return graph
"""


def test_a_raised_number_of_threads_is_said_in_a_line(capsys, tmp_path):
    from harness.cli import compare
    from harness.cli.parser import OneLineParser

    graph = tmp_path / "own.py"
    graph.write_text(OWN)
    parser = OneLineParser()
    compare.add_arguments(parser)
    words = [str(graph), "--model", "manual", "--model", "dynamic:threads=1"]
    (contest,) = compare._contests(parser.parse_args(words))
    assert [arm.name for arm in contest.contenders] == ["manual", "dynamic-2"]
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "dynamic-1: threads 1 becomes 2: graph 'own' needs one more than" in err


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), ("90s", 90), ("3m", 180), ("1h", 3600), ("1m30s", 90)]
)
def test_a_budget_is_a_time(text, expected):
    assert span(text) == expected
