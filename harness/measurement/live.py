"""A run that somebody watches: besides the phases each sample is announced, as the JSON that its
record will have of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from harness.engine import Engine, Sample, Totals
from harness.measurement.assemble import sample_entry
from harness.measurement.control import Controller


class Told:
    """Engine that announces its samples, and otherwise behaves as the engine in it.

    A sample is announced at the next call of any method: by then the laws have seen it, and their
    step is announced with it. Nothing waits in between.
    """

    def __init__(
        self,
        engine: Engine,
        controller: Controller,
        names: Sequence[str],
        announce: Callable[[str], None],
    ) -> None:
        """`names`: of the operators."""
        self._engine = engine
        self._controller = controller
        self._names = names
        self._announce = announce
        self._sample: Sample | None = None

    def announce(self, phase: str) -> None:
        """Announce a phase, and before it the sample that belongs to the one before."""
        self._tell()
        self._announce(phase)

    def sample(self, period_s: float) -> Sample:
        """See `Engine`."""
        self._tell()
        self._sample = self._engine.sample(period_s)
        return self._sample

    def sample_events(self, events: int) -> Sample:
        """Let so many events pass, as the simulator's engine does."""
        self._tell()
        self._sample = self._engine.sample_events(events)
        return self._sample

    def stop(self, drain: bool, timeout_s: float) -> Totals:
        """See `Engine`."""
        self._tell()
        return self._engine.stop(drain, timeout_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def _tell(self) -> None:
        sample, self._sample = self._sample, None
        if sample is not None:
            self._announce(
                json.dumps(sample_entry(sample, self._controller.step_after(sample), self._names))
            )


def sample_of(line: str) -> dict[str, Any] | None:
    """Return the sample of an announced line; None for a line about a phase."""
    return json.loads(line) if line.startswith("{") else None
