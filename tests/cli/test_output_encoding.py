"""Tests of what commands print where the encoding of standard output lacks some of our characters."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
RUN = (
    "run pipeline --set operators=3 --machine xeon --threads 2 --duration 0.001 --warmup 0.001 "
    "--repeats 2"
)
LISTINGS = [
    "models",
    "topologies",
    "topologies --json -",
    "machines",
    "machines xeon",
    "machines xeon --json -",
    "laws list",
]
LISTINGS += ["claims --list", "sweep --dry-run", *(f"{command} --help" for command in COMMANDS)]


def printed(words: str) -> str:
    """Return what a command prints on a standard output whose encoding is ASCII."""
    with pytest.MonkeyPatch.context() as patch:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        patch.setattr(sys, "stdout", stream)
        try:
            code = main(words.split())
        except SystemExit as end:
            code = end.code
        stream.flush()
    assert code == 0
    return stream.buffer.getvalue().decode("ascii")


@pytest.mark.parametrize("words", LISTINGS)
def test_a_listing_is_printed_in_ascii(words):
    text = printed(words)
    assert "--json" not in words or json.loads(text)
    assert len(text) > 100 and "\\x" not in text


@pytest.mark.heavy
@pytest.mark.parametrize(
    "setting",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_result_survives_a_terminal_without_our_characters(setting, tmp_path):
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHONIOENCODING", "PYTHONUTF8"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "harness", *RUN.split()],
        capture_output=True, cwd=ROOT, env=plain | setting | {"MILLRACE_LOCK": str(tmp_path / "millrace.lock")},
    )  # fmt: skip
    out = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert " us " in out and "events in" in out


def test_a_name_that_is_no_text_is_printed_all_the_same(tmp_path, monkeypatch):
    """A folder's name may hold bytes that are no UTF-8."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "\udcff"
    folder.mkdir()
    assert "wrote 2 record(s) to \\udcff/run.jsonl" in printed(f"{RUN} --json \udcff/run.jsonl")
