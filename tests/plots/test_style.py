"""One style: a model looks the same everywhere, and nothing but `style` decides how."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from harness.errors import RunFailed
from harness.models import MODELS
from harness.peers import all_peers
from harness.plots import provenance, style, thread_panels
from harness.plots.figures import FIGURES
from tests.plots.made_tables import (
    NEVER_SETTLED,
    arm_row,
    balanced_rows,
    bench,
    contest,
    elastic_row,
    figure_named,
    frame,
    latency_row,
    period_rows,
    placement_bench,
    scaling,
)

PLOTS = Path(style.__file__).parent


def test_every_peer_has_a_style_of_its_own_that_is_no_models():
    assert set(all_peers()) == set(style.PEERS)
    looks = [(look.color, look.marker) for look in (*style.MODELS.values(), *style.PEERS.values())]
    assert len(set(looks)) == len(looks)
    assert style.of_model("go") is style.PEERS["go"]


def test_every_model_has_a_style_of_its_own():
    assert set(MODELS) <= set(style.MODELS)
    assert len({look.color for look in style.MODELS.values()}) == len(style.MODELS)
    assert len({look.marker for look in style.MODELS.values()}) == len(style.MODELS)


@pytest.mark.parametrize(
    "pair", list(combinations(("manual", "dedicated", "dynamic"), 2)), ids="-".join
)
def test_models_differ_in_lightness_or_blue_for_eyes_that_confuse_red_and_green(pair):
    seen = [
        ((0.7 * red + 0.3 * green), blue)
        for red, green, blue in (to_rgb(style.of_model(model).color) for model in pair)
    ]
    assert max(abs(a - b) for a, b in zip(*seen, strict=True)) > 0.15


def test_a_model_without_a_style_is_grey_and_not_an_error():
    assert style.of_model("something new") is style.UNKNOWN_MODEL


def test_only_the_style_sets_rcparams():
    for path in PLOTS.glob("*.py"):
        if path.name != "style.py":
            assert not re.search(
                r"rcParams|rc_context|plt\.style", path.read_text(encoding="utf-8")
            ), path


def test_drawing_leaves_the_settings_of_others_alone():
    before = dict(mpl.rcParams)
    style.plt.close(
        thread_panels.figure({"throughput": scaling("e", {"mix": [1]}, [1, 2])}, "a title")
    )
    assert dict(mpl.rcParams) == before


def narrowest(name):
    """A figure of one cell, one run, one law."""
    topology = "pipeline" if name == "mw19_fig9" else "mix"
    if name.startswith("elb_"):
        row = arm_row(name, "load-balance", 1, "manual", 1e6)
        periods = balanced_rows(row, [1, 2], [5.0, 6.0], cycle=9, burst=500, silence=500)
    else:
        row = elastic_row(name, topology, 1, 1e6, 2.0)
        periods = period_rows(row, [1, 2], parameters='{"phase": "1000"}')
    throughput, speedup = contest({"mix": ([1], [128])})
    if name != "crossover":
        throughput = frame(
            [
                row,
                *scaling(name, {topology: [1]}, [1, 2])
                .assign(**NEVER_SETTLED, mean_of="hops executed")
                .to_dict("records"),
            ]
        )
    if name.startswith("cstream_"):
        throughput = throughput.assign(
            policy="random",
            busy=100.0,
            operators=12.0,
            width=12.0,
            selectivity=100.0,
            submitted_mean=1e6,
            submitted_lo=9e5,
            submitted_hi=1.1e6,
        )
    if name == "peer_rates":
        throughput = throughput.assign(rate=1000.0)
    latency = frame([latency_row(row, 1e6) for row in throughput.to_dict("records")])
    tables = {
        "throughput": throughput,
        "latency": latency,
        "speedup": speedup,
        "timeline": pd.DataFrame(periods),
        "saso": bench({"fixed": 1.0}),
    }
    tables["saso_placement"] = placement_bench({"manual": 1.0})
    return figure_named(name, {table: tables[table] for table in FIGURES[name].tables})


@pytest.mark.parametrize("name", FIGURES)
def test_title_and_legend_fit_into_the_narrowest_figure(name):
    figure = narrowest(name)
    figure.draw_without_rendering()
    if name == "mw19_fig14":  # the drawing of a graph, which is as wide as it must be
        return
    (legend,) = figure.legends
    written = legend.get_window_extent()
    assert 0 <= written.x0 < written.x1 <= figure.bbox.width
    style.plt.close(figure)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_table_gives_the_same_file(tmp_path, kind):
    throughput, speedup = contest({"pipeline": ([1, 100], [8])})
    files = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for file in files:
        style.save(
            figure_named("crossover", {"throughput": throughput, "speedup": speedup}), [file]
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"a.{kind}",
        f"b.{kind}",
    ]  # nothing temporary is left


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    figure = style.plt.figure()
    with pytest.raises(RunFailed, match=f"cannot write {blocked}/figure.png"):
        style.save(figure, [blocked / "figure.png"])


def test_the_foot_counts_what_is_not_in_the_means():
    table = scaling("e", {"mix": [1]}, [1, 2])
    table.loc[0, ["failed", "n"]] = [1, 2]
    table.loc[1, ["unsettled", "no_rate", "n"]] = [1, 2, 1]
    foot = provenance.sentence(table, "bars: an interval")
    assert (
        "Mean of n = 1 to 3 runs, each in a fresh process; bars: an interval, where n is above 1."
        in foot
    )
    assert "Runs not in the means: 1 failed, 2 too short to have a rate." in foot
    assert f"1 of {table['n'].sum()} runs in the means never settled." in foot


def test_the_foot_says_that_runs_were_disturbed_and_that_they_are_of_several_hosts():
    table = scaling("e", {"mix": [1]}, [1, 2])
    assert "disturbed" not in provenance.sentence(table, "bars: an interval")
    assert "hosts" not in provenance.sentence(table, "bars: an interval")
    table.loc[0, ["unfit", "hosts"]] = [2, 3]
    foot = provenance.sentence(table, "bars: an interval")
    assert (
        f"2 of {table['n'].sum()} measured runs were disturbed, as their records say. Means are "
        "over runs of up to 3 hosts." in foot
    )


def test_the_foot_says_where_a_band_is_missing_because_a_run_failed():
    table = scaling("e", {"mix": [1]}, [1, 2]).assign(
        simulated=True, machine="xeon", variants=4, variants_reached=4
    )
    table.loc[0, "variants_failed"] = 1
    foot = provenance.sentence(table, "bars: an interval")
    assert "No fill where one of those runs failed (1 in all)." in foot
    assert "Dashed" not in foot


def test_the_foot_speaks_of_processes_and_intervals_only_where_there_are_some():
    measured = scaling("e", {"mix": [1]}, [1, 2])
    simulated = measured.assign(simulated=True, machine="xeon", n=1)
    assert "Single runs. " in provenance.sentence(simulated, "bars: an interval")
    assert "bars" not in provenance.sentence(simulated, "bars: an interval")
    both = frame([*measured.to_dict("records"), *simulated.to_dict("records")])
    assert (
        "runs, the measured ones each in a fresh process; bars: an interval, where n is above 1."
        in provenance.sentence(both, "bars: an interval")
    )


def test_the_foot_admits_what_it_does_not_know():
    table = scaling("e", {"mix": [1]}, [1]).assign(cpu_model=None, cpus_allowed=None, commit=None)
    foot = provenance.sentence(frame(table.to_dict("records")), "bars: an interval")
    assert foot.startswith("Measured on an unknown CPU.")
    assert foot.endswith("Commit unknown.")


@pytest.mark.parametrize("width", [4.0, 8.6])
def test_a_legend_is_never_wider_than_its_figure(width: float) -> None:
    names = [
        "manual",
        "dynamic elastic (streams)",
        "multilevel (middleware19)",
        "2.7 times on a bar: over dynamic elastic (streams)",
    ]
    with style.applied():
        figure = style.plt.figure(figsize=(width, 3.0))
        style.title_with_legend(figure, "A title", [Patch(label=name) for name in names])
        (legend,) = figure.legends
        assert legend.get_window_extent().width <= figure.bbox.width
        assert [text.get_text() for text in legend.get_texts()] == names
        style.plt.close(figure)
