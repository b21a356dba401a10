""".ci/run: what the project asks of its own changes, with stand-ins for make and millrace."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.peers import all_peers
from tests.gate.ci.repositories import commit, environment, git
from tests.peers.built import is_cluster

ROOT = Path(__file__).resolve().parents[3]
BEFORE = ["make lint", "make peers", "make test", "make test-peers"]
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


@pytest.mark.parametrize("fails", BEFORE)
def test_what_fails_before_the_gate_ends_it(project, fails):
    """Also a peer whose tools are here, and which could not be built."""
    make = project.parent / "bin" / "make"
    make.write_text(
        f'#!/bin/sh\necho "make $@" >> {project.parent}/called\n[ "make $1" != "{fails}" ]\n'
    )
    git(project, "tag", "v1")
    code, _, called = run(project)
    assert code == 1
    again = [fails] if fails == "make peers" else []  # a registry may fail for a moment
    assert called == BEFORE[: BEFORE.index(fails) + 1] + again


def test_a_release_passes_the_tests_of_the_peers_too():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    words = [step["run"] for step in steps["jobs"]["release"]["steps"] if "run" in step]
    assert words[:4] == ["make peers", "make test", "make test-peers", "make dist"]


@pytest.mark.heavy
def test_of_each_cluster_a_test_is_chosen():
    text = (ROOT / "Makefile").read_text("utf-8")
    (chosen,) = re.findall(r"^CLUSTERS := (.*)$", text, re.M)
    words = ["--collect-only", "-q", "-p", "no:cacheprovider", "-m", "slow", "-k", chosen]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "tests/peers/test_peers.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    clusters = {each.folder.name for each in all_peers().values() if is_cluster(each)}
    assert clusters >= {"storm", "flink"}
    assert {each for each in clusters if f"[{each}-pipeline]" in done.stdout} == clusters


def test_nothing_is_measured_if_a_test_fails(project):
    git(project, "tag", "v1")
    code, _, called = run(project, make=2)
    assert code == 2
    assert called == ["make lint"]
