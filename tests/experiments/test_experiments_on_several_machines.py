"""A size may name machines: its cells become blocks on each, with files, levels, times and variants
of their own.
"""

from __future__ import annotations

import pytest

from harness.errors import UserError
from harness.experiments.config import load_config
from harness.machines.place import Place, find_place
from harness.models import Dedicated
from tests.described import describe

CELLS = ["pipeline,operators=3,cost=1,payload=128", "pipeline,operators=3,cost=10,payload=128"]
DYNAMIC = [
    {"model": "dynamic", "threads": "machine"},
    {"model": "dynamic", "law": "fixed", "maximum": "machine"},
]


@pytest.fixture(autouse=True)
def machines(monkeypatch):
    describe(monkeypatch)


def blocks(path, *place, **options):
    return load_config(path, *place, **options).experiment("one").blocks()


def test_without_machines_all_is_as_the_profile_says(profile):
    assert [block.place for block in blocks(profile())] == [Place()] * 2
    assert [block.place for block in blocks(profile(config={"machine": "xeon"}))] == [
        Place("xeon", True, "millrace")
    ] * 2


def test_each_machine_has_every_cell_in_a_file_of_its_own(profile):
    made = blocks(
        profile(
            size={"machines": ["xeon", "local", {"machine": "xeon", "software": "streams-4.2"}]}
        )
    )
    assert [block.stem for block in made] == [
        *(f"xeon~{cell}" for cell in CELLS),
        *CELLS,
        *(f"xeon+streams-4.2~{cell}" for cell in CELLS),
    ]
    assert len({block.name for block in made}) == len({block.order_seed for block in made}) == 6
    assert [block.cell.name for block in made] == CELLS * 3
    specs = [block.runs_by_arm()["manual"] for block in made]
    assert [(spec.place.machine, spec.simulated, spec.place.software) for spec in specs] == [
        *[("xeon", True, "millrace")] * 2,
        *[("local", False, "")] * 2,
        *[("xeon", True, "streams-4.2")] * 2,
    ]


def test_this_machine_can_be_simulated_beside_itself(profile):
    made = blocks(profile(size={"machines": ["local", {"machine": "local", "simulated": True}]}))
    assert [block.stem for block in made][::2] == [CELLS[0], f"local+simulated~{CELLS[0]}"]


def test_the_word_machine_means_the_cpus_of_the_simulated_one(profile):
    (block, *_) = blocks(profile(size={"machines": ["xeon"], "arms": DYNAMIC}))
    assert [arm.threads for arm in block.arms[:-1]] == [1, 2, 4, 8, 16, 32, 64, 128, 176]
    assert block.arms[-1].model.maximum == 176


def test_without_levels_an_arm_on_a_simulated_machine_may_use_all_of_it(profile):
    arms = [{"model": "dynamic"}, {"model": "dynamic", "elastic": True}]
    (block, *_) = blocks(profile(size={"machines": ["power8"], "arms": arms}))
    assert [(arm.name, arm.threads, arm.model.maximum) for arm in block.arms] == [
        ("dynamic-184", 184, None),
        ("dynamic-elastic", None, 184),
    ]


def test_a_machine_may_be_measured_otherwise(profile):
    xeon = {
        "machine": "xeon",
        "parameters": {"operators": 1000},
        "arms": [{"model": "dedicated"}],
        "duration_s": 0.002,
        "period_s": 0.0001,
        "warmup": 0.001,
        "queue_capacity": 64,
        "repeats": 1,
    }
    first, _, third, _ = blocks(
        profile(size={"machines": [xeon, "local"], "duration_s": 0.3, "repeats": 4})
    )
    assert first.cell.name == "pipeline,operators=1000,cost=1,payload=128"
    assert [arm.name for arm in first.arms] == ["dedicated"]
    assert (first.duration_s, first.period_s, first.warmup, first.repeats) == (
        0.002,
        0.0001,
        0.001,
        1,
    )
    assert (third.duration_s, third.period_s, third.warmup, third.repeats) == (0.3, 1.0, "auto", 4)
    assert (first.arms[-1].model, third.arms[-1].model.queue_capacity) == (Dedicated(64), None)
    assert third.cell.name == CELLS[0]


def test_a_machine_may_be_there_with_several_numbers_of_its_cpus(profile):
    made = blocks(
        profile(size={"machines": [{"machine": "xeon", "cpus": [16, 64, 176]}], "arms": DYNAMIC})
    )[::2]
    assert [block.stem for block in made] == [
        f"xeon+16-cpus~{CELLS[0]}",
        f"xeon+64-cpus~{CELLS[0]}",
        f"xeon~{CELLS[0]}",
    ]
    assert [block.place.machine for block in made] == ["xeon:16", "xeon:64", "xeon"]
    assert [block.arms[-1].model.maximum for block in made] == [16, 64, 176]
    assert [arm.threads for arm in made[0].arms[:-1]] == [1, 2, 4, 8, 16]
    assert [spec.place.machine for spec in made[0].runs_by_arm().values()] == ["xeon:16"] * 6
    assert len({block.settings for block in made}) == 3


