"""Records from another machine: read from the archive, and beside those of this machine."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from harness.bundle.brought import folder_of
from harness.cli import main
from harness.errors import UserError
from harness.measurement.records import read_records
from tests.workflow.conftest import here, measured_by_fake, sweep, write_profile  # noqa: F401

ARMS = ("manual", "dynamic-1", "dynamic-2")


def packed(path: Path, files: dict[str, bytes]) -> str:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return str(path)


def test_an_archive_is_a_folder_with_its_records_for_the_time_being(tmp_path):
    files = {"results/raw/a/big/x.jsonl": b"one\n", "results/b.txt": b"no record"}
    with folder_of(packed(tmp_path / "big.tar.gz", files)) as folder:
        found = [path for path in Path(folder).rglob("*") if path.is_file()]
        assert [path.read_bytes() for path in found] == [b"one\n"]
    assert not Path(folder).exists()


def test_any_other_place_is_left_as_it_is():
    for place in ("results/raw", "s3a://bucket/raw"):
        with folder_of(place) as folder:
            assert folder == place


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"../../out.jsonl": b"x"}, "leads out of the archive"),
        ({"/out.jsonl": b"x"}, "leads out of the archive"),
        ({"a.txt": b"x"}, "holds no records"),
        (None, "cannot be unpacked"),
        ("cut", "cannot be unpacked"),
    ],
)
def test_an_archive_of_another_kind_is_refused_in_one_line(tmp_path, files, said):
    path = tmp_path / "a.tar.gz"
    if isinstance(files, dict):
        packed(path, files)
    elif files == "cut":
        packed(path, {"a.jsonl": bytes(range(256)) * 100})
        path.write_bytes(path.read_bytes()[:200])
    else:
        path.write_bytes(b"no archive")
    with pytest.raises(UserError, match=said), folder_of(str(path)):
        pass
    assert not (tmp_path.parent / "out.jsonl").exists()


def test_records_of_a_named_machine_have_its_name_and_a_folder_of_their_own(
    here,  # noqa: F811
    measured_by_fake,  # noqa: F811
    capsys,
):
    write_profile(here, {"one": [sweep("pipeline", operators=3, cost=[1, 10])]})
    assert main(["sweep", "one", "--as", "bigbox"]) == 0
    files = sorted((here / "results/raw/one/bigbox").iterdir())
    assert len(files) == 2
    records = [record for file in files for record in read_records(file)[0]]
    assert {record["machine"] for record in records} == {"bigbox"}
    assert not any(record["simulated"] for record in records)
    measured_by_fake.clear()
    assert main(["sweep", "one", "--as", "bigbox"]) == 0
    assert "2 of 2 blocks are there already" in capsys.readouterr().err
    assert not measured_by_fake


def test_an_experiment_that_is_simulated_is_measured_under_a_name(here, measured_by_fake):  # noqa: F811
    arms = [{"model": "manual"}]
    profile = write_profile(here, {"one": [sweep("pipeline", operators=3, cost=1)]}, arms)
    profile.write_text(profile.read_text() + "machine: xeon\n")
    assert main(["sweep", "one", "--as", "bigbox"]) == 0
    assert [run.place.simulated for run in measured_by_fake] == [False, False]


def test_both_machines_are_drawn_each_with_its_name(here, measured_by_fake, monkeypatch):  # noqa: F811
    from harness.plots import experiment_panels

    size = {"sweeps": [sweep("pipeline", operators=3, cost=[1, 10])], "arms": [{"model": "manual"}]}
    values = {"sizes": {"quick": size | {"repeats": 2, "duration_s": 0.1}}}
    (here / "own.yaml").write_text(json.dumps(values))
    assert main(["sweep", "own.yaml"]) == 0
    assert main(["sweep", "own.yaml", "--as", "bigbox"]) == 0
    drawn = []
    draw = experiment_panels.figure_of_experiment

    def spy(*words):
        drawn.append(draw(*words))
        return drawn[-1]

    monkeypatch.setattr(experiment_panels, "figure_of_experiment", spy)
    assert main(["plot", "own.yaml", "-o", "both.svg"]) == 0
    files = {
        str(path.relative_to(here)): path.read_bytes() for path in here.rglob("bigbox/*.jsonl")
    }
    archive = packed(here / "bigbox.tar.gz", files)
    assert main(["plot", "own.yaml", "--records", archive, "-o", "one.svg"]) == 0
    titles = [[ax.get_title(loc="left") for ax in figure.axes] for figure in drawn]
    assert [len(each) for each in titles] == [2, 1]
    assert [sum("bigbox" in title for title in each) for each in titles] == [1, 1]
