"""The figure that tells what the law is worth beside every fixed level."""

from __future__ import annotations

from tests.plots.made_tables import elastic_row, figure_named, frame, ratio_row, scaling


def titles(ratio: float, lo: float | None, hi: float | None) -> list[str]:
    """The panels' titles, of two cells; the first has an elastic arm with this ratio."""
    fixed = scaling("elastic_levels", {"pipeline": [1, 100]}, [1, 2])
    elastic = elastic_row("elastic_levels", "pipeline", 1, 3e5, 1.4)
    other = ratio_row(elastic, 0.5, None, None) | {"arm": "dynamic-1"}
    tables = {
        "throughput": frame([*fixed.to_dict("records"), elastic]),
        "speedup": frame(
            [
                ratio_row(elastic, ratio, lo, hi),
                ratio_row(elastic, 7.0, lo, hi, against="manual"),
                other,
            ]
        ),
    }
    return [ax.get_title() for ax in figure_named("elastic_levels", tables).axes]


def test_a_panel_tells_the_laws_rate_over_the_best_arms_with_its_interval():
    first, second = titles(0.983, 0.951, 1.016)
    assert first.endswith("\nelastic 98% [95%, 102%]")
    assert "elastic" not in second


def test_each_machine_has_its_own_ratio_and_each_law_its_own():
    here = elastic_row("elastic_levels", "pipeline", 1, 3e5, 1.4)
    other = here | {"arm": "dynamic-elastic-streams", "law": "streams"}
    there = here | {"machine": "xeon", "simulated": True, "software": "millrace"}
    ratios = [
        ratio_row(here, 0.9, None, None),
        ratio_row(other, 0.8, None, None),
        ratio_row(there, 0.7, None, None),
    ]
    figure = figure_named(
        "elastic_levels", {"throughput": frame([here, other, there]), "speedup": frame(ratios)}
    )
    simulated, measured = (ax.get_title().splitlines() for ax in figure.axes)
    assert simulated[-1] == "elastic 70%"
    assert measured[-2:] == ["elastic 90%", "elastic-streams 80%"]


def test_a_single_repeat_has_no_interval():
    assert titles(0.9, None, None)[0].endswith("\nelastic 90%")
