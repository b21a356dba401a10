"""The file of samples: what is written is read again, a kill costs a block, and a broken line is
named.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import UserError
from studies.gate_error_rates import identity
from studies.gate_error_rates.recording import RecordedBlock, WorkAmount, Writer, next_round, read
from tests.studies.gate_error_rates.made import ABOUT, ARM, FIRST, rows, text


def write(path: Path, *lines: dict) -> Path:
    path.write_text(text(list(lines)), encoding="utf-8")
    return path


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "samples.jsonl"
    writer = Writer(path, ABOUT, identity.check)
    writer.add_arm(WorkAmount("sleep", 1.1, 12))
    writer.append(rows(0, "one", "base", base=3.0, head=4.0))
    found = read(path)
    assert found.about == FIRST
    assert found.arms == {"sleep 1.1": WorkAmount("sleep", 1.1, 12)}
    (block,) = found.blocks("one", "base")
    assert (block.of("one", "base"), block.of("one", "head")) == ([3.0, 3.0], [4.0, 4.0])
    assert next_round(found) == 1


@pytest.mark.parametrize("lost", [1, 30, 400])
def test_a_block_that_was_cut_short_is_dropped_and_the_next_one_takes_its_place(
    tmp_path: Path, lost: int
) -> None:
    path = write(
        tmp_path / "s.jsonl", FIRST, ARM, *rows(0, "one", "base"), *rows(0, "other", "base")
    )
    path.write_bytes(path.read_bytes()[:-lost])
    assert list(read(path).rounds[0]) == [("one", "base")]
    writer = Writer(path, ABOUT, identity.check)
    writer.append(rows(1, "other", "base"))
    assert [list(blocks) for blocks in read(path).rounds] == [
        [("one", "base")],
        [("other", "base")],
    ]


def test_a_recording_of_something_else_is_not_gone_on_with(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", FIRST, *rows(0, "one", "base"))
    before = path.read_bytes()
    with pytest.raises(UserError, match=r'has disturb "none", not "half": name another directory'):
        Writer(path, ABOUT | {"disturb": "half"}, identity.check)
    assert path.read_bytes() == before


def test_when_it_was_started_is_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    Writer(path, ABOUT | {"started_at": "1"}, identity.check)
    assert (
        Writer(path, ABOUT | {"started_at": "2"}, identity.check).recording.about["started_at"]
        == "1"
    )


def broken(what: str) -> list[str]:
    lines = text([FIRST, ARM, *rows(0, "one", "base"), *rows(0, "other", "base")]).splitlines()
    row = json.loads(lines[2])
    match what:
        case "not JSON":
            lines[3] = lines[3][:20]
        case "no object":
            lines[3] = "[1]"
        case "zero":
            lines[2] = json.dumps(row | {"values": {"one": 0}})
        case "a word":
            lines[2] = json.dumps(row | {"seconds": "long"})
        case "no values":
            del row["values"]
            lines[2] = json.dumps(row)
        case "other cells":
            lines[2] = json.dumps(row | {"values": {"two": 1.0}})
        case "a line is missing":
            del lines[4]
        case "sides":
            lines[2] = json.dumps(row | {"side": "tail"})
        case "amount":
            lines[1] = json.dumps(ARM | {"amount": 0})
        case "no first object":
            lines[0] = "[1]"
        case "wanted":
            lines[1] = json.dumps(ARM | {"wanted": 1.0})
        case "no time":
            lines[2] = json.dumps(row | {"seconds": 0})
        case "version":
            lines[0] = json.dumps(FIRST | {"recording": 99})
    return lines


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("not JSON", 4),
        ("no object", 4),
        ("zero", 3),
        ("a word", 3),
        ("no values", 3),
        ("other cells", 3),
        ("a line is missing", 3),
        ("sides", 3),
        ("amount", 2),
        ("wanted", 2),
        ("no time", 3),
        ("no first object", 1),
        ("version", 1),
    ],
)
def test_a_broken_line_is_named_in_one_line(tmp_path: Path, what: str, line: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(broken(what)) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"s\.jsonl, line {line}: ") as told:
        read(path)
    assert "\n" not in str(told.value)


def test_an_empty_file_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="empty"):
        read(write(tmp_path / "s.jsonl"))


def test_values_go_by_what_a_process_was_not_by_when_it_ran() -> None:
    block = RecordedBlock(
        ("head", "base", "base", "head"),
        ({"c": 1.0}, {"c": 2.0}, {"c": 3.0}, {"c": 4.0}),
        (1.0,) * 4,
    )
    assert (block.of("c", "base"), block.of("c", "head")) == ([2.0, 3.0], [1.0, 4.0])
