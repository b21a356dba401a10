"""`gate history`: verdicts go in, tables and figures come out; whatever is wrong is one line."""

from __future__ import annotations

import json

import pytest

from harness.cli import main
from harness.gate import results
from harness.gate.host_key import host_key
from tests.gate.history.made_verdicts import BIG_HOST, HOST, nights, result, verdict


@pytest.fixture
def files(tmp_path):
    """The files of verdicts that are given."""

    def of(*verdicts):
        paths = [str(tmp_path / f"verdict-{place}.json") for place in range(len(verdicts))]
        for each, path in zip(verdicts, paths, strict=True):
            results.write_json(each, path)
        return paths

    return of


@pytest.fixture
def history(tmp_path):
    """Does a command of `gate history` on one folder; its exit code."""

    def do(command, *words):
        return main(["gate", "history", command, *words, "--history", str(tmp_path / "history")])

    return do


def test_verdicts_are_kept_and_shown(files, history, capsys):
    assert history("add", *files(*nights(25, lambda night: 10.0 if night < 15 else 11.0))) == 0
    assert capsys.readouterr().out.count("kept as ") == 25
    assert history("show") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith(f"chain  {host_key(HOST)}")
    assert "worse: after 0e0e0e0e0e, up to 0f0f0f0f0f" in lines[2]


def test_a_verdict_added_again_is_said_to_be_there(files, history, capsys, tmp_path):
    paths = files(verdict())
    history("add", *paths)
    assert history("add", *paths, *paths) == 0
    assert capsys.readouterr().out.count(" already") == 2
    assert len(list((tmp_path / "history").iterdir())) == 1


def test_if_one_verdict_is_no_verdict_none_is_kept(files, history, capsys, tmp_path):
    (tmp_path / "bad.json").write_text('{"benchmarks": []}')
    assert history("add", *files(verdict()), str(tmp_path / "bad.json")) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "bad.json" in error
    assert not (tmp_path / "history").exists()


def test_a_verdict_without_a_host_is_kept_with_a_warning(files, history, capsys):
    assert history("add", *files(verdict(), verdict(host={}, night=1))) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "no host" not in first
    assert second.endswith("it tells no host: keep those of several hosts apart")


def test_one_cell_may_be_asked_for_as_json(files, history, capsys):
    history("add", *files(verdict(result("a"), result("b"))))
    capsys.readouterr()
    assert history("show", "--cell", "b", "--json", "-") == 0
    assert [each["cell"] for each in json.loads(capsys.readouterr().out)["series"]] == ["b"]


def test_json_goes_to_a_file_too(files, history, tmp_path):
    history("add", *files(verdict()))
    assert history("show", "--json", str(tmp_path / "show.json")) == 0
    assert json.loads((tmp_path / "show.json").read_text())["series"][0]["cell"] == "chain"


def test_hosts_are_chosen_by_a_part_of_their_key_and_joined_only_if_asked(files, history, capsys):
    history("add", *files(verdict(), verdict(host=BIG_HOST, night=1)))
    capsys.readouterr()
    history("show", "--host", "4 CPUs")
    shown = capsys.readouterr().out
    assert host_key(BIG_HOST) in shown
    assert host_key(HOST) not in shown
    history("show")
    assert len(capsys.readouterr().out.splitlines()) == 3
    history("show", "--join-hosts")
    assert "2 HOSTS JOINED" in capsys.readouterr().out.splitlines()[1]


def test_the_figure_is_drawn_into_every_file_asked_for(files, history, tmp_path):
    history("add", *files(*nights(3)))
    paths = [tmp_path / f"trend.{kind}" for kind in ("png", "svg")]
    assert history("plot", *(word for path in paths for word in ("-o", str(path)))) == 0
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in paths[1].read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("show", "--cell", "chian"),
            "--cell 'chian' is not in the history (did you mean 'chain'?); it has: chain",
        ),
        (
            ("show", "--host", "Xeon"),
            "--host 'Xeon' is not in the history; it has: AMD EPYC 7763, 2 CPUs, ",
        ),
        (
            ("plot", "-o", "trend.gif"),
            "-o must name a file ending in .png, .svg, .pdf, not 'trend.gif'",
        ),
        (("add", "missing.json"), "missing.json: cannot be read"),
    ],
)
def test_a_mistake_is_one_line(files, history, capsys, words, told):
    history("add", *files(verdict()))
    capsys.readouterr()
    assert history(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("millrace gate history: ")
    assert told in error
    assert error.count("\n") == 1


def test_an_empty_history_says_how_to_begin(history, capsys):
    assert history("show") == 2
    assert "`millrace gate history add VERDICT.json` adds one" in capsys.readouterr().err


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["gate", "history"])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().err
