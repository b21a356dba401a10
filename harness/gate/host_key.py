"""Facts that two hosts must share before their numbers may be compared or joined to one series.

The key holds the facts that decide how fast a host can be: its CPU, the allowed share of it, the
compiler and the interpreter. It leaves out passing states (load of others, stolen time) and facts
without effect (host name, memory). So two runners of one kind share a key, and a busy runner keeps
its key. A busy host shows in wider intervals instead.
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
"""The fields of a record's `host` object that count. Only the first two numbers of the kernel's
release do."""

UNKNOWN = "unknown host"
DIGEST_LENGTH = 8  # hexadecimal digits: enough to tell the few hosts of a history apart


def facts(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record's `host` object that form the key, in the form used for the
    key; None if unknown."""
    known = {name: host.get(name) or None for name in FACTS}  # 0 CPUs and "" also mean unknown
    if known["kernel"] is not None:
        known["kernel"] = _kernel(str(known["kernel"]))
    return known


def host_key(host: Mapping[str, Any]) -> str:
    """Return a host as a short text that does not depend on where or when it is made: `AMD EPYC
    7763, 2 CPUs, 1f0c9a52`.

    `host` is a record's `host` object; one without any fact that counts is the `unknown host`.
    """
    known = facts(host)
    if all(value is None for value in known.values()):
        return UNKNOWN
    digest = hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()[
        :DIGEST_LENGTH
    ]
    count = known["cpus_allowed"]
    cpus = "unknown CPUs" if count is None else f"{count} CPU{'s' if count != 1 else ''}"
    return f"{known['cpu_model'] or 'unknown CPU'}, {cpus}, {digest}"


def differences(head: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """Return the facts in which two hosts differ, a text each: `cpus_allowed 2, base had 4`. Empty
    if they may be compared.

    Both are `host` objects of records. A fact that only one of them has is a difference as well,
    because it may differ.
    """
    mine, other = facts(head), facts(base)
    return [
        f"{name} {_text(mine[name])}, base had {_text(other[name])}"
        for name in FACTS
        if mine[name] != other[name]
    ]


def contradictions(head: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """Return those `differences` whose facts both hosts have: for two trees measured in turns on
    one host, but built in different ways."""
    mine, other = facts(head), facts(base)
    both = [name for name in FACTS if mine[name] is not None and other[name] is not None]
    return differences({name: head[name] for name in both}, {name: base[name] for name in both})


def _kernel(text: str) -> str:
    """Return `Linux 6.8` for `Linux 6.8.0-45-generic`: later numbers are fixes, and runners change
    them every week."""
    found = re.match(r"(.*?\d+\.\d+)", text)
    return found.group(1) if found else text


def _text(value: Any) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
