"""An arm as an option of the command line is read as the same arm."""

from __future__ import annotations

import shlex

import pytest

from harness.experiments.arms import arms_of_text, option_of, text_of_arm
from harness.experiments.experiment import Arm
from harness.experiments.file import experiment_schema
from harness.machines.place import Place
from harness.measurement.spec import PeerModel, arm_name
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel

MODELS = [
    Manual(),
    Dedicated(queue_capacity=64),
    Dynamic(2),
    Dynamic(1, queued="parse"),
    Dynamic(1, queued="parse,crunch 0,it's,sink"),
    Dynamic(4, queued="30%"),
    Dynamic(4, queued="2", queue_capacity=64),
    Dynamic(2, queued="none"),
    Dynamic(2, elastic=True, maximum=8, law_settings=(("change", 0.1),)),
    Multilevel(maximum=4),
    Coroutine(4, policy="oldest_source", replicas=2, quantum_ms=0.5),
]


@pytest.mark.parametrize("model", MODELS, ids=arm_name)
@pytest.mark.parametrize("name", ["", "mine-1-queue"])
def test_the_text_of_an_arm_is_read_as_that_arm(model, name):
    arm = Arm(name or arm_name(model), model)
    option, word = shlex.split(shlex.join(option_of(arm.name, model)))
    assert option == "--model"
    assert arms_of_text(word, option, experiment_schema(), Place()) == [arm]


def test_a_name_that_is_made_from_the_options_is_not_repeated():
    assert text_of_arm("dynamic-2", Dynamic(2)) == "dynamic:threads=2"


def test_another_runtime_is_an_option_of_its_own():
    assert option_of("go", PeerModel("go", "go 1")) == ["--peer", "go"]
