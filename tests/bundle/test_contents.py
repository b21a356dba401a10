"""Experiments and files of a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bundle import contents as module
from harness.bundle.contents import contents_of
from harness.errors import UserError
from harness.files.places import CONFIG

QUICK = str(CONFIG / "quick.yaml")


def test_an_experiment_of_ones_own_has_its_graph_and_the_modules_that_this_imports(own):
    contents = contents_of(["own.yaml"], QUICK, [])
    assert sorted(map(str, contents.files)) == [
        "config/experiments/own.yaml",
        "config/quick.yaml",
        "my/beside_the_graph.py",
        "my/graph.py",
    ]
    assert contents.words == ["config/experiments/own.yaml", "--config", "config/quick.yaml"]


def test_an_experiment_that_is_simulated_here_is_measured_on_real_threads_there(own):
    (block, _) = contents_of(["own.yaml"], QUICK, []).blocks
    assert not block.place.simulated
    assert [arm.name for arm in block.arms] == ["manual", "dynamic-1"]


def test_figures_have_the_size_that_is_asked_for(own):
    runs = {}
    for size in ("quick", "paper"):
        profile = CONFIG / f"{size}.yaml"
        contents = contents_of(["pldi17_fig9"], str(profile), [])
        assert set(contents.files) == {
            Path(f"config/{size}.yaml"),
            Path("config/experiments/pldi17_fig9.yaml"),
        }
        runs[size] = sum(block.runs for block in contents.blocks)
    assert runs["paper"] > runs["quick"]


def test_further_files_are_those_of_a_folder_however_deep(own):
    (own / "data/deep").mkdir(parents=True)
    (own / "data/deep/words.txt").write_text("one two")
    files = contents_of(["own.yaml"], QUICK, ["data"]).files
    assert files[Path("data/deep/words.txt")] == Path("data/deep/words.txt")


@pytest.mark.parametrize("outside", ["../elsewhere.py", "ABSOLUTE"])
def test_a_graph_outside_the_working_directory_is_refused(own, outside, monkeypatch):
    (own / "inside").mkdir()
    (own / "elsewhere.py").write_text((own / "my/graph.py").read_text())
    (own / "beside_the_graph.py").write_text("PAYLOAD = 64\n")
    named = str(own / "elsewhere.py") if outside == "ABSOLUTE" else outside
    text = (own / "own.yaml").read_text().replace("my/graph.py", named)
    (own / "inside/own.yaml").write_text(text)
    monkeypatch.chdir(own / "inside")
    with pytest.raises(UserError, match="must lie below the working directory"):
        contents_of(["own.yaml"], QUICK, [])


def test_too_many_bytes_are_refused_with_the_largest_file(own, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    (own / "large.bin").write_bytes(bytes(20_000))
    with pytest.raises(UserError, match=r"the largest is large\.bin"):
        contents_of(["own.yaml"], QUICK, ["large.bin"])
