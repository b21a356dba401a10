"""Period as a line of text, and short names of ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from harness.measurement.period_text import replicas_text, short
from harness.watch.story import Period, Story

MAX_NAMES = 6  # of ports in a line


def line(story: Story, period: Period) -> str:
    """Return a period as a line of text.

    It reads `12.00 s, adapting, 4 scheduler threads, 2 queues (work25, work50), 1.23 M tuples/s …`.
    """
    sample = period.sample
    parts = [clock(sample["time_s"], story.heading.simulated), period.phase]
    level = sample.get("threads_requested") or sample["threads_active"]
    if level:
        active = (
            "" if sample["threads_active"] == level else f" ({sample['threads_active']} active)"
        )
        parts.append(f"{count(level, 'scheduler thread')}{active}")
    parts.append(queues(story, period))
    if sample.get("replicas"):
        parts.append(f"replicas {replicas_text(sample['replicas'])}")
    parts.append(f"{short(sample['submitted_tuples_per_s'])} tuples/s submitted")
    parts.append(f"{short(sample['sink_tuples_per_s'])} at the sinks")
    if sample.get("system_cpu") is not None:
        parts.append(f"CPU {100 * sample['system_cpu']:.0f} %")
    parts += [
        f"{each['operator']} {each['active']} of {each['ports']} ports"
        for each in sample.get("balancers", ())
    ]
    if sample.get("law_state") is not None:
        parts.append(f"{sample['law_state']}: {sample['law_reason']}")
    return "; ".join([", ".join(parts), *switched(story, sample)])


def queues(story: Story, period: Period) -> str:
    """Return the number of queues, with the ports if they are known and may change, and are neither
    none nor all.
    """
    many = period.sample.get("queued_ports", len(period.queued))
    if many in (0, story.queueable) or many != len(period.queued) or not story.switchable:
        return count(many, "queue")
    return f"{count(many, 'queue')} ({names(story, period.queued)})"


def switched(story: Story, sample: Mapping[str, Any]) -> list[str]:
    """Return the changes after a period: `queue on: work50`, `replicas: busy1 3`."""
    changes = (("on", sample.get("switched_on")), ("off", sample.get("switched_off")))
    texts = [f"queue {which}: {names(story, ports)}" for which, ports in changes if ports]
    changed = sample.get("replicas_changed")
    return texts + ([f"replicas: {replicas_text(changed)}"] if changed else [])


def names(story: Story, ports: Collection[str], most: int = MAX_NAMES) -> str:
    """Return ports in the graph's order, the first few by name."""
    if len(ports) > 1 and len(ports) == story.queueable:
        return f"all {len(ports):,}"
    shown: list[str] = []
    for port in story.ports:  # in their order, and no further than is needed
        if len(shown) == most:
            break
        if port in ports:
            shown.append(story.label(port))
    rest = len(ports) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def count(number: int, what: str) -> str:
    """Return a number with its noun: `1 thread`, `4 threads`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def clock(time_s: float, virtual: bool) -> str:
    """Return a time since the start, in ms if it is virtual and below 1 s."""
    return f"{time_s * 1000:.2f} ms" if virtual and time_s < 1.0 else f"{time_s:.2f} s"


def doubt(story: Story) -> list[str]:
    """Return a warning if other ports had queues than those that are known."""
    return [
        "the record counts other queues than it names: before which ports they are is not known"
    ] * story.is_doubtful


def heading(story: Story) -> list[str]:
    """Return two lines: graph and parameters; model, law and machine."""
    head = story.heading
    return [
        f"{head.title} {head.parameters}".rstrip(),
        "; ".join(part for part in (head.arm, head.law, head.where) if part),
    ]
