"""The replay page: whole, self-contained, and safe from what names say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import topologies
from harness.graph import Graph
from harness.measurement.record.declaration import SIMULATION
from harness.watch.page import COLUMNS, page
from harness.watch.picture import Picture, packed, unpacked
from harness.watch.story import Story, story_of_record
from tests.records import example
from tests.watch.stories import chain, record, sample

VOID = {"meta", "input", "br"}


class Parsed(HTMLParser):
    """A page taken apart. Fails on what is not closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}  # by the element that holds them
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]

    def by_id(self, name: str) -> dict[str, str | None]:
        (attrs,) = [attrs for _, attrs in self.elements if attrs.get("id") == name]
        return attrs

    @property
    def run(self) -> dict:
        return json.loads(next(text for text in self.texts["script"] if text.startswith("{")))


def switching(periods: int = 6, operators: int = 10) -> Story:
    """One queue more each period."""
    graph = topologies.build("pipeline", {"operators": operators}, 0)[0]
    samples = [
        sample(float(number), queued_ports=number - 1, switched_on=[f"work{number}[0]"])
        for number in range(1, periods + 1)
    ]
    return story_of_record(
        record(
            model="multilevel",
            arm="multilevel",
            adaptation=samples[: periods // 2],
            samples=samples[periods // 2 :],
        ),
        graph,
    )


def test_every_period_is_a_row_of_the_table_and_a_place_of_the_slider() -> None:
    parsed = Parsed(page(switching()))
    slider = parsed.by_id("period")
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "5", "0")
    cells = parsed.texts["td"]
    assert [cell for cell in cells if cell.endswith(" s")] == [
        f"{number}.00 s" for number in range(1, 7)
    ]
    assert [cell for cell in cells if cell.startswith("searching")] == [
        f"searching: look {number} → up" for number in range(1, 7)
    ]
    assert sum(tag == "td" for tag, _ in parsed.elements) == 6 * len(COLUMNS)
    assert cells.count("adapting") == cells.count("measuring") == 3
    assert len(parsed.run["x"]) == len(parsed.run["state"]) == 6


def test_replicas_have_a_curve_and_a_column_where_there_are_any() -> None:
    graph = topologies.build("chain", {"operators": 1}, 0)[0]
    samples = [
        sample(1.0, queued_ports=2, replicas_changed={"busy1": 4}),
        sample(2.0, queued_ports=2, replicas={"busy1": 4}),
    ]
    terms = {
        "model": "coroutine",
        "arm": "coroutine-elastic",
        "policy": "random",
        "quantum_ms": 50.0,
    }
    html = page(story_of_record(record(samples=samples, **terms), graph))
    cells = Parsed(html).texts["td"]
    at = COLUMNS.index("replicas")
    assert (cells[at], cells[len(COLUMNS) + at], cells[len(COLUMNS) - 1]) == (
        "one each",
        "busy1 4",
        "replicas: busy1 4",
    )
    assert (
        "of the operator that has the most" in html
        and "of the operator that has the most" not in page(switching())
    )


def test_the_states_of_the_picture_are_those_of_the_story() -> None:
    story = switching()
    parsed = Parsed(page(story))
    picture = Picture(story)
    for number, period in enumerate(story.periods):
        boxes, marks, names = parsed.run["states"][parsed.run["state"][number]]
        state = picture.state(period.queued)
        assert (boxes, marks) == (state.boxes, state.marks)
        assert unpacked(marks).count("9") == len(period.queued)
        assert len(set(unpacked(boxes))) == min(7, len(period.queued) + 1), (
            "each queue begins a region"
        )
        assert names == (", ".join(f"work{queue}" for queue in range(1, number + 1)) or "none")


def test_the_first_period_is_drawn_without_scripts() -> None:
    story = switching()
    parsed = Parsed(page(story))
    state = Picture(story).state(story.periods[0].queued)
    drawn = [attrs["class"] for attrs in parsed.of_class("n")]
    assert drawn == [f"n {letter}" for letter in unpacked(state.boxes)]
    assert [attrs["class"] for attrs in parsed.of_class("m")] == [
        f"m q{digit}" for digit in unpacked(state.marks)
    ]
    assert len(drawn) == 12 and len(parsed.of_class("m")) == 11


def test_it_needs_nothing_from_elsewhere() -> None:
    html = page(switching())
    assert not re.search(r"https?:|//[a-z]|@import|url\(", html.replace("// ", ""))
    assert not {"src", "href", "action", "onclick"} & {
        name for _, attrs in Parsed(html).elements for name in attrs
    }
    assert "fetch(" not in html and "import(" not in html


EVIL = "<script>alert('x')</script>"
EVIL_END = '</script><b title="a">&amp;'


def test_a_name_cannot_become_a_part_of_the_page() -> None:
    graph = chain([EVIL, EVIL_END])
    graph.name = EVIL
    evil = [
        sample(1.0, switched_on=[f"{EVIL}[0]"], law_reason=EVIL, balancers=[
            {"operator": EVIL_END, "active": 1, "ports": 2, "tuples_per_s": 1.0, "congestion": 0.0, "reason": EVIL}
        ]),
        sample(2.0, queued_ports=1, switched_on=[f"{EVIL_END}[0]"]),
        sample(3.0, queued_ports=2),
    ]  # fmt: skip
    story = story_of_record(
        record(
            model="multilevel",
            arm="multilevel",
            topology=EVIL,
            parameters={EVIL: EVIL_END},
            samples=evil,
            error=EVIL,
        ),
        graph,
    )
    html = page(story)
    parsed = Parsed(html)
    assert [tag for tag, _ in parsed.elements if tag == "script"] == ["script"] * 2, (
        "its own data and code"
    )
    assert "b" not in [tag for tag, attrs in parsed.elements if "title" in attrs]
    assert any(text.startswith(EVIL) for text in parsed.texts["title"])
    assert parsed.run["states"][2][2] == f"{EVIL}, {EVIL_END}"


def test_a_run_of_a_fixed_model_without_switches_plays_too() -> None:
    graph = topologies.build("bushy", {}, 0)[0]
    plain = [
        {name: value for name, value in sample(time_s).items() if name != "others_cpu"}
        for time_s in (1.0, 2.0)
    ]
    for each in plain:
        each |= {"law_state": None, "law_reason": None, "threads_requested": 0, "threads_active": 0}
    story = story_of_record(
        record(model="manual", arm="manual", elastic=None, topology="bushy", samples=plain), graph
    )
    parsed = Parsed(page(story))
    assert parsed.by_id("period")["max"] == "1"
    assert parsed.of_class("m") == [], "no port may have a queue"
    assert {attrs["class"] for attrs in parsed.of_class("n")} == {"n a"}, (
        "one region: the source calls all"
    )


def test_ports_that_always_have_a_queue_are_told_apart() -> None:
    graph = chain(["a", "b"])
    graph.threaded_port(graph.operators["b"])
    story = story_of_record(
        record(model="manual", arm="manual", elastic=None, samples=[sample(1.0, queued_ports=1)]),
        graph,
    )
    (mark,) = Parsed(page(story)).of_class("m")
    assert mark["class"] == "m t q9"


def test_many_ports_of_a_box_share_a_mark() -> None:
    graph = Graph("join", 8)
    join = graph.work("join", 1, inputs=20)
    for port in range(20):
        graph.connect(graph.source(f"s{port}"), join.input(port))
    graph.connect(join, graph.sink("sink"))
    on = [sample(1.0, switched_on=["join[3]"]), sample(2.0, queued_ports=1)]
    story = story_of_record(record(model="multilevel", arm="multilevel", samples=on), graph)
    picture = Picture(story)
    assert unpacked(picture.state(frozenset()).marks) == "00"
    assert sorted(unpacked(picture.state(frozenset(["join[3]"])).marks)) == ["0", "1"], (
        "few of 20, but not none"
    )


def test_simulated_runs_say_so_and_others_do_not() -> None:
    simulation = example(SIMULATION)
    graph = topologies.build("pipeline", {"operators": 10}, 0)[0]
    story = story_of_record(
        record(simulated=True, machine="xeon", simulation=simulation, samples=[sample(0.002)]),
        graph,
    )
    html = page(story)
    assert (
        len(Parsed(html).of_class("simulated")) == 1
        and "simulated on xeon" in html
        and "2.00 ms" in html
    )
    assert Parsed(page(switching())).of_class("simulated") == []


def test_a_run_without_a_period_is_a_page_too() -> None:
    graph = topologies.build("pipeline", {"operators": 10}, 0)[0]
    parsed = Parsed(page(story_of_record(record(error="out of memory", correct=False), graph)))
    assert "script" not in [tag for tag, _ in parsed.elements]
    assert any("ended before its first period" in text for text in parsed.texts["p"])
    assert any("failed: out of memory" in text for text in parsed.texts["p"])


def test_queues_that_nobody_knows_are_owned_up_to() -> None:
    graph = topologies.build("pipeline", {"operators": 10}, 0)[0]
    doubtful = page(
        story_of_record(record(samples=[sample(1.0, queued_ports=3)], arm="mine"), graph)
    )
    assert "may mark wrong ports" in doubtful
    assert "may mark wrong ports" not in page(switching())


@pytest.mark.parametrize(
    ("topology", "parameters"),
    [("pipeline", {"operators": 1000}), ("data-parallel", {"width": 1000})],
)
def test_a_thousand_operators_and_a_hundred_periods_are_less_than_a_mebibyte(
    topology: str, parameters: dict[str, int]
) -> None:
    graph = topologies.build(topology, parameters, 0)[0]
    samples, on = [], set()
    for number in range(100):  # every second port of a stretch that moves: no runs to pack
        wanted = {f"work{place}[0]" for place in range(1 + 5 * number, 1001, 2)}
        samples.append(
            sample(
                1.0 + number,
                queued_ports=len(on),
                switched_on=sorted(wanted - on),
                switched_off=sorted(on - wanted),
            )
        )
        on = wanted
    story = story_of_record(record(model="multilevel", arm="multilevel", samples=samples), graph)
    assert not story.is_doubtful
    html = page(story)
    assert len(html.encode()) < 2**20
    assert len(Parsed(html).of_class("n")) == len(graph.operators)


@pytest.mark.parametrize("text", ["", "a", "aab", "0009", "999111x", "1" * 1000])
def test_packed_text_comes_back(text: str) -> None:
    assert unpacked(packed(text)) == text
