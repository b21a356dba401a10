"""Files that a user names: a pipe that nobody is at the other end of never holds a command up."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import RunFailed, UserError
from harness.files.given import load_strict_json, read_given
from harness.files.whole import write_whole

READERS = {
    "run PIPE.yaml": "graph.yaml",
    "run PIPE.json": "graph.json",
    "run PIPE.py:graph": "graph.py",
    "show PIPE.yaml -o x.svg": "graph.yaml",
    "watch --replay PIPE": "records.jsonl",
    "laws replay --law streams PIPE": "record.json",
    "laws bench --scenarios PIPE": "curves.yaml",
    "sweep --dry-run --config PIPE": "config.yaml",
    "figures --dry-run --config PIPE": "config.yaml",
    "gate --suite PIPE --base HEAD": "suite.yaml",
    "gate history add PIPE --history FOLDER": "results.json",
    "validate --measured PIPE --output x.parquet": "records.jsonl",
    "plot crossover --tables FOLDER -o x.png": "throughput.parquet",
    "claims --tables FOLDER": "throughput.parquet",
    "gate history show --history FOLDER": "verdict.parquet",
}


@pytest.fixture(autouse=True)
def no_hang():
    """A command that waits at a pipe is ended by a signal."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize(("words", "name"), READERS.items())
def test_a_pipe_in_place_of_a_file_is_refused_in_one_line(
    words, name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name)
    words = words.replace(f"PIPE{Path(name).suffix}", name).replace("PIPE", name)
    try:
        code = main(words.replace("FOLDER", ".").split())
    except SystemExit as end:
        code = end.code
    err = capsys.readouterr().err
    assert code == 2, err
    assert err.count("\n") == 1 and "Traceback" not in err
    assert "not a pipe" in err or "--tables" in err, err


@pytest.mark.parametrize(
    ("make", "told"),
    [(Path.mkdir, "Is a directory"), (lambda path: path.symlink_to("/dev/null"), "not a device")],
)
def test_only_regular_files_are_read(make, told, tmp_path):
    make(tmp_path / "x")
    with pytest.raises(UserError, match=told):
        read_given(tmp_path / "x")


def test_a_file_that_is_not_there_is_told_with_where_it_was_looked_for(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "--dry-run", "--config", "my.yaml"]) == 2
    assert (
        capsys.readouterr().err
        == f"millrace sweep: my.yaml: cannot be read: No such file or directory in {tmp_path}\n"
    )


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunFailed, match="No such device"):
        write_whole(tmp_path / "pipe", b"x")


def test_a_pipe_with_a_reader_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"all of it")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)


@pytest.mark.parametrize(
    "text", ["[1e400]", "[-1e999]", "[NaN]", "[Infinity]", '{"a": 1, "a": 2}', f"[{'9' * 5000}]"]
)
def test_json_of_a_user_holds_finite_numbers_and_each_key_once(text):
    with pytest.raises(ValueError, match=r"finite|twice|digits"):
        load_strict_json(text)
