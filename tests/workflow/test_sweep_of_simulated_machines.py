"""`sweep` on simulated machines: which blocks, which variants, and when their records are out of
date.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from harness.cli import main
from harness.measurement import block as measuring
from harness.measurement.records import read_records
from tests.described import describe
from tests.workflow.conftest import sweep, write_profile

CELL = "pipeline,operators=3,cost=1,payload=128"
DIGESTS = {"machine_digest": "0123456789ab", "software_digest": "ba9876543210"}


@pytest.fixture
def asked(here, measured_by_fake, monkeypatch):
    """Return what was asked for; answers say which profiles they are of."""
    describe(monkeypatch)
    answer = measuring.run_in_fresh_process

    def simulate(spec, announce):
        record = answer(spec, announce)
        if spec.simulated:
            record["simulation"] |= DIGESTS
        return record

    monkeypatch.setattr(measuring, "run_once", simulate)
    monkeypatch.setattr(
        measuring, "measuring_lock", lambda notify: pytest.fail("a simulation waited")
    )
    profile(here)
    return measured_by_fake


def profile(folder: Path, **size) -> None:
    experiments = {"one": [sweep("pipeline", operators=3, cost=1)]}
    path = write_profile(
        folder, experiments, [{"model": "manual"}], machine="xeon", duration_s=0.01, repeats=1
    )
    if size:
        file = path.parent / "experiments/one.yaml"
        values = yaml.safe_load(file.read_text())
        values["sizes"]["tiny"] |= size
        file.write_text(yaml.safe_dump(values))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.jsonl"))


def test_a_block_has_the_machine_in_the_name_of_its_file(here, asked, capsys):
    assert main(["sweep"]) == 0
    assert files(here) == [f"xeon~{CELL}.jsonl"]
    assert main(["sweep", "one", "--cell", f"xeon~{CELL}", "-o", "again.jsonl"]) == 0
    (record,), _ = read_records(here / "again.jsonl")
    assert (record["machine"], record["simulated"], record["cell"]) == ("xeon", True, CELL)
    asked.clear()
    assert main(["sweep"]) == 0
    assert not asked


def test_over_the_constants_every_arm_has_its_variants(here, asked, capsys):
    assert main(["sweep", "--over", "constants"]) == 0
    nominal, *points = [dict(spec.constants) for spec in asked]
    assert nominal == {}
    assert len(points) == 16
    assert all(point.keys() == {"atomic.fence", "os.wake_us"} for point in points)
    assert f"one/xeon~{CELL} manual 2 constants varied: " in capsys.readouterr().err
    asked.clear()
    assert main(["sweep"]) == 0
    assert not asked, "more variants than the experiment wants do no harm"
    profile(here, sensitivity=True)
    assert main(["sweep", "--dry-run"]) == 0
    assert "1 repeats and 16 variants (manual); measured" in capsys.readouterr().out


def test_variants_that_are_missing_are_simulated(here, asked):
    assert main(["sweep"]) == 0
    asked.clear()
    profile(here, sensitivity=1)
    assert main(["sweep"]) == 0
    assert len(asked) == 2


def test_another_profile_of_the_machine_makes_records_out_of_date(here, asked, monkeypatch, capsys):
    assert main(["sweep"]) == 0
    asked.clear()
    describe(monkeypatch, digest="fedcba987654")
    assert main(["sweep"]) == 0
    assert len(asked) == 1
    assert "replaced, it was measured under other settings" in capsys.readouterr().err


def test_a_machine_can_be_named_that_the_experiment_does_not(here, asked):
    assert main(["sweep", "--machine", "power8", "--software", "streams-4.2"]) == 0
    assert files(here) == [f"power8+streams-4.2~{CELL}.jsonl"]
    assert [(spec.place.machine, spec.place.software) for spec in asked] == [
        ("power8", "streams-4.2")
    ]


def test_an_experiment_that_is_not_asked_for_may_have_arms_that_cannot_be_simulated(here, asked):
    one, quick = here / "config/experiments/one.yaml", here / "config/quick.yaml"
    values = yaml.safe_load(one.read_text())
    values["sizes"]["tiny"]["arms"] = [{"peer": "go"}]
    one.with_name("two.yaml").write_text(yaml.safe_dump(values))
    listed = yaml.safe_load(quick.read_text())
    quick.write_text(yaml.safe_dump(listed | {"experiments": ["one", "two"]}))
    assert main(["sweep", "one", "--machine", "power8"]) == 0
    assert files(here) == [f"power8~{CELL}.jsonl"]


def test_other_constants_go_to_a_file_of_their_own(here, asked):
    assert main(["sweep", "one", "--set-constant", "atomic.fence=5", "-o", "other"]) == 0
    assert [dict(spec.constants) for spec in asked] == [{"atomic.fence": 5.0}]
    assert [str(path.parent.relative_to(here)) for path in here.rglob("*.jsonl")] == ["other"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--machine", "xeno"],
            "machine 'xeno' is unknown (did you mean 'xeon'?); machines are: local, xeon, power8",
        ),
        (
            ["--set-constant", "atomic.fence=5"],
            "--set-constant needs -o: what the workflow works with has the constants",
        ),
        (
            ["--set-constant", "atomic.fenc=5", "-o", "x"],
            "machine 'xeon' has no constant 'atomic.fenc'",
        ),
        (
            ["--software", "x"],
            "software applies to simulated machines only, not to real threads: 'x'",
        ),
        (
            ["--machine", "local", "--over", "constants"],
            "duration_s: must be 0.05 or more, not 0.01",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(asked, capsys, words, told):
    assert main(["sweep", "one", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error
    assert not asked


def test_nothing_to_vary_is_told(here, asked, capsys):
    write_profile(here, {"one": [sweep("pipeline", operators=3, cost=1)]}, [{"model": "manual"}])
    assert main(["sweep", "one", "--over", "constants"]) == 2
    assert (
        "--over constants needs a simulated block; --machine names a machine to simulate"
        in capsys.readouterr().err
    )
