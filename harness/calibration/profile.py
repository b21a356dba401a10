"""Profiles with measured constants in place of a base's, and the writing of their files.

A base is a machine or software profile as a file has it. Values that were not measured stay as they
are there, with tag and source.
"""

from __future__ import annotations

import copy
import datetime
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from harness.calibration.rounds import MeasuredConstant
from harness.calibration.topology import Host
from harness.errors import RunFailed, UserError

TABLES = ("core.clock_ghz", "atomic.contended", "atomic.cas_factor")
"""Tables by number of cores or threads, which are replaced as a whole: a mixture with another
machine's numbers has no meaning.
"""

SHARED_CACHE = "cache.l3"

EEVDF_SLICE = "os.sched_base_slice_us"

HEADER = """\
# Written by `millrace calibrate`, which writes it anew. Keys and units: the schema in
# config/schemas. The range of a measured constant are the quartiles of its rounds; what could not
# be measured is as it was in the profile that this one replaces.
"""

Document = dict[str, Any]


def source_of(cpu_model: str, today: datetime.date) -> str:
    """Return the words that say where measured constants are from."""
    return f"calibrate on {cpu_model}, {today.isoformat()}"


def machine_profile(
    base: Document,
    name: str,
    host: Host,
    cpu_model: str,
    measured: Mapping[str, MeasuredConstant],
    source: str,
) -> Document:
    """Return the profile of this machine: topology, caches and `measured` constants, the rest from
    `base`.
    """
    document = _renamed(base, name, f"{cpu_model}, {len(host.cpus)} CPUs, calibrated")
    document["topology"] = host.topology()
    if host.caches is not None:
        sizes = host.caches
        document["cache"] = {
            "line": sizes.line,
            "l1d": sizes.l1d,
            "l2": sizes.l2,
            "l3": sizes.l3,
            "l3_shared_by": sizes.l3_shared_by,
            "source": "sysfs",
        }
    constants = dict(measured)
    holds = constants.pop(SHARED_CACHE, None)  # a size, and not a constant with a range
    if holds is not None and host.caches is not None and holds.value < host.caches.l3:
        reported = host.caches.l3
        document["cache"] |= {
            "l3": round(holds.value),
            "source": f"sysfs, which tells of {reported} in l3; of it, what copies find there",
        }
    for table in TABLES:
        if any(path.startswith(f"{table}.") for path in measured):
            put(document, table, {})
    _put_all(document, constants, source)
    # this kernel has no EEVDF, whatever the base's has
    if "os.sched_latency_us" in measured and EEVDF_SLICE not in measured:
        document["os"].pop(EEVDF_SLICE.removeprefix("os."), None)
    cores = document["topology"]["chips_per_socket"] * document["topology"]["cores_per_chip"]
    clock = document["core"]["clock_ghz"]  # of the base, it may be that of a socket with more cores
    document["core"]["clock_ghz"] = {busy: leaf for busy, leaf in clock.items() if busy <= cores}
    return document


def software_profile(
    base: Document, name: str, ipc: Document, measured: Mapping[str, MeasuredConstant], source: str
) -> Document:
    """Return the profile of this runtime: `measured` costs and clock, and the machine's `core.ipc`,
    on which they hold.
    """
    document = _renamed(base, name, "this runtime, calibrated")
    put(document, "reference.ipc", ipc)
    _put_all(document, measured, source)
    return document


def _renamed(base: Document, name: str, title: str) -> Document:
    document = copy.deepcopy(base)
    document |= {"name": name, "title": title}
    document.pop("notes", None)
    return document


def _put_all(document: Document, measured: Mapping[str, MeasuredConstant], source: str) -> None:
    for path, one in measured.items():
        span = [_rounded(one.low), _rounded(one.high)]
        put(
            document,
            path,
            {"value": _rounded(one.value), "tag": "measured", "range": span, "source": source},
        )


def put(document: Document, path: str, value: object) -> None:
    """Set the value at a dotted path, and make the mappings on the way that are missing. Numbers in
    a path are keys of tables.
    """
    *way, last = (int(step) if step.isdecimal() else step for step in path.split("."))
    for step in way:
        document = document.setdefault(step, {})
    document[last] = value


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def read(path: Path) -> Document:
    """Return the values of a profile's file that has been checked."""
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8"))


# -- files -----------------------------------------------------------------------------------------


def checked(document: Document, name: str, load: Callable[[Path], object]) -> bytes:
    """Return the file's bytes. Raises RunFailed if `load` would not take them: a profile that
    breaks a rule is not written.
    """
    data = (HEADER + as_yaml(document)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_bytes(data)
        try:
            load(path)
        except UserError as error:
            raise RunFailed(
                f"what was measured makes no profile: {str(error).replace(f'{path}: ', '')}"
            ) from None
    return data


def as_yaml(document: Document) -> str:
    """Return a profile as text: a constant a line."""
    parts = []
    for key, value in document.items():
        lines = list(_lines({key: value}, ""))
        parts.append(("\n" if len(lines) > 1 else "") + "\n".join(lines))
    return "\n".join(parts) + "\n"


def _lines(values: Mapping[Any, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict) and "value" not in value:
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(each)}" for each in value)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: object) -> str:
    """Return a value on one line. Numbers are written out: YAML takes 1e-06 for a text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_scalar(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return json.dumps(value, ensure_ascii=False)
