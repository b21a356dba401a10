"""Legends of P17's figures say whose scheduler `dynamic` has, and what was assumed."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.plots import schedulers, style
from tests.plots.made_tables import elastic_row, figure_named, frame, period_rows, scaling

STREAMS = {"machine": "xeon", "simulated": True, "software": "streams-4.2"}
PRINTED = STREAMS | {"software": "p17-printed"}
OURS = STREAMS | {"software": "millrace"}


def table(*places: dict, name: str = "pldi17_fig9") -> pd.DataFrame:
    made = scaling(name, {"pipeline": [1]}, [1, 2])
    return pd.concat([made.assign(**place) for place in places], ignore_index=True)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([{}], "dynamic: our scheduler"),
        ([OURS, {}], "dynamic: our scheduler"),
        ([STREAMS], "dynamic: scheduler of streams-4.2"),
        ([STREAMS, {}], "dynamic: our scheduler (tinted: that of streams-4.2)"),
        (
            [PRINTED, STREAMS, OURS, {}],
            "dynamic: our scheduler (where a title names one: that of p17-printed and streams-4.2)",
        ),
    ],
)
def test_the_scheduler_of_dynamic_is_ours_unless_other_software_is_simulated(places, said):
    assert schedulers.scheduler(table(*places)) == said


@pytest.mark.parametrize(
    ("name", "assumed"),
    [
        ("pldi17_fig9", "assumed: payload of 128 bytes"),
        ("pldi17_fig10", "assumed: payload of 128 bytes, costs of a tuple"),
        ("pldi17_fig11", "assumed: payload of 128 bytes, cost of the mix"),
    ],
)
def test_p17s_figures_say_on_themselves_what_is_assumed(name, assumed):
    row = elastic_row(name, "pipeline", 1, 1e6, 2.0)
    tables = {
        "throughput": frame([row]) if name == "pldi17_fig11" else table({}, name=name),
        "timeline": pd.DataFrame(period_rows(row, [1, 2])),
    }
    (legend,) = figure_named(name, tables).legends
    told = [text.get_text() for text in legend.get_texts()]
    assert assumed in told and "dynamic: our scheduler" in told
    style.plt.close("all")
