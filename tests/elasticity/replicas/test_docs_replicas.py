"""Tests of what docs/explanation/laws-millrace.md tells of the law of replicas is what it does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from harness.elasticity import Bounds, Decides, law_class, make_law
from harness.elasticity.cpu_limit import Answers
from tests.elasticity.replicas.small import Drive, seen, world
from tests.elasticity.test_docs_laws import PAGE, in_general

DOCS = Path(__file__).resolve().parents[3] / "docs"
OWN = (
    (DOCS / "explanation/laws-millrace.md")
    .read_text(encoding="utf-8")
    .partition("## Threads and replicas")[2]
)


def test_the_page_tells_of_every_setting_with_its_default():
    for setting in law_class("millrace", Decides.REPLICAS).SETTINGS:
        assert f"| `{setting.name}` ({setting.default:g}) |" in OWN


def test_the_page_tells_of_every_reason_and_state():
    told = [in_general(reason) for reason in re.findall(r"`([^`\n]* → [^`\n]*)`", OWN)]
    busy = world((20.0, 20.0, 20.0, 20.0), cores=4)
    drive = Drive("millrace", busy).run(busy, 20)
    drive.run(replace(busy, costs=(1e-6, 90e-6, 20e-6, 20e-6, 20e-6, 1e-6)), 10)
    blocked = world((50.0,) * 6, scheduling=0.08, target=15_000.0)
    drive.decisions += Drive("millrace", blocked).run(blocked, 10).decisions
    idle = make_law(
        "millrace", Bounds(1, 8, 1), Answers([False]), layout=busy.layout, decides=Decides.REPLICAS
    )
    plain = seen(busy, 1, (1,) * 6, 1.0)
    drive.decisions += [
        idle.step(plain),
        idle.step(replace(plain, time_s=2.0, useful_s=())),
        idle.step(replace(plain, time_s=3.0, system_cpu=1.0, others_cpu=0.9)),
    ]
    reasons = {in_general(decision.reason) for decision in drive.decisions}
    assert len(reasons) >= 7, reasons
    assert all(
        any(reason.partition(", but the CPU")[0] in each for each in told) for reason in reasons
    ), reasons - set(told)
    assert all(f"`{decision.state}`" in PAGE for decision in drive.decisions)
