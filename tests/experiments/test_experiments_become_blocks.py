"""Sweeps and arms become cells and blocks, with names that are unique, stable and fit for files."""

from __future__ import annotations

import re
from functools import cache

import pytest
import yaml

from harness import elasticity
from harness.experiments.config import Config, clock, load_config
from harness.files.places import CODE as ROOT
from harness.machines import place
from harness.models import Dynamic, Manual


@cache
def of_project(name: str) -> Config:
    """A profile of config/, which no test changes."""
    return load_config(ROOT / "config" / name)


def test_lists_become_their_cartesian_product(profile):
    sweep = {"topology": "mix", "parameters": {"width": [2, 3], "depth": 4, "cost": [1, "skewed"]}}
    config = load_config(profile(size={"sweeps": [sweep]}))
    assert [cell.name for cell in config.experiment("one").cells] == [
        "mix,width=2,depth=4,cost=1,payload=128",
        "mix,width=2,depth=4,cost=skewed,payload=128",
        "mix,width=3,depth=4,cost=1,payload=128",
        "mix,width=3,depth=4,cost=skewed,payload=128",
    ]


def test_threads_become_an_arm_each(profile):
    arms = [{"model": "manual"}, {"model": "dedicated"}, {"model": "dynamic", "threads": [1, 4]}]
    experiment = load_config(profile(size={"arms": arms})).experiment("one")
    assert [(arm.name, arm.model.name, arm.threads) for arm in experiment.arms] == [
        ("manual", "manual", None),
        ("dedicated", "dedicated", None),
        ("dynamic-1", "dynamic", 1),
        ("dynamic-4", "dynamic", 4),
    ]


def test_an_elastic_arm_has_a_law_and_its_levels(profile, monkeypatch):
    monkeypatch.setattr(place, "allowed_cpus", lambda: 6)
    arms = [
        {"model": "dynamic", "threads": 4},
        {"model": "dynamic", "law": "fixed"},
        {
            "model": "dynamic",
            "elastic": True,
            "law": "fixed",
            "threads": 3,
            "minimum": 2,
            "maximum": "machine",
        },
    ]
    made = [
        load_config(profile(size={"arms": [arms[0], arm]}, config={"period_s": 2}))
        .experiment("one")
        .blocks()[0]
        for arm in arms[1:]
    ]
    assert [list(block.runs_by_arm()) for block in made] == [
        ["dynamic-4", "dynamic-elastic-fixed"]
    ] * 2
    fixed, first = made[0].runs_by_arm().values()
    second = made[1].runs_by_arm()["dynamic-elastic-fixed"]
    assert (fixed.model.elastic, fixed.model.threads, fixed.model.law) == (False, 4, "millrace")
    assert first.model == Dynamic(elastic=True, law="fixed")
    assert (second.model.threads, second.model.minimum, second.model.maximum, second.period_s) == (
        3,
        2,
        6,
        2.0,
    )
    assert made[0].settings != made[1].settings, "records of other levels are out of date"
    assert [made[0].window_s(arm) for arm in made[0].arms] == [0.1, 10.0]


def test_without_a_law_of_its_own_an_elastic_arm_has_the_default_one(profile, monkeypatch):
    asked = []
    monkeypatch.setattr(
        elasticity, "make_law", lambda name, bounds, settings, **_: asked.append(name)
    )
    block = (
        load_config(profile(size={"arms": [{"model": "dynamic", "elastic": True}]}))
        .experiment("one")
        .blocks()[0]
    )
    assert (list(block.runs_by_arm()), asked) == (["dynamic-elastic"], ["millrace"])
    assert block.runs_by_arm()["dynamic-elastic"].period_s == 1.0


@pytest.mark.parametrize(
    ("arms", "differ"),
    [([{"model": "dynamic", "law": "fixed"}], True), ([{"model": "manual"}], False)],
)
def test_another_period_makes_records_of_laws_out_of_date_and_no_others(profile, arms, differ):
    settings = {
        load_config(profile(size={"arms": arms}, config={"period_s": period}))
        .experiment("one")
        .blocks()[0]
        .settings
        for period in (1, 2)
    }
    assert len(settings) == 1 + differ


@pytest.mark.parametrize(
    ("cpus", "levels"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])]
)
def test_machine_means_powers_of_two_and_the_number_of_cpus(profile, monkeypatch, cpus, levels):
    monkeypatch.setattr(place, "allowed_cpus", lambda: cpus)
    experiment = load_config(
        profile(size={"arms": [{"model": "dynamic", "threads": "machine"}]})
    ).experiment("one")
    assert [arm.threads for arm in experiment.arms] == levels


