""".ci/run: what the project asks of its own changes, with stand-ins for make and millrace."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.gate.ci.repositories import commit, environment, git

ROOT = Path(__file__).resolve().parents[3]
CLUSTERS = "every_tuple_once and pipeline and not batched and not unchained"
BEFORE = [
    "make lint",
    "make peers",
    "make test",
    f"python -m pytest -q -n 1 -m slow tests/peers/test_peers.py -k {CLUSTERS}",
]
"""Commands before the gate."""


@pytest.fixture
def project(tmp_path):
    """A repository with our .ci/run and a commit; `make` and `millrace` write down how they were
    called.
    """
    path = tmp_path / "project"
    path.mkdir()
    git(path, "init", "--quiet")
    commit(path)
    (path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", path / ".ci" / "run")
    venv = path / ".venv" / "bin"
    for name in (tmp_path / "bin" / "make", venv / "millrace", venv / "python"):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(
            f'#!/bin/sh\necho "{name.name} $@" >> {tmp_path}/called\nexit '
            f'"${{CODE_{name.name}:-0}}"\n'
        )
        name.chmod(0o755)
    return path


def run(project, **codes):
    """Exit code, what was said, and what was called."""
    variables = {f"CODE_{name}": str(code) for name, code in codes.items()}
    path = f"{project.parent}/bin:{environment()['PATH']}"
    command = [str(project / ".ci" / "run")]
    done = subprocess.run(
        command,
        env=environment(PATH=path, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        done.returncode,
        done.stdout,
        (project.parent / "called").read_text(encoding="utf-8").splitlines(),
    )


def test_without_a_tag_there_is_no_gate_and_that_is_said(project):
    code, said, called = run(project)
    assert (code, called) == (0, BEFORE)
    assert said == "gate: no tag is behind this commit, so there is nothing to compare it with\n"


def test_the_last_tag_is_the_base(project):
    git(project, "tag", "v1")
    commit(project)
    git(project, "tag", "v2")
    commit(project)
    code, _, called = run(project)
    assert code == 0
    assert called[len(BEFORE) :] == [
        "millrace gate --base v2 --suite config/gate/short.yaml --inconclusive pass"
    ]


@pytest.mark.parametrize("gate", [0, 1, 2, 4, 5, 6, 7, 70])
def test_whatever_the_gate_does_not_pass_ends_it_and_an_unstable_host_is_asked_twice(project, gate):
    git(project, "tag", "v1")
    code, said, called = run(project, millrace=gate)
    assert code == gate
    assert called[len(BEFORE) :] == [
        "millrace gate --base v1 --suite config/gate/short.yaml --inconclusive pass"
    ] * (2 if gate == 6 else 1)
    assert ("once more" in said) == (gate == 6)


def test_nothing_is_measured_if_a_test_fails(project):
    git(project, "tag", "v1")
    code, _, called = run(project, make=2)
    assert code == 2
    assert called == ["make lint"]
