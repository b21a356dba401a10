"""Tests of how much memory a run may take, on hosts whose cgroups are described by files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness.engine.thread_room import check_threads
from harness.errors import UserError
from harness.machines.host.memory_room import memory_room
from harness.models import Dedicated
from harness.models.layout import layout_of
from topologies import build

MIB = 2**20
V1 = {"proc|self|cgroup": "4:memory:/box/inner\n2:cpu,cpuacct:/other\n"}
V2 = {"proc|self|cgroup": "0::/box/inner\n"}
NO_LIMIT = str(2**63 - 4096)  # v1's


@pytest.fixture
def host(tmp_path, monkeypatch) -> Callable[..., Path]:
    """`host(files)`: a root with these files, on a host that has 1,000 MiB available; `|` in names
    stands for `/`.
    """
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: type("Memory", (), {"available": 1000 * MIB})()
    )

    def lay(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name.replace("|", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return lay


def v2(level: str, limit: object, used: int, stat: str = "") -> dict[str, str]:
    at = f"sys|fs|cgroup{level}|memory"
    return {f"{at}.max": f"{limit}\n", f"{at}.current": f"{used}\n", f"{at}.stat": stat}


def v1(level: str, limit: object, used: int, stat: str = "") -> dict[str, str]:
    at = f"sys|fs|cgroup|memory{level}|memory"
    return {
        f"{at}.limit_in_bytes": f"{limit}\n",
        f"{at}.usage_in_bytes": f"{used}\n",
        f"{at}.stat": stat,
    }


@pytest.mark.parametrize(
    ("files", "left", "reason"),
    [
        pytest.param({}, 1000, "at most 1,000 MiB of memory are available", id="no cgroup"),
        pytest.param(
            V2 | v2("|box|inner", "max", 9 * MIB),
            1000,
            "at most 1,000 MiB of memory are available",
            id="max",
        ),
        pytest.param(
            V1 | v1("", NO_LIMIT, 9 * MIB),
            1000,
            "at most 1,000 MiB of memory are available",
            id="v1 without one",
        ),
        pytest.param(
            V2 | v2("|box|inner", 300 * MIB, 100 * MIB),
            200,
            "memory.max of its cgroup is 300 MiB, of which 200 MiB are left",
            id="v2",
        ),
        pytest.param(
            V1 | v1("|box|inner", 300 * MIB, 100 * MIB),
            200,
            "memory.limit_in_bytes of its cgroup is 300 MiB, of which 200 MiB are left",
            id="v1",
        ),
        pytest.param(
            V2
            | v2("|box|inner", "max", 10 * MIB)
            | v2("|box", 500 * MIB, 450 * MIB)
            | v2("", 900 * MIB, 500 * MIB),
            50,
            "memory.max of its cgroup is 500 MiB, of which 50 MiB are left",
            id="of an ancestor",
        ),
        pytest.param(
            V2 | v2("|box|inner", 100 * MIB, 130 * MIB),
            0,
            "memory.max of its cgroup is 100 MiB, of which 0 MiB are left",
            id="more is used",
        ),
        pytest.param(
            V2
            | v2(
                "|box|inner",
                300 * MIB,
                290 * MIB,
                f"anon 1\ninactive_file {150 * MIB}\nactive_file {40 * MIB}\n",
            ),
            200,
            "memory.max of its cgroup is 300 MiB, of which 200 MiB are left",
            id="files make room",
        ),
        pytest.param(
            V1
            | v1(
                "|box", 300 * MIB, 290 * MIB, f"inactive_file 7\ntotal_inactive_file {190 * MIB}\n"
            ),
            200,
            "memory.limit_in_bytes of its cgroup is 300 MiB, of which 200 MiB are left",
            id="v1 counts files of those below too",
        ),
        pytest.param(
            V2 | v2("|box|inner", 3000 * MIB, 10 * MIB),
            1000,
            "at most 1,000 MiB of memory are available",
            id="a wide limit",
        ),
        pytest.param(
            {"proc|self|cgroup": "1:name=systemd:/x\n0::/box\n"}
            | {
                name.replace("cgroup|box", "cgroup|unified|box"): text
                for name, text in v2("|box", 80 * MIB, 0).items()
            },
            80,
            "memory.max of its cgroup is 80 MiB, of which 80 MiB are left",
            id="both hierarchies",
        ),
    ],
)
def test_the_least_room_of_the_host_and_all_levels_counts(host, files, left, reason):
    room = memory_room(host(files))
    assert (room.bytes, room.reason) == (left * MIB, reason)


def test_threads_that_do_not_fit_in_the_cgroup_are_refused_by_its_limit(host):
    root = host(V2 | v2("|box", 40 * MIB, 39 * MIB))
    graph = build("pipeline", {"operators": 30}, 0)[0]
    with pytest.raises(UserError) as refused:
        check_threads(layout_of(graph, Dedicated()), None, root)
    assert str(refused.value) == (
        "graph 'pipeline' needs 32 threads under model dedicated; this host has room for 25 more: "
        "memory.max of its cgroup is 40 MiB, of which 1 MiB are left, and a thread takes 40 KiB"
    )
