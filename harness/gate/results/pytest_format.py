"""The part of a verdict file that pytest-benchmark knows, so that every reader of its files can
read ours.

It holds only times, in seconds, because its readers know no other quantity. A sample is the number
that one process of head gave.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness import __version__
from harness.gate.verdict import CellResult, Comparison, Side

TIME_RANGE_S = (1e-150, 1e150)  # [s] this part holds only times between these

SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def pytest_document(comparison: Comparison) -> dict[str, Any]:
    """Return the keys of a file of pytest-benchmark, about head."""
    return {
        "machine_info": machine_info(comparison.head.host),
        "commit_info": _commit_info(comparison.head),
        "benchmarks": [
            _benchmark(result) for result in comparison.cells if _is_representable(result)
        ],
        "datetime": comparison.started_at,
        "version": __version__,
    }


def machine_info(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's facts about its host, under the names of pytest-benchmark. Unknown facts
    are left out."""
    implementation, _, version = str(host.get("python", "")).partition(" ")
    system, _, release = str(host.get("kernel", "")).partition(" ")
    known = {
        "node": host.get("hostname_hash"),
        "python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(
            implementation, implementation
        )
        or None,
        "python_version": version or None,
        "python_compiler": host.get("compiler"),
        "system": system or None,
        "release": release or None,
    }
    cpu = {"brand_raw": host.get("cpu_model"), "count": host.get("cpus_allowed")}
    info: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
    return {**info, "cpu": {name: value for name, value in cpu.items() if value is not None}}


def host_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's `host` from a `machine_info`, as far as it has the facts.

    Its compiler is the one that built Python, not the one that built the measured program, so it
    does not count.
    """
    cpu = info.get("cpu") if isinstance(info.get("cpu"), dict) else {}
    version = info.get("python_version")
    known = {
        "cpu_model": cpu.get("brand_raw"),
        "cpus_allowed": cpu.get("count"),
        "python": f"{str(info.get('python_implementation', 'cpython')).lower()} {version}"
        if version
        else None,
        "kernel": f"{info.get('system', '')} {info.get('release', '')}".strip() or None,
        "hostname_hash": info.get("node"),
    }
    return {name: value for name, value in known.items() if value is not None}


def _commit_info(side: Side) -> dict[str, Any]:
    return {
        "id": side.commit,
        "dirty": side.dirty,
        "time": None,
        "author_time": None,
        "project": None,
        "branch": None,
    }


def _is_representable(result: CellResult) -> bool:
    """Return True if a cell has times of head whose sums and squares a float can hold."""
    seconds = SECONDS.get(result.cell.metric.unit)
    return (
        seconds is not None
        and bool(result.head)
        and all(TIME_RANGE_S[0] < value * seconds < TIME_RANGE_S[1] for value in result.head)
    )


def _benchmark(result: CellResult) -> dict[str, Any]:
    seconds = [value * SECONDS[result.cell.metric.unit] for value in result.head]
    return {
        "group": None,
        "name": result.cell.name,
        "fullname": result.cell.key or result.cell.name,
        "params": None,
        "param": None,
        "extra_info": {"verdict": str(result.verdict)},
        "options": {},
        "stats": _stats(seconds),
    }


def _stats(data: Sequence[float]) -> dict[str, Any]:
    """Return the statistics that pytest-benchmark's tables show, of samples [s]. Quartiles are
    interpolated; `ops` is 1 / mean."""
    low, middle, high = (float(value) for value in np.percentile(data, (25, 50, 75)))
    mean = statistics.fmean(data)
    spread = statistics.stdev(data) if len(data) > 1 else 0.0
    far = sum(abs(value - mean) > spread for value in data)
    fence_low, fence_high = low - 1.5 * (high - low), high + 1.5 * (high - low)
    within = [value for value in data if fence_low <= value <= fence_high] or list(data)
    return {
        "min": min(data),
        "max": max(data),
        "mean": mean,
        "stddev": spread,
        "rounds": len(data),
        "median": middle,
        "iqr": high - low,
        "q1": low,
        "q3": high,
        "iqr_outliers": len(data) - len(within),
        "stddev_outliers": far,
        "outliers": f"{far};{len(data) - len(within)}",
        "ld15iqr": min(within),
        "hd15iqr": max(within),
        "ops": 1 / mean if mean > 0 else 0.0,
        "total": sum(data),
        "iterations": 1,
        "data": list(data),
    }
