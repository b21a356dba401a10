"""Jobs as their users run them: one command, the answer in a file, the same under every model."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.applications import login_failures, packet_analysis, vwap, wiki_word_count
from harness.cli import main
from harness.measurement.lock import measuring_lock
from harness.measurement.records import read_records

ROOT = Path(__file__).resolve().parents[2]
MODELS = (
    ["--model", "manual"],
    ["--model", "dedicated"],
    ["--model", "dynamic", "--threads", "2"],
    ["--model", "multilevel", "--max-threads", "2"],
    ["--model", "coroutine", "--threads", "2"],
)
RECORDS = {"login-failures": 2000, "vwap": 3000, "wiki-word-count": 15, "packet-analysis": 2000}
MADE = {
    "login-failures": login_failures.generate,
    "vwap": vwap.generate,
    "wiki-word-count": wiki_word_count.generate,
    "packet-analysis": packet_analysis.generate,
}

pytestmark = pytest.mark.heavy


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "harness", "run", *words]


def millrace(*words: str, **how) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*words), capture_output=True, cwd=ROOT, **how)


def rows_of(path: Path) -> Counter[str]:
    """Return the results, whose order may depend on threads."""
    return Counter(path.read_text().splitlines())


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    paths = {}
    for name, make in MADE.items():
        paths[name] = folder / f"{name}.input"
        paths[name].write_bytes(make(RECORDS[name], 7))
    return paths


@pytest.mark.parametrize("topology", list(MADE))
def test_a_job_has_the_same_results_under_every_model(topology, inputs, tmp_path, capsys):
    found = []
    for number, model in enumerate(MODELS):
        path = tmp_path / f"{number}.jsonl"
        words = ["run", topology, "--set", f"input={inputs[topology]}", "--output", str(path)]
        assert main([*words, *model, "--json", str(tmp_path / "record.json")]) == 0
        ((record,), _) = read_records(tmp_path / "record.json")
        assert record["correct"] and record["drained"] and record["settled"]
        found.append(rows_of(path))
        assert f"results to {path}" in capsys.readouterr().out
    assert found[0].total() > 0
    assert all(each == found[0] for each in found)


def test_a_job_finds_what_a_plain_program_finds(inputs, tmp_path):
    path = tmp_path / "out.jsonl"
    assert (
        main(
            [
                "run",
                "login-failures",
                "--set",
                f"input={inputs['login-failures']}",
                "--output",
                str(path),
            ]
        )
        == 0
    )
    lines = inputs["login-failures"].read_text().splitlines()
    wanted = [number for number, line in enumerate(lines) if "authentication failure" in line]
    assert sorted(json.loads(line)["number"] for line in path.read_text().splitlines()) == wanted


def test_a_job_waits_for_nobody_who_measures(inputs, tmp_path, monkeypatch):
    lock, output = tmp_path / "lock", tmp_path / "out.jsonl"
    monkeypatch.setenv("MILLRACE_LOCK", str(lock))
    words = ("login-failures", "--set", f"input={inputs['login-failures']}")
    with measuring_lock():  # of this process; one that measures would wait for it without end
        done = millrace(*words, "--output", str(output))
    assert (done.returncode, done.stderr) == (0, b"") and output.stat().st_size > 0
    lock.unlink()
    assert millrace(*words, "--output", str(output)).returncode == 0
    assert not lock.exists(), "a job leaves no lock behind"


@pytest.mark.parametrize("topology", list(MADE))
def test_a_pipe_gives_what_the_file_gives(topology, inputs, tmp_path):
    path = tmp_path / "file.jsonl"
    asked = [topology, "--model", "manual", "--set"]
    assert main(["run", *asked, f"input={inputs[topology]}", "--output", str(path)]) == 0
    packed = gzip.compress(inputs[topology].read_bytes())
    source = "/dev/stdin" if topology == "vwap" else "-"
    done = millrace(*asked, f"input={source}", "--output", "-", input=packed)
    assert done.returncode == 0, done.stderr
    assert Counter(done.stdout.decode().splitlines()) == rows_of(path)
    assert b"records" in done.stderr


def test_a_named_pipe_is_read_until_its_writer_ends(inputs, tmp_path):
    pipe, path = tmp_path / "pipe", tmp_path / "out.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(inputs["vwap"].read_bytes()))
    writer.start()
    assert main(["run", "vwap", "--set", f"input={pipe}", "--output", str(path)]) == 0
    writer.join()
    assert (
        main(
            ["run", "vwap", "--set", f"input={inputs['vwap']}", "--output", str(tmp_path / "b.csv")]
        )
        == 0
    )
    assert rows_of(path) == rows_of(tmp_path / "b.csv")


def test_a_line_may_come_in_two_pieces_and_the_last_one_without_an_end(inputs):
    lines = [
        line for line in inputs["login-failures"].read_bytes().splitlines() if b"failure;" in line
    ]
    child = subprocess.Popen(
        command("login-failures", "--set", "input=-", "--output", "-"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    with child:
        child.stdin.write(lines[0] + b"\n" + lines[1][:40])
        child.stdin.flush()
        first = json.loads(child.stdout.readline())
        child.stdin.write(lines[1][40:])
        child.stdin.close()
        (second,) = map(json.loads, child.stdout.read().splitlines())
        assert child.wait(100) == 0, child.stderr.read()
    assert (first["number"], second["number"]) == (0, 1)


def test_a_line_that_stands_for_the_one_before_may_come_in_a_later_piece():
    line = b"Jun 14 15:16:01 h sshd[1]: authentication failure; uid=0 tty=ssh rhost=a user=bob\n"
    child = subprocess.Popen(
        command("login-failures", "--set", "input=-", "--output", "-"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    with child:
        child.stdin.write(line)
        child.stdin.flush()
        first = json.loads(child.stdout.readline())  # the line was a piece of its own
        repeated = b"Jun 14 15:16:31 h last message repeated %d times\n"
        child.stdin.write(repeated % 2)
        child.stdin.flush()
        found = [json.loads(child.stdout.readline()) for _ in range(2)]
        child.stdin.write(repeated % 1)
        child.stdin.close()
        found += map(json.loads, child.stdout.read().splitlines())
        assert child.wait(100) == 0, child.stderr.read()
    assert [each["user"] for each in (first, *found)] == ["bob"] * 4
    assert sorted(each["number"] for each in (first, *found)) == [0, 1, 2, 3]


def test_a_reader_that_leaves_early_ends_the_job_without_an_error(inputs):
    shell = " ".join(
        command("login-failures", "--set", f"input={inputs['login-failures']}", "--output", "-")
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; yes '' | cat {inputs['login-failures']} - | {shell.replace(str(inputs['login-failures']), '-')} | head -n 3"],
        capture_output=True, cwd=ROOT,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 3
    assert b"Traceback" not in done.stderr and b"records" in done.stderr


@pytest.mark.usefixtures("signals_heeded")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_job_keeps_what_it_has(number, inputs, tmp_path):
    path = tmp_path / "out.jsonl"
    child = subprocess.Popen(
        command("login-failures", "--set", "input=-", "--output", str(path)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    partial = tmp_path / "out.jsonl.partial"
    with child:
        child.stdin.write(inputs["login-failures"].read_bytes())
        child.stdin.flush()
        wanted = inputs["login-failures"].read_bytes().count(b"authentication failure")
        for _ in range(1000):
            if partial.exists() and partial.read_bytes().count(b"\n") == wanted:
                break
            time.sleep(0.1)
        child.send_signal(number)
        out, err = child.communicate(timeout=100)
    assert child.returncode == 128 + number and err.decode().strip() == "millrace run: interrupted"
    assert len(partial.read_text().splitlines()) == wanted
    assert f"wrote {wanted:,} results to {partial}" in out.decode()
    assert not path.exists()


GRAPH = """
from harness.connectors import FileSource
from harness.graph import Graph
from harness.graph.schema import Schema

