"""Small profiles on disk, and records without measuring."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli import main
from harness.files.places import CODE as ROOT
from harness.measurement.record.declaration import ELASTIC
from harness.measurement.spec import Run
from tests.records import example

MANUAL_AND_DYNAMIC = [{"model": "manual"}, {"model": "dynamic", "threads": [1, 2]}]


def write_profile(
    folder: Path, experiments: dict[str, list[dict]], arms: list[dict] | None = None, **values: Any
) -> Path:
    """Write config/quick.yaml below `folder` with experiments made of sweeps; returns its path."""
    config = {
        "profile": "tiny",
        "experiments": list(experiments),
        "repeats": 2,
        "duration_s": 0.1,
        "warmup": 0.05,
        **values,
    }
    (folder / "config/experiments").mkdir(parents=True, exist_ok=True)
    (folder / "config/quick.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for name, sweeps in experiments.items():
        size = {"sweeps": sweeps, "arms": arms or MANUAL_AND_DYNAMIC}
        text = yaml.safe_dump({"sizes": {"tiny": size}})
        (folder / f"config/experiments/{name}.yaml").write_text(text, encoding="utf-8")
    return folder / "config/quick.yaml"


def sweep(topology: str, **parameters: Any) -> dict:
    """One sweep of an experiment."""
    return {"topology": topology, "parameters": parameters}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def measured_by_fake(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Runs are answered at once with invented records; the list holds what was asked. A cost of 13
    FLOP makes a run fail.
    """
    from contextlib import nullcontext

    from harness.measurement import block
    from harness.measurement.process import failed_record

    asked: list[Run] = []

    def answer(spec: Run, announce: Callable[[str], None]) -> dict[str, Any]:
        asked.append(spec)
        announce("measuring")
        if spec.parameters["cost"] == 13:
            return failed_record(spec, "an operator raised ValueError: unlucky\nits traceback")
        rate = 1000.0 + spec.repeat
        good = {
            "correct": True,
            "settled": True,
            "checksum_ok": True,
            "drained": True,
            "order_checked": True,
        }
        if getattr(spec.model, "elastic", False):
            good["elastic"] = example(
                ELASTIC,
                law=spec.model.law or "fixed",
                settings=dict(spec.model.law_settings),
                period_s=spec.period_s,
                minimum=spec.model.minimum or 1,
                maximum=spec.model.maximum or 16,
                settled_level=1,
                settled=True,
            )
        threaded_port = 100
        good["queue_capacity"] = (
            threaded_port if spec.model.name == "manual" else spec.model.queue_capacity or 1000
        )
        window_s = (
            spec.elastic_window_s if getattr(spec.model, "elastic", False) else spec.duration_s
        )
        return (
            failed_record(spec, "")
            | good
            | {"error": None, "duration_s": window_s, "sink_tuples_per_s": rate}
        )

    monkeypatch.setattr(block, "measuring_lock", lambda notify: nullcontext())
    monkeypatch.setattr(block, "run_in_fresh_process", answer)
    return asked


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of processes that run in `folder`: this checkout, and temporary files
    (the measuring lock too) of their own.
    """
    (folder / "tmp").mkdir(exist_ok=True)
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder / "tmp"),
        "MILLRACE_LOCK": str(folder / "tmp" / "millrace.lock"),
        "NO_COLOR": "1",
    }


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """`python -m WORDS` in `folder`, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`python -m WORDS` in `folder`, to its end."""
    process = start(folder, *words)
    out, err = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def plan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`millrace figures --dry-run WORDS` in `folder`, in this process: Snakemake takes two seconds
    to import, and no time to plan.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["figures", "--dry-run", *words])
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
