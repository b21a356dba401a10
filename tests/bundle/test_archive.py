"""The archive of a bundle: what is in it, and that it is there as a whole or not at all."""

from __future__ import annotations

import errno
import json
import sys
import tarfile
from pathlib import Path

import pytest

from harness.bundle import archive, wheels
from harness.cli import main
from tests.bundle.made_wheels import made_wheel, millrace_wheel

NEEDED = "cpython-311"


@pytest.fixture
def wheel(tmp_path_factory, monkeypatch) -> str:
    """Return a wheel of Millrace; packages are made and not downloaded."""

    def download(python, wheel, more, folder):
        folder.mkdir()
        for name in ("pip", "numpy", *more):
            made_wheel(folder, name, {})
        (folder / wheel.name).write_bytes(wheel.read_bytes())

    monkeypatch.setattr(wheels, "download", download)
    monkeypatch.setattr(wheels, "tag_of", lambda python: NEEDED)
    return str(millrace_wheel(tmp_path_factory.mktemp("wheel")))


def test_it_has_the_script_the_wheels_the_experiments_and_what_the_machine_must_have(
    own, wheel, capsys, monkeypatch
):
    monkeypatch.delitem(sys.modules, "numba", raising=False)  # other tests may have loaded it
    assert main(["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", wheel]) == 0
    with tarfile.open(own / "big.tar.gz") as files:
        names = files.getnames()
        told = json.load(files.extractfile("big/bundle.json"))
        script = files.extractfile("big/measure.py").read()
    assert set(names) == {
        "big/bundle.json",
        "big/measure.py",
        *(f"big/wheels/{name}-1-py3-none-any.whl" for name in ("numpy", "pip")),
        f"big/wheels/{Path(wheel).name}",
        "big/work/config/quick.yaml",
        "big/work/config/experiments/own.yaml",
        "big/work/my/graph.py",
        "big/work/my/beside_the_graph.py",
    }
    assert script == archive.SCRIPT.read_bytes()
    assert told["needs"]["python"] == NEEDED
    assert told["needs"]["cpu"] == {"level": "x86-64-v2", "flags": ["popcnt"]}
    assert told["experiments"] == ["own"]
    assert "there: tar xzf big.tar.gz; cd big; python3 measure.py" in capsys.readouterr().out


def test_a_graph_that_uses_numba_brings_numba(own, wheel):
    graph = own / "my/graph.py"
    graph.write_text("import sys, numba\n" + graph.read_text())
    assert main(["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", wheel]) == 0
    with tarfile.open(own / "big.tar.gz") as files:
        assert "big/wheels/numba-1-py3-none-any.whl" in files.getnames()


def test_a_file_that_the_graph_reads_is_asked_for_here_and_not_there(own, wheel, capsys):
    graph = own / "my/graph.py"
    graph.write_text("SIZE = len(open('words.txt').read())\n" + graph.read_text())
    (own / "words.txt").write_text("one two")
    words = ["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", wheel]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "--add names it" in said and "words.txt" in said
    assert said.count("\n") == 1
    assert main([*words, "--add", "words.txt"]) == 0


def test_a_file_that_exists_is_left_as_it_is(own, wheel, capsys):
    (own / "big.tar.gz").write_text("mine")
    assert main(["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", wheel]) == 2
    assert "must name a new file" in capsys.readouterr().err
    assert (own / "big.tar.gz").read_text() == "mine"


def test_a_full_disk_is_one_line_and_leaves_nothing(own, wheel, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "add", full)
    assert main(["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", wheel]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "millrace bundle: cannot write big.tar.gz: No space left on device"
    assert not list(own.glob("*big.tar.gz*"))