def test_one_number_of_cpus_can_be_asked_for(profile):
    path = profile(size={"machines": [{"machine": "xeon", "cpus": [16, 64], "repeats": 5}]})
    assert [
        (block.place.machine, block.repeats) for block in blocks(path, find_place("xeon", cpus=64))
    ] == [("xeon:64", 5)] * 2
    assert [
        (block.place.machine, block.repeats) for block in blocks(path, find_place("xeon:8"))
    ] == [("xeon:8", 2)] * 2


def test_a_machine_may_have_other_sweeps(profile):
    xeon = {
        "machine": "xeon",
        "sweeps": [{"topology": "mix", "parameters": {"width": 2, "depth": 3}}],
    }
    assert [
        block.cell.topology for block in blocks(profile(size={"machines": [xeon, "local"]}))
    ] == ["mix", "pipeline", "pipeline"]


def test_an_arm_may_be_measured_longer_than_the_others(profile):
    arms = [
        {"model": "dynamic", "threads": [1, 2], "duration_s": 0.05},
        {"model": "dynamic", "threads": 176},
    ]
    (block, _) = blocks(profile(size={"machines": ["xeon"], "arms": arms, "duration_s": 0.01}))
    assert {arm: spec.duration_s for arm, spec in block.runs_by_arm().items()} == {
        "dynamic-1": 0.05,
        "dynamic-2": 0.05,
        "dynamic-176": 0.01,
    }
    arms[0]["duration_s"] = 0.06
    assert (
        blocks(profile(size={"machines": ["xeon"], "arms": arms, "duration_s": 0.01}))[0].settings
        != block.settings
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"model": "dynamic", "threads": 2}, {"model": "dynamic", "threads": 4}),
        ({"model": "manual"}, {"model": "dedicated"}),
        ({"model": "dynamic", "law": "pldi17"}, {"model": "dynamic", "law": "streams"}),
        ({"model": "multilevel", "law": "middleware19"}, {"model": "multilevel", "law": "streams"}),
    ],
)
def test_an_arm_under_the_same_name_that_is_another_one_is_measured_anew(profile, before, after):
    settings = [
        blocks(profile(size={"arms": [{"name": "mine", **arm}]}))[0].settings
        for arm in (before, after)
    ]
    assert settings[0] != settings[1]


@pytest.mark.parametrize(("sensitivity", "variants"), [(True, 16), (3, 3), (False, 0)])
def test_sensitivity_varies_all_uncertain_constants_together_at_some_points(
    profile, sensitivity, variants
):
    simulated, _, measured, _ = blocks(
        profile(size={"machines": ["xeon", "local"], "sensitivity": sensitivity})
    )
    assert len(simulated.variants) == variants
    for point in simulated.variants:
        assert point.keys() == {"atomic.fence", "os.wake_us"}
        assert 4.0 <= point["atomic.fence"] <= 9.0
        assert 1.0 <= point["os.wake_us"] <= 5.0
    assert not measured.variants
    assert simulated.runs == 3 * (2 + variants)


def test_sensitivity_can_be_asked_for_and_a_machine_too(profile):
    path = profile(size={"machines": ["local", {"machine": "power8", "repeats": 1}]})
    on_power8 = blocks(path, find_place("power8"), sensitivity=True)
    assert [(block.place.machine, block.repeats, len(block.variants)) for block in on_power8] == [
        ("power8", 1, 16)
    ] * 2
    on_xeon = blocks(path, find_place("xeon"))
    assert [(block.place.machine, block.repeats, len(block.variants)) for block in on_xeon] == [
        ("xeon", 2, 0)
    ] * 2


@pytest.mark.parametrize(
    "changes",
    [
        {"machines": [{"machine": "xeon", "software": "streams-4.2"}]},
        {"machines": ["power8"]},
        {"sensitivity": True},
        {"sensitivity": 1},
    ],
    ids=str,
)
def test_settings_of_simulated_blocks_differ_if_records_would(profile, changes):
    before = blocks(profile(size={"machines": ["xeon"]}))[0].settings
    assert blocks(profile(size={"machines": ["xeon"]} | changes))[0].settings != before


