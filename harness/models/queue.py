"""The queue before an input port: its kind, its capacity, and the text by which a user names the
ports that have one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.errors import UserError
from harness.graph import PortId
from harness.graph.values import MAX_OPERATORS

PORTS_RULE = "all, none, a number of ports, a share as 30%, or names of ports as work50,sink"
"""Rule for a text that chooses scheduled ports."""


class Queue(StrEnum):
    """The kinds of queue: the way tuples get into an input port, and so the threads that execute
    it.

    Each engine has a record of what follows for a tuple: `native/disciplines.hpp`,
    `simulator/native/disciplines.hpp`.
    """

    CALLED = "called"  # by a function call of the thread that submits
    THREADED = "threaded"  # through a queue with a thread of its own
    SCHEDULED = "scheduled"  # through a queue that scheduler threads empty
    # through a queue before a co-routine, which threads resume when it can go on
    RESUMED = "resumed"


@dataclass(frozen=True)
class PortQueue:
    """The queue before an input port; `capacity` in tuples, None: the engine chooses."""

    kind: Queue
    capacity: int | None = None


@dataclass(frozen=True)
class Chosen:
    """Some of the scheduled ports: `all`, `none`, `7` or `30%` of them (evenly spread over the
    graph's order, so that 1 is in the middle), or names: `work50,sink`, `join[1]`; an operator's
    name stands for all its ports.
    """

    share: float | None = None
    count: int | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Chosen:
        """Return the ports that a text chooses. Raise UserError for a text that chooses none."""
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"queued must be {PORTS_RULE}, not {text!r}")
        if text in ("all", "none"):
            return cls(share=1.0 if text == "all" else 0.0)
        if re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?%", text):
            if float(text[:-1]) > 100.0:
                raise UserError(f"queued must be at most 100% of the ports, not {text}")
            return cls(share=float(text[:-1]) / 100.0)
        if re.fullmatch(r"[0-9]{1,19}", text):  # Python refuses to read very long ones
            if not 1 <= int(text) <= MAX_OPERATORS:
                raise UserError(f"queued must be from 1 to {MAX_OPERATORS} ports, not {text}")
            return cls(count=int(text))
        if not re.match(r"[^\W0-9]", text):
            raise UserError(f"queued must be {PORTS_RULE}, not {text[:40]!r}")
        return cls(names=tuple(name.strip() for name in text.split(",")))

    def of(self, ports: Sequence[PortId]) -> frozenset[PortId]:
        """Return the ports that are meant. Raise UserError for a name that is none of theirs."""
        if self.names:
            chosen: set[PortId] = set()
            for name in self.names:
                meant = [port for port in ports if name in (port.operator, str(port))]
                if not meant:
                    raise UserError(
                        f"queued must name scheduled input ports of the graph, not {name!r}"
                    )
                chosen.update(meant)
            return frozenset(chosen)
        count = min(
            self.count if self.count is not None else round((self.share or 0.0) * len(ports)),
            len(ports),
        )
        return frozenset(
            ports[(2 * number + 1) * len(ports) // (2 * count)] for number in range(count)
        )
