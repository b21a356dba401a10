"""The table of a validation: what each row says of the measured and of the predicted runs."""

from __future__ import annotations

from harness.validation.comparison import compare
from harness.validation.table import as_frame
from tests.validation.made_runs import HOST, PIPELINE, case, measured, predicted

SIMULATED = {"machine_digest": "abc", "software": "millrace"}


def test_a_row_names_the_host_of_the_measured_runs_and_the_machine_of_the_predicted_ones():
    dedicated = case("dedicated")
    runs = [
        *measured(PIPELINE, 100.0, 101.0, 102.0),
        *measured(dedicated, 10.0, host={**HOST, "cpus_allowed": 4}),
    ]
    forecasts = [predicted(PIPELINE, 110.0, simulation=SIMULATED)]
    frame = as_frame(
        compare([PIPELINE, dedicated, case("dynamic-2")], runs, forecasts), runs, forecasts
    )
    both, measured_only, neither = frame.to_dict("records")
    assert (both["arm"], both["measured"], both["predicted"]) == ("manual", 101.0, 110.0)
    assert both["error"] == 110.0 / 101.0 - 1
    assert (both["cpu_model"], both["cpus_allowed"]) == (HOST["cpu_model"], 2)
    assert (both["machine_digest"], both["software"]) == ("abc", "millrace")
    assert (
        measured_only["cpus_allowed"],
        measured_only["machine_digest"],
        measured_only["software"],
    ) == (4, None, None)
    assert (neither["runs"], neither["threads"], neither["cpu_model"], neither["software"]) == (
        0,
        2,
        None,
        None,
    )
