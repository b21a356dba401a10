"""`millrace watch` as its users call it: processes, threads, the compiled engines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.measurement.records import read_records

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.heavy


def watching(*words: str, temp: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "watch", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env=os.environ | {"MILLRACE_LOCK": str(temp / "millrace.lock")},
    )  # fmt: skip


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
    line: str, tmp_path: Path
) -> None:
    html, jsonl, again = tmp_path / "run.html", tmp_path / "run.jsonl", tmp_path / "again.html"
    words = line.split()
    out, err = watching(
        *words, "--html", str(html), "--record", str(jsonl), temp=tmp_path
    ).communicate(timeout=50)
    assert err == ""
    (record,), _ = read_records(jsonl)
    periods = len(record["adaptation"]) + len(record["samples"])
    assert sum("tuples/s submitted" in shown for shown in out.splitlines()) >= periods
    assert html.read_text().count("<tr><td>") == periods
    replay = watching("--replay", str(jsonl), "--html", str(again), temp=tmp_path)
    assert replay.communicate(timeout=50)[1] == ""
    assert again.read_text() == html.read_text(), "a record tells what was seen live"


@pytest.mark.parametrize(
    "model",
    [["manual"], ["dedicated"], ["dynamic", "--threads", "1", "--queued", "1"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("place", [[], ["--machine", "cstream"]], ids=["real", "simulated"])
def test_any_model_can_be_watched_anywhere(
    model: list[str], place: list[str], tmp_path: Path
) -> None:
    html, jsonl = tmp_path / "run.html", tmp_path / "run.jsonl"
    length = [] if place else ["--duration", "0.2", "--warmup", "0.1"]
    files = ["--html", str(html), "--record", str(jsonl)]
    run = watching("bushy", "--model", *model, *place, *length, *files, temp=tmp_path)
    _, err = run.communicate(timeout=50)
    assert (run.returncode, err) == (0, "")
    (record,), _ = read_records(jsonl)
    text = html.read_text()
    assert text.count("<tr><td>") >= len(record["samples"]) >= 1
    assert "may mark wrong ports" not in text
    assert ("SIMULATED" in text) == bool(place)
    again = tmp_path / "again.html"
    assert (
        watching("--replay", str(jsonl), "--html", str(again), temp=tmp_path).communicate(
            timeout=50
        )[1]
        == ""
    )
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
    run = watching(*words, "--html", str(html), temp=tmp_path)
    try:
        measuring = first_child(run)
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    finally:
        run.kill()
        run.wait()
    assert (run.returncode, err) == (130, "millrace watch: interrupted\n")
    assert "interrupted" in html.read_text()
    assert not measuring.is_running() or measuring.status() == psutil.STATUS_ZOMBIE


def first_child(run: subprocess.Popen[str]) -> psutil.Process:
    """The measuring process, once it is there."""
    end = time.monotonic() + 20
    while time.monotonic() < end and run.poll() is None:
        for child in psutil.Process(run.pid).children():
            if "harness.measurement.child" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no measuring process was started")
