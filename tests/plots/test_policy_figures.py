"""C-Stream's figures: a line a policy, throughput above latency, and all policies' latency against
throughput.
"""

from __future__ import annotations

import pytest

from harness.plots import policy_panels, style
from tests.plots.made_tables import arm_row, figure_named, frame, latency_row

POLICIES = ("random", "max_queue_length", "oldest_source")
SIMULATED = {"machine": "cstream", "simulated": True, "software": "millrace"}


def row(topology: str, policy: str, threads: int, mean: float | None, **other: object) -> dict:
    return arm_row(
        "e", topology, 100, "coroutine", mean, threads=threads, policy=policy, **other
    ) | {
        "arm": f"coroutine-{threads}-{policy}",
        "cell": f"{topology},{','.join(f'{name}={other[name]}' for name in ('busy', 'width', 'selectivity') if name in other)}",
    }


def test_points_of_all_policies_stand_at_their_value():
    figure = figure_named("cstream_fig4", over_threads())
    places = {x for ax in figure.axes for line in ax.lines for x in line.get_xdata()}
    assert places and all(float(x).is_integer() for x in places)


def tables(rows: list[dict], p50: float = 2e6) -> dict:
    return {
        "throughput": frame(rows),
        "latency": frame([latency_row(each, p50) for each in rows if each["mean"]]),
    }


def over_threads(places: tuple[dict, ...] = (SIMULATED, {})) -> dict:
    return tables(
        [
            row(topology, policy, threads, 1000.0 * threads + place, **where)
            for place, where in enumerate(places)
            for topology in ("chain", "tree")
            for policy in POLICIES
            for threads in (12, 1, 4)
        ]
    )


def test_throughput_stands_above_latency_machine_by_machine_with_a_line_a_policy():
    figure = figure_named("cstream_fig4", over_threads())
    above, below, _, _, measured, _, _, _ = figure.axes
    assert "chain" in above.get_title() and "cstream (simulated)" in above.get_title()
    assert "chain" in measured.get_title() and "local" in measured.get_title()
    for policy, container in zip(POLICIES, above.containers, strict=True):
        assert container.get_label() == policy
        assert [round(float(x)) for x in container.lines[0].get_xdata()] == [1, 4, 12]
        assert list(container.lines[0].get_ydata()) == [1000, 4000, 12000]
    times = {each.get_label(): each for each in below.containers}
    assert set(times) == set(POLICIES)
    assert list(times["random"].lines[0].get_ydata()) == pytest.approx([2e-3] * 3)
    (bars,) = times["random"].lines[2]
    assert [list(bar[:, 1]) for bar in bars.get_segments()] == [pytest.approx([1.8e-3, 2.2e-3])] * 3
    assert above.get_ylim()[0] == 0 and below.get_yscale() == "log"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*POLICIES, "simulated"]
    style.plt.close(figure)


@pytest.mark.parametrize(
    ("name", "topology", "column", "values"),
    [
        ("cstream_fig6", "replicated", "busy", [20, 100, 200]),
        ("cstream_fig7", "replicated", "width", [4, 12, 20]),
    ],
)
def test_a_parameter_of_the_topology_is_along_the_axis(name, topology, column, values):
    rows = [
        row(topology, policy, 4, 100.0 * value, **{column: value})
        for policy in POLICIES
        for value in values[::-1]
    ]
    figure = figure_named(name, tables(rows))
    above, below = figure.axes
    assert list(above.containers[1].lines[0].get_xdata()) == values  # the one in the middle
    assert [float(label.get_text()) for label in below.get_xticklabels()] == values
    assert "4 threads" in above.get_title()
    style.plt.close(figure)


def test_over_selectivity_stands_what_the_source_sends():
    rows = [
        row("chain", "random", 4, 1.0, selectivity=share, operators=2)
        | {f"submitted_{name}": 700.0 for name in ("mean", "lo", "hi")}
        for share in (50, 100)
    ]
    figure = figure_named("cstream_fig8", tables(rows))
    above, _ = figure.axes
    assert list(above.containers[0].lines[0].get_ydata()) == pytest.approx([700 / 1.75, 700 / 3])
    assert above.get_ylabel().startswith("tuples that the source sends")
    style.plt.close(figure)


def test_an_arm_without_a_mean_is_a_cross_on_the_axis_and_one_that_never_settled_is_pale():
    rows = [row("chain", "random", 1, None), row("chain", "random", 4, 500.0, unsettled=3)]
    figure = figure_named("cstream_fig4", tables(rows))
    above, _ = figure.axes
    crosses = [line for line in above.lines if line.get_marker() == "x"]
    assert [[float(x) for x in line.get_xdata()] for line in crosses] == [[1.0]]
    faces = [line.get_markerfacecolor() for line in above.lines if line.get_marker() == "o"]
    assert (1.0, 1.0, 1.0) in faces
    style.plt.close(figure)


def test_latency_stands_against_throughput_with_the_number_of_threads():
    figure = figure_named("cstream_policies", over_threads((SIMULATED,)))
    chain, _ = figure.axes
    assert list(chain.containers[0].lines[0].get_xdata()) == [1000, 4000, 12000]
    assert [text.get_text() for text in chain.texts] == ["1", "4", "12"]
    assert chain.get_yscale() == "log" and chain.get_xlim()[0] == 0
    style.plt.close(figure)


def test_every_policy_has_a_look_of_its_own():
    from harness.models.policy import policies

    assert set(style.POLICIES) == set(policies())
    assert len({(look.color, look.marker) for look in style.POLICIES.values()}) == len(
        style.POLICIES
    )
    assert policy_panels.THREADS.column == "threads"
