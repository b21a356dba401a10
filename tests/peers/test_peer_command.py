"""`millrace run --peer NAME`."""

from __future__ import annotations

import json

import pytest

from harness.cli import main


@pytest.mark.heavy
def test_a_run_in_a_peer_is_reported_like_any_other(capsys):
    assert (
        main(
            [
                "run",
                "pipeline",
                "--set",
                "operators=2",
                "--peer",
                "asyncio",
                "--tuples",
                "300",
                "--repeats",
                "2",
            ]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pipeline operators=2 cost=100 payload=128 rate=0"
    assert lines[1].startswith("asyncio 3.") and lines[1].endswith(
        ": 1 thread (those of sources included), queues of 1000 tuples"
    )
    assert [line.split()[-1] for line in lines[4:6]] == ["yes", "yes"]


@pytest.mark.heavy
def test_its_record_names_the_peer(capsys):
    assert (
        main(
            [
                "run",
                "mix",
                "--set",
                "width=2",
                "--set",
                "depth=1",
                "--peer",
                "asyncio",
                "--tuples",
                "64",
                "--json",
                "-",
            ]
        )
        == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert record["peer"].startswith("asyncio 3.") and record["model"] == record["arm"] == "asyncio"
    assert (
        record["tuples_received"] == 64
        and record["cell"] == "mix,width=2,depth=1,cost=100,payload=128"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pipeline", "--peer", "nope"], "peer 'nope' is unknown; peers are: asyncio,"),
        (
            ["pipeline", "--peer", "asyncio", "--threads", "2"],
            "--threads applies to our own runtime, not to peer asyncio",
        ),
        (
            ["pipeline", "--peer", "asyncio", "--model", "manual"],
            "--model applies to our own runtime, not to peer asyncio",
        ),
        (
            ["pipeline", "--peer", "asyncio", "--machine", "xeon"],
            "--machine applies to our own runtime, not to peer asyncio",
        ),
        (
            ["pipeline", "--peer", "asyncio", "--duration", "0.001"],
            "argument --duration: must be from 0.01 to 86400 seconds",
        ),
        (
            ["load-balance", "--peer", "asyncio"],
            "not an operator of kind elastic_load_balance: 'balance'",
        ),
        (["nope", "--peer", "asyncio"], "topology 'nope' is unknown"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(words, told, capsys):
    assert main(["run", *words]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
