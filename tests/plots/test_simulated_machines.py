"""Figures of several machines: rows, titles, tints, bands, and what stands at the foot."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from harness.plots import places, provenance, style, switch_table, thread_panels
from harness.spark.stationary import without_unsettled
from tests.plots.made_tables import arm_row, elastic_row, figure_named, frame, period_rows, scaling

XEON = {"machine": "xeon", "simulated": True, "software": "millrace"}
POWER8 = XEON | {"machine": "power8"}
STREAMS = XEON | {"software": "streams-4.2"}
LOCAL: dict = {}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().subplots()


def table(*machines: dict, cells=None) -> pd.DataFrame:
    """Throughput of the same cells on each of the machines."""
    rows = scaling("pldi17_fig9", cells or {"data-parallel": [1], "pipeline": [1]}, [1, 2]).to_dict(
        "records"
    )
    return frame([row | machine for machine in machines for row in rows])


def panels(figure):
    return [ax for ax in figure.axes if ax.get_title()]


def first_lines(figure) -> list[str]:
    return [" / ".join(ax.get_title().splitlines()[:2]) for ax in panels(figure)]


def test_rows_are_those_of_the_paper_and_then_those_of_this_machine():
    figure = figure_named("pldi17_fig9", {"throughput": table(LOCAL, POWER8, XEON)})
    assert first_lines(figure) == [
        "xeon (simulated) / pipeline, 100 operators",
        "power8 (simulated) / pipeline, 100 operators",
        "xeon (simulated) / data-parallel, width 100",
        "power8 (simulated) / data-parallel, width 100",
        "local (measured) / pipeline, 100 operators",
        "local (measured) / data-parallel, width 100",
    ]


def test_other_software_and_a_simulation_of_this_machine_are_rows_of_their_own():
    machines = (LOCAL, LOCAL | {"simulated": True}, STREAMS, XEON)
    figure = thread_panels.figure(
        {"throughput": table(*machines, cells={"pipeline": [1]})}, "a title"
    )
    assert [title.split(" / ")[0] for title in first_lines(figure)] == [
        "xeon (simulated)",
        "xeon (simulated, costs of streams-4.2)",
        "local (simulated)",
        "local (measured)",
    ]


def test_measured_figures_do_not_name_the_machine():
    assert (
        first_lines(thread_panels.figure({"throughput": table(LOCAL)}, "a title"))[0]
        == "pipeline, 100 operators / cost 1 FLOP"
    )


def test_what_is_simulated_is_tinted_and_the_legend_says_so():
    figure = thread_panels.figure({"throughput": table(LOCAL, XEON)}, "a title")
    tinted = {
        ax.get_title().split()[0]: to_hex(ax.get_facecolor()) == style.SIMULATED
        for ax in panels(figure)
    }
    assert tinted == {"xeon": True, "local": False}
    (legend,) = figure.legends
    assert "simulated" in [text.get_text() for text in legend.get_texts()]
    (plain,) = thread_panels.figure({"throughput": table(LOCAL)}, "a title").legends
    assert "simulated" not in [text.get_text() for text in plain.get_texts()]


def varied(rows: pd.DataFrame) -> pd.DataFrame:
    """With a band of 20 % to either side."""
    return rows.assign(
        variants=6, variants_reached=6, band_lo=0.8 * rows["mean"], band_hi=1.2 * rows["mean"]
    )


def test_fixed_levels_have_their_band_as_a_light_fill(ax):
    thread_panels.draw(ax, varied(table(XEON, cells={"pipeline": [1]})))
    (fill,) = [each for each in ax.collections if isinstance(each, PolyCollection)]
    dynamic = table(XEON, cells={"pipeline": [1]}).query("model == 'dynamic'")
    low, high = (dynamic["mean"] * factor for factor in (0.8, 1.2))
    points = {(round(x, 6), round(y, 3)) for x, y in fill.get_paths()[0].vertices}
    assert points >= {
        (1.0, round(low.iloc[0], 3)),
        (2.0, round(low.iloc[1], 3)),
        (1.0, round(high.iloc[0], 3)),
    }
    assert fill.get_facecolor()[0][3] < 0.2
    assert ax.get_ylim()[1] >= high.max()


def test_models_without_levels_have_theirs_across(ax):
    thread_panels.draw(ax, varied(table(XEON, cells={"pipeline": [1]}).assign(lo=None, hi=None)))
    dashed = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and patch.get_linestyle() == "--"
    ]
    assert len(dashed) == 2


def test_an_elastic_arm_has_its_band_where_it_settled(ax):
    row = elastic_row(
        "e",
        "pipeline",
        1,
        1000.0,
        3.0,
        band_lo=700.0,
        band_hi=1100.0,
        variants=2,
        variants_reached=2,
        **XEON,
    )
    thread_panels.draw(ax, frame([row]))
    ends = [
        sorted(float(y) for _, y in path.vertices)
        for each in ax.collections
        if isinstance(each, LineCollection) and each.get_linewidth()[0] > 5
        for path in each.get_paths()
    ]
    assert ends == [[700.0, 1100.0]]


def test_without_variants_there_is_no_band(ax):
    thread_panels.draw(ax, table(XEON, cells={"pipeline": [1]}))
    assert not [each for each in ax.collections if isinstance(each, PolyCollection)]


def test_the_foot_says_what_was_measured_and_what_was_simulated():
    said = provenance.sentence(varied(table(LOCAL, XEON, POWER8)), "an interval")
    assert said.startswith(
        "Measured on Invented CPU @ 1 GHz, 6 CPUs allowed. "
        "SIMULATED on power8 and xeon with the software costs of millrace, in virtual time. "
    )
    assert "Dashed fills: least and greatest mean over 6 points at which all" in said
    badges = [
        [
            text.get_text()
            for text in thread_panels.figure({"throughput": table(*machines)}, "a title").texts
        ]
        for machines in ([XEON, POWER8], [LOCAL, XEON])
    ]
    assert ["SIMULATED" in each for each in badges] == [
        True,
        False,
    ]  # of several machines the panels say it


def test_the_foot_counts_arms_that_no_varied_constant_reaches():
    rows = varied(table(XEON, cells={"pipeline": [1]}))
    reached = rows["model"] == "dynamic"
    rows.loc[~reached, ["variants_reached", "band_lo", "band_hi"]] = [0, None, None]
    told = f"Not varied: {(~reached).sum()} of {len(rows)} arms, which no such value reaches."
    assert told in provenance.sentence(rows, "an interval")
    assert "Not varied" not in provenance.sentence(varied(rows), "an interval")
    assert "Not varied" not in provenance.sentence(table(XEON), "an interval"), (
        "nobody asked for variants"
    )


SWITCHES = {"context_switches_mean": 500.0, "duration_mean": 0.02, "runnable_mean": 980.4}


def switching(**machine) -> pd.DataFrame:
    rows = [
        arm_row("e", "pipeline", 1000, "dedicated", 300.0, **SWITCHES, **machine),
        arm_row(
            "e",
            "pipeline",
            1000,
            "dynamic",
            100.0,
            threads=1,
            **SWITCHES | {"context_switches_mean": 9.0},
            **machine,
        ),
        arm_row(
            "e",
            "pipeline",
            1000,
            "dynamic",
            200.0,
            threads=176,
            **SWITCHES | {"context_switches_mean": 8.0},
            **machine,
        ),
        arm_row("e", "mix", 1000, "dedicated", 300.0, **SWITCHES, **machine),
    ]
    return frame(rows)


def test_switches_and_load_are_told_of_dedicated_and_of_the_best_dynamic_level():
    assert switch_table.lines(switching(**XEON), "pipeline") == [
        ["xeon (simulated), cost 1,000 FLOP", "25,000", "980.4", "400 (176 threads)", "980.4"]
    ]


def test_real_threads_have_switches_but_no_load():
    ((name, *numbers),) = switch_table.lines(
        switching().assign(runnable_mean=float("nan")), "pipeline"
    )
    assert name == "cost 1,000 FLOP"
    assert numbers == ["25,000", "–", "400 (176 threads)", "–"]


def test_figure_9_has_the_table_below_its_panels_if_there_is_anything_to_tell():
    figure = figure_named("pldi17_fig9", {"throughput": switching(**XEON)})
    (drawn,) = [ax.tables[0] for ax in figure.axes if ax.tables]
    assert drawn[1, 1].get_text().get_text() == "25,000"
    plain = figure_named("pldi17_fig9", {"throughput": table(LOCAL)})
    assert not [ax for ax in plain.axes if ax.tables]


def test_a_run_over_time_is_found_by_its_machine_too():
    rows = [
        elastic_row("pldi17_fig11", "pipeline", 1, 1e6, 2.0, **machine) for machine in (LOCAL, XEON)
    ]
    timeline = pd.DataFrame(
        [*period_rows(rows[0], [1, 2, 3]), *period_rows(rows[1], [1, 50, 60, 70], period_s=0.001)]
    )
    figure = figure_named("pldi17_fig11", {"throughput": frame(rows), "timeline": timeline})
    ends = {ax.get_title().split()[0]: ax.get_xlim()[1] for ax in panels(figure)}
    assert ends == {"xeon": pytest.approx(0.004), "local": pytest.approx(1.5)}
    tinted = {
        ax.get_title().split()[0]: to_hex(ax.get_facecolor()) == style.SIMULATED
        for ax in panels(figure)
    }
    assert tinted == {"xeon": True, "local": False}


def test_a_machine_with_fewer_runs_leaves_room_and_one_that_lost_a_run_says_so():
    rows = [
        elastic_row("pldi17_fig11", "pipeline", 1, 1e6, 2.0, n=n, **machine)
        for n, machine in ((2, LOCAL), (1, XEON))
    ]
    runs = [
        *period_rows(rows[0], [1, 2]),
        *period_rows(rows[0], [1, 2], repeat=1),
        *period_rows(rows[1], [1, 2]),
    ]
    figure = figure_named(
        "pldi17_fig11", {"throughput": frame(rows), "timeline": pd.DataFrame(runs)}
    )
    assert [title.split(" / ")[0] for title in first_lines(figure)] == [
        "xeon (simulated)",
        *["local (measured)"] * 2,
    ]
    lost = frame([rows[0], rows[1] | {"failed": 1}])
    figure = figure_named("pldi17_fig11", {"throughput": lost, "timeline": pd.DataFrame(runs)})
    assert len(panels(figure)) == 4


def test_rows_at_a_place_are_told_from_those_of_other_software():
    made = table(STREAMS, XEON, LOCAL, cells={"pipeline": [1]})
    for number in (0, 4, 8):
        row = made.iloc[number]
        assert len(places.at(made, row)) == 4
        assert set(places.at(made, row)["machine"]) == {row["machine"]}


@pytest.mark.parametrize("alone", [True, False])
def test_a_measured_machine_with_a_name_is_named_also_if_it_is_alone(alone):
    rows = [arm_row("x", "pipeline", 1, "manual", 1e6)]
    rows = pd.DataFrame(([] if alone else rows) + [rows[0] | {"machine": "bigbox"}])
    names = [name for name, _ in places.by_place(rows)]
    assert names == (["bigbox (measured)"] if alone else ["local (measured)", "bigbox (measured)"])


def with_unsettled(machine: dict, arm: str, runs: int = 3) -> pd.DataFrame:
    """A table in which some of three runs of an arm never settled."""
    rows = table(machine, cells={"data-parallel": [1]}).to_dict("records")
    for row in rows:
        if row["arm"] == arm:
            row |= {"unsettled": runs, "settled_share": 1 - runs / 3}
    return frame(rows)


@pytest.mark.parametrize("runs", [1, 3])
def test_a_simulated_point_of_which_a_run_is_not_stationary_is_left_out_and_named(runs):
    rows = with_unsettled(XEON, "dynamic-2", runs)
    drawn = without_unsettled(rows)
    assert drawn.loc[drawn["mean"].isna(), "arm"].tolist() == ["dynamic-2"]
    assert drawn.loc[drawn["mean"].isna(), ["lo", "hi", "band_lo", "band_hi"]].isna().all(axis=None)
    told = " ".join(
        text.get_text() for text in figure_named("pldi17_fig9", {"throughput": rows}).texts
    )
    assert "Left out, since not stationary: on xeon dynamic-2 in" in " ".join(told.split())


def test_points_that_are_left_out_are_told_cell_by_cell():
    rows = with_unsettled(XEON, "dynamic-2")
    rows = pd.concat([rows, with_unsettled(XEON, "dedicated")], ignore_index=True)
    rows = frame([row for row in rows.to_dict("records") if row["unsettled"]])
    text = provenance.sentence(without_unsettled(rows), "bars")
    assert text.count("dedicated and dynamic-2 in") + text.count("dynamic-2 and dedicated in") == 1
    assert text.count(rows["cell"].iloc[0]) == 1


def test_a_measured_point_is_not_left_out():
    rows = with_unsettled(LOCAL, "dynamic-2")
    assert without_unsettled(rows)["mean"].notna().all()


@pytest.mark.parametrize(("unsettled", "lost"), [(2, False), (3, True)])
def test_a_point_under_a_law_is_left_out_if_none_of_its_runs_settled(unsettled, lost):
    row = elastic_row("pldi17_fig9", "pipeline", 1, 1e6, 8, **XEON, unsettled=unsettled)
    row |= {"settled_mean": 2e6, "settled_lo": 1e6, "settled_hi": 3e6}
    assert without_unsettled(frame([row]))["mean"].isna().tolist() == [lost]
