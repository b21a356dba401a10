"""The figure that tells how near multi-level elastic comes to the best of the other arms."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread

from harness.plots import style
from tests.plots.made_tables import NEVER_SETTLED, arm_row, figure_named, frame, ratio_row


def drawn(*rows: dict) -> list[str]:
    table = frame(list(rows)).assign(queued=lambda table: table.get("queued"))
    ax = figure_named("multilevel", {"throughput": table, "speedup": NO_RATIOS}).axes[0]
    return [text.get_text() for text in ax.texts]


NO_RATIOS = frame([ratio_row(arm_row("", "pipeline", 1, "manual", 1.0), 1, 1, 1)])[:0]


def law(mean: float, topology: str = "pipeline", **other: object) -> dict:
    chosen = {"elastic": True, "law": "millrace", "queued": 3.0, "level": 1.0}
    return arm_row("multilevel", topology, 1, "multilevel", mean, **chosen | other)


def other(model: str, mean: float | None, topology: str = "pipeline", **more: object) -> dict:
    return arm_row("multilevel", topology, 1, model, mean, queued=None, **more)


def test_the_ratio_is_to_the_best_of_the_other_arms_with_what_the_law_chose():
    told = drawn(law(90.0), other("manual", 50.0), other("dynamic", 100.0, threads=2))
    assert told == ["90%, 3 queues, 1 thr."]


@pytest.mark.parametrize(
    ("low", "told"), [(0.8, "92% [80%, 104%]"), (None, "92%")], ids=["paired", "few repeats"]
)
def test_the_ratio_has_the_interval_that_allows_for_the_choice_of_the_best(low, told):
    rows = [law(90.0), other("manual", 50.0), other("dynamic", 100.0, threads=2)]
    high = None if low is None else 1.04
    ratios = frame(
        [
            ratio_row(rows[0], 0.92, low, high, "other models"),
            ratio_row(rows[0], 1.8, 1.5, 2.0, "manual"),
            ratio_row(rows[2], 1.1, 1.0, 1.2, "other models"),
        ]
    )
    table = frame(rows).assign(queued=None)
    (text,) = figure_named("multilevel", {"throughput": table, "speedup": ratios}).axes[0].texts
    assert text.get_text() == told


def test_a_law_may_be_above_all_others():
    assert drawn(law(150.0), other("manual", 100.0))[0].startswith("150%")


def test_a_run_that_never_settled_says_so_and_so_does_an_arm_that_failed():
    told = drawn(law(90.0, **NEVER_SETTLED), other("manual", 100.0), other("dedicated", None))
    assert told == ["90%, 3 queues, 1 thr., never settled", "failed: dedicated"]


@pytest.mark.parametrize("mean", [10.0, 1e7])
def test_each_cell_has_a_line_of_its_own(mean):
    rows = [
        each
        for shape in ("mix", "pipeline")
        for each in (law(mean, shape), other("manual", 2 * mean, shape))
    ]
    assert drawn(*rows) == ["50%, 3 queues, 1 thr."] * 2


def test_each_machine_has_lines_of_its_own():
    """The simulated arms are a hundred times as fast, and are no best for the measured ones."""
    there = {"simulated": True, "machine": "xeon"}
    here = [law(90.0), other("manual", 100.0)]
    told = drawn(*here, law(5000.0, **there), other("manual", 10000.0, **there))
    assert told == ["50%, 3 queues, 1 thr.", "90%, 3 queues, 1 thr."]


def test_an_arm_none_of_whose_runs_settled_is_open():
    table = frame(
        [law(90.0), other("manual", 100.0), other("dedicated", 50.0, **NEVER_SETTLED)]
    ).assign(queued=None)
    bars = (
        figure_named("multilevel", {"throughput": table, "speedup": NO_RATIOS}).axes[0].containers
    )
    assert [to_hex(bar.lines[0].get_markerfacecolor()) == "#ffffff" for bar in bars] == [
        False,
        False,
        True,
    ]


def test_what_stands_at_the_end_of_a_line_is_not_cut(tmp_path):
    rows = [law(112.0, "mix", queued=14.0, **NEVER_SETTLED), other("manual", 100.0, "mix")]
    tables = {"throughput": frame(rows), "speedup": NO_RATIOS}
    style.save(figure_named("multilevel", tables), [tmp_path / "figure.png"])
    assert imread(tmp_path / "figure.png")[:, -3:, :3].min() == 1.0
