"""The live view, drawn without a terminal, and the lines where there is none."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

import topologies
from harness.errors import RunFailed
from harness.measurement.record.declaration import BALANCER
from harness.watch import lines
from harness.watch.stage import stage
from harness.watch.story import Story, story_of_record
from harness.watch.terminal import View, decisions, sparkline
from tests.records import example
from tests.watch.stories import record, sample

GRAPH = topologies.build("pipeline", {"operators": 10}, 0)[0]


def running(periods: int = 4, **changes: object) -> Story:
    """In mid-run: queues come one by one, threads too."""
    samples = [
        sample(
            float(number),
            queued_ports=number - 1,
            switched_on=[f"work{number}[0]"],
            threads_requested=number,
            threads_active=number,
        )
        for number in range(1, periods + 1)
    ]
    story = story_of_record(
        record(model="multilevel", arm="multilevel", adaptation=samples, **changes), GRAPH
    )
    story.outcome, story.phase = "", "adapting"
    return story


def drawn(story: Story, width: int, height: int = 40, **options: object) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, **options)
    console.print(View(story, {"adapting": 40.0}))
    return out.getvalue()


def test_it_shows_throughput_threads_queues_cpu_and_what_the_law_says() -> None:
    text = drawn(running(), 120)
    for words in (
        "pipeline operators=10 cost=1 payload=128",
        "multilevel; law millrace: from 1 to 8 threads, a step every 1 s",
        "4.00 s of at most 40.00 s",
        "48 k tuples/s, best 48 k",
        "4 k tuples/s, best 4 k",
        "4 threads, busy 80 %",
        "3 of 11: work1, work2, work3",
        "90 % busy, others 10 %",
        "searching",
        "look 4 → up",
        "3.00 s threads 3 → 4; queue on: work3",
    ):
        assert words in text
    assert "▃▅▆█" in text, "threads 1 to 4"
    assert "SIMULATED" not in text


@pytest.mark.parametrize("width", [20, 36, 64, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = drawn(running(periods=9), width)
    assert max(map(len, text.splitlines())) <= width
    assert "submitted" in text and ("searching" in text or width == 20)


def test_a_low_terminal_leaves_out_past_decisions() -> None:
    assert "queue on" in drawn(running(), 100, height=40)
    assert "queue on" not in drawn(running(), 100, height=15)


def test_colours_are_left_out_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in drawn(running(), 100, force_terminal=True, color_system="standard")
    monkeypatch.setenv("NO_COLOR", "1")
    text = drawn(running(), 100, force_terminal=True, color_system="standard")
    assert "\x1b[36m" not in text and "\x1b[1;32m" not in text


def test_a_terminal_without_blocks_gets_letters() -> None:
    class Ascii(io.StringIO):
        encoding = "ascii"

    out = Ascii()
    Console(file=out, width=100).print(View(running(), {}))
    assert not set("▁▂▃▄▅▆▇█") & set(out.getvalue()) and "@" in out.getvalue()


def test_a_story_that_has_not_begun_can_be_drawn() -> None:
    story = running(0)
    story.phase = "starting"
    assert "starting" in drawn(story, 80)
    story.outcome, story.failed = "failed: out of memory", True
    assert "failed: out of memory" in drawn(story, 80)


def test_curves_begin_at_zero() -> None:
    assert sparkline([0, 4, 8], "0123456789") == "049"
    assert sparkline([0, 0]) == "▁▁" and sparkline([]) == ""
    assert sparkline([1.0, None, 1.0], "ab") == "b b"
    assert sparkline([0.5], "0123456789", top=1.0) == "4"
    assert sparkline([2.0], "01", top=1.0) == "1"


def test_decisions_are_told_when_they_were_made() -> None:
    story = running(2)
    assert decisions(story, story.periods) == [
        (1.0, "threads 1 → 2; queue on: work1"),
        (2.0, "queue on: work2"),
    ]


def test_a_period_is_a_line() -> None:
    story = running(3)
    assert lines.line(story, story.periods[2]) == (
        "3.00 s, adapting, 3 scheduler threads, 2 queues (work1, work2), 36 k tuples/s submitted, "
        "3 k at the sinks, CPU 90 %, "
        "searching: look 3 → up; queue on: work3"
    )
    balanced = example(BALANCER, operator="elb", active=2, ports=8)
    told = {
        "threads_active": 1,
        "queued_ports": 3,
        "balancers": [balanced],
        "law_state": None,
        "law_reason": None,
    }
    story.add(sample(4.0, **told), "measuring")
    assert lines.line(story, story.periods[3]) == (
        "4.00 s, measuring, 2 scheduler threads (1 active), 3 queues (work1, work2, work3), 48 k "
        "tuples/s submitted, "
        "4 k at the sinks, "
        "CPU 90 %, elb 2 of 8 ports"
    )


def replicated() -> Story:
    """A chain whose operators get replicas."""
    graph = topologies.build("chain", {"operators": 2}, 0)[0]
    many = {f"busy{number}": number for number in range(2, 10)}
    samples = [
        sample(1.0, queued_ports=3, replicas={}, replicas_changed={"busy1": 3}),
        sample(2.0, queued_ports=3, replicas={"busy1": 3}, replicas_changed=many),
        sample(3.0, queued_ports=3, replicas=many, replicas_changed={}),
    ]
    told = {
        "model": "coroutine",
        "arm": "coroutine-elastic",
        "policy": "random",
        "quantum_ms": 50.0,
        "replicas": 1,
    }
    return story_of_record(record(samples=samples, **told), graph)


def test_replicas_are_told_in_lines_decisions_and_curves() -> None:
    story = replicated()
    told = [lines.line(story, period) for period in story.periods]
    assert "replicas" not in told[0].partition(";")[0] and told[0].endswith("; replicas: busy1 3")
    assert (
        ", replicas busy1 3, " in told[1]
        and ", replicas busy2 2, busy3 3, " in told[2]
        and "busy7 7 and 2 more, " in told[2]
    )
    assert decisions(story, story.periods)[0] == (1.0, "replicas: busy1 3")
    rows = [row[0] for row in drawn_quantities(story)]
    assert "replicas" in rows and "replicas" not in [row[0] for row in drawn_quantities(running(3))]


def drawn_quantities(story: Story) -> list:
    view = View(story, {})
    view.periods = story.periods
    return view._quantities()


def test_many_ports_are_named_in_part() -> None:
    story = running()
    assert (
        lines.names(story, {f"work{number}[0]" for number in range(1, 10)}, 2)
        == "work1, work2 and 7 more"
    )
    assert lines.names(story, set(story.ports)) == "all 11"
    assert lines.names(story, set()) == ""


def test_virtual_times_are_short_most_of_them() -> None:
    assert [lines.clock(time_s, True) for time_s in (0.0, 0.0021, 2.5)] == [
        "0.00 ms",
        "2.10 ms",
        "2.50 s",
    ]
    assert lines.clock(0.25, False) == "0.25 s"


def test_where_there_is_no_terminal_each_period_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = running(0)
    with stage(story, {}) as shown:
        shown.phase()
        story.add(sample(1.0, queued_ports=0))
        shown.period()
        shown.notice("waiting")
    out, err = capsys.readouterr()
    assert [line.partition(",")[0] for line in out.splitlines()] == [
        "pipeline operators=10 cost=1 "
        "payload=128", "multilevel; law millrace: from 1 to 8 threads", "1.00 s",
    ]  # fmt: skip
    assert err == "millrace watch: waiting\n"


def test_a_full_disk_is_told_at_the_end_and_not_to_the_thread_that_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    story = running(1)
    with (
        pytest.raises(RunFailed, match="cannot write to standard output: No space left on device"),
        stage(story, {}) as shown,
    ):
        shown.period()


def test_a_terminal_that_has_gone_is_told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            if "second" in text:
                raise OSError(5, "Input/output error")
            return len(text)

    monkeypatch.setattr(sys, "stdout", Gone())
    monkeypatch.setenv("TERM", "xterm")
    story = running(1)
    with (
        pytest.raises(RunFailed, match="cannot write to standard output: Input/output error"),
        stage(story, {}) as shown,
    ):
        story.add(sample(2.0, law_reason="a second look"))
        shown.period()
        story.add(sample(3.0))
        shown.phase()


def test_on_a_terminal_the_view_is_drawn_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    story = running(1)
    with stage(story, {"adapting": 9.0}) as shown:
        shown.phase()
        story.add(sample(2.0, queued_ports=1, law_reason="a second look"))
    assert out.getvalue().count("look 1 → up") >= 1 and "a second look" in out.getvalue()
    assert "\x1b[1A" in out.getvalue() or "\x1b[2K" in out.getvalue(), (
        "what was there is overwritten"
    )


@pytest.mark.parametrize("height", [8, 10, 14, 15])
@pytest.mark.parametrize("width", [60, 120])
def test_a_low_terminal_still_says_what_the_law_does_and_that_curves_are_missing(
    height: int, width: int
) -> None:
    lines_shown = drawn(running(), width, height).splitlines()[:height]  # as a terminal crops them
    text = "\n".join(lines_shown)
    assert "look 4 → up" in text, "why the law decided as it did"
    missing = [
        name
        for name in ("submitted", "at the sinks", "threads ", "queues", "CPU")
        if name not in text
    ]
    assert ("need a higher terminal" in text) == bool(missing)
