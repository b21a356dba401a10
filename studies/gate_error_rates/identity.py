"""The facts that all of a recording has in common: a suite, a binary, a host. A sitting that
extends it, and a replay, must have the same."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.gate.suite import Suite
from studies.gate_error_rates.recording import Recording
from studies.gate_error_rates.replay import Injection


def of_suite(suite: Suite, place: Injection) -> dict[str, Any]:
    """Return the facts that replaying needs: the cells and programs, and the place of the injected
    work. Factor, alpha and budget may differ."""
    programs = json.dumps(
        [[program.name, program.argv, program.stdin, program.answers] for program in suite.programs]
    )
    return {
        "suite": suite.name,
        "cells": [cell.name for cell in suite.cells],
        "control": suite.control,
        "cell": place.cell.name,
        "programs": sha256(programs.encode()).hexdigest()[:16],
    }


def of_recording(suite: Suite, place: Injection, commit: str, disturb: str) -> dict[str, Any]:
    """Return a recording's first line for this host and time. `commit` is the one with injected
    work."""
    from harness.measurement import host

    where = host.describe()
    return {
        **of_suite(suite, place),
        "injected_commit": commit,
        "disturb": disturb,
        "host": where["hostname_hash"],
        "cpu_model": where["cpu_model"],
        "cpus": where["cpus_allowed"],
        "started_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def check(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise UserError naming the first fact in which the recording at `path` differs from the
    wanted one."""
    for name, value in wanted.items():
        if name != "started_at" and there.get(name) != value:
            found = _short(there.get(name))
            raise UserError(
                f"--record: {path} has {name} {found}, not {_short(value)}: name another directory"
            )


def paragraph(recording: Recording, suite: Suite, place: Injection) -> str:
    """Return a paragraph on how a recording was made, and on the terms of its calls."""
    blocks = [block for of_one in recording.rounds for block in of_one.values()]
    hours, processes = sum(sum(block.seconds) for block in blocks) / 3600, 4 * len(blocks)
    share = 100 * sum(block.disturbed for block in blocks) / max(1, processes)
    about = recording.about
    lost = (
        f" {recording.failed} more blocks are missing, since a process gave no number."
        if recording.failed
        else ""
    )
    load = (
        ""
        if about["disturb"] == "none"
        else " Meanwhile a process of the study kept one CPU busy for 5 s of every 10."
    )
    return (
        f"Recorded by `python -m studies.gate_error_rates` from {about['started_at']} "
        f"on {about['cpu_model']}, {about['cpus']} CPUs: "
        f"{len(recording.rounds)} rounds, {processes} processes that took {hours:.1f} h; others "
        f"disturbed {share:.0f} % of them.{lost}{load} Suite {suite.name}: cells "
        f"{', '.join(about['cells'])}; "
        f"control {suite.control}; work injected into {place.cell.name}. Factor {suite.factor:g}, "
        f"alpha {suite.alpha:g}, "
        f"a time budget of {suite.time_budget_s:g} s a call. Base and head are one binary, of "
        "commit "
        f"{about['injected_commit'][:12]}: the measured one with "
        "`studies/gate_error_rates/injected.hpp`."
    )


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:60] + "…"
