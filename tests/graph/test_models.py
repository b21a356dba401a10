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
        ("dynamic", {"elastic": True}, Dynamic(elastic=True)),
        ("dynamic", {"law": "pldi17"}, Dynamic(elastic=True, law="pldi17")),
        ("dynamic", {"law": "", "law_settings": {"a": "1"}}, Dynamic(elastic=True, law_settings=(("a", "1"),))),
        (
            "dynamic",
            {"elastic": True, "threads": 9, "minimum": 2, "maximum": 9},
            Dynamic(threads=9, elastic=True, minimum=2, maximum=9),
        ),
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
        ("manual", {"elastic": True}, "elastic applies to dynamic only, not to the model manual"),
        ("dedicated", {"law": "pldi17"}, "elastic applies to dynamic only, not to the model dedicated"),
        ("manual", {"minimum": 2}, "minimum applies to dynamic only, not to the model manual"),
        ("dynamic", {"minimum": 2}, "minimum applies to an elastic pool only, not to one of a fixed level: 2"),
        ("dynamic", {"maximum": 2}, "maximum applies to an elastic pool only, not to one of a fixed level: 2"),
        ("dynamic", {"elastic": True, "minimum": 0}, "minimum must be from 1 to 1024 threads, not 0"),
        ("dynamic", {"elastic": True, "maximum": 1025}, "maximum must be from 1 to 1024 threads, not 1025"),
        ("dynamic", {"elastic": True, "minimum": 5, "maximum": 4}, "minimum must be at most the maximum of 4 threads, not 5"),
        (
            "dynamic",
            {"elastic": True, "threads": 5, "maximum": 4},
            "threads must be from 1 to 4, the levels of the law, not 5",
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 1, "minimum": 2, "maximum": 4},
            "threads must be from 2 to 4, the levels of the law, not 1",
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 4},
            "threads must be from 1 to 3, the levels of the law, as there are CPUs for if no maximum is given, not 4",
        ),
    ],
)
def test_bad_options_are_told_in_one_line(monkeypatch, name, options, told):
    monkeypatch.setattr(models, "usable_cpus", lambda: 3)
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
