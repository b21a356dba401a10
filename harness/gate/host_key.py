"""What must be the same of two hosts, as programs see them, before their numbers may be compared or joined to one series.

The key holds what decides how fast a host can be: its CPU, how much of it is allowed, what compiled and what executes programs.
It does not hold what passes (load of others, stolen time) or what changes nothing (host name, memory): two runners of one kind
share a key, and one that was busy keeps its own. That the host was busy is a matter of intervals, not of identity.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

FACTS = (
    "cpu_model",
    "cpus_allowed",
    "cgroup_quota_cpus",
    "governor",
    "kernel",
    "python",
    "compiler",
    "compiler_flags",
)
"""The fields of a record's `host` object that count. Of the kernel's release only its first two numbers do."""

UNKNOWN = "unknown host"
DIGEST = 8  # hexadecimal digits: enough to tell the few hosts of a history apart


def facts(host: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record's `host` object that the key is made of, in the form in which it counts them; None: not told."""
    told = {name: host.get(name) or None for name in FACTS}  # 0 CPUs and "" tell nothing either
    if told["kernel"] is not None:
        told["kernel"] = _kernel(str(told["kernel"]))
    return told


def host_key(host: Mapping[str, Any]) -> str:
    """A host as a short text, the same wherever and whenever it is made: `AMD EPYC 7763, 2 CPUs, 1f0c9a52`.

    `host` is a record's `host` object; one that tells nothing of what counts is the `unknown host`.
    """
    told = facts(host)
    if all(value is None for value in told.values()):
        return UNKNOWN
    digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:DIGEST]
    count = told["cpus_allowed"]
    cpus = "unknown CPUs" if count is None else f"{count} CPU{'s' if count != 1 else ''}"
    return f"{told['cpu_model'] or 'unknown CPU'}, {cpus}, {digest}"


def differences(head: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """What counts and is not the same of two hosts, a text each: `cpus_allowed 2, base had 4`. Empty if they may be compared.

    Both are `host` objects of records. What only one of them tells is a difference as well: silence proves nothing.
    """
    mine, other = facts(head), facts(base)
    return [f"{name} {_text(mine[name])}, base had {_text(other[name])}" for name in FACTS if mine[name] != other[name]]


def contradictions(head: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """Of `differences` those in what both tell: as of two trees measured in turns on one host, built in different ways."""
    mine, other = facts(head), facts(base)
    both = [name for name in FACTS if mine[name] is not None and other[name] is not None]
    return differences({name: head[name] for name in both}, {name: base[name] for name in both})


def _kernel(text: str) -> str:
    """`Linux 6.8.0-45-generic` as `Linux 6.8`: later numbers are fixes, and runners change them every week."""
    found = re.match(r"(.*?\d+\.\d+)", text)
    return found.group(1) if found else text


def _text(value: Any) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
