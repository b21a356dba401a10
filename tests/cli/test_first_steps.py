"""Files that `init` writes run; an experiment of one's own is measured and drawn; a shell completes;
an error in a user's Python code names its line.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS, main
from harness.cli.init import KINDS


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(kind, capsys):
    assert main(["init", kind]) == 0
    out = capsys.readouterr().out
    path = Path(f"my_{KINDS[kind][0]}")
    assert out.startswith(f"wrote {path}; next: millrace ") and path.name in out.partition(";")[2]
    assert path.name in path.read_text()
    return str(path)


@pytest.mark.parametrize("kind", ["graph", "operator"])
def test_a_graph_to_start_from_runs_as_it_is(here, capsys, kind):
    path = written(kind, capsys)
    where = ["--machine", "xeon", "--duration", "0.001"] if kind == "graph" else ["--tuples", "500"]
    assert main(["run", path, "--model", "manual", *where]) == 0


def test_a_file_is_not_replaced(here, capsys):
    written("graph", capsys)
    assert main(["init", "graph"]) == 2
    assert "must name a new file" in capsys.readouterr().err


def test_an_experiment_to_start_from_is_measured_and_drawn(here, capsys):
    path = written("experiment", capsys)
    simulated = "machines: [xeon]\n    duration_s: 0.001"
    Path(path).write_text(Path(path).read_text().replace("duration_s: 0.2", simulated))
    assert main(["sweep", path, "-o", "records"]) == 0
    assert len(list(Path("records").glob("*.jsonl"))) == 2
    assert main(["plot", path, "--records", "records", "-o", "a.png", "-o", "a.svg"]) == 0
    assert "6 arms of 2 cells" in capsys.readouterr().out
    drawing = Path("a.svg").read_text()
    assert Path("a.png").stat().st_size > 5000
    assert "<svg" in drawing


def test_an_experiment_without_records_says_how_to_measure_them(here, capsys):
    path = written("experiment", capsys)
    assert main(["plot", path]) == 2
    assert f"millrace sweep {path} measures them" in capsys.readouterr().err


@pytest.mark.heavy
def test_a_suite_to_start_from_is_measured_by_the_gate(here, capsys):
    path = written("suite", capsys)
    both = Path(path).read_text()
    start = both.index("  - name: startup")
    Path(path).write_text(both[:start] + both[both.index("  - name: work") :])
    for side in ("base", "head"):
        Path(side).mkdir()
    words = ["gate", "--base", "base", "--head", "head", "--suite", path, "--time-budget"]
    # no slower, or too little time to say so; more time where the machine is too busy for either
    assert any(main([*words, budget_s]) in (0, 3) for budget_s in ("5", "50", "100"))
    assert "work" in capsys.readouterr().out


def test_the_completion_script_knows_commands_and_options(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = (
        "COMP_WORDS=(millrace com); COMP_CWORD=1; _shtab_millrace; echo ${COMPREPLY[@]};"
        "COMP_WORDS=(millrace run pipeline --model dyn); COMP_CWORD=4; _shtab_millrace;"
        "echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["compare completion", "dynamic"]
    assert all(name in script for name in COMMANDS)


FAULTY = """\
from harness.graph import Graph


def helper(value):
    return 1 / value


def graph():
    return helper(0)
"""


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (FAULTY, 5),
        ("value = {}['missing']\n", 1),
        ("from harness.graph import Graph\n\ndef graph(:\n", 3),
        ("from harness.graph import Graph\n\ndef graph():\n    Graph('a', payload=-1)\n", 4),
    ],
    ids=["in a call", "at import", "syntax", "wrong graph"],
)
def test_an_error_in_a_graphs_code_names_file_and_line(here, capsys, source, line):
    Path("faulty.py").write_text(source)
    assert main(["run", "faulty.py"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "faulty.py" in err and f"line {line})" in err


def test_the_full_traceback_is_shown_if_it_is_asked_for(here):
    Path("faulty.py").write_text(FAULTY)
    words = [sys.executable, "-m", "harness", "run", "faulty.py", "--traceback"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(words, capture_output=True, text=True, env={"PYTHONPATH": str(root)})
    assert done.returncode == 2
    assert "return 1 / value" in done.stderr and "in graph" in done.stderr


OWN = """\
from harness.graph import Graph


def fail(sequence, value):
    raise ValueError("no")


def graph():
    made = Graph("own")
    made.chain(made.source("source"), made.python("own", fail), made.sink("sink"))
    return made
"""


@pytest.mark.heavy
def test_the_traceback_of_an_operator_is_shown_too(here, capfd, monkeypatch):
    from harness.errors import TRACEBACK

    monkeypatch.setenv(TRACEBACK, "")  # so that it is as before afterwards
    Path("own.py").write_text(OWN)
    assert main(["run", "own.py", "--model", "manual", "--tuples", "5", "--traceback"]) == 1
    err = capfd.readouterr().err
    assert "own.py:5)" in err  # the one line
    assert 'raise ValueError("no")' in err and "Traceback" in err
