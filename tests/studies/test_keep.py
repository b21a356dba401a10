"""A kept figure has its tables, its origin and its picture, and can be drawn again."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest
from PIL import Image

from harness.errors import UserError
from harness.experiments.config import load_config
from harness.files.places import CODE, CONFIG
from harness.plots.draw import draw
from harness.plots.figures import FIGURES
from harness.report.kept_study import STUDY, THROUGHPUT
from studies.keep import (
    GALLERY,
    MADE,
    VERDICTS,
    Made,
    keep,
    keep_verdicts,
    listed,
    made_of,
    made_of_bench,
    minutes_of,
)

NAME = "crossover"
RUN = re.compile(r"\(`(python -m studies|millrace run)[^`]+`\)")  # ends a reason
FRONT = "front"  # picture of the README, a part of a kept figure (docs/reference/figures.md)


def record(second: float, **other) -> dict:
    """Part of a record that `keep` reads."""
    return {
        "started_at": f"2026-11-29T20:38:{second:06.3f}+00:00",
        "duration_s": 1.0,
        "warmup_s": 2.0,
        "settled": True,
        "simulated": False,
        "commit": "0123456789abcdef",
        "host": {"cpus_allowed": 2, "cpu_model": "Invented CPU"},
    } | other


def test_the_last_run_of_a_block_counts_as_long_as_the_mean_of_the_others():
    assert minutes_of([record(0), record(10), record(20)]) == pytest.approx(30 / 60)


def test_a_single_run_counts_as_long_as_its_warm_up_and_window():
    assert minutes_of([record(0)]) == pytest.approx(3 / 60)


def test_the_origin_counts_runs_and_names_commits_and_cpus_that_measured():
    simulated = record(30, simulated=True, host={"cpus_allowed": 9, "cpu_model": "Another CPU"})
    blocks = [[record(0), record(10, settled=False)], [simulated]]
    made = made_of(None, blocks)
    assert (made.runs, made.settled) == (3, pytest.approx(2 / 3))
    assert (made.commit, made.cpus) == ("01234567", "2 x Invented CPU")
    assert made.simulated_on == "9 x Another CPU"
    assert made.minutes == pytest.approx((20 + 3) / 60)


def test_a_bench_has_the_rows_of_its_table_and_the_commit_of_the_checkout(monkeypatch):
    monkeypatch.setattr("studies.keep.asked", lambda *_: "0123456789abcdef")
    made = made_of_bench({"saso": pd.DataFrame({"law": ["a", "b", "c"]})})
    assert made == Made(3, None, None, "01234567", "")


def test_the_verdicts_of_kept_tables_are_a_page_and_data_and_the_list_links_them(tmp_path):
    folder = tmp_path / "quick/pldi17_fig9"
    folder.mkdir(parents=True)
    shutil.copy(STUDY / "quick/pldi17_fig9/throughput.parquet", folder)
    keep_verdicts("quick", tmp_path)
    page, data = (tmp_path / "quick" / name for name in VERDICTS)
    assert "### p17-5.1-dedicated-best" in page.read_text(encoding="utf-8")
    results = json.loads(data.read_text(encoding="utf-8"))["results"]
    judged = {each["id"] for each in results if each["verdict"] not in ("no data", "not testable")}
    assert "p17-5.1-dedicated-best" in judged
    assert not any(name.startswith("m19") for name in judged)
    assert "by profile: [quick](quick/claims.md)." in listed(tmp_path)


def test_tables_without_claims_give_no_verdicts(tmp_path):
    (tmp_path / "quick/peers").mkdir(parents=True)
    keep_verdicts("quick", tmp_path)
    assert not (tmp_path / "quick" / VERDICTS[0]).exists()
    assert "verdicts" not in listed(tmp_path)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The quick profile in an empty working directory, with a figure that is made."""
    monkeypatch.chdir(tmp_path)
    config = load_config(str(CONFIG / "quick.yaml"))
    folder = tmp_path / config.tables(NAME)
    folder.mkdir(parents=True)
    for table in FIGURES[NAME].tables:
        rows = pd.DataFrame({"experiment": [NAME], "mean": [1.5], "commit": ["89abcdef0123"]})
        rows.to_parquet(folder / f"{table}.parquet")
    for block in config.experiment(NAME).blocks():
        path = tmp_path / config.records(NAME, block.stem)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record(0)) + "\n" + json.dumps(record(6)) + "\n")
    return config


