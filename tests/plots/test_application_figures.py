"""Figures of applications: a bar an arm, by hand among them, with its threads."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

import topologies
from harness.plots import application_panels, queue_arms, style
from harness.plots.mw19_fig14 import FOOT
from tests.plots.made_tables import arm_row, elastic_row, figure_named, frame

XEON = {"machine": "xeon:4", "simulated": True, "software": "millrace"}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def rows_of(topology, **other):
    def made(row, placement="none", **own):
        return row | {
            "topology": topology,
            "cell": f"{topology},placement={placement}",
            "placement": placement,
            **own,
        }

    arm = ("mw19_fig15", "pipeline", None)
    return [
        made(
            elastic_row(*arm, 40.0, 3.0, law="millrace", **other),
            model="multilevel",
            arm="multilevel",
        ),
        made(
            elastic_row(*arm, 30.0, 4.0, law="streams", **other),
            model="dynamic",
            arm="dynamic-elastic-streams",
        ),
        made(arm_row(*arm, "manual", 10.0, **other)),
        made(arm_row(*arm, "manual", 20.0, **other), "hand"),
    ]


def bars(ax):
    return [(round(bar.get_height()), to_hex(bar.get_facecolor())) for bar in ax.patches]


def test_bars_are_in_the_papers_order_with_their_threads():
    figure = figure_named("mw19_fig15", {"throughput": frame(rows_of("vwap"))})
    (ax,) = figure.axes
    assert [height for height, _ in bars(ax)] == [10, 20, 30, 40]
    colors = [
        style.of_model("manual").color,
        application_panels.BY_HAND.color,
        queue_arms.THREAD_LAWS["streams"].color,
    ]
    assert [color for _, color in bars(ax)] == [*colors, style.of_model("multilevel").color]
    assert [text.get_text() for text in ax.texts] == ["0", "9", "4", "3"]


def test_each_application_has_a_row_and_each_machine_a_panel_simulated_ones_tinted():
    rows = [
        row
        for name in ("vwap", "login-failures")
        for place in (XEON, {})
        for row in rows_of(name, **place)
    ]
    figure = figure_named("mw19_fig15", {"throughput": frame(rows)})
    assert [ax.get_title().replace("\n", ", ") for ax in figure.axes] == [
        "LoginFailures, xeon with 4 CPUs (simulated)",
        "LoginFailures, local (measured)",
        "VWAP, xeon with 4 CPUs (simulated)",
        "VWAP, local (measured)",
    ]
    tinted = [to_hex(ax.get_facecolor()) == style.SIMULATED for ax in figure.axes]
    assert tinted == [True, False, True, False]
    assert application_panels.PROFILED in " ".join(figure._supxlabel.get_text().split())


def test_jobs_of_other_benchmarks_come_last_with_the_tuples_of_all_operators():
    rows = [arm_row("applications", "pipeline", None, "manual", 10.0) for _ in range(2)]
    for row, name in zip(rows, ("word-count", "vwap"), strict=True):
        row |= {"topology": name, "cell": name, "placement": "none"}
        row |= {f"submitted_{part}": 50.0 for part in ("mean", "lo", "hi")}
    figure = figure_named("applications", {"throughput": frame(rows)})
    assert [ax.get_title() for ax in figure.axes] == ["VWAP", "WordCount"]
    assert [height for ax in figure.axes for height, _ in bars(ax)] == [10, 50]
    assert "over all operators" in figure.axes[1].get_ylabel()


def test_what_is_measured_alone_speaks_of_no_profile_and_what_failed_is_named():
    rows = rows_of("wiki-word-count")
    rows[0] |= {"mean": None, "lo": None, "hi": None, "n": 0, "failed": 1}
    figure = figure_named("applications", {"throughput": frame(rows)})
    assert "profiled" not in figure._supxlabel.get_text()
    assert "failed" in " ".join(text.get_text() for text in figure.axes[0].texts)


def test_both_graphs_of_the_paper_are_drawn_below_each_other_without_a_warning(tmp_path, recwarn):
    rows = [rows_of("vwap")[-1], rows_of("packet-analysis", sources=8)[-1]]
    figure = figure_named("mw19_fig14", {"throughput": frame(rows)})
    first, second = figure.axes
    assert (
        first.get_position().y0 >= second.get_position().y1 - 1e-9 and second.get_position().y0 > 0
    )
    assert "sources" in " ".join(text.get_text() for text in second.texts)
    assert any("2,305 operators" in text.get_text() for text in second.texts)
    style.save(figure, [tmp_path / "graphs.png", tmp_path / "graphs.svg"])
    assert not [str(each.message) for each in recwarn if "layout" in str(each.message)]


def test_the_graph_of_vwap_is_drawn_with_its_threads_by_hand():
    figure = figure_named("mw19_fig14", {"throughput": frame(rows_of("vwap")[-1:])})
    (ax,) = figure.axes
    texts = [text.get_text() for text in ax.texts]
    assert "placement=hand: 52 operators, 66 streams" in texts and "index7" in texts
    assert "manual: 9 dedicated threads and the thread of the source; 9 queues" in texts
    assert ax.get_position().y0 > 0
    assert figure._supxlabel.get_text() == FOOT


def test_ports_by_hand_are_as_many_as_the_graphs_have():
    for name in application_panels.NAMES:
        own = {"sources": 2} if name == "packet-analysis" else {}
        graph, _ = topologies.build(name, {"records": 10, "placement": "hand", **own}, 0)
        (row,) = frame(rows_of(name, sources=own.get("sources"))[-1:]).iloc
        assert len(graph.threaded) == int(application_panels.threads_of(row))


def test_packet_analysis_has_a_row_for_each_number_of_sources_and_shows_what_all_operators_submit():
    submitted = {"submitted_mean": 7e6, "submitted_lo": 6e6, "submitted_hi": 8e6}
    rows = [
        row
        for sources in (8, 1)
        for row in rows_of("packet-analysis", sources=sources, **submitted)
    ]
    figure = figure_named("mw19_fig15", {"throughput": frame(rows)})
    assert [ax.get_title() for ax in figure.axes] == [
        "PacketAnalysis, 1 source",
        "PacketAnalysis, 8 sources",
    ]
    assert {height for ax in figure.axes for height, _ in bars(ax)} == {7e6}
    assert [ax.texts[1].get_text() for ax in figure.axes] == ["17", "129"]
    assert "over all operators" in figure.axes[0].get_ylabel()