WORD = Schema("word", {"text": "string[16]", "n": "uint32"})

def graph(path):
    graph = Graph("words")
    source = graph.typed_source("in", FileSource(path, WORD), WORD)
    sink = graph.typed_sink("out", lambda port, word: None, WORD)
    graph.connect(source, sink)
    return graph
"""


@pytest.mark.parametrize("model", MODELS, ids=lambda words: words[1])
def test_a_graph_of_ones_own_ends_with_its_sources(model, tmp_path, capsys):
    (tmp_path / "words.py").write_text(GRAPH)
    lines = [json.dumps({"text": f"w{n}", "n": n}) for n in range(50)] + ["{", '{"text":"x"}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    words = ["run", f"{tmp_path}/words.py:graph", "--set", f"path={tmp_path}/in.jsonl", *model]
    assert main(words) == 0
    out = capsys.readouterr().out.splitlines()
    shown = [json.loads(line) for line in out if line.startswith("{")]
    assert shown == [{"text": f"w{n}", "n": n} for n in range(10)]
    assert "... and 40 more; --output FILE keeps all of them" in out
    assert any(line.startswith("left out 2 broken, such as record 51: { (") for line in out)
    assert out[-1] == "warning: 3.85 % of the input was left out"
    assert main([*words, "--output", f"{tmp_path}/out.parquet", "--warn-left-out", "4"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote 50 results to {tmp_path}/out.parquet"


@pytest.mark.parametrize("model", MODELS, ids=lambda words: words[1])
def test_a_benchmark_of_some_cycles_needs_no_number_of_tuples(model, inputs, tmp_path, capsys):
    path = tmp_path / "record.json"
    words = [
        "run",
        "login-failures",
        "--set",
        f"input={inputs['login-failures']}",
        "--set",
        "cycles=2",
    ]
    assert main([*words, *model, "--json", str(path)]) == 0
    ((record,), _) = read_records(path)
    assert record["error"] is None and record["application"]["records"] == 4000
    told = capsys.readouterr().out.splitlines()[0]
    assert told == f"benchmark: {inputs['login-failures']}, held in memory, is read 2 times"


def test_what_was_left_out_is_told_with_an_example(inputs, tmp_path, capsys):
    path = tmp_path / "auth.log"
    good = inputs["login-failures"].read_text().splitlines()[:98]
    path.write_text(
        "\n".join([*good[:7], "no line of a log \x07", "Jun 14 authentication failure", *good[7:]])
    )
    assert (
        main(
            ["run", "login-failures", "--set", f"input={path}", "--json", str(tmp_path / "r.json")]
        )
        == 0
    )
    out = capsys.readouterr().out.splitlines()
    assert "left out 1 broken, such as record 9: Jun 14 authentication failure" in out
    assert "left out 1 of an unknown kind, such as record 8: no line of a log \\x07" in out
    assert out[-1] == "warning: 2 % of the input was left out"
    ((record,), _) = read_records(tmp_path / "r.json")
    assert record["left_out_share"] == pytest.approx(0.02)
    assert {(each["kind"], each["count"]) for each in record["left_out"]} == {
        ("broken", 1),
        ("of an unknown kind", 1),
    }


def test_a_truncated_input_is_told(inputs, tmp_path, capsys):
    path = tmp_path / "auth.log.gz"
    path.write_bytes(gzip.compress(inputs["login-failures"].read_bytes())[:-2000])
    assert (
        main(
            ["run", "login-failures", "--set", f"input={path}", "--output", str(tmp_path / "o.csv")]
        )
        == 0
    )
    out = capsys.readouterr().out.splitlines()
    assert "left out 1 truncated" in out
    assert out[-1] == "warning: the input was truncated, so its end is missing"


def test_a_long_input_is_read_in_little_memory(tmp_path):
    """60 MB of lines take no more than 40 MB beside what a small job takes."""
    program = (
        "import resource, sys; from harness.cli import main; code = main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    line = "Jun 14 15:16:01 combo kernel: " + "x" * 970
    peaks = []
    for megabytes in (1, 60):
        path = tmp_path / "long.log"
        with path.open("w") as file:
            for _ in range(megabytes):
                file.write(f"{line}\n" * 1000)
        done = subprocess.run(
            [sys.executable, "-c", program, "run", "login-failures", "--model", "manual", "--set", f"input={path}"],
            capture_output=True, cwd=ROOT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] - peaks[0] < 40_000, peaks


@pytest.mark.parametrize(
    ("packed", "told"),
    [
        (lzma.compress(b"a line\n"), "is packed by xz, which is not read; pipe it in: xzcat FILE"),
        (bz2.compress(b"a line\n"), "is packed by bzip2"),
        (b"PK\x03\x04" + bytes(40), "is a zip archive"),
        ("a line\n".encode("utf-16"), "is in UTF-16"),
    ],
    ids=["xz", "bzip2", "zip", "UTF-16"],
)
@pytest.mark.parametrize("topology", ["login-failures", "vwap", "word-count"])
def test_input_in_another_encoding_is_named_and_not_taken_for_records(
    topology, packed, told, tmp_path, capsys
):
    path = tmp_path / "input"
    path.write_bytes(packed)
    assert main(["run", topology, "--set", f"input={path}", "--model", "manual"]) != 0
    assert f"{path}: {told}" in capsys.readouterr().err.replace("cannot be read: ", "")


def test_a_pipe_in_another_encoding_is_named():
    words = ("login-failures", "--set", "input=-", "--model", "manual")
    done = millrace(*words, input=lzma.compress(b"a line\n"))
    assert done.returncode == 1 and b"-: is packed by xz" in done.stderr


def test_a_text_that_begins_with_the_letters_of_bzip2_is_text(tmp_path, capsys):
    path = tmp_path / "text"
    path.write_text("BZh is not bzip2 yet\n")
    assert main(["run", "word-count", "--set", f"input={path}", "--model", "manual"]) == 0
    assert '"word":"BZh"' in capsys.readouterr().out


@pytest.mark.parametrize("topology", ["login-failures", "wiki-word-count", "word-count"])
def test_an_empty_file_has_no_results_as_an_empty_pipe_has_none(topology, tmp_path, capsys):
    path = tmp_path / "empty"
    path.touch()
    assert main(["run", topology, "--set", f"input={path}", "--model", "manual"]) == 0
    assert "no results" in capsys.readouterr().out


def test_results_never_replace_the_input(inputs, tmp_path, capsys):
    path, other = tmp_path / "log.csv", tmp_path / "link.csv"
    path.write_bytes(inputs["login-failures"].read_bytes())
    other.symlink_to(path)
    for output in (path, other):
        words = ["run", "login-failures", "--set", f"input={path}", "--output", str(output)]
        assert main(words) == 2
        assert f"must be another file than input={path}" in capsys.readouterr().err
    assert main([*words[:4], "--json", str(path)]) == 2
    assert f"--json '{path}' must be another file" in capsys.readouterr().err
    assert path.read_bytes() == inputs["login-failures"].read_bytes()
    apart = str(tmp_path / "both.jsonl")
    assert main([*words[:4], "--output", apart, "--json", apart]) == 2
    assert "must be another file than --output" in capsys.readouterr().err
