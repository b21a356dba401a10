"""examples/ci/workflow.yml: its syntax, and that what it calls exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from harness.cli import OneLineParser, gate
from tests.gate.ci.repositories import EXAMPLES

PATH = EXAMPLES / "workflow.yml"
TEXT = PATH.read_text(encoding="utf-8")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
KEYS = {
    "workflow": {"name", "on", "permissions", "concurrency", "jobs"},
    "job": {"runs-on", "timeout-minutes", "steps"},
    "step": {"name", "if", "uses", "with", "env", "run"},
}


@pytest.fixture(scope="module")
def workflow():
    """The file as GitHub reads it: `on` is a text there, and true in YAML 1.1."""
    found = yaml.safe_load(TEXT)
    return {"on" if key is True else key: value for key, value in found.items()}


def test_it_has_the_keys_of_a_workflow_and_no_others(workflow):
    assert set(workflow) == KEYS["workflow"]
    assert workflow["on"] == "pull_request"
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert set(job) == KEYS["job"]
        assert isinstance(job["timeout-minutes"], int)
        assert job["steps"]


def test_each_step_uses_an_action_or_runs_a_script(workflow):
    for step in workflow["jobs"]["gate"]["steps"]:
        assert set(step) <= KEYS["step"]
        assert ("uses" in step) != ("run" in step)
        assert ("with" in step) <= ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+", step["uses"])
        assert all(isinstance(each, str | int) for each in step.get("with", {}).values())
        assert all(isinstance(each, str) for each in step.get("env", {}).values())


def test_expressions_reach_no_script(workflow):
    """A branch may have a name that a shell would execute."""
    assert all(each.startswith("github.") for each in EXPRESSION.findall(TEXT))
    assert not any("${{" in step.get("run", "") for step in workflow["jobs"]["gate"]["steps"])


def test_its_scripts_are_bash_and_its_command_is_one_of_the_gate(workflow):
    steps = [step for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    for step in steps:
        subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
    words = shlex.split(steps[-1]["run"].partition("millrace gate ")[2].replace("\\\n", " "))
    parser = OneLineParser(prog="millrace gate")
    gate.add_arguments(parser)
    args = parser.parse_args(words[: words.index("--")])
    assert (args.base, args.head, args.metric) == (["HEAD^1"], ["HEAD"], ["wall_s", "cpu_s"])
    assert words[words.index("--") + 1 :] == ["${command[@]}"]


def test_what_a_stranger_must_change_is_marked(workflow):
    marked = [line for line in TEXT.splitlines() if "# yours" in line]
    assert [line.strip().partition(":")[0] for line in marked] == ["SOURCE", "BUILD", "COMMAND"]


def installs(script: str, source: str, folder: Path) -> tuple[int, str]:
    """Run the step with a pip that prints its words; return its exit code and output."""
    pip = folder / "pip"
    pip.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n", encoding="utf-8")
    pip.chmod(0o755)
    environment = {"SOURCE": source, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_the_place_of_millrace_is_explained_and_each_form_is_installed(workflow, tmp_path):
    (step,) = [s for s in workflow["jobs"]["gate"]["steps"] if "SOURCE" in s.get("env", {})]
    code, said = installs(step["run"], step["env"]["SOURCE"], tmp_path)
    assert code == 2 and "::error::write into SOURCE" in said
    forms = re.findall(r"^ +#   (\S+)  ", TEXT, re.M)
    assert len(forms) == 3
    for form in forms:
        wanted = f"millrace @ {form}" if "://" in form else form
        assert installs(step["run"], form, tmp_path) == (0, f"install|{wanted}|")


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="needs actionlint")
def test_actionlint_finds_nothing():
    subprocess.run(["actionlint", str(PATH)], check=True)
