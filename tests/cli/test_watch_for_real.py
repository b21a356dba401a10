"""`millrace watch` as its users call it: processes, threads, the compiled engines."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from harness.cli import main
from harness.measurement.records import read_records
from tests.cli.processes import first_child, has_ended, millrace, started

pytestmark = pytest.mark.heavy


RUNS = {
    "threads, real": "pipeline --set operators=4 --model dynamic --elastic --max-threads 2 "
    "--period 0.1 --warmup 0.5",
    "queues, real": "pipeline --set operators=9 --set cost=1000 --model multilevel --law streams "
    "--period 0.1 --warmup 1.5",
    "queues, simulated": "mix --set width=3 --set depth=4 --model multilevel --law streams "
    "--machine cstream",
}


@pytest.mark.parametrize("line", RUNS.values(), ids=RUNS)
def test_an_elastic_run_is_seen_period_by_period_and_can_be_replayed(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, jsonl, again = tmp_path / "run.html", tmp_path / "run.jsonl", tmp_path / "again.html"
    words = line.split()
    done = millrace("watch", *words, "--html", str(html), "--record", str(jsonl), temp=tmp_path)
    assert done.stderr == ""
    (record,), _ = read_records(jsonl)
    periods = len(record["adaptation"]) + len(record["samples"])
    assert sum("tuples/s submitted" in shown for shown in done.stdout.splitlines()) >= periods
    assert html.read_text().count("<tr><td>") == periods
    assert main(["watch", "--replay", str(jsonl), "--html", str(again)]) == 0
    assert capsys.readouterr().err == ""
    assert again.read_text() == html.read_text(), "a record tells what was seen live"


@pytest.mark.parametrize(
    "model",
    [["manual"], ["dedicated"], ["dynamic", "--threads", "1", "--queued", "1"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("place", [[], ["--machine", "cstream"]], ids=["real", "simulated"])
def test_any_model_can_be_watched_anywhere(
    model: list[str], place: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, jsonl = tmp_path / "run.html", tmp_path / "run.jsonl"
    length = [] if place else ["--duration", "0.2", "--warmup", "0.1"]
    files = ["--html", str(html), "--record", str(jsonl)]
    done = millrace("watch", "bushy", "--model", *model, *place, *length, *files, temp=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (record,), _ = read_records(jsonl)
    text = html.read_text()
    assert text.count("<tr><td>") >= len(record["samples"]) >= 1
    assert "may mark wrong ports" not in text
    assert ("SIMULATED" in text) == bool(place)
    again = tmp_path / "again.html"
    assert main(["watch", "--replay", str(jsonl), "--html", str(again)]) == 0
    assert capsys.readouterr().err == ""
    assert "may mark wrong ports" not in again.read_text()


@pytest.mark.usefixtures("signals_heeded")
def test_ctrl_c_ends_the_run_and_writes_what_was_seen(tmp_path: Path) -> None:
    html = tmp_path / "run.html"
    words = [
        "pipeline",
        "--model",
        "dynamic",
        "--threads",
        "1",
        "--duration",
        "500",
        "--warmup",
        "0",
    ]
    with started("watch", *words, "--html", str(html), temp=tmp_path) as run:
        measuring = first_child(run)
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=100)
    assert (run.returncode, err) == (130, "millrace watch: interrupted\n")
    assert "interrupted" in html.read_text()
    assert has_ended(measuring, within_s=0.0)
