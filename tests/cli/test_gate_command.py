"""`millrace gate`: options, exit codes, words of its own. Nothing is built or measured: stand-ins
do what a test asks for.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import gate, main
from harness.errors import RunFailed, UserError
from harness.gate.errors import Interrupted, NoBase, NothingMeasured
from harness.gate.explain.explain import Explanation
from harness.gate.explain.profile import Growth
from harness.gate.verdict import CellDecision, Verdict
from tests.gate.made_comparisons import CALM, comparison, result

CODES = [
    (0, [result("a"), result("b", Verdict.IMPROVED)], {}),
    (1, [result("a", Verdict.REGRESSED)], {}),
    (3, [result("a", Verdict.INCONCLUSIVE)], {}),
    (4, [result("a", Verdict.FIXED)], {}),
    (5, [result("a", Verdict.FAILED)], {}),
    (5, [result("a", Verdict.UNMEASURED)], {}),
    (6, [result("a")], {"control_failed": True}),
    (1, [result("a", Verdict.REGRESSED)], {"control_failed": True}),
    (
        1,
        [result("a", Verdict.REGRESSED), result("b", Verdict.FIXED), result("c", Verdict.FAILED)],
        {},
    ),
    (7, [result("a", Verdict.WRONG)], {}),
]


@pytest.mark.parametrize(("code", "cells", "changes"), CODES)
def test_the_exit_code_is_the_verdict(gate_stand, capsys, code, cells, changes):
    gate_stand.ends = comparison(*cells, **changes)
    assert main(["gate", "--base", "main", "--json", "v.json"]) == code
    assert json.loads(Path("v.json").read_text())["gate"]["exit_code"] == code


@pytest.mark.parametrize(("policy", "code"), [("pass", 0), ("fail", 1)])
def test_what_cannot_be_told_is_mapped_by_the_policy(gate_stand, capsys, policy, code):
    gate_stand.ends = comparison(result("a", Verdict.INCONCLUSIVE))
    assert main(["gate", "--base", "main", "--inconclusive", policy]) == code
    gate_stand.ends = comparison(result("a", Verdict.FAILED))
    assert main(["gate", "--base", "main", "--inconclusive", policy]) == 5


def test_call_that_knows_nothing_of_any_cell_does_not_pass_as_inconclusive(gate_stand, capsys):
    unknown = CellDecision(Verdict.INCONCLUSIVE, 3.0, 0.0, math.inf, 1)
    cell = replace(result("a", Verdict.INCONCLUSIVE), decision=unknown)
    gate_stand.ends = comparison(cell)
    assert main(["gate", "--base", "main", "--inconclusive", "pass"]) == 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert "let through" not in last and "--inconclusive pass does not apply" in last
    gate_stand.ends = comparison(cell, result("b", Verdict.INCONCLUSIVE))
    assert main(["gate", "--base", "main", "--inconclusive", "pass"]) == 0


def test_explanations_are_in_the_report_and_in_the_file(gate_stand, capsys, monkeypatch):
    made = Explanation("a", "perf", "s", 5, (Growth("f", "a.py:3", 1.0, 2.0),), (), "x")
    asked = []

    def explain(trees, programs, folder, notify, seed):
        assert gate_stand.locked
        asked.append(str(folder))
        return [made]

    monkeypatch.setattr("harness.gate.explain.explain.explain", explain)
    words = ["gate", "--base", "main", "--json", "v.json", "--report", "v.md"]
    assert main([*words, "--explain", "here/there"]) == 0
    line = "+1 s in f (a.py:3) itself: 1 s in base, 2 s in head"
    assert line in capsys.readouterr().out
    assert "in f (a.py:3) itself" in Path("v.md").read_text()
    told = json.loads(Path("v.json").read_text())["gate"]["options"]["explained"]
    assert told[0]["grown"][0]["head"] == 2.0
    assert Path("here/there/.gitignore").read_text() == "*\n"
    assert main([*words, "--explain"]) == 0
    assert asked == ["here/there", "gate-explain"]
    assert main(words) == 0
    assert len(asked) == 2


def test_explanation_that_is_interrupted_costs_no_measurement(gate_stand, capsys, monkeypatch):
    def explain(*words):
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.gate.explain.explain.explain", explain)
    assert main(["gate", "--base", "main", "--json", "v.json", "--explain"]) == 130
    assert json.loads(Path("v.json").read_text())["gate"]["cells"]


def test_by_default_the_working_tree_is_compared_by_the_projects_suite(gate_stand, capsys):
    assert main(["gate", "--base", "main"]) == 0
    assert gate_stand.is_default
    assert gate_stand.prepared == [("base", "main"), ("head", ".")]
    assert gate_stand.loaded == [str(gate.DEFAULT_SUITE)] and gate_stand.loaded[0].endswith(
        "config/gate/default.yaml"
    )
    asked = gate_stand.asked
    assert (asked["factor"], asked["alpha"], asked["pairs"], asked["time_budget_s"]) == (
        1.02,
        0.01,
        None,
        540.0,
    )
    assert 0 <= asked["seed"] < 2**32


def test_a_seed_is_drawn_anew_for_each_call_unless_it_is_given(gate_stand, capsys):
    seeds = set()
    for _ in range(3):
        main(["gate", "--base", "main"])
        seeds.add(gate_stand.asked["seed"])
    assert len(seeds) == 3
    main(["gate", "--base", "main", "--seed", "5"])
    assert gate_stand.asked["seed"] == 5


def test_the_suites_terms_hold_unless_others_are_given(gate_stand, capsys):
    gate_stand.suite.factor = 1.1
    gate_stand.suite.alpha = 0.05
    gate_stand.suite.time_budget_s = 90.0
    main(["gate", "--base", "main", "--suite", "my.yaml"])
    assert gate_stand.loaded == ["my.yaml"]
    assert (
        gate_stand.asked["factor"],
        gate_stand.asked["alpha"],
        gate_stand.asked["time_budget_s"],
    ) == (1.1, 0.05, 90.0)
    main(["gate", "--base", "main", "--factor", "1.3", "--alpha", "0.02", "--time-budget", "7"])
    assert (
        gate_stand.asked["factor"],
        gate_stand.asked["alpha"],
        gate_stand.asked["time_budget_s"],
    ) == (1.3, 0.02, 7.0)


def test_automatic_factor_is_at_least_that_of_the_suite(gate_stand, capsys):
    assert main(["gate", "--base", "main", "--factor", "auto"]) == 0
    assert (gate_stand.asked["factor"], gate_stand.asked["auto"]) == (1.02, True)
    assert main(["gate", "--base", "main", "--factor", "1.3"]) == 0
    assert (gate_stand.asked["factor"], gate_stand.asked["auto"]) == (1.3, False)


def test_tail_of_the_call_is_that_of_its_cells(gate_stand, capsys):
    assert main(["gate", "--base", "main", "--tail", "p95"]) == 0
    assert gate_stand.tail == 0.95


@pytest.mark.parametrize("words", [["--bisect", "a..b"], ["--base", "v.json", "--head", "w.json"]])
def test_automatic_factor_is_for_one_measurement(gate_stand, error_line, tmp_path, words):
    for name in ("v.json", "w.json"):
        Path(name).write_text("{}")
    assert main(["gate", *words, "--factor", "auto"]) == 2
    assert "--factor auto" in error_line()


def test_a_command_stands_in_place_of_a_suite(gate_stand, capsys):
    words = ["gate", "--base", "main", "--build", "make -s 'a b'", "--build", "make c"]
    assert main([*words, "--", "./a", "--base", "x", "--"]) == 0
    assert gate_stand.loaded == [
        (["./a", "--base", "x", "--"], [["make", "-s", "a b"], ["make", "c"]])
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--"], "-- must be followed by a command"),
        (["--", ""], "-- must be followed by a command"),
        (["--suite", "a.yaml", "--", "ls"], "--suite and -- COMMAND do not go together"),
        (["--build", "make"], "--build is for -- COMMAND"),
        (["--metric", "cpu_s"], "--metric is for -- COMMAND"),
        (["--build", "make '", "--", "ls"], "--build must be words as a shell would read them"),
        (["--build", " ", "--", "ls"], "--build must not be empty"),
    ],
)
def test_a_command_that_is_asked_for_wrongly_is_told(gate_stand, error_line, words, told):
    assert main(["gate", "--base", "main", *words]) == 2
    assert told in error_line()
    assert gate_stand.prepared == []


def test_files_are_not_compared_by_a_command(gate_stand, error_line):
    Path("a.json").touch()
    assert main(["gate", "--base", "a.json", "--head", "a.json", "--", "ls"]) == 2
    assert "-- COMMAND is for measuring" in error_line()


@pytest.mark.heavy
def test_a_whole_command_is_timed_in_both_trees(tmp_path):
    """Head sleeps longer by so much that it shows although both start slowly on a busy machine."""
    for side, seconds in (("base", 0.06), ("head", 0.36)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "made").write_text(f"sleep {seconds}; sleep 100 &")
    words = [
        "--base",
        "base",
        "--head",
        "head",
        "--factor",
        "1.1",
        "--json",
        "v.json",
        "--build",
        "cp made built",
        "--seed",
        "1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "harness", "gate", *words, "--", "sh", "-c", ". ./built"],
        cwd=tmp_path,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "MILLRACE_LOCK": str(tmp_path / "millrace.lock"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads((tmp_path / "v.json").read_text())["gate"]
    (cell,) = found["cells"]
    assert (found["suite"], cell["name"]) == ("command", "sh -c '. ./built'")
    assert (cell["metric"]["name"], cell["metric"]["unit"], cell["metric"]["lower_is_better"]) == (
        "wall_s",
        "s",
        True,
    )
    assert min(cell["base"]) > 0.06 and min(cell["head"]) > 0.36


def test_pairs_that_are_counted_have_no_time_limit_unless_one_is_given(gate_stand, capsys):
    main(["gate", "--base", "main", "--pairs", "40"])
    assert gate_stand.asked["pairs"] == 40 and gate_stand.asked["time_budget_s"] == math.inf
    main(["gate", "--base", "main", "--pairs", "40", "--time-budget", "60"])
    assert gate_stand.asked["time_budget_s"] == 60.0


def test_too_few_pairs_are_refused_before_anything_is_built(gate_stand, error_line):
    assert main(["gate", "--base", "main", "--pairs", "4"]) == 2
    assert "--pairs must be even and at least 16" in error_line()
    assert gate_stand.prepared == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--factor", "1"],
            "argument --factor: must be auto, or a number above 1, at most 100, not '1'",
        ),
        (["--factor", "nan"], "not 'nan'"),
        (["--factor", "inf"], "not 'inf'"),
        (["--factor", "1_1"], "not '1_1'"),
        (["--alpha", "0"], "argument --alpha: must be a number above 0 and below 0.5, not '0'"),
        (["--alpha", "0.5"], "not '0.5'"),
        (
            ["--pairs", "7"],
            "argument --pairs: must be auto, or an even number from 2 to 10000, not '7'",
        ),
        (["--pairs", "0"], "not '0'"),
        (["--pairs", "²"], "not '²'"),
        (["--pairs", "10002"], "not '10002'"),
        (
            ["--time-budget", "0"],
            "argument --time-budget: must be from 1 to 86400 seconds, not '0'",
        ),
        (["--tail", "p50"], "must be a percentile above p50 and below p100, as p95, not 'p50'"),
        (["--tail", "95"], "as p95, not '95'"),
        (["--tail", "p100"], "as p95, not 'p100'"),
        (["--seed", "-1"], "argument --seed: must be a whole number from 0"),
        (["--inconclusive", "maybe"], "argument --inconclusive: invalid choice: 'maybe'"),
    ],
)
def test_a_bad_option_is_told_in_a_line(gate_stand, error_line, words, told):
    with pytest.raises(SystemExit) as stop:
        main(["gate", "--base", "main", *words])
    assert stop.value.code == 2
    line = error_line()
    assert line.startswith("millrace gate: ") and told in line


def test_base_is_required(gate_stand, error_line):
    assert main(["gate"]) == 2
    assert "--base must be given" in error_line()


@CALM
@given(st.floats(allow_nan=True) | st.text(max_size=8))
def test_a_factor_is_above_one_or_refused(value):
    try:
        assert 1.0 < gate.factor(str(value)) <= gate.MOST_FACTOR
    except Exception as error:
        assert "\n" not in str(error) and "above 1" in str(error)


@CALM
@given(st.integers() | st.text(max_size=8))
def test_pairs_are_even_or_auto_or_refused(value):
    try:
        found = gate.pairs(str(value))
        assert found == "auto" or (found % 2 == 0 and 2 <= found <= gate.MOST_PAIRS)
    except Exception as error:
        assert "an even number from 2" in str(error)


@pytest.mark.parametrize(
    ("role", "error", "code"),
    [
        ("base", NoBase("base 'x' is unknown"), 4),
        ("base", NoBase("base 'x' does not build"), 4),
        ("head", NothingMeasured("head '.' does not build"), 5),
        ("head", UserError("--head must be a revision"), 2),
        ("head", RunFailed("cannot open the lock file"), 70),
    ],
)
def test_a_side_that_cannot_be_prepared_has_its_exit_code(
    gate_stand, error_line, role, error, code
):
    gate_stand.refuses = {role: error}
    assert main(["gate", "--base", "x"]) == code
    assert error_line() == f"millrace gate: {error}"


def test_sides_are_built_and_measured_under_one_hold_of_the_measuring_lock(
    gate_stand, capsys, monkeypatch
):
    held = []

    @contextmanager
    def lock(notify):
        held.append("taken")
        with gate_stand.lock(notify):
            yield
        held.append(
            [role for role, _ in gate_stand.prepared] + ["measured"] * bool(gate_stand.asked)
        )

    monkeypatch.setattr("harness.measurement.lock.measuring_lock", lock)
    assert main(["gate", "--base", "main"]) == 0
    assert held == ["taken", ["base", "head", "measured"]]
    with gate_stand.asked["lock"](None):  # what it measures does not wait for itself
        assert held.count("taken") == 1


def test_an_unknown_head_is_told_before_base_is_built(gate_stand, error_line):
    gate_stand.unknown = {
        "head": UserError("--head must be a directory or a revision of this repository, not 'x'")
    }
    assert main(["gate", "--base", "main", "--head", "x"]) == 2
    assert "--head must be a directory or a revision" in error_line()
    assert gate_stand.prepared == []


def test_a_bug_never_looks_like_a_regression(gate_stand, capsys):
    gate_stand.ends = ZeroDivisionError("a bug")
    assert main(["gate", "--base", "main"]) == 70
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err


@pytest.mark.parametrize("policy", [[], ["--inconclusive", "pass"]])
def test_an_interrupted_call_writes_what_it_has_measured(gate_stand, capsys, policy):
    gate_stand.ends = Interrupted(comparison(result("a"), result("b", Verdict.INCONCLUSIVE)))
    assert (
        main(["gate", "--base", "main", "--json", "v.json", "--junitxml", "v.xml", *policy]) == 130
    )
    found = json.loads(Path("v.json").read_text())["gate"]
    assert found["finished"] is False and found["exit_code"] == 130 and len(found["cells"]) == 2
    (code,) = ElementTree.parse("v.xml").findall("testsuite/properties/property[@name='exit_code']")
    assert code.get("value") == "130"
    told = capsys.readouterr()
    assert "INTERRUPTED: 1 of 2" in told.out and told.err.endswith("millrace gate: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_a_job_interrupt_it_once_and_are_as_before_afterwards(
    gate_stand, capsys, monkeypatch, number
):
    def end(*sides, **options):
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)  # while it writes
        pytest.fail("it went on")

    monkeypatch.setattr(sys.modules["harness.gate.compare"], "compare", end)
    before = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it
    try:
        assert main(["gate", "--base", "main"]) == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert capsys.readouterr().err.endswith("millrace gate: interrupted\n")


def test_a_signal_that_is_ignored_stays_so(gate_stand, capsys, monkeypatch):
    def end(*sides, **options):
        signal.raise_signal(signal.SIGHUP)
        return comparison(result("a"))

    monkeypatch.setattr(sys.modules["harness.gate.compare"], "compare", end)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["gate", "--base", "main"]) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.heavy
@pytest.mark.usefixtures("signals_heeded")
def test_a_call_that_is_terminated_writes_its_reports_and_leaves_no_process(tmp_path):
    """The real one: its program says who it is, and would go on for minutes."""
    program = (
        '[ -n "$MILLRACE_LOADED" ] && exit; echo $$ > ../pid.new; mv ../pid.new ../pid; '
        "exec sleep 300"
    )
    suite = {"programs": [{"name": "one", "command": ["sh", "-c", program], "timeout_s": 600}]}
    (tmp_path / "suite.yaml").write_text(json.dumps(suite))
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
    words = [
        "--base",
        "base",
        "--head",
        "head",
        "--suite",
        "suite.yaml",
        "--json",
        "v.json",
        "--junitxml",
        "v.xml",
    ]
    call = subprocess.Popen(
        [sys.executable, "-m", "harness", "gate", *words],
        cwd=tmp_path,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "MILLRACE_LOCK": str(tmp_path / "millrace.lock"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (tmp_path / "pid").exists():
            assert call.poll() is None
            time.sleep(0.01)
        call.terminate()
        assert call.wait(100) == 143
    finally:
        call.kill()
        call.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert json.loads((tmp_path / "v.json").read_text())["gate"]["finished"] is False
    assert 'name="exit_code" value="143"' in (tmp_path / "v.xml").read_text()


def test_interrupted_while_building_there_is_nothing_to_write(gate_stand, capsys):
    gate_stand.refuses = {"base": KeyboardInterrupt()}
    assert main(["gate", "--base", "main", "--json", "v.json"]) == 130
    assert not Path("v.json").exists()


def test_history_is_a_command_of_its_own(monkeypatch, capsys):
    module = ModuleType("harness.cli.gate_history")
    module.SUMMARY, module.DESCRIPTION = "what it does", "All about history."
    module.add_arguments = lambda parser: parser.add_argument("--calls", type=int)
    module.run = lambda args: 40 + args.calls
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert main(["gate", "history", "--calls", "2"]) == 42
    with pytest.raises(SystemExit):
        main(["gate", "history", "--help"])
    out = capsys.readouterr().out
    assert out.startswith("What it does.\n\nAll about history.\n\nusage: millrace gate history")


def test_help_teaches_every_exit_code(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["gate", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 70, 129, 130, 143):
        assert f"\n  {code} " in out
