"""A graph that asks for more threads than are allowed, or than the host has room for, is refused
before one is made.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

import topologies
from harness.cli import main
from harness.engine import open_engine
from harness.engine.thread_room import MOST_THREADS, check_threads
from harness.errors import UserError
from harness.models import Dedicated, Dynamic, Manual, make_model
from harness.models.layout import layout_of

FILES = {
    "proc/loadavg": "1.00 2.00 3.00 5/1000 12345",
    "proc/sys/kernel/threads-max": "200000",
    "proc/sys/kernel/pid_max": "100000",
    "proc/sys/vm/max_map_count": "80000",
    "proc/self/maps": "a\n" * 100,
    "proc/self/cgroup": "3:pids:/box\n",
}


def pipeline(operators):
    return topologies.build("pipeline", {"operators": operators}, 0)[0]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Makes a host of some files besides the usual ones, without a limit of its own for users."""
    monkeypatch.setattr(
        resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )

    def make(**files: str) -> Path:
        for name, text in {
            **FILES,
            **{name.replace("__", "/"): text for name, text in files.items()},
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


@pytest.mark.parametrize(("model", "threads"), [(Manual(), 1), (Dedicated(), 12), (Dynamic(3), 4)])
def test_threads_are_those_of_sources_of_threaded_ports_and_of_the_pool(model, threads):
    assert layout_of(pipeline(10), model).threads == threads
    assert open_engine(pipeline(10), model).threads == threads


def test_our_own_limit_can_be_lifted_and_lowered(host):
    check_threads(layout_of(pipeline(MOST_THREADS - 2), Dedicated()), None, host())
    too_many = pipeline(MOST_THREADS - 1)
    with pytest.raises(UserError) as refused:
        check_threads(layout_of(too_many, Dedicated()), None, host())
    assert str(refused.value) == (
        "graph 'pipeline' needs 16,385 threads under model dedicated; at most 16,384 are allowed "
        "(--allow-threads 16385, or allow_threads in a profile, lifts that)"
    )
    check_threads(layout_of(too_many, Dedicated()), 16_385, host())
    with pytest.raises(UserError, match="at most 3 are allowed"):
        open_engine(pipeline(10), Dedicated(), allow_threads=3)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"proc__sys__kernel__threads-max": "1500"}, "500 more: kernel.threads-max is 1,500"),
        ({"proc__sys__kernel__pid_max": "1900"}, "900 more: kernel.pid_max is 1,900"),
        (
            {"proc__sys__vm__max_map_count": "2000"},
            "950 more: vm.max_map_count is 2,000, and a thread takes 2 mappings",
        ),
        (
            {
                "sys__fs__cgroup__pids__box__pids.max": "70",
                "sys__fs__cgroup__pids__box__pids.current": "60",
            },
            "10 more: pids.max",
        ),
        (
            {
                "proc__self__cgroup": "0::/box\n",
                "sys__fs__cgroup__box__pids.max": "max",
                "sys__fs__cgroup__pids.max": "70",
                "sys__fs__cgroup__pids.current": "75",
            },
            "0 more: pids.max",
        ),
    ],
)
def test_what_the_host_has_no_room_for_is_refused_whatever_is_allowed(host, files, told):
    with pytest.raises(UserError) as refused:
        check_threads(layout_of(pipeline(1000), Dedicated()), 100_000, host(**files))
    assert f"needs 1,002 threads under model dedicated; this host has room for {told}" in str(
        refused.value
    )


def test_a_limit_of_the_users_threads_counts_but_for_root(host, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1010, 1010))
    files = {
        f"proc__{pid}__status": f"Name:\tx\nUid:\t{user}\t{user}\nThreads:\t8\n"
        for pid, user in ((1, os.getuid()), (2, 77))
    }
    root = host(**files)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    check_threads(layout_of(pipeline(1001), Dedicated()), None, root)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    check_threads(layout_of(pipeline(1000), Dedicated()), None, root)
    with pytest.raises(UserError, match=r"has room for 1,002 more: ulimit -u is 1,010"):
        check_threads(layout_of(pipeline(1001), Dedicated()), None, root)


def test_the_command_refuses_at_once_and_simulated_runs_have_as_many_as_they_like(
    capsys, monkeypatch
):
    words = ["run", "pipeline", "--set", "operators=20000", "--model", "dedicated"]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert (
        told.count("\n") == 1
        and "needs 20,002 threads under model dedicated; at most 16,384 are allowed" in told
    )
    assert main([*words, "--allow-threads", "20001"]) == 2
    assert "at most 20,001 are allowed" in capsys.readouterr().err
    monkeypatch.setattr("harness.measurement.block.run_block", lambda *_, **__: iter(()))
    main([*words, "--machine", "xeon"])
    assert "threads" not in capsys.readouterr().err


def test_a_profile_may_allow_for_more(tmp_path):
    from harness.experiments.config import load_config

    text = Path("config/quick.yaml").read_text(encoding="utf-8")
    for name in ("experiments", "schemas", "machines", "software"):
        (tmp_path / name).symlink_to(Path("config", name).absolute())
    (tmp_path / "config.yaml").write_text(text + "\nallow_threads: 20000\n", encoding="utf-8")
    config = load_config(tmp_path / "config.yaml")
    specs = [spec for block in config.blocks() for spec in block.runs_by_arm().values()]
    assert config.allow_threads == 20_000 and {spec.allow_threads for spec in specs} == {20_000}
    assert {
        spec.asked
        for block in load_config("config/quick.yaml").blocks()
        for spec in block.runs_by_arm().values()
    } == {spec.asked for spec in specs}, "what is allowed changes no answer"


def test_models_by_name_are_counted_like_others():
    assert layout_of(pipeline(5), make_model("multilevel", threads=2)).threads == 3
