"""`plot`: from tables on disk to files, and one line for whatever is missing."""

from __future__ import annotations

import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.cli import main
from harness.plots import FIGURES
from tests.plots.made_tables import (
    arm_row,
    balanced_rows,
    bench,
    contest,
    elastic_row,
    frame,
    latency_row,
    peer_row,
    period_rows,
    placement_bench,
    ratio_row,
    scaling,
)


@pytest.fixture
def tables(tmp_path):
    """A folder with the tables of all figures, in several files each, as Spark writes them."""
    throughput, speedup = contest({"pipeline": ([1, 100], [128])})
    fig9 = scaling("pldi17_fig9", {"pipeline": [1], "data-parallel": [1]}, [1, 2])
    fig10 = scaling("pldi17_fig10", {"mix": [1]}, [1, 2])
    fig11 = elastic_row("pldi17_fig11", "mix", 1, 1e6, 2.0)
    levels = scaling("elastic_levels", {"bushy": [1]}, [1, 2])
    found = elastic_row("elastic_levels", "bushy", 1, 1e5, 1.2)
    balancing = [arm_row(f"elb_{load}", "load-balance", 1, "manual", 1e6) for load in ("cost", "bursty_cost", "bursty_rate")]
    lengths = {"cycle": 100, "burst": 500, "silence": 500}
    beside = [arm_row("peers", "mix", 1, "manual", 1e6), peer_row("peers", "mix", 1, "go 1.26.8", 4e5)]
    names = ["multilevel", "applications", *(f"mw19_fig{number}" for number in (1, 6, 9, 10, 11, 12, 13, 14, 15))]
    multilevel = [elastic_row(name, "pipeline", 100, 1e5, 2.0) for name in names]
    multilevel = [
        row | {"model": "multilevel", "arm": "multilevel", "width": 50.0, "depth": 4.0, "queued": 7.0, "places": 50.0}
        for row in multilevel
    ]
    policies = [
        arm_row(f"cstream_{name}", "chain", 100, "coroutine", 1e3, threads=2, policy="random", submitted_mean=1.3e4)
        | {"submitted_lo": 1e4, "submitted_hi": 1.5e4}
        for name in ("fig4", "fig6", "fig7", "fig8", "fig12", "fig13", "policies")
    ]
    for row in policies:
        row["width"] = 12.0
    adaptation = [elastic_row(f"cstream_fig{n}", "chain", 100, 1e3, 2.0, law="cstream") | {"replicas": 2.0} for n in (9, 10)]
    adaptation.append(elastic_row("cstream_fig11", "replicated", 100, 1e3, 2.0) | {"arm": "coroutine-elastic-utilisation-0.90"})
    series = [period_rows(fig11, [1, 2]), *(balanced_rows(row, [1, 2], [50.0, 60.0], **lengths) for row in balancing)]
    series += [period_rows(row, [1, 2], arm="multilevel", parameters='{"phase": "1000"}') for row in multilevel]
    series += [period_rows(row, [1, 2], arm=row["arm"]) for row in adaptation]
    parts_of = {
        "throughput": [
            *(throughput, fig9, fig10, levels, frame([fig11, found, *balancing]), frame(multilevel), frame(beside)),
            frame([*policies, *adaptation]),
        ],
        "speedup": [
            speedup,
            frame([ratio_row(found, 0.98, 0.95, 1.01)]),
            frame([ratio_row(row, 1.5, 1.2, 1.9, "manual") for row in multilevel]),
        ],
        "timeline": list(map(pd.DataFrame, series)),
        "latency": [frame([latency_row(row, 1e6) for row in [*beside, *policies]])],
        "saso": [bench({"millrace": 0.1, "fixed": 1.0})],
        "saso_placement": [placement_bench({"millrace": 0.1, "manual": 1.0})],
    }
    for name, parts in parts_of.items():
        folder = tmp_path / f"{name}.parquet"
        folder.mkdir()
        schemas = [pa.Schema.from_pandas(part, preserve_index=False) for part in parts]
        schema = pa.unify_schemas(schemas, promote_options="permissive")  # Spark gives all parts the same
        for number, part in enumerate(parts):
            rows = pa.Table.from_pandas(part.reindex(columns=schema.names), schema, preserve_index=False)
            pq.write_table(rows, folder / f"part-{number}.parquet")
        (folder / "_SUCCESS").touch()
    return tmp_path


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_drawn_in_every_format_asked_for(tables, tmp_path, figure):
    files = [tmp_path / "new" / f"{figure}.{kind}" for kind in ("png", "svg", "pdf")]
    assert main(["plot", figure, "--tables", str(tables), *(word for file in files for word in ("-o", str(file)))]) == 0
    png, svg, pdf = (file.read_bytes() for file in files)
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in svg
    assert pdf.startswith(b"%PDF")


def test_only_rows_of_the_figures_experiment_are_drawn(tables, monkeypatch, tmp_path):
    from harness.plots import pldi17_fig10

    seen = []
    draw = pldi17_fig10.figure
    monkeypatch.setattr(pldi17_fig10, "figure", lambda given: seen.append(given["throughput"]) or draw(given))
    assert main(["plot", "pldi17_fig10", "--tables", str(tables), "-o", str(tmp_path / "x.svg")]) == 0
    assert set(seen[0]["experiment"]) == {"pldi17_fig10"}


def refusal(capsys, *words):
    assert main(["plot", *map(str, words)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_an_unknown_figure_is_answered_with_the_known_ones(tables, capsys):
    error = refusal(capsys, "fig11", "--tables", tables, "-o", "x.png")
    assert "figure 'fig11' is unknown; figures are: pldi17_fig9, pldi17_fig10, pldi17_fig11, elb_cost," in error


def test_a_bench_table_that_lacks_columns_is_told_which(tables, capsys, tmp_path):
    pd.DataFrame({"law": ["fixed"], "regret": [0.5]}).to_parquet(tables / "saso.parquet" / "part-0.parquet")
    error = refusal(capsys, "saso", "--tables", tables, "-o", tmp_path / "x.png")
    assert "the table saso lacks scenario, held_out, accuracy, settling, overshoot, changes" in error


def test_a_table_of_another_version_is_told_with_what_it_lacks(tables, capsys, tmp_path):
    path = tmp_path / "throughput.parquet"
    pd.read_parquet(path).drop(columns="settled_share").to_parquet(tmp_path / "old.parquet")
    shutil.rmtree(path)
    (tmp_path / "old.parquet").rename(path)
    assert main(["plot", "pldi17_fig9", "--tables", str(tmp_path), "-o", str(tmp_path / "a.png")]) != 0
    assert "has no column 'settled_share'; `millrace aggregate` makes it anew" in capsys.readouterr().err


def test_a_missing_table_is_named(tmp_path, capsys):
    assert "no table" in refusal(capsys, "crossover", "--tables", tmp_path, "-o", tmp_path / "x.png")


def test_an_empty_table_is_named(tables, capsys, tmp_path):
    for part in (tables / "speedup.parquet").iterdir():
        part.unlink()
    pd.DataFrame({"experiment": pd.Series([], dtype=str)}).to_parquet(tables / "speedup.parquet" / "part-0.parquet")
    assert "speedup.parquet is empty" in refusal(capsys, "crossover", "--tables", tables, "-o", tmp_path / "x.png")


def test_a_table_without_any_file_is_named(tables, capsys, tmp_path):
    for part in (tables / "speedup.parquet").iterdir():
        part.unlink()
    assert "speedup.parquet" in refusal(capsys, "crossover", "--tables", tables, "-o", tmp_path / "x.png")


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
