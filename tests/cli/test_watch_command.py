"""`millrace watch`: what it asks for, what it shows and writes, how it ends. No run is really
made.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.measurement import block
from harness.measurement.records import read_records, write_records
from tests.records import record_of
from tests.watch.stories import record, sample

ELASTIC = [
    "watch",
    "pipeline",
    "--set",
    "operators=10",
    "--model",
    "dynamic",
    "--elastic",
    "--max-threads",
    "4",
]


class Run:
    """Stands in for a fresh process: tells two periods, then answers with a record, `changes`
    entered, or raises.
    """

    def __init__(self) -> None:
        self.specs: list[Run] = []
        self.changes: dict[str, Any] = {}
        self.raises: BaseException | None = None

    def __call__(self, spec: Run, announce: Callable[[str], None]) -> dict[str, Any]:
        self.specs.append(spec)
        announce("starting")
        announce("adapting")
        announce(json.dumps(sample(1.0, queued_ports=11)))
        announce("adapting: 1.00 s, 2 threads: for people")
        announce("measuring")
        announce(json.dumps(sample(2.0, queued_ports=11)))
        if self.raises is not None:
            raise self.raises
        good = {
            "parameters": {"operators": 10, "cost": 1, "payload": 128},
            "threads": None,
            "threads_total": 3,
            "sink_tuples_per_s": 1e6,
            "duration_s": 2.0,
        }
        return record_of(spec, **good | self.changes)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The run that the command line asks for."""
    fake = Run()
    monkeypatch.setattr(block, "run_in_fresh_process", fake)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return fake


def rows_of(page: Path) -> int:
    return page.read_text().count("<tr><td>")


def test_without_a_terminal_there_is_a_line_a_period_and_then_the_report(made: Run, capsys) -> None:
    assert main(ELASTIC) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (
        lines[1] == "dynamic-elastic; law millrace: from 1 to 4 threads, a step every 1 s; measured"
    )
    assert lines[2].startswith(
        "1.00 s, adapting, 2 scheduler threads, 11 queues, 12 k tuples/s submitted"
    )
    assert lines[3].startswith("2.00 s, measuring, ")
    assert "1,000,000" in lines[-1] and err == ""
    assert "for people" not in out


def test_the_run_is_the_one_asked_for_and_says_that_somebody_watches(made: Run) -> None:
    assert (
        main(
            [
                *ELASTIC,
                "--set",
                "cost=7",
                "--period",
                "0.25",
                "--seed",
                "3",
                "--law-set",
                "change=0.1",
            ]
        )
        == 0
    )
    (spec,) = made.specs
    assert spec.live and spec.model.elastic and spec.period_s == 0.25 and spec.seed == 3
    assert str(spec.parameters["cost"]) == "7" and spec.model.law_settings == (("change", "0.1"),)


def test_a_page_and_a_record_are_written(made: Run, capsys, tmp_path: Path) -> None:
    html, jsonl = tmp_path / "run.html", tmp_path / "run.jsonl"
    assert main([*ELASTIC, "--html", str(html), "--record", str(jsonl)]) == 0
    assert rows_of(html) == 2 and "correct, settled; 1,000,000 tuples/s" in html.read_text()
    records, problems = read_records(jsonl)
    assert (len(records), problems) == (1, [])
    out = capsys.readouterr().out
    assert f"wrote {html}: 2 period(s)" in out and f"wrote the record to {jsonl}" in out


def test_ctrl_c_keeps_what_was_seen(made: Run, capsys, tmp_path: Path) -> None:
    html = tmp_path / "run.html"
    made.raises = KeyboardInterrupt()
    assert main([*ELASTIC, "--html", str(html)]) == 130
    assert rows_of(html) == 2 and "interrupted" in html.read_text()
    assert capsys.readouterr().err == "millrace watch: interrupted\n"


def test_a_run_that_failed_is_exit_code_1_and_its_page_says_why(
    made: Run, capsys, tmp_path: Path
) -> None:
    html = tmp_path / "run.html"
    made.changes = {"correct": False, "error": "a tuple was lost"}
    assert main([*ELASTIC, "--html", str(html)]) == 1
    assert "failed: a tuple was lost" in html.read_text()
    assert (
        capsys.readouterr().err == "millrace watch: 1 of 1 run(s) failed; run 1: a tuple was lost\n"
    )


def test_a_reader_that_goes_away_costs_neither_page_nor_record(
    made: Run, monkeypatch, tmp_path: Path
) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    html, jsonl = tmp_path / "run.html", tmp_path / "run.jsonl"
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert main([*ELASTIC, "--html", str(html), "--record", str(jsonl)]) == 1
    assert rows_of(html) == 2 and len(read_records(jsonl)[0]) == 1


def recorded(tmp_path: Path, *records: dict[str, Any]) -> str:
    path = tmp_path / "records.jsonl"
    write_records(path, records)
    return str(path)


MULTILEVEL = {"model": "multilevel", "arm": "multilevel", "cell": "pipeline,operators=10"}
SWITCHED = [sample(1.0, switched_on=["work3[0]"], switched_off=[]), sample(2.0, queued_ports=1)]


def test_a_record_is_replayed_as_a_page(tmp_path: Path, capsys) -> None:
    html = tmp_path / "run.html"
    path = recorded(tmp_path, record(adaptation=SWITCHED, **MULTILEVEL))
    assert main(["watch", "--replay", path, "--html", str(html)]) == 0
    assert rows_of(html) == 2 and "queue on: work3" in html.read_text()
    assert capsys.readouterr().out == f"wrote {html}: 2 period(s)\n"


