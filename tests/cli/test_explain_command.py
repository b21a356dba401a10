"""`millrace explain`, in virtual time: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from harness.cli import main

RUN = ["explain", "pipeline", "--set", "operators=3", "--machine", "xeon"]
SHORT = ["--duration", "0.001", "--warmup", "0.001"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files of one run, and what was printed."""
    folder = tmp_path_factory.mktemp("explained")
    names = {"png": "why.png", "html": "why.html", "json": "why.json", "record": "run.jsonl"}
    paths = {option: folder / name for option, name in names.items()}
    options = [word for option, path in paths.items() for word in (f"--{option}", str(path))]
    assert main([*RUN, *SHORT, "--model", "dynamic", "--threads", "2", *options]) == 0
    return paths


def test_the_report_says_what_bounds_the_run_first(made, capsys):
    assert main(["explain", "--replay", str(made["record"])]) == 0
    printed = capsys.readouterr().out
    assert "SIMULATED on xeon" in printed
    assert "each share exact" in printed
    first = next(line for line in printed.splitlines() if line.startswith("* "))
    assert re.match(r"\* (bound by|no bound is reached)", first)
    assert "hardware counters" not in printed


def test_a_run_that_is_not_stationary_at_its_bound_is_marked(capsys, monkeypatch):
    from harness.measurement import spec

    monkeypatch.setattr(spec, "EVENTS", 2000)
    assert main([*RUN, "--set", "cost=30000", "--model", "dedicated"]) == 0
    assert "* the run was not stationary when it was measured" in capsys.readouterr().out


def test_the_rows_of_the_table_by_thread_add_up(made, capsys):
    main(["explain", "--replay", str(made["record"])])
    lines = capsys.readouterr().out.splitlines()
    begin = lines.index("where the time of each thread goes [%]") + 2
    rows = lines[begin : lines.index("", begin)]
    assert len(rows) == 4  # a source, two threads, all of them
    for row in rows:
        shares = [float(cell) for cell in re.split(r"\s{2,}", row.strip())[1:] if cell != "-"]
        assert sum(shares) == pytest.approx(100.0, abs=0.5), row


def test_json_has_every_number(made):
    (explained,) = json.loads(made["json"].read_text())
    assert sum(explained["shares"].values()) == pytest.approx(1.0)
    assert {"threads", "operators", "bounds", "critical_path", "sentences"} <= explained.keys()
    assert explained["bounds"][0]["used"] == max(bound["used"] for bound in explained["bounds"])


def test_json_can_go_to_standard_output_alone(made, capsys, tmp_path):
    page = ["--html", str(tmp_path / "a.html")]
    main(["explain", "--replay", str(made["record"]), "--json", "-", *page])
    assert json.loads(capsys.readouterr().out)[0]["simulated"] is True


def test_pictures_are_written(made):
    assert made["png"].read_bytes().startswith(b"\x89PNG")
    page = made["html"].read_text()
    assert 'class="simulated"' in page
    widths = re.search(r"<b>all threads</b><div>(.*?)</div>", page, re.S).group(1)
    assert sum(map(float, re.findall(r"width:([0-9.]+)%", widths))) == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a topology or a graph file"),
        (["pipeline", "--replay", "x.jsonl"], "--replay makes no run: give it without a graph"),
        (["--replay", "x.jsonl", "--threads", "2"], "give it without --threads"),
        ([*RUN[1:], *SHORT, "--validate"], "--validate compares with a measured run"),
    ],
)
def test_wrong_options_are_refused_in_one_line(words, said, capsys):
    assert main(["explain", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_records_of_other_runs_are_refused(tmp_path, capsys):
    record = tmp_path / "run.jsonl"
    assert main(["run", *RUN[1:], *SHORT, "--json", str(record)]) == 0
    assert main(["explain", "--replay", str(record)]) == 2
    assert "has no record of millrace explain" in capsys.readouterr().err
