"""The installed package: its commands outside the checkout, without the packages of extras."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest

from harness.cli import COMMANDS
from harness.cli.extras import EXTRAS
from tests.packaging.installed import ROOT, build_wheel, install

pytestmark = pytest.mark.heavy

GRAPH = """\
from harness.graph import Graph

def graph():
    graph = Graph("mine")
    graph.source("source") >> graph.work("work", cost=10) >> graph.sink("sink")
    return graph
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The folder of an environment with the package, and an empty home."""
    folder = tmp_path_factory.mktemp("installed")
    install(build_wheel(folder), folder / "env")
    (folder / "home").mkdir()
    return folder


@pytest.fixture
def call(environment, tmp_path):
    def call(*words: str, code: int | tuple[int, ...] = 0) -> str:
        """Return what `millrace` writes, which ends with this code and never with a traceback."""
        done = subprocess.run(
            [environment / "env/bin/millrace", *words],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(environment / "home"),
                "MILLRACE_LOCK": str(environment / "measuring.lock"),
            },
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in done.stderr
        assert done.returncode in (code if isinstance(code, tuple) else (code,)), done.stderr
        return done.stdout or done.stderr

    return call


def test_a_graph_runs_on_threads_and_on_a_described_machine(call, tmp_path):
    (tmp_path / "mine.py").write_text(GRAPH)
    assert "yes" in call("run", "mine.py", "--model", "dynamic", "--duration", "0.2")
    assert "SIMULATED" in call("run", "mix", "--machine", "xeon", "--duration", "0.001")


def test_a_run_is_watched_as_a_page(call, tmp_path):
    call("watch", "pipeline", "--machine", "xeon", "--duration", "0.01", "--html", "run.html")
    assert (tmp_path / "run.html").stat().st_size > 10_000


def test_machines_are_listed_and_this_one_is_calibrated(call, environment):
    assert "power8" in call("machines")
    call("calibrate", "--quick", "--only", "cores")
    own = environment / "home/.local/share/millrace/config/machines/local.yaml"
    assert own.is_file()
    assert "local" in call("machines", "local")
    call("run", "pipeline", "--machine", "local", "--simulated", "--duration", "0.001")
    call("machines", "mars", code=2)


def test_the_gate_compares_files_of_results(call, tmp_path):
    for name, seconds in (("base", 1.0), ("head", 2.0)):
        times = [seconds + step / 1000 for step in range(20)]
        results = {"results": [{"command": "work", "times": times}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(results))
    told = json.loads(
        call("gate", "--base", "base.json", "--head", "head.json", "--json", "-", code=3)
    )
    assert told["benchmarks"]


@pytest.mark.parametrize("program", [["--", "true"], ["--suite", "suite.yaml"]])
def test_the_gate_compares_trees(call, tmp_path, program):
    (tmp_path / "suite.yaml").write_text("programs:\n  - {name: waits, time: sleep 0.01}\n")
    for name in ("base", "head"):
        (tmp_path / name).mkdir()
    words = ("gate", "--base", "base", "--head", "head", "--json", "-", "--time-budget")
    try:
        told = call(*words, "4", *program, code=(0, 3))
    except AssertionError:  # the machine is too busy for an answer within so little time
        told = call(*words, "100", *program, code=(0, 3))
    told = json.loads(told)
    assert [cell["name"] for cell in told["benchmarks"]]


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (["aggregate", "--records", ".", "--tables", "."], "pyspark"),
        (["plot", "pldi17_fig9", "--tables", ".", "-o", "x.png"], None),
        (["figures", "--dry-run"], "snakemake"),
    ],
)
def test_a_command_that_needs_an_extra_names_it_in_one_line(call, words, package):
    said = call(*words, code=2)
    assert len(said.splitlines()) == 1
    extra = EXTRAS[package] if package else "figures"
    assert f"pip install 'millrace[{extra}]'" in said


ALL_HELP = """
from harness.cli import COMMANDS, main
for command in COMMANDS:
    try:
        main([command, "--help"])
    except SystemExit as end:
        assert end.code == 0
"""


def test_every_command_explains_itself(call, environment, tmp_path):
    words = [environment / "env/bin/python", "-c", ALL_HELP]
    bare = {"PATH": os.environ["PATH"], "HOME": str(environment / "home")}
    done = subprocess.run(words, cwd=tmp_path, env=bare, capture_output=True, text=True, check=True)
    # usage: millrace run ..., or of one that has commands: usage: millrace gate history ...
    told = set(re.findall(r"^usage: millrace ([a-z]+)", done.stdout, re.MULTILINE))
    assert told == COMMANDS.keys()
    assert "usage: millrace run" in call("run", "--help")


def test_the_version_is_that_of_the_wheel_and_the_checkout_is_left_as_it_was(call, environment):
    (wheel,) = environment.glob("*.whl")
    assert call("--version").split()[-1] == wheel.name.split("-")[1]
    assert not (ROOT / "harness" / "built_version.py").exists()


def test_the_public_names_are_in_one_place(environment, tmp_path):
    words = "import millrace; [getattr(millrace, name) for name in millrace.__all__]"
    python = environment / "env/bin/python"
    subprocess.run([python, "-c", words], cwd=tmp_path, check=True)
