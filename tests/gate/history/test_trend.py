"""Series: hosts stay apart, what counts, levels, changes with the commits around them, drifts; and
how all this is reported.
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from harness.gate.history import store, text
from harness.gate.history.trend import series_of, trend
from harness.gate.host_key import host_key
from harness.gate.verdict import Verdict
from tests.gate.history.made_verdicts import BIG_HOST, HOST, RATE, nights, result, verdict


def series(tmp_path, *verdicts, **how):
    for each in verdicts:
        store.add(each, tmp_path)
    return series_of(store.read(tmp_path), **how)


def step(night):
    return 10.0 if night < 15 else 11.0


def test_a_change_names_the_commits_between_which_it_happened(tmp_path):
    (one,) = series(tmp_path, *nights(25, step))
    (change,) = one.changes
    assert change.before["head_commit"] == f"{14:02x}" * 20
    assert change.after["head_commit"] == f"{15:02x}" * 20
    assert change.worse
    assert change.point.ratio == pytest.approx(1.1, rel=0.01)
    assert one.level == pytest.approx(11.0, rel=0.01)
    assert one.level_results == 10


def test_a_result_that_is_not_finite_counts_for_nothing_and_can_be_shown(tmp_path):
    (one,) = series(tmp_path, *nights(9), verdict(result("chain", np.inf), night=9))
    assert (len(one.rows), len(one.counted)) == (10, 9)
    assert one.level == pytest.approx(10.0, rel=0.01)
    assert text.table([one])
    json.dumps(text.document([one]), allow_nan=False)


def test_more_is_better_for_a_throughput(tmp_path):
    (one,) = series(tmp_path, *nights(25, step, metric=RATE))
    assert not one.changes[0].worse
    assert " %, better: after " in text.table([one])


def test_two_hosts_are_two_series_even_if_one_is_much_faster(tmp_path):
    both = [*nights(15), *nights(15, lambda night: 5.0, begin=15, host=BIG_HOST)]
    small, big = sorted(series(tmp_path, *both), key=lambda one: one.host == host_key(BIG_HOST))
    assert (small.host, big.host) == (host_key(HOST), host_key(BIG_HOST))
    assert small.changes == big.changes == ()
    assert (len(small.rows), len(big.rows)) == (15, 15)
    assert "JOINED" not in text.table([small, big])


def test_joined_hosts_say_so_in_every_line(tmp_path):
    both = [*nights(15), *nights(15, lambda night: 5.0, begin=15, host=BIG_HOST)]
    (one,) = series(tmp_path, *both, join_hosts=True)
    (change,) = one.changes
    assert change.another_host
    _, row, change_line, empty, foot = text.table([one]).splitlines()
    assert "2 HOSTS JOINED" in row
    assert "ANOTHER HOST from here on" in change_line
    assert empty == ""
    assert foot.startswith("HOSTS JOINED, whose numbers differ for other reasons too: ")
    assert foot.endswith("; ".join(sorted([host_key(HOST), host_key(BIG_HOST)])))


def test_results_that_tell_no_host_are_a_series_that_warns_of_it(tmp_path):
    found = series(tmp_path, verdict(), verdict(host={}, night=1))
    assert [one.host for one in found] == [host_key(HOST), "unknown host"]
    assert (
        text.table(found)
        .splitlines()[-1]
        .startswith("unknown host: the programs told none, so these results may be of several")
    )
    assert len(text.table(found[:1]).splitlines()) == 2


def test_a_change_within_a_joined_series_says_that_it_is_joined(tmp_path):
    mixed = [*nights(25, step), *nights(2, lambda night: 11.0, begin=25, host=BIG_HOST)]
    (one,) = series(tmp_path, *mixed, join_hosts=True)
    assert not one.changes[0].another_host
    assert text.table([one]).splitlines()[2].endswith("2 HOSTS JOINED")


def test_joining_one_host_is_no_joining(tmp_path):
    (one,) = series(tmp_path, *nights(3), join_hosts=True)
    assert one.host == host_key(HOST)


@pytest.mark.parametrize(
    "bad", [{"control_failed": True}, {"kind": Verdict.WRONG}, {"kind": Verdict.FAILED}]
)
def test_results_that_cannot_be_trusted_are_kept_and_do_not_count(tmp_path, bad):
    failed, kind = bad.get("control_failed", False), bad.get("kind", Verdict.OK)
    untrusted = [
        verdict(result(value=20.0, verdict=kind, seed=night), night=night, control_failed=failed)
        for night in range(10, 20)
    ]
    (one,) = series(tmp_path, *nights(10), *untrusted)
    assert len(one.rows) == 20
    assert len(one.counted) == 10
    assert one.changes == ()
    assert one.level == pytest.approx(10.0, rel=0.01)


def test_suites_and_metrics_of_one_name_are_not_joined(tmp_path):
    found = series(
        tmp_path, verdict(suite="a"), verdict(suite="b"), verdict(result(metric=RATE), suite="a")
    )
    assert [(one.suite, one.metric) for one in found] == [
        ("a", "ns_per_hop"),
        ("a", "throughput"),
        ("b", "ns_per_hop"),
    ]
    assert "b: chain" in text.table(found)


def test_a_drift_within_a_level_is_told_as_a_slope():
    slope = trend(10 * np.exp(0.001 * np.arange(12)))
    assert slope == pytest.approx(np.exp(0.01))
    assert trend(10 * np.exp(0.02 * np.random.default_rng(1).standard_normal(30))) == 1.0
    assert trend(np.full(20, 3.0)) == 1.0
    assert trend(np.full(7, 3.0)) is None


def test_flat_noise_rarely_has_a_trend():
    flat = [
        trend(np.exp(0.02 * np.random.default_rng(seed).standard_normal(30))) for seed in range(200)
    ]
    assert sum(each != 1.0 for each in flat) <= 8


def test_the_table_has_a_line_a_series_and_a_line_a_change(tmp_path):
    lines = text.table(series(tmp_path, *nights(25, step))).splitlines()
    assert lines[0].split() == [
        "cell",
        "host",
        "latest",
        "on",
        "commit",
        "verdict",
        "level",
        "(results)",
        "trend",
        "per",
        "10",
    ]
    assert lines[1].startswith(f"chain  {host_key(HOST)}  ")
    assert "2026-10-25  1818181818  ok" in lines[1]
    assert lines[1].endswith("flat")
    assert lines[2].startswith("    2026-10-16: +")
    assert ", worse: after 0e0e0e0e0e, up to 0f0f0f0f0f (p = " in lines[2]
    assert len(lines) == 3


def test_a_latest_result_without_number_or_commit_is_told(tmp_path):
    nothing = dataclasses.replace(result(verdict=Verdict.FAILED), head=())
    plain = verdict(nothing)
    (one,) = series(
        tmp_path, dataclasses.replace(plain, head=dataclasses.replace(plain.head, commit=None))
    )
    row = text.table([one]).splitlines()[1]
    for word in ("  none  ", "no commit", "failed", "too few"):
        assert word in row


def test_dirty_heads_and_failed_controls_are_marked(tmp_path):
    (one,) = series(tmp_path, verdict(dirty=True, control_failed=True, commit="a" * 40))
    assert "aaaaaaaaaa+dirty  ok (control failed)" in text.table([one])


def test_the_document_says_the_same_in_json(tmp_path):
    found = series(tmp_path, *nights(25, step))
    document = json.loads(json.dumps(text.document(found), allow_nan=False))
    (one,) = document["series"]
    assert (one["cell"], one["hosts"], one["joined"], one["results"]) == (
        "chain",
        [host_key(HOST)],
        False,
        25,
    )
    assert one["latest"]["commit"] == f"{24:02x}" * 20
    (change,) = one["changes"]
    assert (change["after_commit"], change["up_to_commit"], change["worse"]) == (
        f"{14:02x}" * 20,
        f"{15:02x}" * 20,
        True,
    )
