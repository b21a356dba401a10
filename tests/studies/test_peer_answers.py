"""The answers for a reader name the best arms of each situation, and call a tie a tie."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.peers import all_peers
from harness.plots.peer_rates import with_latency
from studies import peer_answers
from studies.peer_answers import PIPELINE, SITUATIONS, answers, of_situation
from tests.plots.made_tables import arm_row, frame, latency_row, peer_row

FULL_SPEED = SITUATIONS[1]
AT_A_RATE = next(each for each in SITUATIONS if each.rate == 10_000)


def rows_at(rate: int, experiment: str, means: dict[str, float], p99: dict[str, float]):
    """Rows of arms in the pipeline of ten operators of 100 FLOP, and their latencies."""
    made = [
        (peer_row if name in all_peers() else arm_row)(
            experiment, "pipeline", 100, name, mean, cpu_seconds_mean=2.0
        )
        | PIPELINE
        | {"rate": float(rate), "cell": f"pipeline,rate={rate}"}
        for name, mean in means.items()
    ]
    return made, [latency_row(row, 1e6) | {"p99": p99[row["arm"]]} for row in made]


def table_of(*parts) -> pd.DataFrame:
    rows = [row for made, _ in parts for row in made]
    latencies = [row for _, made in parts for row in made]
    return with_latency({"throughput": frame(rows), "latency": frame(latencies)})


@pytest.fixture
def table():
    means = {"manual": 1e6, "go": 1.05e6, "tbb": 5e5, "asyncio": 1e4}
    slow = dict.fromkeys(means, 2e6)
    at_rate = {"asyncio": 5e3, "manual": 1e4, "go": 1e4, "tbb": 1e4}
    p99 = {"manual": 3e3, "go": 2e3, "tbb": 9e6, "asyncio": 1e3}
    return table_of(rows_at(0, "peers", means, slow), rows_at(10_000, "peer_rates", at_rate, p99))


def test_the_fastest_come_first_and_one_that_overlaps_is_a_tie(table):
    assert list(of_situation(table, FULL_SPEED)["arm"]) == ["go", "manual", "tbb", "asyncio"]
    page = answers(table)
    part = page.split("\n## ")[2]
    rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == ["| go", "| manual (a tie)", "| tbb"]
    assert rows[0][1] == "1,050,000 [945,000, 1,160,000]"
    assert rows[0][2] == "525,000"  # per second of CPU time
    assert rows[1][5] == "nothing" and rows[2][5].startswith("order: a tuple may")
    assert "**a tie**" in part and "best of 1 of ours, best of 3 peers" in part


def test_at_a_rate_the_least_latency_of_those_that_keep_up_comes_first(table):
    assert list(of_situation(table, AT_A_RATE)["arm"]) == ["go", "manual", "tbb"]
    assert "99th percentile of ours: 1.50 of that of the peers" in answers(table)


def test_a_dozen_situations_are_listed_and_what_was_not_measured_is_told(table):
    page = answers(table)
    assert len(SITUATIONS) == 12
    assert page.count("\n## ") == 12 and page.count("Not measured.") == 10
    assert "Source and sink alone: not measured." in page


def test_the_page_says_which_programs_were_measured(table):
    rates = table["experiment"] == "peer_rates"
    page = answers(table.assign(commit=rates.map({True: "abcdefabcd", False: "0123456789"})))
    assert "(peer_rates: abcdefab; peers: 01234567)" in page


def test_every_peer_has_its_promises_on_the_page_of_peers():
    found = peer_answers.promised(peer_answers.PAGE.read_text(encoding="utf-8"))
    assert set(found) == set(all_peers())
    for name, peer in all_peers().items():
        assert ("order" in found[name]) is not peer.ordered


def test_without_tables_the_command_says_so_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit):
        peer_answers.main(["--tables", str(tmp_path)])
    assert "has no tables of peers and peer_rates" in capsys.readouterr().err
