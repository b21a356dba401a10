"""Suites, recordings and processes that are made up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.gate.cell import GateCell, Metric, Program
from harness.gate.order import block_order
from harness.gate.sample import ProcessSample
from harness.gate.suite import Suite
from harness.gate.tree import Tree
from harness.gate.verdict import Side
from studies.gate_error_rates.replay import Injection

ONE, OTHER = (Program(name, (name,), (GateCell(name, Metric()),)) for name in ("one", "other"))
SUITE = Suite("made", (ONE, OTHER), "one", factor=1.02, alpha=0.01, time_budget_s=78.0)
PLACE = Injection("", OTHER, OTHER.cells[0])
TREE = Tree(Path("tree"), "python", Side("base", None))
ABOUT = {"suite": "made", "disturb": "none"}


class Processes:
    """`take`: values that scatter by `noise`, slower by a billionth for each unit of FLOP; every
    `fail`th process fails.
    """

    def __init__(
        self,
        noise: float = 0.001,
        fail: Callable[[int], bool] = lambda number: False,
        seconds: float = 0.5,
    ) -> None:
        self.asked: list[tuple[str, Mapping[str, str], int]] = []
        self._draw = random.Random(1)
        self._noise, self._fail, self._seconds = noise, fail, seconds

    def __call__(
        self, tree: Tree, program: Program, settings: Mapping[str, str], pair: int
    ) -> ProcessSample:
        self.asked.append((program.name, settings, pair))
        if self._fail(len(self.asked)):
            return ProcessSample({}, error="exit code 3\n(Traceback)", seconds=0.1)
        slower = 1 + int(settings["MILLRACE_EXTRA_FLOP"]) / 1e9
        value = 100 * slower * self._draw.lognormvariate(0, self._noise)
        host = {
            "hostname_hash": "abc",
            "load_of_others": 0.5,
            "steal_share": None,
            "throttled_us": 0,
            "kernel": "left out",
        }
        return ProcessSample(
            {program.cells[0].name: value},
            host=host,
            seconds=self._seconds,
            started_at="2026-01-01T00:00:00+00:00",
        )


def rows(
    number: int, program: str, arm: str, base: float = 100.0, head: float = 100.0, seed: int = 0
) -> list[dict[str, Any]]:
    """The lines of one block."""
    sides = block_order(random.Random(f"{seed} {number} {program} {arm}"))
    return [
        {
            "round": number,
            "program": program,
            "arm": arm,
            "amount": 0,
            "position": position,
            "side": side,
            "at": "",
            "seconds": 0.5,
            "values": {program: head if side == "head" else base},
            "host": "abc",
            "disturbance": {},
        }
        for position, side in enumerate(sides)
    ]


def text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


FIRST = {"recording": 1, **ABOUT}
ARM = {"kind": "flop", "wanted": 1.05, "amount": 50_000_000}


def write_recording(path: Path, rounds: int, head: float = 105.0, noise: float = 0.001) -> None:
    """Rounds with the arm `flop 1.05` in the program `other`, whose head gives `head` where its
    base gives 100.
    """
    draw = random.Random(2)
    lines: list[dict[str, Any]] = [FIRST, ARM]
    for number in range(rounds):
        for program, arm in (
            ("one", "base"),
            ("other", "base"),
            ("one", "control"),
            ("other", "flop 1.05"),
        ):
            block = rows(number, program, arm, head=head if arm.startswith("flop") else 100.0)
            for row in block:
                row["values"] = {
                    name: value * draw.lognormvariate(0, noise)
                    for name, value in row["values"].items()
                }
            lines += block
    path.write_text(text(lines), encoding="utf-8")
