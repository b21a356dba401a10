"""A sitting of made-up processes; and one in a made-up repository with real git and real processes,
and nothing to build.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric, Program
from harness.gate.suite import Suite
from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates import inject, session
from studies.gate_error_rates.recording import SAMPLES, WorkAmount, read
from studies.gate_error_rates.replay import Injection
from studies.gate_error_rates.session import SessionOptions, sit
from studies.gate_error_rates.study import SAME
from tests.studies.gate_error_rates.made import TREE, Processes, rows, text

ROOT = Path(__file__).resolve().parents[3]
FLOP_HPP = Path("harness/native/flop.hpp")

# hundreds of processes run it, so it is not Python
SCRIPT = """\
grep -q Injected::before_work harness/native/flop.hpp || exit 1
exec awk -v seed=$$ -v extra="$MILLRACE_EXTRA_FLOP" 'BEGIN {
    srand(seed); rand()
    noise = 0.001 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())
    printf "{\\"ns_per_hop\\": %.9f}\\n", 100 * (1 + extra / 1e9) * exp(noise)
}'
"""

ONE, OTHER = (
    Program(name, ("sh", "measure.sh"), (GateCell(name, Metric()),), timeout_s=20)
    for name in ("one", "other")
)
SUITE = Suite("made", (ONE, OTHER), "one", time_budget_s=78.0)
PLACE = Injection("", OTHER, OTHER.cells[0])


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the header that is patched, and a program; the machine's measuring lock is left
    alone.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    project = tmp_path / "project"
    (project / FLOP_HPP.parent).mkdir(parents=True)
    shutil.copy(ROOT / FLOP_HPP, project / FLOP_HPP)
    (project / "measure.sh").write_text(SCRIPT, encoding="utf-8")
    (project / ".gitignore").write_text(".millrace/\n", encoding="utf-8")
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "one"]):
        subprocess.run(["git", "-C", str(project), *words], check=True)
    return project


def options(repository: Path, **changed: object) -> SessionOptions:
    asked = {
        "repository": repository,
        "directory": repository.parent / "recording",
        "disturb": "none",
        "calls": 1,
        "time_budget_s": 2.0,
        "true_calls": 0,
        "seed": 1,
        "show": lambda text: None,
        "note": lambda text: None,
    }
    return SessionOptions(**(asked | changed))


ARMS = [WorkAmount("flop", wanted) for wanted in (1.01, 1.06, 1.2)]


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    """Return what a sitting measures instead of real ones."""
    made = Processes()
    monkeypatch.setattr("harness.gate.sample.take", made)
    monkeypatch.setattr("harness.gate.tree.prepare", lambda *_: {"base": TREE})
    monkeypatch.setattr(inject, "injected_commit", lambda _: "0" * 40)
    monkeypatch.setattr(inject, "is_dirty", lambda _: False)
    monkeypatch.setattr(session, "measuring_lock", lambda _: nullcontext())
    return made


def test_true_calls_are_of_base_against_itself_and_the_arm_nearest_to_five_percent(
    processes: Processes, tmp_path: Path
) -> None:
    made = sit(SUITE, PLACE, ARMS, options(tmp_path / "project", time_budget_s=1e-9, true_calls=1))
    assert {name: [call.exit_code for call in calls] for name, calls in made.items()} == {
        SAME: [Exit.OK],
        "flop 1.06": [Exit.REGRESSED],
    }
    found = read(tmp_path / "recording" / SAMPLES)
    assert set(found.arms) == {arm.name for arm in ARMS}


def test_a_sitting_without_time_records_nothing_and_calls_only_base_against_itself(
    processes: Processes, tmp_path: Path
) -> None:
    asked = options(tmp_path / "project", time_budget_s=0.0)
    assert sit(SUITE, PLACE, ARMS, asked) == {}
    assert processes.asked == []
    made = sit(SUITE, PLACE, ARMS, replace(asked, true_calls=1))
    assert list(made) == [SAME]
    assert {
        settings[name] for _, settings, _ in processes.asked for name in inject.VARIABLES.values()
    } == {"0"}


@pytest.mark.parametrize("disturb", ["none", "half"])
def test_others_are_made_to_disturb_a_sitting_only_if_asked(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disturb: str
) -> None:
    started: list[str] = []

    @contextmanager
    def load() -> Iterator[None]:
        started.append("half")
        yield

    monkeypatch.setattr("studies.gate_error_rates.busy.one_cpu_half_of_the_time", load)
    sit(SUITE, PLACE, ARMS, options(tmp_path / "project", time_budget_s=0.0, disturb=disturb))
    assert started == ([] if disturb == "none" else [disturb])


@pytest.mark.heavy
def test_a_sitting_finds_amounts_records_and_makes_true_calls(repository: Path) -> None:
    made = sit(SUITE, PLACE, [WorkAmount("flop", 1.1)], options(repository, true_calls=1))
    found = read(repository.parent / "recording" / SAMPLES)
    assert found.arms["flop 1.1"].amount == pytest.approx(100_000_000, rel=0.2)
    assert found.rounds
    assert found.about["injected_commit"] == inject.injected_commit(repository)
    (block, *_) = found.blocks("other", "flop 1.1")
    assert max(block.of("other", "base")) < min(block.of("other", "head"))
    same, slower = ([call.exit_code for call in made[arm]] for arm in (SAME, "flop 1.1"))
    # one call in a hundred may find base and base apart
    assert len(same) == 1 and set(same) <= {Exit.OK, Exit.HOST_UNSTABLE}
    assert len(slower) == 1 and set(slower) <= {Exit.REGRESSED, Exit.HOST_UNSTABLE}
    assert all(call.verdicts["other"] is Verdict.REGRESSED for call in made["flop 1.1"])
    status = subprocess.run(
        ["git", "-C", str(repository), "status", "--porcelain"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == ""


@pytest.mark.heavy
def test_a_second_sitting_adds_to_the_recording_what_it_and_another_one_measured_and_only_of_one_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repository.parent / "recording" / SAMPLES
    sit(SUITE, PLACE, [WorkAmount("flop", 1.1)], options(repository, time_budget_s=0.5))
    before = read(path)

    @contextmanager
    def lock(notify: object) -> Iterator[None]:  # while this sitting waits, another one records
        with path.open("a", encoding="utf-8") as file:
            file.write(text(rows(len(before.rounds), "other", "base", base=777.0)))
        yield

    with monkeypatch.context() as patched:
        patched.setattr(session, "measuring_lock", lock)
        sit(SUITE, PLACE, [WorkAmount("flop", 1.1)], options(repository, time_budget_s=0.5))
    after = read(path)
    assert after.arms == before.arms
    assert after.rounds[len(before.rounds)]["other", "base"].of("other", "base") == [777.0, 777.0]
    assert len(after.rounds) > len(before.rounds) + 1

    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(
        ["git", "-C", str(repository), *who, "commit", "--quiet", "--allow-empty", "-m", "two"],
        check=True,
    )
    with pytest.raises(UserError, match="has injected_commit"):
        sit(SUITE, PLACE, [WorkAmount("flop", 1.1)], options(repository, time_budget_s=0.5))


@pytest.mark.heavy
def test_changes_that_are_not_committed_are_told(repository: Path) -> None:
    (repository / "measure.sh").write_text("echo never run\n", encoding="utf-8")
    notes: list[str] = []
    sit(
        SUITE,
        PLACE,
        [WorkAmount("flop", 1.1)],
        options(repository, time_budget_s=0.5, note=notes.append),
    )
    assert any("not committed" in note for note in notes)