def test_a_figure_is_kept_with_its_tables_its_picture_and_a_row_of_the_list(config, tmp_path):
    picture = tmp_path / config.figure(NAME, "png")
    picture.parent.mkdir(parents=True)
    Image.new("RGB", (40, 30), "white").save(picture)
    keep(config, NAME, tmp_path / "study", tmp_path / "gallery")
    folder = tmp_path / "study/quick" / NAME
    assert {path.stem for path in folder.glob("*.parquet")} == set(FIGURES[NAME].tables)
    assert pd.read_parquet(folder / f"{THROUGHPUT}.parquet")["mean"].tolist() == [1.5]
    assert Image.open(tmp_path / "gallery" / f"{NAME}.png").size == (40, 30)
    blocks = len(list(config.experiment(NAME).blocks()))
    row = f"| `{NAME}` | quick | {2 * blocks} | 100% | {blocks * 12 / 60:.1f} | 01234567, 89abcdef "
    assert row + "| 2 x Invented CPU |  |" in listed(tmp_path / "study")


def test_the_gallery_shows_the_size_of_the_papers_where_it_is_kept(config, tmp_path):
    picture = tmp_path / config.figure(NAME, "png")
    picture.parent.mkdir(parents=True)
    Image.new("RGB", (40, 30), "white").save(picture)
    larger = tmp_path / "study/paper" / NAME / MADE
    larger.parent.mkdir(parents=True)
    larger.write_text("{}")
    keep(config, NAME, tmp_path / "study", tmp_path / "gallery")
    assert (tmp_path / "study/quick" / NAME / MADE).is_file()
    assert not (tmp_path / "gallery" / f"{NAME}.png").exists()


def test_a_figure_that_is_not_made_is_named_with_the_command_that_makes_it(config, tmp_path):
    with pytest.raises(UserError, match=f"`millrace figures {NAME}` makes it"):
        keep(config, NAME, tmp_path / "study", tmp_path / "gallery")


def test_every_kept_figure_is_in_the_gallery_and_every_picture_of_it_is_kept():
    page = (CODE / "docs/appendices/gallery.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^## `(\w+)`\n\n!\[.*\]\(\.\./\.\./figures/gallery/(\w+)\.png\)$", page, re.M
    )
    kept = {path.parent.name for path in STUDY.glob(f"*/*/{MADE}")}
    assert all(heading == picture for heading, picture in shown)
    assert (
        {heading for heading, _ in shown}
        == kept
        == {path.stem for path in GALLERY.glob("*.png") if path.stem != FRONT}
    )
    assert (STUDY / "README.md").read_text(encoding="utf-8") == listed()


def test_the_gallery_says_which_pictures_have_the_size_of_the_papers():
    page = (CODE / "docs/appendices/gallery.md").read_text(encoding="utf-8")
    said = page.split("In the size of the papers\nare: ")[1].split(". The others")[0]
    assert set(re.findall(r"`(\w+)`", said)) == {
        path.parent.name for path in STUDY.glob(f"paper/*/{MADE}")
    }


def test_kept_verdicts_are_those_of_the_kept_tables(tmp_path):
    """`python -m studies.keep --claims` writes them anew."""
    profiles = {path.parent.parent.name for path in STUDY.glob(f"*/*/{MADE}")}
    assert profiles == {path.parent.name for path in STUDY.glob(f"*/{VERDICTS[0]}")}
    for profile in profiles:
        shutil.copytree(STUDY / profile, tmp_path / profile)
        keep_verdicts(profile, tmp_path)
        for name in VERDICTS:
            own, kept = (folder / profile / name for folder in (tmp_path, STUDY))
            assert own.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), kept


def test_each_kept_verdict_that_is_not_reproduced_has_a_reason_with_the_run_that_shows_it():
    for path in STUDY.glob(f"*/{VERDICTS[1]}"):
        results = json.loads(path.read_text(encoding="utf-8"))["results"]
        failed = [each for each in results if each["verdict"] == "not reproduced"]
        without = [each["id"] for each in failed if not RUN.search(each["why"] or "")]
        assert failed and not without


def test_kept_tables_draw_their_figures_again(tmp_path):
    folder = min(STUDY.glob(f"*/*/{MADE}")).parent
    draw(FIGURES[folder.name], folder, [tmp_path / "again.png"])
    assert (tmp_path / "again.png").stat().st_size > 10_000
