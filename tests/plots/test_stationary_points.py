"""Simulated points that are not stationary are in no figure, whatever a figure draws of them."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.plots import provenance, replica_panels, style
from harness.plots.draw import Part, draw
from harness.plots.figures import FIGURES
from harness.spark.stationary import stationary, without_unsettled
from tests.plots.made_tables import (
    NEVER_SETTLED,
    arm_row,
    elastic_row,
    figure_named,
    frame,
    latency_row,
    period_rows,
    ratio_row,
)

XEON = {"machine": "xeon", "simulated": True, "software": "millrace"}
SOME_SETTLED = {"n": 10, "unsettled": 7}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    style.plt.close("all")


def words(figure) -> str:
    """All that the foot of a figure says."""
    return " ".join(figure.get_supxlabel().split())


def policy(selectivity: int, **other: object) -> dict:
    row = arm_row("cstream_fig8", "chain", 100, "coroutine", 10.0, threads=4, **XEON, **other)
    return row | {
        "policy": "random",
        "selectivity": float(selectivity),
        "cell": f"chain,selectivity={selectivity}",
        **{f"submitted_{name}": 130.0 for name in ("mean", "lo", "hi")},
    }


def test_rates_of_the_source_and_latencies_are_of_stationary_runs():
    rows = [policy(50, **NEVER_SETTLED), policy(100)]
    tables = {"throughput": frame(rows), "latency": frame([latency_row(row, 2e6) for row in rows])}
    figure = figure_named("cstream_fig8", tables)
    above, below = figure.axes
    for ax in (above, below):
        assert list(ax.containers[0].lines[0].get_xdata()) == [100.0]
    assert [float(line.get_xdata()[0]) for line in above.lines if line.get_marker() == "x"] == [50]
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "left out: not stationary" in told
    assert "Left out, since not stationary: on xeon coroutine-4 in selectivity=50." in words(figure)


@pytest.mark.parametrize("name", ["cstream_fig4", "cstream_policies"])
def test_a_latency_is_as_pale_as_its_throughput_and_left_out_with_it(name):
    rows = [
        arm_row("e", "tree", 100, "coroutine", 10.0 * threads, threads=threads, **other)
        | {"policy": "random"}
        for threads, other in ((1, {"unsettled": 3}), (2, {}), (4, XEON | NEVER_SETTLED))
    ]
    rows.append(rows[1] | XEON)
    figure = figure_named(
        name, {"throughput": frame(rows), "latency": frame([latency_row(row, 2e6) for row in rows])}
    )
    faces = {
        line.get_markerfacecolor()
        for ax in figure.axes
        if ax.get_yscale() == "log"
        for line in ax.lines
        if line.get_marker() == "o"
    }
    assert (1.0, 1.0, 1.0) in faces and len(faces) == 2
    points = [
        line
        for ax in figure.axes
        if ax.get_yscale() == "log"
        for line in ax.lines
        if line.get_marker() == "o"
    ]
    assert len(points) == 3


def test_points_left_out_are_named_by_software_and_cells_with_the_same_arms_at_once():
    rows = [
        policy(share, **NEVER_SETTLED) | {"software": software}
        for software in ("cstream", "millrace")
        for share in (40, 50)
    ]
    cells = "coroutine-4 in selectivity=40 and selectivity=50"
    drawn = without_unsettled(frame(rows))
    assert provenance.left_out(drawn) == (
        f"Left out, since not stationary: on xeon with the costs of cstream {cells}; "
        f"on xeon with the costs of millrace {cells}."
    )


def adaptation(**other: object) -> list[dict]:
    return [
        elastic_row("cstream_fig9", "chain", busy, 110.0, 3.0, law="cstream", **XEON, **own)
        | {"busy": float(busy), "replicas": 2.0, "model": "coroutine", "cell": f"chain,busy={busy}"}
        for busy, own in ((20, {}), (80, other))
    ]


def test_means_beside_runs_over_time_are_of_stationary_runs():
    rows = adaptation(**NEVER_SETTLED)
    timeline = pd.DataFrame([each for row in rows for each in period_rows(row, [1, 2])])
    figure = figure_named("cstream_fig9", {"throughput": frame(rows), "timeline": timeline})
    rate, ends, over_time = figure.axes
    assert list(rate.containers[0].lines[0].get_xdata()) == [20.0]
    assert all(list(line.get_xdata()) == [20.0] for line in ends.lines)
    assert over_time.lines  # the way there is shown
    assert "Left out, since not stationary: on xeon dynamic-elastic in busy=80." in words(figure)
    assert set(replica_panels.of_lines(frame(rows))) == {"cstream"}


def partly(**other: object) -> dict:
    row = elastic_row("pldi17_fig9", "pipeline", 1, 1e6, 8.0, **XEON, **SOME_SETTLED)
    return row | {"settled_mean": 2e6, "settled_lo": 1e6, "settled_hi": 3e6, **other}


def test_a_point_under_a_law_is_the_mean_of_its_settled_runs_and_says_how_many():
    row = partly(settled_level=30.0, band_lo=5e5, band_hi=1.5e6)
    drawn = without_unsettled(frame([row])).iloc[0]
    assert (drawn["mean"], drawn["lo"], drawn["hi"]) == (2e6, 1e6, 3e6)
    assert (drawn["band_lo"], drawn["band_hi"]) == (1e6, 3e6)
    assert drawn["level"] == 30.0
    fixed = arm_row("pldi17_fig9", "pipeline", 1, "dynamic", 1e6, threads=2, **XEON)
    figure = figure_named("pldi17_fig9", {"throughput": frame([row, fixed])})
    ax = figure.axes[0]
    assert "law millrace, 3 of 10 settled" in [text.get_text() for text in ax.texts]
    said = "Mean of the settled runs alone: on xeon dynamic-elastic (3 of 10) in pipeline,"
    assert said in words(figure)
    assert "runs in the means never settled" not in words(figure)
    again = without_unsettled(without_unsettled(frame([row]))).iloc[0]
    assert again["band_hi"] == drawn["band_hi"]


def test_a_table_that_does_not_know_the_settled_runs_has_no_such_point():
    row = elastic_row("e", "pipeline", 1, 1e6, 8.0, **XEON, **SOME_SETTLED)
    drawn = without_unsettled(frame([row]))
    assert drawn[["mean", "lo", "hi", "level"]].isna().all(axis=None)
    assert "Left out, since not stationary" in provenance.left_out(drawn)


def test_a_measured_point_keeps_the_mean_of_all_its_runs():
    row = partly(machine="local", simulated=False, software=None)
    drawn = without_unsettled(frame([row])).iloc[0]
    assert drawn["mean"] == 1e6


def ratios(law: dict, fixed: dict) -> pd.DataFrame:
    return frame(
        [
            ratio_row(row, 7.0, 6.0, 8.0, against) | {"rival": other["arm"]}
            for row, other in ((law, fixed), (fixed, law))
            for against in ("manual", "best")
        ]
    )


def test_a_ratio_with_an_arm_that_is_left_out_is_left_out():
    law, fixed = partly(), arm_row("pldi17_fig9", "pipeline", 1, "manual", 1e6, **XEON)
    tables = {"throughput": frame([law, fixed]), "speedup": ratios(law, fixed)}
    lost = tables | {"throughput": frame([law | {"unsettled": 10}, fixed])}
    assert stationary(lost)["speedup"].empty
    kept = tables | {"throughput": frame([law | {"unsettled": 0}, fixed])}
    assert (stationary(kept)["speedup"]["ratio"] == 7.0).all()


def test_a_ratio_with_an_arm_of_which_some_runs_settled_is_that_of_the_means():
    law = partly()
    fixed = arm_row("pldi17_fig9", "pipeline", 1, "manual", 1e6, half=5e5, **XEON)
    made = stationary({"throughput": frame([law, fixed]), "speedup": ratios(law, fixed)})[
        "speedup"
    ].set_index(["arm", "against"])
    manual, best = made.loc["dynamic-elastic", "manual"], made.loc["dynamic-elastic", "best"]
    assert manual["ratio"] == best["ratio"] == 2.0
    assert (manual["lo"], manual["hi"]) == (pytest.approx(1e6 / 1.5e6), 3e6 / 5e5)
    assert pd.isna(best["lo"]) and pd.isna(best["hi"])  # nothing allows for the choice of the best
    assert made.loc["manual", "best"]["ratio"] == 0.5


def written(folder, rows: list[dict], **tables: pd.DataFrame):
    for name, table in {"throughput": frame(rows), **tables}.items():
        (folder / f"{name}.parquet").mkdir()
        table.to_parquet(folder / f"{name}.parquet" / "part.parquet")
    return folder


def test_who_draws_a_figure_is_told_which_points_are_left_out(tmp_path):
    rows = [
        arm_row("pldi17_fig10", "mix", 1, "dynamic", 1e6, threads=threads, **XEON, **own)
        for threads, own in ((1, {}), (2, NEVER_SETTLED))
    ]
    part, file = Part(), tmp_path / "a.png"
    lost = draw(FIGURES["pldi17_fig10"], written(tmp_path, rows), [file], part)
    assert lost == f"Left out, since not stationary: on xeon dynamic-2 in {rows[0]['cell']}."
    assert file.exists()
    alone = Part(without=["dynamic-2"])
    assert draw(FIGURES["pldi17_fig10"], tmp_path, [file], alone) == ""


def test_a_figure_of_runs_over_time_leaves_none_out_and_says_that_they_were_moving(tmp_path):
    row = elastic_row("pldi17_fig11", "mix", 1, 1e6, 2.0, **XEON, **NEVER_SETTLED)
    runs = pd.DataFrame(period_rows(row, [1, 2, 3]))
    assert (
        draw(FIGURES["pldi17_fig11"], written(tmp_path, [row], timeline=runs), [tmp_path / "a.png"])
        == ""
    )
    figure = figure_named("pldi17_fig11", {"throughput": frame([row]), "timeline": runs})
    assert "Not stationary from begin to end, as runs adapt: 3 of 3 simulated runs." in words(
        figure
    )
    assert "Left out" not in words(figure)
