"""examples/ci/gate.sh: it finds the base in every kind of clone, keeps the reports, and says what
an exit code means.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.ci.repositories import EXAMPLES, clone, commit, environment, git, origin_with

STAND_IN = """\
#!/bin/sh
# In the place of millrace: keeps its arguments, writes the reports, and ends as it is told.
printf '%s\\n' "$@" > "$ARGUMENTS"
while [ $# -gt 0 ]; do
    case $1 in --json | --report | --junitxml) echo "### Gate: ${VERDICT:-OK: fine}" > "$2" ;; esac
    shift
done
exit "${CODE:-0}"
"""


class Job:
    """A job of a CI with a stand-in for millrace; `arguments` are those that it was called with."""

    def __init__(self, folder: Path) -> None:
        self.stand_in = folder / "bin" / "millrace"
        self.stand_in.parent.mkdir()
        self.stand_in.write_text(STAND_IN, encoding="utf-8")
        self.stand_in.chmod(0o755)
        self.kept = folder / "arguments"

    def __call__(
        self, where: Path, *options: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Call the script in a clone."""
        path = f"{self.stand_in.parent}:{environment()['PATH']}"
        job = environment(PATH=path, ARGUMENTS=str(self.kept), **variables)
        command = [str(EXAMPLES / "gate.sh"), *options]
        return subprocess.run(
            command, cwd=where, env=job, capture_output=True, text=True, check=False
        )

    @property
    def arguments(self) -> list[str]:
        return self.kept.read_text(encoding="utf-8").splitlines()

    @property
    def base(self) -> str:
        return self.arguments[self.arguments.index("--base") + 1]


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_the_base_is_where_the_branch_left_main_not_what_main_is_now(job, tmp_path):
    origin, fork = origin_with(tmp_path, ahead=3)
    assert job(clone(origin)).returncode == 0
    assert job.base == fork


@pytest.mark.parametrize(("behind", "ahead"), [(0, 0), (1, 3), (60, 60)])
def test_a_shallow_clone_is_deepened_until_there_is_a_base(job, tmp_path, behind, ahead):
    origin, fork = origin_with(tmp_path, ahead=ahead, behind=behind)
    shallow = clone(origin, "--depth", "1")
    done = job(shallow)
    assert done.returncode == 0, done.stderr
    assert job.base == fork


def test_a_server_that_refuses_single_commits_is_asked_for_everything(job, tmp_path):
    origin, fork = origin_with(tmp_path, behind=2)
    shallow = clone(origin, "--depth", "1")
    git(origin, "checkout", "--quiet", "main")
    git(shallow, "config", "protocol.version", "0")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "false")
    commit(shallow)  # a commit that the server does not have
    done = job(shallow)
    assert done.returncode == 0, done.stderr
    assert job.base == fork


def test_a_merge_of_branch_and_main_is_compared_with_main(job, tmp_path):
    origin, _ = origin_with(tmp_path, ahead=2)
    git(origin, "checkout", "--quiet", "-b", "merged", "main")
    git(origin, "merge", "--quiet", "--no-ff", "--strategy", "ours", "-m", "merge", "change")
    assert job(clone(origin, "--depth", "1", branch="merged")).returncode == 0
    assert job.base == git(origin, "rev-parse", "main")


@pytest.mark.parametrize("options", [(), ("--depth", "1")])
def test_main_itself_is_compared_with_the_commit_before(job, tmp_path, options):
    origin, fork = origin_with(tmp_path, ahead=1)
    assert job(clone(origin, *options, branch="main")).returncode == 0
    assert job.base == fork


