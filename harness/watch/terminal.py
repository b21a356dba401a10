"""Live view of a story in a terminal: curves in block letters, the law's decisions and their
reasons.

`rich` draws it, at any width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from harness.measurement.period_text import replicas_text, short
from harness.watch import lines
from harness.watch.story import Period, Story, most_replicas

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "._-=+*#@"  # where the terminal's encoding has no blocks
LABEL_WIDTH = 12  # characters of the first column
NARROW_COLUMNS = 64  # columns below which values are under the curves' names
MAX_CURVE = 60  # characters
BAR_WIDTH = 30
MAX_DECISIONS = 5
HIGH_LINES = 20  # lines above which a terminal has room for the last decisions

Value = Callable[[Period], float | None]


def _of(field: str) -> Value:
    return lambda period: period.sample.get(field)


class View:
    """Renderable of a story's current state. `limits_s`: the longest time of each phase, if it is
    known.

    Another thread adds periods while one draws: a drawing shows only the periods that it began
    with.
    """

    def __init__(self, story: Story, limits_s: Mapping[str, float]) -> None:
        self.story = story
        self.limits_s = limits_s
        self.periods: Sequence[Period] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        self.periods = list(self.story.periods)
        blocks = BLOCKS if "utf" in console.encoding.lower() else PLAIN_BLOCKS
        width, height = options.max_width, options.height or console.height
        yield self._title()
        yield self._progress(width)
        if self.periods:
            curves, law = list(self._curves(width, blocks)), list(self._law())
            lines_each = 2 if width < NARROW_COLUMNS else 1
            taken = sum(
                len(console.render_lines(part, options))
                for part in (self._title(), self._progress(width), *law)
            )
            if taken + lines_each * len(curves) + 2 <= height:
                yield from (Text(), *curves, Text(), *law)
                if height > HIGH_LINES:
                    yield from self._decisions()
                return
            yield from law  # decisions and reasons come first if there is no room for all
            room = max(0, (height - taken - 1) // lines_each)
            yield from (
                *curves[:room],
                Text(
                    f"{len(curves) - room} of {len(curves)} curves need a higher terminal",
                    style="dim",
                ),
            )

    def _title(self) -> Text:
        heading = self.story.heading
        title = Text(f"{heading.title} {heading.parameters}".rstrip(), style="bold")
        title.append(
            "\n" + "; ".join(part for part in (heading.arm, heading.law) if part), style="not bold"
        )
        if heading.simulated:
            title.append("\nSIMULATED", style="bold black on yellow").append(
                heading.where.removeprefix("simulated"), style="not bold"
            )
        return title

    def _progress(self, width: int) -> Text:
        """Return the outcome; until there is one, the phase and the share of its time that has
        passed.
        """
        story = self.story
        if story.outcome:
            return Text(story.outcome, style="bold red" if story.failed else "bold green")
        elapsed_s, limit_s = phase_s(self.periods, story.phase), self.limits_s.get(story.phase)
        line = Text(
            f"{story.phase:<{LABEL_WIDTH}} ", style="bold green", no_wrap=True, overflow="ellipsis"
        )
        clock = lines.clock(elapsed_s, story.heading.simulated)
        if limit_s is None:
            return line.append(clock, style="default")
        if width >= NARROW_COLUMNS:
            full = round(BAR_WIDTH * min(1.0, elapsed_s / limit_s)) if limit_s > 0 else BAR_WIDTH
            line.append("=" * full, style="cyan").append(
                "-" * (BAR_WIDTH - full) + " ", style="dim"
            )
        return line.append(
            f"{clock} of at most {lines.clock(limit_s, story.heading.simulated)}", style="default"
        )

    def _curves(self, width: int, blocks: str) -> Iterator[Text]:
        """Yield a line a quantity: name, curve over the last periods, value; two lines in a narrow
        terminal.
        """
        narrow = width < NARROW_COLUMNS
        room = (
            max(8, width - LABEL_WIDTH - 1)
            if narrow
            else min(MAX_CURVE, (width - LABEL_WIDTH) // 2)
        )
        for name, value, text, top in self._quantities():
            values = [value(period) for period in self.periods[-room:]]
            curve = sparkline(values, blocks, top)
            line = Text(f"{name:<{LABEL_WIDTH}} ", style="dim", no_wrap=True, overflow="ellipsis")
            if narrow:
                line.append(f"{text}\n", style="not dim").append(" " * (LABEL_WIDTH + 1)).append(
                    curve, style="not dim cyan"
                )
            else:
                line.append(f"{curve:<{room}} ", style="not dim cyan").append(text, style="not dim")
            yield line

    def _quantities(self) -> list[tuple[str, Value, str, float | None]]:
        """Return of each quantity: name, value in a period, last value in words, end of the axis
        (None: the highest value).
        """
        story = self.story
        last = self.periods[-1]
        sample = last.sample
        level = sample.get("threads_requested") or sample["threads_active"]
        active = sample["threads_active"]
        threads = (
            lines.count(level, "thread")
            if level == active
            else f"{level} asked for, {active} active"
        )
        if sample.get("utilisation") is not None:
            threads += f", busy {100 * sample['utilisation']:.0f} %"
        many = f"{sample.get('queued_ports', len(last.queued)):,} of {story.queueable:,}"
        which = lines.names(story, last.queued) if story.switchable else ""
        rows = [
            (
                "submitted",
                _of("submitted_tuples_per_s"),
                self._rate("submitted_tuples_per_s"),
                None,
            ),
            ("at the sinks", _of("sink_tuples_per_s"), self._rate("sink_tuples_per_s"), None),
            ("threads", _of("threads_requested"), threads, None),
            ("queues", _of("queued_ports"), many + (f": {which}" if which else ""), None),
        ]
        if story.has_replicas:
            text = replicas_text(sample.get("replicas") or {}) or "one each"
            rows.append(("replicas", lambda period: float(most_replicas(period)), text, None))
        if sample.get("system_cpu") is not None:
            others = f", others {100 * (sample.get('others_cpu') or 0.0):.0f} %"
            rows.append(
                ("CPU", _of("system_cpu"), f"{100 * sample['system_cpu']:.0f} % busy{others}", 1.0)
            )
        for number, each in enumerate(sample.get("balancers", ())):
            rows.append(
                (
                    each["operator"][:LABEL_WIDTH],
                    lambda period, number=number: period.sample["balancers"][number]["active"],
                    f"{each['active']} of {each['ports']} ports",
                    float(each["ports"]),
                )
            )
        return rows

    def _rate(self, field: str) -> str:
        values = [period.sample[field] for period in self.periods]
        return f"{short(values[-1])} tuples/s, best {short(max(values))}"

    def _law(self) -> Iterator[RenderableType]:
        """Yield the last state and reason of the pool's law."""
        said = [
            period.sample
            for period in self.periods[-20:]
            if period.sample.get("law_state") is not None
        ]
        if said:
            grid = Table.grid(padding=(0, 1))
            grid.add_column(min_width=LABEL_WIDTH, no_wrap=True, style="dim")
            grid.add_column(overflow="fold")
            grid.add_row("law", Text(said[-1]["law_state"], style="bold magenta"))
            grid.add_row("because", Text(said[-1]["law_reason"]))
            yield grid

    def _decisions(self) -> Iterator[RenderableType]:
        """Yield the last changes, the latest first."""
        changes = decisions(self.story, self.periods)[-MAX_DECISIONS:]
        if changes:
            yield Text()
            for time_s, what in reversed(changes):
                clock = lines.clock(time_s, self.story.heading.simulated)
                yield Text(
                    f"{clock:>{LABEL_WIDTH}} {what}", style="dim", no_wrap=True, overflow="ellipsis"
                )


def decisions(story: Story, periods: Sequence[Period]) -> list[tuple[float, str]]:
    """Return the times [s] at which threads, queues or replicas were changed, and the changes."""
    found = []
    for period, after in pairwise([*periods, None]):
        sample = period.sample
        what = lines.switched(story, sample)
        if after is not None:
            before = sample.get("threads_requested", 0)
            level = after.sample.get("threads_requested", 0)
            what = [f"threads {before} → {level}"] * (before != level) + what
        if what:
            found.append((sample["time_s"], "; ".join(what)))
    return found


def phase_s(periods: Sequence[Period], phase: str) -> float:
    """Return the seconds that a phase has lasted so far, from its samples."""
    total_s = 0.0
    for period in reversed(periods):
        if period.phase != phase:
            break
        total_s += period.sample["elapsed_s"]
    return total_s


def sparkline(
    values: Sequence[float | None], blocks: str = BLOCKS, top: float | None = None
) -> str:
    """Return a character a value, from 0 to the highest one or `top`; a blank if it is not
    known.
    """
    highest = top or max((value for value in values if value is not None), default=0.0) or 1.0
    steps = len(blocks) - 1
    return "".join(
        " " if value is None else blocks[min(steps, round(steps * value / highest))]
        for value in values
    )