def test_without_a_page_a_replay_is_lines(tmp_path: Path, capsys) -> None:
    path = recorded(
        tmp_path, record(samples=[sample(5.0)]), record(adaptation=SWITCHED, **MULTILEVEL)
    )
    assert main(["watch", "--replay", path, "--line", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[3].startswith(
        "2.00 s, adapting, 2 scheduler threads, 1 queue (work3), "
    )
    assert lines[-1].startswith("correct, settled")


def test_queues_that_a_record_counts_and_does_not_name_are_not_guessed(
    tmp_path: Path, capsys
) -> None:
    fixed = {"threads": 1, "elastic": None, "cell": "pipeline,operators=10"}
    named = record(samples=[sample(1.0, queued_ports=3)], arm="dynamic-1-queued-30pct", **fixed)
    unnamed = record(samples=[sample(1.0, queued_ports=3)], arm="mine", **fixed)
    path = recorded(tmp_path, named, unnamed)
    assert main(["watch", "--replay", path, "--line", "1"]) == 0
    assert (
        "2 scheduler threads, 3 queues (work2, work6, work10), 12 k tuples/s"
        in capsys.readouterr().out
    )
    assert main(["watch", "--replay", path, "--line", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[2]
        == "the record counts other queues than it names: before which ports they are is not known"
    )
    assert ", 2 scheduler threads, 3 queues, 12 k tuples/s" in lines[3]


GRAPH = """\
name: mine
operators:
  - {source: source}
  - {work: work, cost: 10}
  - {sink: sink}
streams:
  - [source, work]
  - [work, sink]
"""


def test_the_graph_of_a_record_may_be_a_file_s(made: Run, tmp_path: Path, capsys) -> None:
    graph = tmp_path / "mine.yaml"
    graph.write_text(GRAPH)
    assert main(["watch", str(graph), *ELASTIC[4:]]) == 0
    (spec,) = made.specs
    made_of = record(
        samples=[sample(1.0, queued_ports=2)], topology="mine", parameters={}, cell=spec.cell
    )
    path = recorded(tmp_path, made_of)
    assert main(["watch", "--replay", path]) == 2
    assert (
        "graph 'mine' of the record is no topology: name its file before --replay"
        in capsys.readouterr().err
    )
    assert main(["watch", str(graph), "--replay", path]) == 0
    assert "1.00 s, measuring, 2 scheduler threads, 2 queues" in capsys.readouterr().out
    graph.write_text(GRAPH.replace("cost: 10", "cost: 11"))
    assert main(["watch", str(graph), "--replay", path]) == 2
    assert (
        "is not the file that the record was made of, or has changed since"
        in capsys.readouterr().err
    )


def test_a_file_s_graph_that_has_a_topology_s_name_is_not_taken_for_it(
    tmp_path: Path, capsys
) -> None:
    cell = "pipeline,digest=0123456789ab"
    path = recorded(tmp_path, record(samples=[sample(1.0)], cell=cell, parameters={}))
    assert main(["watch", "--replay", path]) == 2
    told = (
        "millrace watch: graph 'pipeline' of the record is no topology: name its file before "
        "--replay\n"
    )
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "needed is a TOPOLOGY, or a --replay of a record"),
        ("--model manual", "needed is a TOPOLOGY"),
        ("pipeline --model manual --line 3", "--line 3 needs a --replay"),
        (
            "pipeline --model manual --html /nowhere/run.html",
            "--html '/nowhere/run.html': there is no directory '/nowhere'",
        ),
        ("pipeline --model manual --record .", "--record must name a file, not the directory '.'"),
        ("pipelin --model manual", "topology 'pipelin' is unknown (did you mean 'pipeline'?)"),
        (
            "pipeline --model manual --threads 2",
            "threads applies to dynamic, multilevel and coroutine only, not to the model manual",
        ),
        ("--replay nowhere.jsonl", "nowhere.jsonl: cannot be read: No such file or directory in "),
        (
            "--replay FILE --model manual",
            "--model is for a run; with --replay the record says what was run",
        ),
        ("--replay FILE --set cost=1", "--set is for a run"),
        ("--replay FILE --record x.jsonl", "--record is for a run"),
        ("--replay FILE --machine xeon", "--machine is for a run"),
        ("--replay FILE --simulated", "--simulated is for a run"),
        ("--replay FILE --max-threads 2", "--max-threads is for a run"),
        ("--replay FILE --set-constant a.b=1", "--set-constant is for a run"),
        ("--replay FILE --seed 1", "--seed is for a run"),
        ("--replay FILE --warmup 1", "--warmup is for a run"),
        ("--replay FILE", "2 records; name the line of one with --line"),
        ("--replay FILE --line 3", "no record in line 3"),
        ("--replay FILE --line 4", "line 4 holds no record: not JSON"),
        ("--replay FILE --line 0", "argument --line: must be a whole number from 1"),
        (
            "bushy --replay FILE --line 1",
            "with --replay TOPOLOGY may be the record's graph file only, not 'bushy'",
        ),
    ],
)
def test_bad_input_is_one_line_and_2(
    words: str, told: str, made: Run, capsys, tmp_path: Path
) -> None:
    path = recorded(tmp_path, record(), record())
    with Path(path).open("a") as file:
        file.write("\nnot a record\n")
    if "--line" not in words:
        path = recorded(tmp_path, record(), record())
    try:
        code = main(["watch", *words.replace("FILE", path).split()])
    except SystemExit as end:
        code = end.code
    err = capsys.readouterr().err
    assert code == 2 and told in err and err.count("\n") == 1
    assert made.specs == []


def test_help_teaches_by_examples(capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["watch", "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert text.count("\n  millrace watch ") >= 4
    listed = (
        "html record replay line set model threads duration warmup seed tuples elastic law "
        "law-set period machine queued"
    )
    assert all(f"--{option}" in text for option in listed.split())
    assert "--repeats" not in text