def test_a_given_base_is_taken_as_it_is_without_asking_the_remote(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    path = clone(origin)
    git(path, "remote", "remove", "origin")
    assert job(path, GATE_BASE="v1.4", GATE_HEAD="HEAD").returncode == 0
    assert job.base == "v1.4"
    assert job.arguments[job.arguments.index("--head") + 1] == "HEAD"


def test_call_that_decided_nothing_is_not_said_to_have_passed(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    done = job(clone(origin), "--inconclusive", "pass", VERDICT="INCONCLUSIVE: cannot tell a")
    assert done.returncode == 0
    assert "UNDECIDED" in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.parametrize("variables", [{"GATE_MAIN": "trunk"}, {"GATE_REMOTE": "upstream"}])
def test_without_a_base_nothing_is_compared_and_that_is_no_pass(job, tmp_path, variables):
    origin, _ = origin_with(tmp_path)
    done = job(clone(origin), **variables)
    assert done.returncode == 4
    assert "set GATE_BASE" in done.stderr
    assert "NO BASE" in done.stdout
    assert not job.kept.exists()


def test_the_first_commit_of_all_has_no_base(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    git(origin, "checkout", "--quiet", "--orphan", "new")
    commit(origin)
    git(origin, "branch", "--force", "main", "new")
    assert job(clone(origin, branch="main")).returncode == 4


def test_options_are_passed_on_as_they_are(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    assert job(clone(origin), "--suite", "my suite.yaml", "--inconclusive", "pass").returncode == 0
    assert job.arguments[0] == "gate"
    assert job.arguments[-4:] == ["--suite", "my suite.yaml", "--inconclusive", "pass"]


@pytest.mark.parametrize("code", [0, 1])
def test_reports_are_kept_also_if_the_gate_says_no(job, tmp_path, code):
    origin, _ = origin_with(tmp_path)
    path = clone(origin)
    assert job(path, GATE_OUT="out/here", CODE=str(code)).returncode == code
    kept = sorted(file.name for file in (path / "out" / "here").glob("[!.]*"))
    assert git(path, "status", "--porcelain") == ""
    assert kept == ["verdict.json", "verdict.md", "verdict.xml"]


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (0, "passed"),
        (1, "REGRESSED"),
        (2, "wrong use"),
        (3, "INCONCLUSIVE"),
        (4, "NO BASE"),
        (5, "NOT MEASURED"),
        (6, "HOST UNSTABLE"),
        (7, "WRONG RESULTS"),
        (70, "the gate itself failed, with exit code 70"),
        (130, "interrupted"),
        (143, "interrupted"),
    ],
)
def test_every_exit_code_is_kept_and_said_in_words_also_in_the_summary(job, tmp_path, code, word):
    origin, _ = origin_with(tmp_path)
    summary = tmp_path / "summary.md"
    done = job(clone(origin), CODE=str(code), GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == code
    assert f"gate: {word}" in done.stdout
    assert summary.read_text(encoding="utf-8").startswith(f"Gate: {word}")


def test_reports_that_have_no_place_are_no_regression(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    done = job(clone(origin), GATE_OUT="suite.yaml/out")  # below a file
    assert done.returncode == 70
    assert "the gate itself failed, with exit code 70" in done.stdout
    assert not job.kept.exists()


def test_a_summary_that_cannot_be_written_does_not_change_the_exit_code(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    done = job(clone(origin), CODE="3", GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "summary.md"))
    assert done.returncode == 3
    assert "gate: INCONCLUSIVE" in done.stdout


def test_a_millrace_that_is_not_there_is_no_pass(job, tmp_path):
    origin, _ = origin_with(tmp_path)
    done = job(clone(origin), MILLRACE="no-such-command")
    assert done.returncode == 127
    assert "the gate itself failed" in done.stdout


# -- the real gate ---------------------------------------------------------------------------------


@pytest.fixture
def real(job, tmp_path):
    """The script with the real gate. Its lock is its own: programs answer numbers that are made up,
    so nothing is measured.
    """
    millrace = {
        "MILLRACE": f"{sys.executable} -m harness",
        "PYTHONPATH": str(EXAMPLES.parents[1]),
        "TMPDIR": str(tmp_path),
        "MILLRACE_LOCK": str(tmp_path / "millrace.lock"),
    }

    def run(where: Path, *options: str) -> subprocess.CompletedProcess[str]:
        words = ("--suite", "suite.yaml", "--seed", "7", "--time-budget", "300")
        return job(where, *words, *options, **millrace)

    return run


def cell(path: Path) -> dict:
    (only,) = json.loads((path / "gate-results" / "verdict.json").read_text(encoding="utf-8"))[
        "gate"
    ]["cells"]
    return only


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("number", "correct", "code", "verdict"),
    [(100, True, 0, "ok"), (100, False, 7, "wrong results")],  # regressed: test_action.py
)
def test_a_change_is_judged_by_what_its_programs_answer(
    real, tmp_path, number, correct, code, verdict
):
    origin, fork = origin_with(tmp_path, ahead=1, number=number, correct=correct)
    path = clone(origin, "--depth", "1")
    done = real(path)
    assert done.returncode == code, done.stdout + done.stderr
    assert cell(path)["verdict"] == verdict
    assert (
        json.loads((path / "gate-results" / "verdict.json").read_text(encoding="utf-8"))["gate"][
            "base"
        ]["commit"]
        == fork
    )
    assert "chain" in (path / "gate-results" / "verdict.md").read_text(encoding="utf-8")
    assert "<testsuite" in (path / "gate-results" / "verdict.xml").read_text(encoding="utf-8")


@pytest.mark.heavy
def test_a_suite_that_is_missing_is_wrong_use(real, tmp_path):
    origin, _ = origin_with(tmp_path)
    path = clone(origin)
    (path / "suite.yaml").unlink()
    done = real(path)
    assert done.returncode == 2
    assert "gate: wrong use" in done.stdout
