"""examples/ci/action.yml: its steps, run as a runner of actions runs them, on a repository made for
it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.gate.ci.repositories import EXAMPLES, clone, environment, origin_with

TEXT = (EXAMPLES / "action.yml").read_text(encoding="utf-8")
ACTION = yaml.safe_load(TEXT)
EXPRESSION = re.compile(r"\$\{\{\s*(\w+)\.([\w-]+)\s*\}\}")


def run(where: Path, inputs: dict[str, str], **variables: str) -> tuple[int, dict[str, str], str]:
    """Do the steps in a clone. Exit code of the last one, the step's outputs, what it printed."""
    folder = where.parent
    values = {
        name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()
    } | inputs
    code, printed = 0, ""
    for step in ACTION["runs"]["steps"]:
        script, output = folder / "step.sh", folder / "output"
        script.write_text(step["run"], encoding="utf-8")
        output.touch()
        given = {
            name: EXPRESSION.sub(lambda found: values[found[2]], text)
            for name, text in step["env"].items()
        }
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
        job = environment(**files, GITHUB_ACTION_PATH=str(EXAMPLES), **given, **variables)
        command = [
            "bash",
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            str(script),
        ]  # as `shell: bash` is defined
        done = subprocess.run(
            command, cwd=where, env=job, capture_output=True, text=True, check=False
        )
        code, printed = done.returncode, printed + done.stdout + done.stderr
    outputs = dict(
        line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines()
    )
    return code, outputs, printed


@pytest.fixture
def stand_in(tmp_path):
    """A millrace that keeps its arguments, one a line, and ends with $CODE."""
    path = tmp_path / "millrace"
    path.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\nexit "${{CODE:-0}}"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return str(path)


def arguments(folder: Path) -> list[str]:
    return (folder / "arguments").read_text(encoding="utf-8").splitlines()


def test_it_is_a_composite_action_whose_inputs_and_outputs_are_described():
    assert ACTION["runs"]["using"] == "composite"
    assert set(ACTION["inputs"]) >= {
        "base",
        "head",
        "suite",
        "factor",
        "alpha",
        "time-budget",
        "inconclusive",
    }
    assert all(
        entry["description"] for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values())
    )
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


def test_it_uses_nothing_of_others_and_its_example_nothing_at_a_version_that_can_move():
    assert not any("uses" in step for step in ACTION["runs"]["steps"])
    used = re.findall(r"uses:\s*(\S+)", TEXT)
    assert used
    assert all(name.startswith("./") or name.endswith("@COMMIT") for name in used)


def test_no_input_becomes_part_of_a_script():
    assert not any("${{" in step["run"] for step in ACTION["runs"]["steps"])
    known = set(ACTION["inputs"])
    used = {
        found[1]
        for step in ACTION["runs"]["steps"]
        for text in step["env"].values()
        for found in EXPRESSION.findall(text)
    }
    assert used == known


def test_its_example_calls_it_with_inputs_that_it_has():
    commented = "\n".join(
        line.removeprefix("#")[2:] for line in TEXT.splitlines() if line.startswith("#   ")
    )
    workflow = yaml.safe_load(commented)
    (job,) = workflow["jobs"].values()
    (call,) = [step for step in job["steps"] if step.get("uses", "").startswith("./")]
    assert set(call["with"]) <= set(ACTION["inputs"])
    assert workflow["permissions"] == {"contents": "read"}


def test_inputs_that_are_not_given_leave_it_to_the_suite(stand_in, tmp_path):
    origin, fork = origin_with(tmp_path)
    code, outputs, printed = run(clone(origin, "--depth", "1"), {"millrace": stand_in})
    assert (code, outputs) == (0, {"exit-code": "0"}), printed
    assert arguments(tmp_path)[:5] == ["gate", "--base", fork, "--head", "."]
    assert arguments(tmp_path)[-2:] == ["--inconclusive", "pass"]
    for option in ("--suite", "--factor", "--alpha", "--time-budget"):
        assert option not in arguments(tmp_path)


def test_every_input_reaches_the_gate_whatever_is_in_it(stand_in, tmp_path):
    origin, _ = origin_with(tmp_path)
    harm = tmp_path / "harm"
    given = {
        "base": f"$(touch {harm})",
        "head": f"; touch {harm}",
        "suite": "my suite.yaml",
        "factor": "1.03",
        "alpha": "0.02",
        "time-budget": "600",
        "inconclusive": "fail",
        "output": "kept here",
    }
    code, _, printed = run(clone(origin), given | {"millrace": stand_in})
    assert code == 0, printed
    told = arguments(tmp_path)
    for name, value in given.items():
        if name != "output":
            assert told[told.index(f"--{name}") + 1] == value
    assert told[told.index("--json") + 1] == "kept here/verdict.json"
    assert not harm.exists()


@pytest.mark.parametrize("code", [1, 3, 6, 7])
def test_the_step_ends_with_the_gates_exit_code_and_tells_it(stand_in, tmp_path, code):
    origin, _ = origin_with(tmp_path)
    done, outputs, _ = run(clone(origin), {"millrace": stand_in}, CODE=str(code))
    assert done == code
    assert outputs == {"exit-code": str(code)}
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("Gate: ")


@pytest.mark.slow
def test_the_real_gate_judges_a_change_and_writes_the_summary(tmp_path):
    origin, _ = origin_with(tmp_path, ahead=1, number=130)
    path = clone(origin, "--depth", "1")
    inputs = {
        "suite": "suite.yaml",
        "time-budget": "300",
        "millrace": f"{sys.executable} -m harness",
    }
    done, outputs, printed = run(
        path,
        inputs,
        PYTHONPATH=str(EXAMPLES.parents[1]),
        TMPDIR=str(tmp_path),
        MILLRACE_LOCK=str(tmp_path / "millrace.lock"),
    )
    assert done == 1, printed
    assert outputs == {"exit-code": "1"}
    (cell,) = json.loads((path / "gate-results" / "verdict.json").read_text(encoding="utf-8"))[
        "gate"
    ]["cells"]
    assert cell["verdict"] == "regressed"
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "chain" in summary  # a row of the table that the gate itself has written
    assert "Gate: " in summary
