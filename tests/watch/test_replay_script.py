"""Tests of what the replay's script does with a page, where there is a node to run it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import harness.watch
from harness.watch.page import COLUMNS, page
from harness.watch.picture import Picture, unpacked
from harness.watch.story import Story, story_of_record
from tests.watch.stories import record, sample
from tests.watch.test_page import Parsed, switching

NODE = shutil.which("node")
SCRIPT = Path(harness.watch.__file__).with_name("replay.js")
HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node here")


def used(story: Story, acts: list[tuple[str, Any]], tmp_path: Path) -> list[dict[str, Any]]:
    """Return what the page shows at first and after each act."""
    parsed = Parsed(page(story))
    cells = [attrs for tag, attrs in parsed.elements if tag == "td"]
    assert len(cells) == len(story.periods) * len(COLUMNS)
    rows = [[f"{column} of {number}" for column in COLUMNS] for number in range(len(story.periods))]
    data = {
        "run": next(text for text in parsed.texts["script"] if text.startswith("{")),
        "rows": rows,
        "boxes": [attrs["class"] for attrs in parsed.of_class("n")],
        "marks": [attrs["class"] for attrs in parsed.of_class("m")],
    }
    path = tmp_path / "page.json"
    path.write_text(json.dumps(data))
    done = subprocess.run(
        [NODE, HERE / "fake_page.js", SCRIPT, path, json.dumps(acts)],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_each_way_to_a_period_shows_all_of_it(tmp_path: Path) -> None:
    story = switching()
    acts = [("key", "ArrowRight"), ("key", "End"), ("key", "ArrowRight"), ("key", "ArrowLeft"), ("slide", 2), ("click", 0.0),
            ("click", 1.0), ("click", 0.49), ("key", "Home"), ("key", "ArrowLeft")]  # fmt: skip
    expected = [0, 1, 5, 5, 4, 2, 0, 5, 2, 0, 0]
    picture = Picture(story)
    for shown, number in zip(used(story, acts, tmp_path), expected, strict=True):
        period = story.periods[number]
        state = picture.state(period.queued)
        assert (shown["period"], shown["current"], shown["at"]) == (
            number,
            number,
            f"{number + 1} of 6",
        )
        assert shown["cells"] == [f"{column} of {number}" for column in COLUMNS]
        assert shown["boxes"] == [f"n {letter}" for letter in unpacked(state.boxes)]
        assert shown["marks"] == [f"m q{digit}" for digit in unpacked(state.marks)]
        assert shown["ports"] == (
            ", ".join(f"work{queue}" for queue in range(1, number + 1)) or "none"
        )
        assert shown["cursor"] == [pytest.approx(1000 * (number + 1) / 6, abs=0.1)] * 2


def test_it_plays_to_the_end_and_from_the_start_again(tmp_path: Path) -> None:
    acts = [("play", None), *[("tick", None)] * 6, ("key", " "), ("tick", None), ("key", " ")]
    shown = used(switching(), acts, tmp_path)
    assert [each["period"] for each in shown] == [0, 0, 1, 2, 3, 4, 5, 5, 0, 1, 1]
    assert [each["playing"] for each in shown] == [False, *[True] * 6, False, True, True, False]


def test_whoever_takes_the_slider_stops_the_playing(tmp_path: Path) -> None:
    shown = used(switching(), [("play", None), ("slide", 3)], tmp_path)
    assert (shown[-1]["period"], shown[-1]["playing"]) == (3, False)


def test_a_graph_without_queues_has_no_marks_to_paint(tmp_path: Path) -> None:
    samples = [sample(time_s) for time_s in (1.0, 2.0)]
    story = story_of_record(
        record(model="manual", arm="manual", elastic=None, samples=samples), switching().graph
    )
    shown = used(story, [("key", "End")], tmp_path)
    assert [each["period"] for each in shown] == [0, 1]
    assert (shown[-1]["marks"], set(shown[-1]["boxes"]), shown[-1]["ports"]) == (
        [],
        {"n a"},
        "none",
    )


def test_a_queue_with_a_thread_of_its_own_stays_told_apart(tmp_path: Path) -> None:
    graph = switching().graph
    graph.threaded_port(graph.operators["work9"])
    samples = [sample(time_s, queued_ports=1) for time_s in (1.0, 2.0)]
    story = story_of_record(record(model="multilevel", arm="multilevel", samples=samples), graph)
    shown = used(story, [("key", "End")], tmp_path)
    assert shown[-1]["marks"].count("m t q9") == 1 and shown[-1]["marks"].count("m q0") == 10
