"""Points of figures beside the kept study: what differs, and what a faster machine changes."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.report.kept_study import beside, beside_kept_study, lines, write_differing
from tests.plots.made_tables import arm_row, frame

FIGURE = "crossover"


def measured(**means: float) -> pd.DataFrame:
    return frame([arm_row(FIGURE, "mix", 1, arm, mean) for arm, mean in means.items()])


def simulated(mean: float, half: float | None = None) -> pd.DataFrame:
    row = arm_row(FIGURE, "mix", 1, "manual", mean, half=half, machine="xeon", simulated=True)
    return frame([row | {"software": "millrace"}])


def test_a_simulated_point_that_is_not_stationary_is_not_compared():
    moving = simulated(9e6).assign(unsettled=1)
    assert beside(FIGURE, moving, simulated(1e6)).points == 0
    assert beside(FIGURE, simulated(1e6), moving).points == 0


def test_equal_runs_agree_in_all_points():
    same = measured(manual=1e6, dynamic=2e6, dedicated=3e6)
    found = beside(FIGURE, same, same)
    assert (found.points, len(found.differing)) == (3, 0)


def test_a_machine_three_times_as_fast_changes_nothing():
    own = measured(manual=3e6, dynamic=6e6, dedicated=9e6)
    assert beside(FIGURE, own, measured(manual=1e6, dynamic=2e6, dedicated=3e6)).differing.empty


def test_one_arm_that_gains_more_than_the_others_differs_by_what_it_gains():
    own = measured(manual=3e6, dynamic=6e6, dedicated=18e6)
    found = beside(FIGURE, own, measured(manual=1e6, dynamic=2e6, dedicated=3e6))
    (row,) = found.differing.to_dict("records")
    assert (row["arm"], row["own"], row["kept"], row["ratio"]) == (
        "dedicated",
        18e6,
        3e6,
        pytest.approx(2.0),
    )


def test_overlapping_intervals_of_measured_points_do_not_differ():
    own = measured(manual=1e6, dynamic=2e6, dedicated=3.5e6)  # 3.15 to 3.85
    assert beside(FIGURE, own, measured(manual=1e6, dynamic=2e6, dedicated=3e6)).differing.empty


def test_two_arms_of_a_measured_cell_are_too_few_to_compare():
    found = beside(FIGURE, measured(manual=1e6, dynamic=9e6), measured(manual=1e6, dynamic=2e6))
    assert (found.points, len(found.differing)) == (0, 0)


@pytest.mark.parametrize(("mean", "differs"), [(1.019e6, False), (1.021e6, True), (0.979e6, True)])
def test_a_simulated_point_of_one_run_differs_from_two_percent_on(mean, differs):
    assert len(beside(FIGURE, simulated(mean), simulated(1e6)).differing) == differs


def test_a_simulated_point_with_intervals_differs_where_they_do_not_overlap():
    assert beside(FIGURE, simulated(1.1e6, 1e5), simulated(1e6, 1e5)).differing.empty
    assert len(beside(FIGURE, simulated(1.1e6, 1e4), simulated(1e6, 1e4)).differing) == 1


def test_points_that_only_one_run_has_are_not_compared():
    own = measured(manual=1e6, dynamic=2e6, dedicated=3e6, multilevel=9e6)
    kept = measured(manual=1e6, dynamic=2e6, dedicated=3e6, coroutine=1e6)
    assert beside(FIGURE, own, kept).points == 3


def test_a_simulated_point_is_not_compared_with_a_measured_one_of_the_same_arm():
    assert beside(FIGURE, simulated(1e6), measured(manual=5e6)).points == 0


class Profile:
    """Part of a profile that the comparison reads."""

    profile = "quick"

    def __init__(self, folder):
        self.folder = folder

    def tables(self, figure: str) -> str:
        return str(self.folder / figure)


def write(folder, table: pd.DataFrame) -> None:
    folder.mkdir(parents=True)
    table.to_parquet(folder / "throughput.parquet")


def test_the_words_name_the_point_that_differs_most_and_the_file_has_all(tmp_path):
    kept = measured(manual=1e6, dynamic=2e6, dedicated=3e6, multilevel=4e6, coroutine=5e6)
    own = measured(manual=1e6, dynamic=2e6, dedicated=3e6, multilevel=8e6, coroutine=1e6)
    write(tmp_path / "own" / FIGURE, own)
    write(tmp_path / "study/quick" / FIGURE, kept)
    found = beside_kept_study(
        Profile(tmp_path / "own"), [FIGURE, "pldi17_fig9"], tmp_path / "study"
    )
    assert list(lines(found)) == [
        "beside the kept study: 3 of 5 points of one figure agree within both intervals",
        "  crossover: 2 of 5 differ, most coroutine in mix,cost=1,payload=128 on local (measured): "
        "0.200 times as fast, beside the other arms of its cell",
    ]
    write_differing(found, tmp_path / "differing.csv")
    assert list(pd.read_csv(tmp_path / "differing.csv")["arm"]) == ["coroutine", "multilevel"]


def test_figures_that_the_study_does_not_have_are_not_mentioned(tmp_path):
    found = beside_kept_study(Profile(tmp_path), [FIGURE], tmp_path / "study")
    assert (found, list(lines(found))) == ([], [])