def test_records_of_another_profile_of_the_machine_are_out_of_date(profile, monkeypatch):
    path = profile(size={"machines": ["xeon", "local"]})
    before = [block.settings for block in blocks(path)]
    describe(monkeypatch, digest="fedcba987654")
    after = [block.settings for block in blocks(path)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [
        False,
        False,
        True,
        True,
    ]


BAD = {
    "an unknown machine": (
        {"machines": ["local", "xeno"]},
        "one.yaml: sizes.tiny.machines[1]: machine 'xeno' is unknown (did you mean 'xeon'?); "
        "machines are: local, xeon, power8",
    ),
    "unknown software": (
        {"machines": [{"machine": "xeon", "software": "x"}]},
        "one.yaml: sizes.tiny.machines[0]: software 'x' is unknown",
    ),
    "software of real threads": (
        {"machines": [{"machine": "local", "software": "millrace"}]},
        "sizes.tiny.machines[0]: software applies to simulated machines only, not to real threads: "
        "'millrace'",
    ),
    "a machine twice": (
        {"machines": ["xeon", "xeon"]},
        "sizes.tiny.machines[1]: must not repeat a machine, not 'xeon'",
    ),
    "a number of CPUs twice": (
        {"machines": ["xeon", {"machine": "xeon", "cpus": 176}]},
        "sizes.tiny.machines[1]: must not repeat a machine, not 'xeon'",
    ),
    "more CPUs than there are": (
        {"machines": [{"machine": "xeon", "cpus": [16, 177]}]},
        "sizes.tiny.machines[0]: cpus must be from 1 to 176, not 177",
    ),
    "CPUs of real threads": (
        {"machines": [{"machine": "local", "cpus": 1}]},
        "sizes.tiny.machines[0]: cpus applies to simulated machines only, not to real threads, "
        "which taskset restricts: 1",
    ),
    "no CPUs": (
        {"machines": [{"machine": "xeon", "cpus": []}]},
        "sizes.tiny.machines[0]: must be the name of a machine, or its entry: machine, simulated, "
        "software, cpus,",
    ),
    "CPUs said twice": (
        {"machines": [{"machine": "xeon:8", "cpus": 16}]},
        "sizes.tiny.machines[0]: machine 'xeon:8' says already how many CPUs it has, so that cpus "
        "must not say it too: 16",
    ),
    "no machine": ({"machines": []}, "sizes.tiny.machines: must not be empty"),
    "an unknown key of a machine": (
        {"machines": [{"machine": "xeon", "thread": 3}]},
        "sizes.tiny.machines[0]: must be the name of a machine, or its entry: machine, simulated, "
        "software,",
    ),
    "more threads than the machine has": (
        {"machines": ["xeon"], "arms": [{"model": "dynamic", "threads": [1, 200]}]},
        "sizes.tiny.arms[0].threads: threads must be at most 176, the CPUs of machine 'xeon', not "
        "200",
    ),
    "a law that may ask for more": (
        {
            "machines": [
                {"machine": "xeon", "arms": [{"model": "dynamic", "elastic": True, "maximum": 200}]}
            ]
        },
        "sizes.tiny.machines[0].arms[0]: maximum must be at most 176, the CPUs of machine 'xeon', "
        "not 200",
    ),
    "a parameter that no sweep has": (
        {"machines": [{"machine": "xeon", "parameters": {"operator": 3}}]},
        "sizes.tiny.machines[0].parameters: must name parameters of the sweeps, not 'operator' "
        "(did you mean 'operators'?)",
    ),
    "a parameter out of range": (
        {"machines": [{"machine": "xeon", "parameters": {"operators": -1}}]},
        "sizes.tiny.sweeps[0]: parameter operators of topology pipeline must be a whole number "
        "from 0",
    ),
    "virtual times for real threads": (
        {"machines": ["xeon", {"machine": "local", "period_s": 0.01}]},
        "sizes.tiny.machines[1].period_s: must be 0.1 or more, not 0.01",
    ),
    "virtual times of the size for real threads": (
        {"machines": ["xeon", "local"], "duration_s": 0.001},
        "sizes.tiny.duration_s: must be 0.05 or more, not 0.001",
    ),
    "no time at all": (
        {"machines": ["xeon"], "duration_s": 0},
        "sizes.tiny.duration_s: must be 1e-06 or more, not 0",
    ),
    "no time for an arm": (
        {"machines": ["local"], "arms": [{"model": "manual", "duration_s": 0.01}]},
        "sizes.tiny.arms[0].duration_s: must be 0.05 or more, not 0.01",
    ),
    "a word for sensitivity": (
        {"sensitivity": "high"},
        "sizes.tiny.sensitivity: must be true, false, or a whole number",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_in_one_line(profile, case):
    changes, words = BAD[case]
    with pytest.raises(UserError) as caught:
        load_config(profile(size=changes))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_short_times_of_a_profile_are_refused_where_an_experiment_has_real_threads(profile):
    config = {"machine": "xeon", "period_s": 0.001}
    assert blocks(profile(config=config))[0].period_s == 0.001
    with pytest.raises(
        UserError, match=r"machines\[0\]\.period_s: must be 0\.1 or more, not 0\.001"
    ):
        load_config(profile(config=config, size={"machines": ["local"]}))
