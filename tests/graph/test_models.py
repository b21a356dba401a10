"""The threading models' options: what is accepted, what is refused in one line, what stands in for what is not given."""

from __future__ import annotations

import dataclasses

import pytest

from harness import models
from harness.errors import UserError
from harness.models import MODELS, Dedicated, Dynamic, Manual, make_model


@pytest.mark.parametrize(
    ("name", "options", "model"),
    [
        ("manual", {}, Manual()),
        ("dedicated", {}, Dedicated()),
        ("dedicated", {"queue_capacity": 1}, Dedicated(queue_capacity=1)),
        ("dynamic", {"threads": 1024, "queue_capacity": 2**20}, Dynamic(threads=1024, queue_capacity=2**20)),
    ],
)
def test_a_model_is_made_with_its_options(name, options, model):
    assert make_model(name, **options) == model


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("elastic", {}, "model 'elastic' is unknown; models are: manual, dedicated, dynamic"),
        ("", {}, "model '' is unknown; models are: manual, dedicated, dynamic"),
        ("manual", {"threads": 1}, "threads applies to dynamic only, not to the model manual"),
        ("dedicated", {"threads": 1}, "threads applies to dynamic only, not to the model dedicated"),
        ("manual", {"queue_capacity": 9}, "queue_capacity applies to dedicated and dynamic only, not to the model manual"),
        ("dynamic", {"threads": 0}, "threads must be from 1 to 1024, not 0"),
        ("dynamic", {"threads": 1025}, "threads must be from 1 to 1024, not 1025"),
        ("dynamic", {"queue_capacity": 0}, "queue_capacity must be from 1 to 1048576 tuples, not 0"),
        ("dedicated", {"queue_capacity": 2**20 + 1}, "queue_capacity must be from 1 to 1048576 tuples, not 1048577"),
    ],
)
def test_bad_options_are_told_in_one_line(name, options, told):
    with pytest.raises(UserError) as caught:
        make_model(name, **options)
    assert str(caught.value) == told


def test_dynamic_has_a_thread_for_each_allowed_cpu_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr(models.os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert Dynamic().threads == 3


def test_all_cpus_are_allowed_where_the_system_has_no_affinity(monkeypatch):
    monkeypatch.delattr(models.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(models.os, "cpu_count", lambda: 6)
    assert models.allowed_cpus() == 6


def test_models_cannot_be_changed_and_are_listed_by_name():
    assert {name: model.name for name, model in MODELS.items()} == {name: name for name in MODELS}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Dynamic(threads=2).threads = 3