def test_a_block_asks_each_arm_the_same_question(profile):
    block = (
        load_config(profile(config={"queue_capacity": 64, "warmup": 0.5, "seed": 7}))
        .experiment("one")
        .blocks()[0]
    )
    specs = block.runs_by_arm()
    assert list(specs) == ["manual", "dynamic-1", "dynamic-2"]
    for arm, spec in specs.items():
        assert (spec.experiment, spec.cell, spec.arm) == (
            "one",
            "pipeline,operators=3,cost=1,payload=128",
            arm,
        )
        assert dict(spec.parameters) == {"operators": 3, "cost": 1, "payload": 128, "rate": 0}
        assert (spec.duration_s, spec.warmup, spec.seed, spec.place.machine) == (
            0.1,
            0.5,
            7,
            "local",
        )
    assert specs["manual"].model == Manual()  # it has no queues
    assert specs["dynamic-2"].model.queue_capacity == 64


def test_what_is_left_out_has_the_defaults_that_the_schema_names(profile):
    config = load_config(profile())
    schema = yaml.safe_load(
        (ROOT / "config/schemas/config.schema.json").read_text(encoding="utf-8")
    )
    for key, rules in schema["properties"].items():
        if "default" in rules:
            assert getattr(config, key) == rules["default"], key


def test_spark_settings_are_text(profile):
    config = load_config(
        profile(config={"spark": {"spark.ui.enabled": False, "spark.executor.cores": 2}})
    )
    assert config.spark == {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.executor.cores": "2",
    }


@pytest.mark.parametrize(
    "change",
    [{"repeats": 3}, {"duration_s": 0.2}, {"warmup": 1}, {"seed": 2}, {"queue_capacity": 9}],
    ids=str,
)
def test_settings_differ_if_records_would(profile, change):
    before = load_config(profile()).experiment("one").blocks()[0].settings
    assert load_config(profile(config=change)).experiment("one").blocks()[0].settings != before


def test_a_size_may_measure_otherwise_than_its_profile(profile):
    path = profile(
        config={"warmup": 1, "seed": 3}, size={"repeats": 5, "duration_s": 8, "warmup": 0}
    )
    config = load_config(path)
    (first, _) = config.experiment("one").blocks()
    assert (first.repeats, first.duration_s, first.warmup, first.seed) == (5, 8.0, 0.0, 3)
    assert {(spec.duration_s, spec.warmup) for spec in first.runs_by_arm().values()} == {(8.0, 0.0)}
    assert (config.repeats, config.duration_s, config.warmup) == (2, 0.1, 1.0)


@pytest.mark.parametrize("change", [{"repeats": 3}, {"duration_s": 0.2}, {"warmup": 1}], ids=str)
def test_settings_of_a_size_count_too(profile, change):
    before = load_config(profile()).experiment("one").blocks()[0].settings
    assert load_config(profile(size=change)).experiment("one").blocks()[0].settings != before


def test_figures_are_those_of_the_experiments_and_then_of_the_benches(profile):
    assert load_config(profile()).drawn == ("one",)
    assert load_config(profile(config={"benches": ["saso"]})).drawn == ("one", "saso")


def test_blocks_have_different_but_repeatable_orders(profile):
    first, second = (load_config(profile()) for _ in range(2))
    seeds = [block.order_seed for block in first.blocks()]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [block.order_seed for block in second.blocks()]


@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
def test_the_profiles_name_every_block_once_and_fit_for_files(name):
    blocks = list(of_project(name).blocks())
    names = [block.name for block in blocks]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_.=,/~+-]+", each) and len(each) < 240 for each in names)


def test_the_profiles_do_not_share_folders():
    quick, paper = (of_project(name) for name in ("quick.yaml", "paper.yaml"))
    assert quick.results != paper.results
    assert quick.figures != paper.figures


@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
def test_a_measured_point_has_three_runs_at_least(name):
    few = {
        block.experiment
        for block in of_project(name).blocks()
        if not block.place.simulated and not block.finals and block.repeats < 3
    }
    assert few == {
        "mw19_fig14"
    }  # drawings of graphs; an interval of two runs is 13 standard errors


def test_the_quick_profile_fits_the_time_promised():
    blocks = list(of_project("quick.yaml").blocks())
    measured, simulated = (
        [each for each in blocks if each.place.simulated == virtual] for virtual in (False, True)
    )
    assert sum(block.runs for block in measured) <= 360
    seconds = (
        sum(block.estimated_s for block in measured)
        + sum(block.estimated_s for block in simulated) / 2
    )  # side by side
    assert (
        seconds <= 650
        # of about 12 minutes; tables and drawing take the rest, and estimates of simulated laws are too
        # high
    )


def test_the_paper_profile_has_the_papers_sizes():
    config = of_project("paper.yaml")
    assert (config.repeats, config.duration_s) == (
        5,
        1.0,
    )  # three hours in all do not allow for P17's 5 s
    parameters = {
        experiment.name: [cell.parameters for cell in experiment.cells]
        for experiment in config.experiments
    }
    assert [cell["operators"] for cell in parameters["pldi17_fig9"][:3]] == [1000] * 3
    assert [(cell["width"], cell["depth"]) for cell in parameters["pldi17_fig10"]] == [
        (10, 100)
    ] * 3


