"""`sweep`: which blocks it measures, what it leaves alone, what it says."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import yaml

from harness.cli import figures, main, sweep_progress
from harness.cli import sweep as command
from harness.experiments import up_to_date
from harness.measurement.records import read_records
from tests.workflow.conftest import MANUAL_AND_DYNAMIC, sweep, write_profile

CELLS = ["pipeline,operators=3,cost=1,payload=128", "pipeline,operators=3,cost=10,payload=128"]
ONE = {"one": [sweep("pipeline", operators=3, cost=[1, 10])]}


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.jsonl"))


def test_dry_run_lists_blocks_and_counts_runs_and_measures_nothing(here, measured_by_fake, capsys):
    write_profile(here, ONE | {"two": [sweep("bushy", cost=1)]})
    assert main(["sweep", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == f"one/{CELLS[0]}: 3 arms x 2 repeats (manual, dynamic-1, dynamic-2); about 5 s"
    )
    assert lines[-1] == "3 blocks, 18 runs; to measure: 3 blocks, 18 runs, about 15 s"
    assert len(lines) == 4
    assert not measured_by_fake
    assert not files(here)


def test_dry_run_knows_what_is_measured(here, measured_by_fake, capsys):
    write_profile(here, ONE)
    main(["sweep", "one", "--cell", CELLS[0]])
    main(["sweep", "one", "--dry-run"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("; measured")
    assert lines[-1] == "2 blocks, 12 runs; to measure: 1 blocks, 6 runs, about 5 s"


def write_with_finals(folder: Path) -> None:
    write_profile(folder, ONE)
    size = {"sweeps": ONE["one"], "arms": MANUAL_AND_DYNAMIC, "final_repeats": 4}
    file = folder / "config/experiments/one.yaml"
    file.write_text(yaml.safe_dump({"sizes": {"tiny": size}}))


def test_final_runs_are_counted_estimated_and_up_to_date(here, measured_by_fake, capsys):
    write_with_finals(here)
    assert main(["sweep", "one", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        f"one/{CELLS[0]}: 3 arms x 2 repeats and 4 of the best (manual, dynamic-1, dynamic-2); "
        "about 15 s"
    )
    assert lines[-1] == "2 blocks, 36 runs; to measure: 2 blocks, 36 runs, about 31 s"
    assert main(["sweep", "one"]) == 0
    heads = [line.split()[0] for line in capsys.readouterr().err.splitlines() if line[0] == "["]
    assert (heads[0], heads[-1], len(measured_by_fake)) == ("[1/36]", "[36/36]", 36)
    assert main(["sweep", "one"]) == 0
    assert len(measured_by_fake) == 36, "a block with all its final runs is up to date"
    path = here / f"results/raw/one/{CELLS[0]}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    capsys.readouterr()
    main(["sweep", "one"])
    assert "replaced, it was measured under other settings" in capsys.readouterr().err


@pytest.mark.parametrize("done", [4, 6, 11])
def test_a_block_that_was_interrupted_in_its_final_runs_goes_on(
    here, measured_by_fake, interrupted, capsys, done
):
    write_with_finals(here)
    words = ["sweep", "one", "--cell", CELLS[0], "-o", "block.jsonl"]
    interrupted(done)
    main(words)
    measured_by_fake.clear()
    interrupted(100)
    capsys.readouterr()
    assert main(words) == 0
    assert f"block.jsonl: goes on behind {done} of 18 runs\n" in capsys.readouterr().err
    assert len(measured_by_fake) == 18 - done
    records, _ = read_records(here / "block.jsonl")
    assert [record["order_in_block"] for record in records] == list(range(18))
    assert [record.get("final", False) for record in records] == [False] * 6 + [True] * 12


def test_all_blocks_of_an_experiment_go_to_its_folder(here, measured_by_fake):
    write_profile(here, ONE)
    assert main(["sweep", "one"]) == 0
    assert files(here) == sorted(f"results/raw/one/{cell}.jsonl" for cell in CELLS)
    records, problems = read_records(here / f"results/raw/one/{CELLS[1]}.jsonl")
    assert not problems
    assert {(record["arm"], record["repeat"]) for record in records} == {
        (arm, repeat) for arm in ("manual", "dynamic-1", "dynamic-2") for repeat in (0, 1)
    }
    assert {(record["experiment"], record["cell"]) for record in records} == {("one", CELLS[1])}


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_measured(
    here, measured_by_fake, capsys
):
    write_profile(here, ONE)
    (here / "taken").write_text("a file")
    assert main(["sweep", "one", "-o", "taken"]) == 1
    assert capsys.readouterr().err == "millrace sweep: cannot write into taken: File exists\n"
    assert not measured_by_fake


def test_a_folder_is_left_as_it_was_by_the_question_whether_it_can_be_written_to(
    here, measured_by_fake
):
    write_profile(here, ONE)
    before = {"check": "mine", "x.txt": "mine too"}
    (here / "deep").mkdir()
    for name, text in before.items():
        (here / "deep" / name).write_text(text)
    assert main(["sweep", "one", "--cell", CELLS[0], "-o", "deep/block.jsonl"]) == 0
    assert {
        path.name: path.read_text() for path in (here / "deep").iterdir() if path.suffix != ".jsonl"
    } == before


def test_one_cell_goes_to_the_file_asked_for(here, measured_by_fake):
    write_profile(here, ONE)
    assert main(["sweep", "one", "--cell", CELLS[0], "-o", "deep/block.jsonl"]) == 0
    assert files(here) == ["deep/block.jsonl"]
    assert len(measured_by_fake) == 6


def test_nothing_is_measured_again_under_the_same_settings(here, measured_by_fake):
    write_profile(here, ONE, queue_capacity=256)
    main(["sweep", "one"])
    measured_by_fake.clear()
    assert main(["sweep", "one"]) == 0
    assert measured_by_fake == []


def test_blocks_that_are_there_are_skipped(here, measured_by_fake, capsys):
    write_profile(here, ONE)
    main(["sweep", "one", "--cell", CELLS[0]])
    measured_by_fake.clear()
    assert main(["sweep", "one"]) == 0
    assert {spec.cell for spec in measured_by_fake} == {CELLS[1]}
    assert "1 of 2 blocks are there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("maximum", "period_s", "again"),
    [(4, 0.5, 0), (8, 0.5, 4), (4, 0.25, 4)],
    ids=["the same", "levels", "period"],
)
def test_elastic_blocks_are_measured_again_if_their_law_would_do_otherwise(
    here, measured_by_fake, maximum, period_s, again
):
    experiment = {"one": [sweep("pipeline", operators=3, cost=[1, 10])]}
    write_profile(
        here, experiment, [{"model": "dynamic", "law": "fixed", "maximum": 4}], period_s=0.5
    )
    assert main(["sweep", "one"]) == 0
    assert [
        (getattr(spec.model, "elastic", False), spec.period_s) for spec in measured_by_fake
    ] == [(True, 0.5)] * 4
    measured_by_fake.clear()
    write_profile(
        here,
        experiment,
        [{"model": "dynamic", "law": "fixed", "maximum": maximum}],
        period_s=period_s,
    )
    assert main(["sweep", "one"]) == 0
    assert len(measured_by_fake) == again


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"model": "dynamic", "threads": 2}, {"model": "dynamic", "threads": 4}),
        ({"model": "manual"}, {"model": "dedicated"}),
        ({"model": "dynamic", "law": "fixed"}, {"model": "dynamic", "law": "streams"}),
        (
            {"model": "dynamic", "law": "millrace"},
            {"model": "dynamic", "law": "millrace", "law_settings": {"change": 0.3}},
        ),
    ],
    ids=["threads", "model", "law", "settings"],
)
def test_an_arm_that_is_another_one_under_the_same_name_is_measured_again(
    here, measured_by_fake, before, after
):
    for arm, runs in ((before, 4), (before, 0), (after, 4)):
        write_profile(
            here, {"one": [sweep("pipeline", operators=3, cost=[1, 10])]}, [{"name": "mine", **arm}]
        )
        measured_by_fake.clear()
        assert main(["sweep", "one"]) == 0
        assert len(measured_by_fake) == runs


@pytest.mark.parametrize(
    "change",
    [
        {"repeats": 3},
        {"duration_s": 0.5},
        {"duration_s": 0.12},
        {"warmup": 0.5},
        {"seed": 2},
        {"queue_capacity": 64},
    ],
    ids=str,
)
def test_blocks_of_other_settings_are_measured_again_and_that_is_said(
    here, measured_by_fake, capsys, change
):
    write_profile(here, ONE)
    main(["sweep", "one", "--cell", CELLS[0]])
    measured_by_fake.clear()
    write_profile(here, ONE, **change)
    assert main(["sweep", "one"]) == 0
    assert {spec.cell for spec in measured_by_fake} == set(CELLS)
    assert (
        f"results/raw/one/{CELLS[0]}.jsonl: replaced, it was measured under other settings"
        in capsys.readouterr().err
    )


def cut(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8")[:-100], encoding="utf-8")


def forget_a_run(path: Path) -> None:
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8"
    )


DAMAGES = {
    cut: "is damaged in line 6: not JSON",
    lambda path: path.write_bytes(b"\x00\xff\n"): "is damaged in line 1: not JSON",
    lambda path: path.write_text("[]\n"): "is damaged in line 1: not a JSON object",
    lambda path: path.write_text(
        "{}\n"
    ): "is damaged in line 1: schema_version is None; this version reads",
    lambda path: path.write_text(""): "was measured under other settings",
    forget_a_run: "was measured under other settings",
}


IDS = ["cut", "no text", "a list", "no record", "empty", "a run less"]


@pytest.mark.parametrize(("damage", "why"), DAMAGES.items(), ids=IDS)
def test_a_damaged_block_is_measured_again_by_sweep_and_by_figures(
    here, measured_by_fake, capsys, monkeypatch, damage, why
):
    write_profile(here, {"crossover": ONE["one"]})
    main(["sweep"])
    path = f"results/raw/crossover/{CELLS[0]}.jsonl"
    damage(here / path)
    capsys.readouterr()

    called: list[list[str]] = []
    monkeypatch.setattr(figures, "_snakemake", lambda words: called.append(words) or 0)
    main(["figures", "--dry-run"])
    assert called[0][called[0].index("--forcerun") : called[0].index("--")] == ["--forcerun", path]
    said = capsys.readouterr().err
    counted = "to measure again, since they were measured under other settings: 1 blocks"
    assert (
        f"{path}: measured again, it {why}" if why.startswith("is damaged") else counted
    ) in said
    assert said.count("\n") == 2 and said.splitlines()[-1].startswith("needed: 6 runs, about ")

    measured_by_fake.clear()
    main(["sweep"])
    assert {spec.cell for spec in measured_by_fake} == {CELLS[0]}
    assert f"{path}: replaced, it {why}" in capsys.readouterr().err


def test_records_that_answer_are_not_forced_upon_snakemake(here, measured_by_fake, monkeypatch):
    write_profile(here, {"crossover": ONE["one"]})
    main(["sweep"])
    called: list[list[str]] = []
    monkeypatch.setattr(figures, "_snakemake", lambda words: called.append(words) or 0)
    main(["figures", "--dry-run"])
    assert "--forcerun" not in called[0]


@pytest.mark.parametrize(("changed_s", "runs"), [(-60.0, 0), (60.0, 12)], ids=["older", "newer"])
def test_blocks_older_than_the_code_that_they_depend_on_are_measured_again(
    here, measured_by_fake, capsys, monkeypatch, changed_s, runs
):
    write_profile(here, ONE)
    (here / "models.py").touch()
    monkeypatch.setattr(up_to_date, "of_block", lambda block: {here / "models.py"})
    monkeypatch.setattr(up_to_date, "ROOT", here)
    main(["sweep"])
    measured_by_fake.clear()
    os.utime(here / "models.py", (time.time() + changed_s, time.time() + changed_s))
    capsys.readouterr()
    main(["sweep"])
    assert len(measured_by_fake) == runs
    assert capsys.readouterr().err.count(
        "replaced, it was measured before models.py changed"
    ) == len(CELLS) * (runs > 0)


def test_failed_runs_are_recorded_and_told_and_do_not_end_the_sweep(here, measured_by_fake, capsys):
    write_profile(here, {"one": [sweep("pipeline", operators=3, cost=[13, 1])]})
    assert main(["sweep", "one"]) == 0
    assert len(files(here)) == 2
    error = capsys.readouterr().err
    assert "manual #1: run failed: an operator raised ValueError: unlucky\n" in error
    assert "its traceback" not in error


def test_without_a_terminal_each_run_is_a_line(here, measured_by_fake, capsys):
    write_profile(here, ONE)
    main(["sweep", "one"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    assert [line.split()[0] for line in lines] == [f"[{number}/12]" for number in range(1, 13)]
    assert all("tuples/s, " in line and line.endswith("left") for line in lines)
    assert not any("\r" in line or "\033" in line for line in lines)


def test_nothing_is_written_of_a_block_that_was_interrupted(
    here, measured_by_fake, monkeypatch, capsys
):
    write_profile(here, ONE)

    def interrupt(self, block, record):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep_progress.SweepProgress, "finished", interrupt)
    assert main(["sweep", "one"]) == 130
    assert not files(here)
    assert capsys.readouterr().err.endswith("millrace sweep: interrupted\n")


def test_a_runtime_that_is_not_built_is_told(here, measured_by_fake, monkeypatch, capsys):
    write_profile(here, ONE)
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert main(["sweep", "one"]) == 2
    assert (
        capsys.readouterr().err
        == "millrace sweep: the runtime is not built; `make build` builds it\n"
    )


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["onw"], "no experiment is named 'onw' (did you mean 'one'?); experiments are: one, two"),
        (
            ["one", "--cell", CELLS[0][:-1]],
            f"no cell is named '{CELLS[0][:-1]}' (did you mean '{CELLS[0]}'?)",
        ),
        (["one", "two", "--cell", CELLS[0]], "--cell needs exactly one EXPERIMENT, not 2"),
        (["--cell", CELLS[0]], "--cell needs exactly one EXPERIMENT, not 2"),
        (["one", "two", "-o", "folder"], "-o needs exactly one EXPERIMENT, not 2"),
        (["--config", "none.yaml"], "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_bad_input_is_told_in_one_line(here, measured_by_fake, capsys, words, answer):
    write_profile(here, ONE | {"two": [sweep("bushy", cost=1)]})
    assert main(["sweep", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert answer in error
    assert not measured_by_fake


# -- interrupted blocks ----------------------------------------------------------------------------


@pytest.fixture
def interrupted(monkeypatch, measured_by_fake):
    """`interrupted(n)`: the (n + 1)-th run from now on is interrupted."""
    from harness.measurement import block

    answer = block.run_in_fresh_process

    def after(runs: int) -> None:
        first = len(measured_by_fake)

        def until(spec, announce):
            if len(measured_by_fake) - first >= runs:
                raise KeyboardInterrupt
            return answer(spec, announce=announce)

        monkeypatch.setattr(block, "run_in_fresh_process", until)

    return after


def test_a_block_that_was_interrupted_goes_on_behind_its_last_run(
    here, measured_by_fake, interrupted, capsys
):
    write_profile(here, ONE)
    words = ["sweep", "one", "--cell", CELLS[0], "-o", "block.jsonl"]
    interrupted(4)
    assert main(words) == 130
    assert files(here) == []
    before = [(spec.arm, spec.repeat) for spec in measured_by_fake]
    interrupted(100)
    assert main(words) == 0
    assert "block.jsonl: goes on behind 4 of 6 runs\n" in capsys.readouterr().err
    assert len(measured_by_fake) == 6
    assert sorted(path.name for path in here.glob("block*")) == ["block.jsonl"]
    records, problems = read_records(here / "block.jsonl")
    assert not problems
    assert [(record["arm"], record["repeat"]) for record in records[:4]] == before
    assert sorted(record["order_in_block"] for record in records) == list(range(6))
    assert main(words) == 0
    assert len(measured_by_fake) == 12, (
        "a block that is there is measured again if that is asked for"
    )


def test_a_sweep_that_was_killed_while_it_wrote_repeats_that_run_alone(
    here, measured_by_fake, interrupted
):
    write_profile(here, ONE)
    interrupted(4)
    main(["sweep", "one"])
    path = here / f"results/raw/one/{CELLS[0]}.jsonl.unfinished"
    path.write_bytes(path.read_bytes()[:-20])
    measured_by_fake.clear()
    interrupted(100)
    assert main(["sweep", "one"]) == 0
    assert len(measured_by_fake) == 3 + 6
    assert not list(here.rglob("*.unfinished"))


@pytest.mark.parametrize("change", ["settings", "program", "head"])
def test_runs_of_an_interrupted_block_that_was_another_one_are_made_again(
    here, measured_by_fake, interrupted, monkeypatch, change
):
    write_profile(here, ONE)
    words = ["sweep", "one", "--cell", CELLS[0], "-o", "block.jsonl"]
    interrupted(4)
    main(words)
    if change == "settings":
        write_profile(here, ONE, duration_s=0.2)
    elif change == "program":
        monkeypatch.setattr("harness.measurement.unfinished.commit", lambda: "another one")
    else:
        (here / "block.jsonl.unfinished").write_text("not ours\n")
    measured_by_fake.clear()
    interrupted(100)
    assert main(words) == 0
    assert len(measured_by_fake) == 6
    assert read_records(here / "block.jsonl")[1] == []


def test_a_file_that_cannot_be_written_run_by_run_is_told_in_one_line(
    here, measured_by_fake, capsys
):
    write_profile(here, ONE)
    (here / "block.jsonl.unfinished").mkdir()
    assert main(["sweep", "one", "--cell", CELLS[0], "-o", "block.jsonl"]) == 1
    assert capsys.readouterr().err.endswith(
        "millrace sweep: cannot write block.jsonl.unfinished: Is a directory\n"
    )
    assert not measured_by_fake


def test_an_experiment_that_does_not_fit_a_machine_is_no_matter_to_another_one(here, capsys):
    write_profile(here, {"one": [sweep("pipeline", operators=3, cost=1)]})
    arms = [{"model": "manual"}, {"peer": "storm"}]
    profile = write_profile(here, {"other": [sweep("pipeline", operators=3, cost=1)]}, arms)
    profile.write_text(profile.read_text().replace("- other", "- one\n- other"))
    assert main(["sweep", "one", "--machine", "xeon", "--dry-run"]) == 0
    assert "1 blocks" in capsys.readouterr().out
    assert main(["sweep", "other", "--machine", "xeon", "--dry-run"]) == 2
    assert "must be measured" in capsys.readouterr().err
    assert main(["sweep", "on", "--machine", "xeon", "--dry-run"]) == 2
    assert "did you mean 'one'?; experiments are: one, other" in (
        capsys.readouterr().err.replace("(", "").replace(")", "")
    )
