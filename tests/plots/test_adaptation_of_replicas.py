"""C-Stream's figures of adaptation: threads and replicas over cost and over time, and threads by
two thresholds.
"""

from __future__ import annotations

import json

import pandas as pd
import pytest

from harness.plots import cstream_fig11, replica_panels, style
from tests.plots.made_tables import (
    NEVER_SETTLED,
    arm_row,
    elastic_row,
    figure_named,
    frame,
    period_rows,
)

SIMULATED = {"machine": "cstream", "simulated": True, "software": "millrace"}


def fixed(busy: int, threads: int, replicas: int, mean: float | None, **where: object) -> dict:
    row = arm_row(
        "cstream_fig9", "chain", busy, "coroutine", mean, threads=threads, policy="random", **where
    )
    return row | {
        "busy": float(busy),
        "replicas": float(replicas),
        "arm": f"coroutine-{threads}-random-replicas-{replicas}",
    }


def elastic(
    busy: int, law: str, mean: float | None, level: float, replicas: float, **where: object
) -> dict:
    row = elastic_row("cstream_fig9", "chain", busy, mean, level, law=law, **where)
    return row | {
        "busy": float(busy),
        "replicas": replicas,
        "model": "coroutine",
        "arm": f"coroutine-elastic-{law}-random",
    }


def over_cost(**where: object) -> list[dict]:
    rows = []
    for busy in (20, 80):
        rows += [
            fixed(busy, 1, 1, 2000.0 / busy, **where),
            fixed(busy, 4, 2, 90.0, **where),
            fixed(busy, 8, 6, 120.0 + busy, **where),
        ]
        rows += [
            elastic(busy, "cstream", 110.0, busy / 10, busy / 20, **where),
            elastic(busy, "millrace", 115.0, busy / 10, 2.5, **where),
        ]
    return rows


def over_time(rows: list[dict]) -> pd.DataFrame:
    """A run of each law: replicas of two operators come."""
    found = []
    for row in rows:
        if row["elastic"]:
            for number, period in enumerate(period_rows(row, [1, 2, 4, 4])):
                counts = {f"busy{each}": number + each for each in (1, 2) if number + each > 1}
                found.append(period | {"replicas": json.dumps(counts)})
    return pd.DataFrame(found)


@pytest.mark.parametrize("name", ["cstream_fig9", "cstream_fig10"])
def test_threads_and_replicas_stand_beside_throughput_machine_by_machine(name):
    rows = over_cost(**SIMULATED) + over_cost()
    figure = figure_named(name, {"throughput": frame(rows), "timeline": over_time(rows)})
    rate, ends, theirs, ours, measured, *_ = figure.axes
    assert "cstream (simulated)" in rate.get_title() and "local (measured)" in measured.get_title()
    drawn = {container.get_label(): container.lines[0] for container in rate.containers}
    assert set(drawn) == {"cstream", "millrace", "best by hand", "1 thread, 1 replica"}
    assert list(drawn["best by hand"].get_ydata()) == [140.0, 200.0] and list(
        drawn["1 thread, 1 replica"].get_ydata()
    ) == [100.0, 25.0]
    lines = {line.get_label(): list(line.get_ydata()) for line in ends.lines}
    assert lines == {
        "cstream, threads": [2.0, 8.0], "cstream": [1.0, 4.0], "millrace, threads": [2.0, 8.0], "millrace": [2.5, 2.5],
    }  # fmt: skip
    for ax, law in ((theirs, "cstream"), (ours, "millrace")):
        assert ax.get_title() == f"law {law}, 80 µs"
        told = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
        assert told == {
            "threads": [1, 1, 2, 4, 4],
            "replicas of busy1": [1, 1, 2, 3, 4],
            "replicas of busy2": [2, 2, 3, 4, 5],
        }
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [
        "law cstream", "law millrace", "best by hand", "1 thread, 1 replica", "threads", "replicas an operator", "simulated",
    ]  # fmt: skip
    style.plt.close(figure)


def test_what_is_missing_leaves_its_place_empty():
    rows = [fixed(20, 1, 1, None), elastic(20, "cstream", 100.0, 2.0, 1.0) | NEVER_SETTLED]
    figure = figure_named(
        "cstream_fig9", {"throughput": frame(rows), "timeline": over_time(rows).assign(failed=True)}
    )
    rate, ends, theirs = figure.axes
    assert [line.get_marker() for line in rate.lines if list(line.get_ydata()) == [0]] == ["x"], (
        "an arm without a mean"
    )
    assert [text.get_text() for text in theirs.texts] == ["no samples"] and len(ends.lines) == 2
    assert replica_panels.of_lines(frame(rows)).keys() == {"cstream", "1 thread, 1 replica"}
    style.plt.close(figure)


def test_marks_of_thresholds_stand_where_laws_ended():
    def row(arm: str, level: float, mean: float) -> dict:
        return elastic_row("cstream_fig11", "replicated", 100, mean, level, law="utilisation") | {
            "arm": arm,
            "model": "coroutine",
        }

    arms = {
        name: row(name, 12.0 - number, 1000.0 - number)
        for number, name in enumerate(cstream_fig11.LOOKS)
    }
    levels = [
        arm_row(
            "cstream_fig11", "replicated", 100, "coroutine", 90.0 * n, threads=n, policy="random"
        )
        for n in (12, 1, 4)
    ]
    timeline = pd.DataFrame(
        [period for each in arms.values() for period in period_rows(each, [1, 2, 3])]
    )
    figure = figure_named(
        "cstream_fig11", {"throughput": frame([*arms.values(), *levels]), "timeline": timeline}
    )
    rate, threads = figure.axes
    drawn = {container.get_label(): container.lines[0] for container in rate.containers}
    assert list(drawn["fixed"].get_xdata()) == [1, 4, 12] and list(drawn["fixed"].get_ydata()) == [
        90.0,
        360.0,
        1080.0,
    ]
    assert [list(drawn[name].get_xdata()) for name, _ in cstream_fig11.LOOKS.values()] == [
        [12.0],
        [11.0],
        [10.0],
    ]
    assert [list(line.get_ydata()) for line in threads.lines] == [[1, 1, 2, 3]] * 3
    style.plt.close(figure)