@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
def test_elastic_may_go_as_high_as_the_highest_fixed_level_that_it_is_compared_with(name):
    config = of_project(name)
    for figure in ("pldi17_fig9", "pldi17_fig10"):
        for block in config.experiment(figure).blocks():
            fixed = [arm for arm in block.arms if arm.model.name == "dynamic" and not arm.elastic]
            elastic = [arm for arm in block.arms if arm.elastic]
            assert {arm.model.maximum for arm in elastic} == {max(arm.threads for arm in fixed)}, (
                block.name
            )


@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
@pytest.mark.parametrize("figure", ["pldi17_fig9", "pldi17_fig10", "pldi17_fig11"])
def test_the_papers_figures_are_of_its_machines_with_its_thousand_operators_and_of_this_one(
    name, figure
):
    settling = {"pldi17_fig10": {100}, "pldi17_fig9": {200, 1000}}  # in quick runs
    operators = settling.get(figure, {1000}) if name == "quick.yaml" else {1000}
    blocks = of_project(name).experiment(figure).blocks()
    # a quick run over time here would be a single one
    here = set() if (name, figure) == ("quick.yaml", "pldi17_fig11") else {("local", False)}
    assert {(block.place.machine, block.place.simulated) for block in blocks} == {
        ("xeon", True), ("power8", True), *here,
    }  # fmt: skip
    sizes = [block.cell.parameters for block in blocks if block.place.simulated]
    found = {size.get("operators") or size["width"] * size.get("depth", 1) for size in sizes}
    assert found == operators


@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
def test_figures_over_time_show_runs_from_their_beginning(name):
    blocks = of_project(name).experiment("pldi17_fig11").blocks()
    assert {block.warmup for block in blocks} == {0.0}
    assert all(
        block.duration_s >= 30 * block.period_s for block in blocks
    )  # enough to settle in, and to stay a while


M19_WITH_SEEDS = ["1", "6", "9", "10", "11", "12", "13", "15"]


@pytest.mark.parametrize("number", M19_WITH_SEEDS)
@pytest.mark.parametrize(("name", "seeds"), [("quick.yaml", 3), ("paper.yaml", 10)])
def test_simulated_laws_of_m19_have_several_seeds(name, seeds, number):
    for block in of_project(name).experiment(f"mw19_fig{number}").blocks():
        deep = block.cell.parameters.get("operators", 0) > 100 and number == "9"
        packets = block.cell.topology == "packet-analysis"
        if block.place.simulated and not deep and not packets:
            assert block.repeats >= seeds, block.name


@pytest.mark.parametrize("number", ["1", "9", "10", "11", "12", "13", "15"])
@pytest.mark.parametrize("name", ["quick.yaml", "paper.yaml"])
def test_the_law_of_the_system_that_m19_measured_is_an_arm(name, number):
    for block in of_project(name).experiment(f"mw19_fig{number}").blocks():
        if block.place.simulated and any(arm.elastic for arm in block.arms):
            assert "multilevel-streams" in {arm.name for arm in block.arms}, block.name


BANDS = [
    *(f"pldi17_fig{number}" for number in (9, 10, 11)),
    *(f"mw19_fig{number}" for number in (1, 9, 10, 11, 12, 13, 15)),
    *(f"cstream_fig{number}" for number in (4, 6, 7, 8, 9, 10, 11)),
    *("mw19_design", "cstream_policies", "elb_cost", "elb_bursty_cost", "elb_bursty_rate"),
]


@pytest.mark.parametrize("figure", BANDS)
def test_the_paper_profile_samples_the_constants_that_are_estimates(figure):
    blocks = of_project("paper.yaml").experiment(figure).blocks()
    assert {len(block.variants) for block in blocks if block.place.simulated} >= {10}


def test_the_quick_profile_shows_the_schedulers_that_the_papers_print():
    shown = {
        (block.experiment, block.place.software)
        for block in of_project("quick.yaml").blocks()
        if block.place.simulated
    }
    assert {("pldi17_fig10", "p17-printed"), ("cstream_fig6", "cstream")} <= shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (380, "6 min 20 s"), (7500, "2 h 05 min")],
)
def test_a_stretch_of_time_reads_well(seconds, text):
    assert clock(seconds) == text


def test_an_arm_may_have_its_own_capacity_and_lists_of_any_option(profile):
    arm = {"model": "coroutine", "threads": 2, "quantum_ms": [5, 10], "replicas": [1, 2]}
    path = profile(
        config={"queue_capacity": 64},
        size={"arms": [arm | {"queue_capacity": 9}, {"model": "dedicated"}]},
    )
    arms = load_config(path).experiment("one").arms
    assert [(arm.name, arm.model.queue_capacity) for arm in arms] == [
        ("coroutine-2-5ms", 9),
        ("coroutine-2-5ms-replicas-2", 9),
        ("coroutine-2-10ms", 9),
        ("coroutine-2-10ms-replicas-2", 9),
        ("dedicated", 64),
    ]
