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
    return made, [
        latency_row(row, 1e6)
        | {"p99": p99[row["arm"]]}
        | {"p99_least": 0.9 * p99[row["arm"]], "p99_greatest": 1.2 * p99[row["arm"]]}
        for row in made
    ]


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
    assert "**a tie** (of 1 of ours and 3 peers)" in part


def test_finalists_alone_are_compared_and_it_is_said(table):
    chosen = table["arm"].isin(["manual", "tbb"]) & (table["rate"] == 0)
    finals = table.assign(final=chosen, n=table["n"].where(~chosen, 8))
    assert list(of_situation(finals, FULL_SPEED)["arm"]) == ["manual", "tbb"]
    part = answers(finals).split("\n## ")[2]
    assert "ours is faster (of 1 of ours and 3 peers, by 8 later runs of 3 finalists on" in part


def test_a_mean_of_two_runs_has_no_interval(table):
    part = answers(table.assign(n=2)).split("\n## ")[2]
    assert "| 1,050,000 |" in part


def test_at_a_rate_the_least_latency_of_those_that_keep_up_comes_first(table):
    assert list(of_situation(table, AT_A_RATE)["arm"]) == ["go", "manual", "tbb"]
    page = answers(table)
    assert "of ours: 1.50 of that of the peers, too few runs to tell which is lower" in page
    page = answers(table.assign(n=6))
    assert "of ours: 1.50 of that of the peers, the peer's is lower" in page
    assert "| manual | 10,000 [9,000, 11,000] | 5,000 | 1 ms | 3 µs [2.7 µs, 3.6 µs] |" in page


def test_at_a_rate_arms_whose_ranges_overlap_are_a_tie(table):
    wide = table.assign(n=6, p99_greatest=table["p99_greatest"] * 1.2)
    page = answers(wide)
    assert "| manual (a tie) | 10,000" in page
    assert "**a tie**, as their ranges overlap" in page


def test_a_dozen_situations_are_listed_and_what_was_not_measured_is_told(table):
    page = answers(table)
    assert len(SITUATIONS) == 12
    assert page.count("\n## ") == 12 and page.count("Not measured.") == 10
    assert "Source and sink alone: not measured." in page


def test_source_and_sink_alone_have_a_column_for_each_payload(table):
    sizes = [(128, 2e6, 8), (4096, 1e6, 2)]
    alone = [
        arm_row("peers", "pipeline", 1, "manual", mean, cpu_seconds_mean=2.0, n=n)
        | {"operators": 0, "payload": payload, "rate": 0.0, "cell": f"alone,{payload}"}
        for payload, mean, n in sizes
    ]
    latencies = [latency_row(row, 1e6) for row in alone]
    page = answers(pd.concat([table, table_of((alone, latencies))], ignore_index=True))
    assert "| source and sink alone | 128 bytes | 4,096 bytes |" in page
    assert "| manual | 2,000,000 [1,800,000, 2,200,000]; 1,000 | 1,000,000; 2,000 |" in page


def test_lines_of_code_are_those_of_operators_and_wiring():
    assert set(peer_answers.WRITTEN) == set(all_peers())
    for arm, entries in peer_answers.WRITTEN.items():
        assert peer_answers.lines_of(arm, "pipeline", ours=False) > 30
        for entry in entries:
            assert peer_answers.PEERS / entry.partition(":")[0] in all_peers()[arm].sources
    assert peer_answers.lines_of("manual", "pipeline", ours=True) < 15


@pytest.mark.parametrize(
    ("text", "suffix", "count"),
    [
        ('#include "run.hpp"\n\n// no\n/* no\n * no\n */\n*turn = 1;\n', ".hpp", 2),
        ("#[derive(Clone)]\nstruct A; // yes\n", ".rs", 2),
        ('def f():\n    """No.\n\n    No.\n    """\n    # no\n    return "yes"\n', ".py", 2),
    ],
)
def test_comments_are_no_code_but_directives_and_attributes_are(text, suffix, count):
    assert peer_answers.code_lines(text, suffix) == count


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


@pytest.mark.parametrize("damage", ["a column", "bytes"])
def test_a_table_that_is_older_or_damaged_is_named_in_one_line(tmp_path, capsys, damage):
    made, latencies = rows_at(0, "peers", {"manual": 1e6}, {"manual": 2e6})
    (tmp_path / "peers").mkdir()
    frame(made).to_parquet(tmp_path / "peers/throughput.parquet")
    path = tmp_path / "peers/latency.parquet"
    table = frame(latencies)
    table.drop(columns="p99_least" if damage == "a column" else []).to_parquet(path)
    if damage == "bytes":
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SystemExit):
        peer_answers.main(["--tables", str(tmp_path)])
    error = capsys.readouterr().err.splitlines()[-1]
    assert str(path) in error
    assert ("has no column p99_least" if damage == "a column" else "cannot be read") in error
