"""`plot`: from tables on disk to files, and one line for whatever is missing."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from harness.cli import main
from harness.plots.figures import FIGURES
from tests.plots.made_tables import write_all


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A folder with the tables of all figures, which no test changes."""
    folder = tmp_path_factory.mktemp("tables")
    write_all(folder)
    return folder


@pytest.fixture
def tables(complete, tmp_path):
    """A folder with the tables of all figures, for one test."""
    return shutil.copytree(complete, tmp_path, dirs_exist_ok=True)


def plot(figure, folder, *files):
    outputs = (word for file in files for word in ("-o", str(file)))
    return main(["plot", figure, "--tables", str(folder), *outputs])


PANELS = {row.panel: row.name for row in reversed(FIGURES.values())}
"""The first figure of each function that draws. Others of the same function differ in their
experiment, and in options with which `test_style` draws them.
"""


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(name, marks=() if name in PANELS.values() else pytest.mark.slow)
        for name in FIGURES
    ],
)
def test_every_figure_is_drawn(complete, tmp_path, figure):
    file = tmp_path / "new" / f"{figure}.svg"
    assert plot(figure, complete, file) == 0
    assert b"<svg" in file.read_bytes()


def test_a_figure_is_drawn_in_every_format_asked_for(complete, tmp_path):
    files = [tmp_path / f"x.{kind}" for kind in ("png", "svg", "pdf")]
    assert plot("pldi17_fig10", complete, *files) == 0
    png, svg, pdf = (file.read_bytes() for file in files)
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in svg
    assert pdf.startswith(b"%PDF")


def test_only_rows_of_the_figures_experiment_are_drawn(tables, monkeypatch, tmp_path):
    from harness.plots import thread_panels

    seen = []
    draw = thread_panels.figure

    def spy(tables, title, **_options):
        seen.append(tables["throughput"])
        return draw(tables, title)

    monkeypatch.setattr(thread_panels, "figure", spy)
    assert (
        main(["plot", "pldi17_fig10", "--tables", str(tables), "-o", str(tmp_path / "x.svg")]) == 0
    )
    assert set(seen[0]["experiment"]) == {"pldi17_fig10"}


def refusal(capsys, *words):
    assert main(["plot", *map(str, words)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_an_unknown_figure_is_answered_with_the_known_ones(tables, capsys):
    error = refusal(capsys, "fig11", "--tables", tables, "-o", "x.png")
    assert (
        "figure 'fig11' is unknown (did you mean 'mw19_fig11'?); figures are: pldi17_fig9," in error
    )


def test_a_bench_table_that_lacks_columns_is_told_which(tables, capsys, tmp_path):
    pd.DataFrame({"law": ["fixed"], "regret": [0.5]}).to_parquet(
        tables / "saso.parquet" / "part-0.parquet"
    )
    error = refusal(capsys, "saso", "--tables", tables, "-o", tmp_path / "x.png")
    assert (
        "the table saso lacks scenario, held_out, accuracy, settling, overshoot, changes" in error
    )


def test_a_table_of_another_version_is_told_with_what_it_lacks(tables, capsys, tmp_path):
    path = tmp_path / "throughput.parquet"
    pd.read_parquet(path).drop(columns="settled_share").to_parquet(tmp_path / "old.parquet")
    shutil.rmtree(path)
    (tmp_path / "old.parquet").rename(path)
    assert (
        main(["plot", "pldi17_fig9", "--tables", str(tmp_path), "-o", str(tmp_path / "a.png")]) != 0
    )
    assert (
        "has no column 'settled_share'; `millrace aggregate` makes it anew"
        in capsys.readouterr().err
    )


def test_a_missing_table_is_named(tmp_path, capsys):
    assert "no table" in refusal(
        capsys, "crossover", "--tables", tmp_path, "-o", tmp_path / "x.png"
    )


def test_an_empty_table_is_named(tables, capsys, tmp_path):
    for part in (tables / "speedup.parquet").iterdir():
        part.unlink()
    pd.DataFrame({"experiment": pd.Series([], dtype=str)}).to_parquet(
        tables / "speedup.parquet" / "part-0.parquet"
    )
    assert "speedup.parquet is empty" in refusal(
        capsys, "crossover", "--tables", tables, "-o", tmp_path / "x.png"
    )


def test_a_table_without_any_file_is_named(tables, capsys, tmp_path):
    for part in (tables / "speedup.parquet").iterdir():
        part.unlink()
    assert "speedup.parquet" in refusal(
        capsys, "crossover", "--tables", tables, "-o", tmp_path / "x.png"
    )


def test_a_table_without_the_experiment_says_which_it_has(tables, capsys, tmp_path):
    for part in (tables / "throughput.parquet").glob("part-[123].parquet"):
        part.unlink()
    error = refusal(capsys, "pldi17_fig9", "--tables", tables, "-o", tmp_path / "x.png")
    assert "has no rows of the experiment 'pldi17_fig9'; it has: applications, crossover" in error


def test_a_table_that_is_no_parquet_is_named(tables, capsys, tmp_path):
    (tables / "throughput.parquet" / "part-0.parquet").write_text("alien")
    error = refusal(capsys, "crossover", "--tables", tables, "-o", tmp_path / "x.png")
    assert "throughput.parquet cannot be read as Parquet" in error


def test_a_format_that_cannot_be_drawn_is_refused(tables, capsys):
    error = refusal(capsys, "crossover", "--tables", tables, "-o", "x.gif")
    assert "-o must name a file ending in .png, .svg, .pdf, not 'x.gif'" in error
