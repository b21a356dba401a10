"""Tests of docs/explanation/laws.md: what it shows of laws that place queues works as it stands."""

from __future__ import annotations

from pathlib import Path

from harness.elasticity import Bounds, Decides, law_class
from tests.elasticity.queues.pipelines import Pipeline, drive, make_law, pipeline

PAGE = (Path(__file__).resolve().parents[3] / "docs/explanation/laws.md").read_text(
    encoding="utf-8"
)
PART = PAGE.partition("## Laws that place queues")[2].partition("## Writing a law")[0]


def test_the_page_tells_of_every_setting_with_its_default():
    for setting in law_class("middleware19", Decides.QUEUES).SETTINGS:
        default = (
            str(setting.default).lower()
            if isinstance(setting.default, bool)
            else f"{setting.default:g}"
        )
        assert f"| `{setting.name}` ({default}) |" in PART


def test_the_page_tells_of_every_state():
    for name in ("middleware19", "streams"):
        assert f"**{name}**" in PART
        law = make_law(name, Bounds(2, 8, 2), pipeline(20))
        surface, slower = Pipeline([1.0] * 20, queue=2.0), Pipeline([10.0] * 20, queue=20.0)
        decisions = drive(law, surface.throughput, 60, surface.shares)
        decisions += drive(law, slower.throughput, 60, surface.shares, after=decisions)
        states = {decision.state for decision in decisions}
        assert {"placing", "load changed", "noise"} < states
        assert all(f"`{state}`" in PAGE for state in states)
