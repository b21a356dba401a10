"""Peers are arms of an experiment like any other; those that are not built are left out, and it is
said.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

import harness.peers
from harness.cli import main
from harness.errors import UserError
from harness.experiments.config import load_config
from harness.measurement.spec import PeerModel
from harness.models import Manual
from harness.peers import all_peers


@pytest.fixture
def only_asyncio(monkeypatch):
    """On this machine nothing but asyncio is built."""
    known = {
        name: peer
        if name == "asyncio"
        else replace(peer, tools=(), folder=peer.folder.parent / "none")
        for name, peer in all_peers().items()
    }
    monkeypatch.setattr(harness.peers, "all_peers", lambda: known)


ARMS = {"arms": [{"model": "manual"}, {"peer": ["asyncio", "go"], "duration_s": 0.2}]}


@pytest.mark.usefixtures("only_asyncio")
def test_a_list_of_peers_is_an_arm_each_of_those_that_are_built(profile):
    (experiment,) = load_config(profile(size=ARMS)).experiments
    block = experiment.blocks()[0]
    assert [arm.name for arm in block.arms] == ["manual", "asyncio"]
    assert experiment.left_out == ("peer go is not built; `make peers` builds it",)
    specs = block.runs_by_arm()
    assert specs["asyncio"].model == PeerModel("asyncio", all_peers()["asyncio"].label)
    assert specs["asyncio"].duration_s == 0.2 and specs["manual"].model == Manual()
    assert all_peers()["asyncio"].label in block.settings, (
        "records of another version are out of date"
    )


def test_a_peer_is_expected_to_take_its_warm_up_and_as_long_for_start_and_stop(
    profile, monkeypatch
):
    slow = replace(all_peers()["asyncio"], warmup_s=8.0)
    estimates = []
    for peer in (all_peers()["asyncio"], slow):
        monkeypatch.setattr("harness.experiments.experiment.find_peer", lambda _, found=peer: found)
        size = {"arms": [{"peer": "asyncio"}], "repeats": 1}
        (experiment,) = load_config(profile(size=size)).experiments
        estimates.append(experiment.blocks()[0].estimated_s)
    assert estimates[1] - estimates[0] == pytest.approx(16.0)


@pytest.mark.usefixtures("only_asyncio")
def test_a_peer_with_several_lengths_of_queues_is_an_arm_each_beside_ours(profile):
    arms = [{"model": "dedicated"}, {"peer": "asyncio", "queue_capacity": [1000, 50]}]
    size = {"arms": arms, "queue_capacity": 20}
    (experiment,) = load_config(profile(size=size)).experiments
    models = {arm.name: arm.model for arm in experiment.blocks()[0].arms}
    assert {name: model.queue_capacity for name, model in models.items()} == {
        "dedicated": 20,
        "asyncio": 1000,  # its own by default
        "asyncio-queue-50": 50,
    }


@pytest.mark.usefixtures("only_asyncio")
def test_who_measures_is_told_what_is_left_out(profile, capsys):
    assert main(["sweep", "--dry-run", "--config", str(profile(size=ARMS))]) == 0
    said = capsys.readouterr()
    assert said.err == "one: left out: peer go is not built; `make peers` builds it\n"
    assert "2 arms x 2 repeats (manual, asyncio)" in said.out


TREES = [{"topology": "bushy"}]


@pytest.mark.usefixtures("only_asyncio")
@pytest.mark.parametrize("sweeps", [TREES, [{"topology": "pipeline"}, *TREES]])
def test_a_graph_that_a_peer_refuses_is_told_before_anything_is_measured(profile, sweeps):
    """It is no matter of what is built here."""
    size = {"sweeps": sweeps, "arms": [{"model": "manual"}, {"peer": ["asyncio", "flink"]}]}
    with pytest.raises(UserError) as told:
        load_config(profile(size=size))
    assert str(told.value).endswith(
        "one.yaml: sizes.tiny.arms[1].peer: peer flink runs chains of one length between one source "
        "and one sink, with a split behind the source only; graph 'bushy' has another shape; a sweep may "
        "have arms of its own"
    )


@pytest.mark.usefixtures("only_asyncio")
def test_arms_of_a_sweep_are_checked_with_its_own_graphs(profile, tmp_path):
    own = [{"topology": "pipeline", "arms": [{"peer": "flink"}, {"peer": "asyncio"}]}, *TREES]
    load_config(profile(size={"sweeps": own, "arms": [{"model": "manual"}]}))
    graph = tmp_path / "odd.yaml"
    graph.write_text(
        "operators: [{source: in}, {filter: odd, selectivity: 0.5}, {sink: out}]\n"
        "streams: [in -> odd, odd -> out]\n"
    )
    own = [{"topology": "pipeline"}, {"topology": str(graph), "arms": [{"peer": "asyncio"}]}]
    words = r"sweeps\[1\].arms\[0\].peer: peers .*an operator of kind filter: 'odd'"
    with pytest.raises(UserError, match=f"{words}$"):
        load_config(profile(size={"sweeps": own, "arms": [{"model": "manual"}]}))


def test_a_peer_whose_tool_does_not_work_is_left_out_and_the_others_are_measured(
    profile, monkeypatch
):
    said = "import sys; print('Error: could not find libjava.so'); sys.exit(1)"
    version = ((sys.executable, "-c", said), "(.*)")
    broken = replace(all_peers()["asyncio"], name="java", version=version)
    monkeypatch.setattr(harness.peers, "all_peers", lambda: all_peers() | {"java": broken})
    (experiment,) = load_config(profile(size={"arms": [{"peer": ["java", "asyncio"]}]})).experiments
    assert [arm.name for arm in experiment.arms] == ["asyncio"]
    (told,) = experiment.left_out
    assert told.startswith("peer java cannot run: python")
    assert told.endswith("ended with exit code 1: Error: could not find libjava.so")


@pytest.mark.heavy
def test_a_block_with_a_peer_is_measured_and_up_to_date_afterwards(profile, tmp_path, capsys):
    config = str(profile(config={"duration_s": 0.05, "repeats": 1, "warmup": 0.1}, size={
        "sweeps": [{"topology": "pipeline", "parameters": {"operators": 2, "cost": 1}}],
        "arms": [{"model": "manual"}, {"peer": "asyncio"}],
    }))  # fmt: skip
    words = ["sweep", "one", "--config", config, "-o", str(tmp_path / "raw")]
    assert main(words) == 0
    from harness.measurement.records import read_records

    (file,) = (tmp_path / "raw").glob("*.jsonl")
    records, problems = read_records(file)
    assert problems == [] and {record["arm"] for record in records} == {"manual", "asyncio"}
    assert {record["peer"] for record in records} == {None, all_peers()["asyncio"].label}
    assert all(record["correct"] for record in records)
    capsys.readouterr()
    assert main([*words, "--dry-run"]) == 0
    assert "to measure: 0 blocks" in capsys.readouterr().out


@pytest.mark.usefixtures("only_asyncio")
def test_final_runs_of_both_sides_are_in_the_estimate_and_the_settings(profile):
    arms = [{"model": "dynamic", "threads": [1, 2, 3, 4]}, {"peer": "asyncio"}]
    block, longer, simulated = (
        load_config(profile(size={"arms": arms, "final_repeats": 5} | change)).experiments[0].blocks()[0]
        for change in (
            {},
            {"final_repeats": 6},
            {"machines": ["xeon"], "arms": arms[:1]},
        )
    )  # fmt: skip
    assert block.runs == 5 * 2 + (3 + 1) * 5
    a_run = block.estimated_s / block.runs
    assert longer.estimated_s - block.estimated_s == pytest.approx(4 * a_run)
    assert block.settings != longer.settings
    assert simulated.finals is None, "simulated runs of one arm differ in nothing but chance"
