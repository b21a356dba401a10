"""Whatever a measuring process does, its run ends in a record and the process ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.measurement.process import failed_record, run_in_fresh_process
from harness.measurement.records import validate_record
from harness.measurement.spec import Run, run_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = run_of("pipeline", {"operators": 3}, "manual", duration_s=0.1)

pytestmark = pytest.mark.heavy


def child(code: str) -> list[str]:
    """A command that plays the measuring process; `phases` is the descriptor of its end of the
    pipe.
    """
    return [
        sys.executable,
        "-c",
        "import os, sys, time, signal, json\nphases = int(sys.argv[3])\n" + textwrap.dedent(code),
    ]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("print('not a record')", "no record but b'not a record"),
        ("print('{\"half\": ')", "no record"),
        ("print('[' * 100000)", "no record"),
        ("print('[]')", "no record"),
        ("print('{}')", "a record that breaks its schema: schema_version"),
        ("pass", "no record but b''"),
        ("raise ValueError('no such thing')", "exit code 1 (ValueError: no such thing)"),
        ("sys.exit('a tidy end')", "exit code 1 (a tidy end)"),
    ],
)
def test_a_child_that_fails_leaves_a_failed_record(code, words):
    record = run_in_fresh_process(SPEC, command=child(code))
    validate_record(record)
    assert not record["correct"]
    assert words in record["error"].splitlines()[0]
    assert record["cell"].startswith("pipeline,operators=3,")


def test_a_child_that_cannot_be_started_leaves_a_failed_record():
    record = run_in_fresh_process(SPEC, command=["/no/such/python"])
    assert "could not be started" in record["error"]


def test_what_is_called_harness_where_the_user_is_is_not_what_measures(tmp_path, monkeypatch):
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("raise ImportError('another checkout')")
    monkeypatch.chdir(tmp_path)
    record = run_in_fresh_process(SPEC)
    assert record["error"] is None and record["correct"]


def test_a_child_that_hangs_is_killed_after_the_time_allowed():
    hanging = child("print('going', file=sys.stderr, flush=True); time.sleep(500)")
    for allowed_s in (0.5, 5, 50):  # on a busy machine it may take long until it prints
        record = run_in_fresh_process(SPEC, allowed_s, command=hanging)
        if "(going)" in record["error"]:
            break
    validate_record(record)
    assert f"killed after {allowed_s} s without an answer (going)" in record["error"]


def test_the_time_allowed_is_generous_and_bounded_runs_have_no_end():
    assert SPEC.timeout_s == pytest.approx(40 + 5 + 60), "a graph may be elastic by itself"
    assert run_of("pipeline", {}, "manual", tuples=5).timeout_s is None


def test_phases_are_announced_and_the_spec_arrives_whole():
    phases: list[str] = []
    code = """
        os.write(phases, b"warming up\\nmeasuring\\n")
        print("got", sys.stdin.read(), file=sys.stderr)
        sys.exit(3)
    """
    record = run_in_fresh_process(SPEC, announce=phases.append, command=child(code))
    assert phases == ["warming up", "measuring"]
    assert record["error"].endswith("got " + SPEC.to_json())


def test_a_good_childs_record_is_taken_and_what_it_says_is_passed_on(capfd):
    good = failed_record(SPEC, "as planned")
    code = f"print('by the way', file=sys.stderr); print({json.dumps(json.dumps(good))})"
    assert run_in_fresh_process(SPEC, command=child(code)) == good
    assert capfd.readouterr().err == "by the way\n"


PARENT = """
import sys
sys.path.insert(0, {root!r})
from harness.measurement.process import CHILD_COMMAND, run_in_fresh_process
from harness.measurement.spec import Run, run_of
code = '''
import os, sys, time
print(os.getpid(), file=open({pid_file!r} + "~", "w"), flush=True)
os.rename({pid_file!r} + "~", {pid_file!r})
from harness.measurement.child import main
main(sys.argv[1:])
'''
run_in_fresh_process(run_of("pipeline", {parameters}, {model!r}, tuples=10**12), command=[sys.executable, "-c", code])
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.usefixtures("signals_heeded")
def test_no_measuring_process_outlives_the_one_that_started_it(tmp_path, how):
    parent, measuring = started(tmp_path, {"operators": 3}, "manual")
    try:
        parent.send_signal(how)
        parent.wait(100)
        assert wait_for(lambda: not is_alive(measuring))
    finally:
        parent.kill()
        parent.wait()


def test_it_ends_with_the_one_that_started_it_while_it_still_makes_thousands_of_threads(tmp_path):
    parent, measuring = started(tmp_path, {"operators": 3000}, "dedicated")
    try:
        assert wait_for(lambda: len(list(Path(f"/proc/{measuring}/task").iterdir())) > 300)
        os.kill(
            measuring, signal.SIGSTOP
        )  # as on a CPU for which thousands wait: it gets no turn in which it could end itself
        parent.kill()
        parent.wait(100)
        assert wait_for(lambda: not is_alive(measuring))
    finally:
        parent.kill()
        parent.wait()


def started(tmp_path, parameters, model):
    """A process that has one run measured, for ever, and the number of the measuring process."""
    pid_file = tmp_path / "pid"
    code = PARENT.format(root=str(ROOT), pid_file=str(pid_file), parameters=parameters, model=model)
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, cwd=ROOT)
    assert wait_for(pid_file.exists), "the child has started"
    return parent, int(pid_file.read_text())


def wait_for(condition, limit_s: float = 100.0) -> bool:
    """Return True if the condition came true within the limit."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_alive(pid: int) -> bool:
    """Return True if a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def ask_child(code: str, spec: Run) -> subprocess.CompletedProcess[str]:
    """The answer of the real child to a spec, after `code` has prepared it."""
    code = (
        f"import os, sys\nfrom harness.measurement import child, run\n{code}\n"
        "sys.exit(child.main([]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code], input=spec.to_json(), capture_output=True, text=True, cwd=ROOT
    )


def test_what_an_operator_prints_does_not_mix_with_the_record():
    noisy = (
        "run.measure = lambda made, announce: print('noise') or os.write(1, b'more ') and "
        "{'arm': made.run.model.name}"
    )
    done = ask_child(noisy, SPEC)
    assert (done.returncode, done.stdout) == (0, '{"arm": "manual"}\n')
    assert sorted(done.stderr.split()) == ["more", "noise"]


def test_a_spec_that_cannot_be_run_is_the_childs_exit_code_2_and_one_line():
    done = ask_child("", run_of("circle", {}, "manual"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "circle" in done.stderr


def test_a_law_has_no_threads_of_a_numerical_library_whatever_the_caller_exports():
    code = """
        import os, sys
        from harness.measurement import child
        child.main([])
        print("numpy" in sys.modules, os.environ["OPENBLAS_NUM_THREADS"], file=sys.stderr)
    """
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    words = [sys.executable, "-c", textwrap.dedent(code)]
    asked = run_of("nonesuch", {}, "manual").to_json()
    done = subprocess.run(
        words, input=asked, cwd=ROOT, capture_output=True, text=True, env=settings, check=True
    )
    assert done.stderr.splitlines()[-1] == "False 1"


def test_a_measuring_process_loads_nothing_heavy():
    code = """
        import sys
        from harness.measurement import child, run
        heavy = {"jsonschema", "numpy", "pandas", "matplotlib", "pyspark", "yaml", "snakemake", "argparse"}
        print(sorted(heavy & sys.modules.keys()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
