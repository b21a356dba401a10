"""`millrace laws` and `millrace laws bench`: what is run, printed and written."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bench import side_by_side
from harness.bench.bench import contestants
from harness.cli import main

ROOT = Path(__file__).resolve().parents[2]
MINE = """\
- name: sink
  throughput: min(n, 6) / (1 + 0.1 * max(0, n - 6))
  max: 16
  periods: 40
- {name: listed, throughput: [100, 150, 120], noise: 0.02, periods: 40}
"""


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    """In this process: the tests of the bench itself start others."""
    monkeypatch.setattr(side_by_side, "allowed_cpus", lambda: 1)


@pytest.fixture
def curves(tmp_path):
    """The name of a file with two scenarios."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE, encoding="utf-8")
    return str(path)


def results(capsys):
    """The rows on stdout, (law, scenario) each, with nothing beside them."""
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith("}\n") and out.count("\n") == 1
    return json.loads(out)["results"]


def pairs(rows):
    return [(row["law"], row["scenario"]) for row in rows]


def test_without_a_command_the_library_is_run_and_the_table_printed(capsys):
    assert main(["laws", "--law", "fixed", "--law", "utilisation", "--every", "500"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("**no noise** (")
    assert "\n| fixed " in out and "\n| utilisation " in out and "| millrace" not in out


def test_every_takes_each_nth_scenario_of_the_library(capsys):
    assert main(["laws", "bench", "--law", "fixed", "--every", "400", "--json", "-"]) == 0
    assert [row["seed"] for row in results(capsys)] == [1, 401, 801, 1201, 1601]


def test_held_out_takes_only_scenarios_that_score(capsys):
    assert (
        main(["laws", "bench", "--law", "fixed", "--every", "100", "--held-out", "--json", "-"])
        == 0
    )
    rows = results(capsys)
    assert rows and all(row["held_out"] for row in rows)


def test_without_a_law_all_are_run_and_one_named_twice_once(curves, capsys):
    assert main(["laws", "bench", "--scenarios", curves, "--json", "-"]) == 0
    assert pairs(results(capsys)) == [
        (law, name) for name in ("sink", "listed") for law in contestants()
    ]
    assert (
        main(
            [
                "laws",
                "bench",
                "--scenarios",
                curves,
                "--law",
                "fixed",
                "--law",
                "fixed",
                "--json",
                "-",
            ]
        )
        == 0
    )
    assert pairs(results(capsys)) == [("fixed", "sink"), ("fixed", "listed")]


def test_options_before_the_word_bench_count_as_those_behind_it(curves, capsys):
    assert main(["laws", "--law", "fixed", "--json", "-", "bench", "--scenarios", curves]) == 0
    assert pairs(results(capsys)) == [("fixed", "sink"), ("fixed", "listed")]


def test_rows_on_stdout_have_every_number_and_level(curves, capsys):
    assert main(["laws", "bench", "--scenarios", curves, "--law", "millrace", "--json", "-"]) == 0
    row = results(capsys)[0]
    assert (row["best_threads"], row["settled_threads"]) == (6, pytest.approx(6, abs=0.1))
    assert row["accuracy"] > 0.99
    assert len(row["levels"]) == 40
    assert row["levels"][-1] == 6
    assert {
        "settling",
        "overshoot",
        "regret",
        "noise",
        "drift",
        "minimum",
        "maximum",
        "start",
        "periods",
        "seed",
    } <= row.keys()


def test_the_same_command_prints_the_same(curves, capsys):
    for _ in range(2):
        assert (
            main(["laws", "bench", "--scenarios", curves, "--law", "millrace", "--json", "-"]) == 0
        )
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_report_table_and_rows_go_into_files_and_the_table_to_stdout(curves, tmp_path, capsys):
    import pandas as pd

    files = {option: tmp_path / f"out{option}" for option in ("--report", "--table", "--json")}
    words = [word for option, path in files.items() for word in (option, str(path))]
    assert main(["laws", "bench", "--scenarios", curves, "--law", "fixed", *words]) == 0
    report = files["--report"].read_text(encoding="utf-8")
    assert capsys.readouterr().out.rstrip() == report.rstrip()
    assert "| fixed " in report
    rows = json.loads(files["--json"].read_text(encoding="utf-8"))["results"]
    assert pairs(rows) == [("fixed", "sink"), ("fixed", "listed")]
    frame = pd.read_parquet(files["--table"])
    assert list(frame["scenario"]) == ["sink", "listed"]
    assert list(frame["accuracy"]) == [row["accuracy"] for row in rows]


def test_curves_may_come_from_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MINE.encode())))
    assert main(["laws", "bench", "--scenarios", "-", "--law", "fixed", "--json", "-"]) == 0
    assert pairs(results(capsys)) == [("fixed", "sink"), ("fixed", "listed")]


