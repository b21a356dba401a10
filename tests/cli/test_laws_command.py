"""`millrace laws list` and `millrace laws replay`: the listing, and a record replayed."""

from __future__ import annotations

import io
import json

import pytest

from harness.cli import main
from harness.elasticity import LAWS, Decides
from tests.elasticity.traces import record_of

RECORD = record_of([100, 200, 200, 200], 4)


@pytest.fixture
def record(tmp_path):
    """The name of a file with a record."""
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORD), encoding="utf-8")
    return str(path)


def test_the_listing_has_every_law_with_its_settings(capsys):
    assert main(["laws", "list"]) == 0
    out = capsys.readouterr().out
    for law in LAWS[Decides.THREADS]:
        assert f"{law}: " in out or f"{law} (the default): " in out
    assert "cpu_limit    0.8      -     >0 .. 1" in out
    assert "doubling     false    -     true, false" in out


def test_a_replay_prints_a_line_a_sample_with_its_reason(record, capsys):
    assert main(["laws", "replay", "--law", "pldi17", record]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["sample", "tuples/s", "level", "state", "reason"]
    assert [line.split()[:4] for line in lines[1:]] == [
        ["0", "100", "2", "climbing"],
        ["1", "200", "3", "climbing"],
        ["2", "200", "2", "descending"],
        ["3", "200", "2", "settled"],
    ]
    assert lines[2].endswith("trend below, above untrusted → up")


def test_json_on_stdout_stands_alone(record, capsys):
    assert (
        main(
            [
                "laws",
                "replay",
                "--law",
                "pldi17",
                "--law-set",
                "doubling=true",
                record,
                "--json",
                "-",
            ]
        )
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["levels"] == [2, 4, 2, 2]
    assert answer.keys() == {"law", "levels", "reasons", "states"}


def test_json_into_a_file_leaves_the_table_on_stdout(record, tmp_path, capsys):
    path = tmp_path / "decisions.json"
    assert main(["laws", "replay", "--law", "pldi17", record, "--json", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["levels"] == [2, 3, 2, 2]
    assert capsys.readouterr().out.startswith("sample")


def test_a_record_may_come_from_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(RECORD).encode())))
    assert main(["laws", "replay", "--law", "streams", "-", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["levels"] == [2, 4, 3, 2]


def test_a_record_that_is_no_text_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "record.json"
    path.write_bytes(b'{"max": \xff}')
    assert main(["laws", "replay", "--law", "fixed", str(path)]) == 2
    assert capsys.readouterr().err.endswith(
        "record.json: must be UTF-8 text (invalid start byte at byte 8)\n"
    )