@pytest.mark.parametrize("indent", [None, "\t"])
def test_curves_may_be_json_with_its_numbers_and_tabs(indent, tmp_path, capsys):
    path = tmp_path / "mine.json"
    document = [{"name": "ü", "throughput": [1e16, 2e-7], "noise": 1e-5, "periods": 20}]
    path.write_text(json.dumps(document, indent=indent), encoding="utf-8")
    assert "e+16" in path.read_text() and "1e-05" in path.read_text()
    assert main(["laws", "bench", "--scenarios", str(path), "--law", "fixed", "--json", "-"]) == 0
    (row,) = results(capsys)
    assert (row["scenario"], row["noise"]) == ("ü", 1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "curves must be a list of 1 to 10000 scenarios, not None"),
        ("[", "must be YAML or JSON: "),
        ("\t", "must be YAML or JSON: "),
        ("a: b: c", "must be YAML or JSON: "),
        ("\x07", "must be YAML or JSON: "),
        ("!!python/object:os.system {}", "must be YAML or JSON: "),
        ("[" * 100_000, "must be YAML or JSON: "),
        ("- throughput: [1" + "0" * 5000 + "]", "must be YAML or JSON: "),
        ("- throughput: [2024-99-99]", "must be YAML or JSON: "),
        ("- {throughput: [1], name: [0x" + "F" * 9000 + "]}", "[0].name must be text on one line"),
        ("- {throughput: [1], ? [a] : b}", "must be YAML or JSON: "),
        ('[{"throughput": [NaN]}]', "must be YAML or JSON: must hold finite numbers, not NaN"),
        ("- throughput: n", "[0].throughput: an expression needs the key 'max' beside it"),
        (
            "- {throughput: [1], name: a}\n- {throughput: [1], name: a}",
            "[1].name must not be there twice: 'a'",
        ),
        ('- {throughput: [1], name: "\\ud800"}', "must be YAML or JSON: "),
        ('[{"throughput": [1], "name": "\\ud800"}]', "[0].name must be text on one line"),
        (
            "- throughput: [1]\n  noise: 0.1\n  noise: 0.2",
            "must be YAML or JSON: key 'noise' is given twice",
        ),
        (
            '[{"throughput": [1], "noise": 0.1, "noise": 0.2}]',
            "must be YAML or JSON: key 'noise' is given twice",
        ),
        ("- throughput: [!!bool maybe]", "must be YAML or JSON: a tag does not fit its value"),
        ("- &loop {throughput: [1], name: *loop}", "[0].name must be text on one line"),
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_a_file_that_holds_no_scenarios_is_refused_in_one_line(text, said, tmp_path, capsys):
    path = tmp_path / "mine"
    path.write_text(text, encoding="utf-8")
    assert main(["laws", "bench", "--scenarios", str(path), "--law", "fixed"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"millrace laws: --scenarios {str(path)[:80]}: ")
    assert err.count("\n") == 1 and "Traceback" not in err and len(err) < 500
    assert said in err


@pytest.mark.heavy
def test_the_real_command_uses_several_processes_and_keeps_stdout_clean(tmp_path):
    path = tmp_path / "mine.json"
    many = [
        {
            "name": f"s{k}",
            "throughput": "min(n, 5)",
            "max": 9,
            "noise": 0.03,
            "seed": k,
            "periods": 30,
        }
        for k in range(40)
    ]
    path.write_text(json.dumps(many), encoding="utf-8")
    words = ["laws", "bench", "--scenarios", str(path), "--law", "millrace", "--json", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["scenario"] for row in json.loads(done.stdout)["results"]] == [
        f"s{k}" for k in range(40)
    ]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--table", "--report", "--json"])
def test_a_full_disk_is_told_and_a_device_stays_a_device(option, tmp_path, capsys):
    curves = tmp_path / "mine.yaml"
    curves.write_text("- {throughput: [1, 2], periods: 20}", encoding="utf-8")
    assert (
        main(["laws", "bench", "--law", "fixed", "--scenarios", str(curves), option, "/dev/full"])
        == 1
    )
    assert (
        capsys.readouterr().err
        == "millrace laws: cannot write /dev/full: No space left on device\n"
    )
    assert Path("/dev/full").is_char_device()
