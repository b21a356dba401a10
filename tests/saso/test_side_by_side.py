"""Processes of a bench leave the CPUs to each other."""

from __future__ import annotations

import os

import pytest

from harness.saso.side_by_side import THREADS, processes

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(60)]


@pytest.mark.parametrize("before", [None, "2"])
def test_theirs_have_one_thread_of_numpy_and_the_own_process_what_it_had(before, monkeypatch):
    if before is None:
        monkeypatch.delitem(os.environ, THREADS, raising=False)
    else:
        monkeypatch.setitem(os.environ, THREADS, before)
    with processes(2) as pool:
        assert list(pool.map(os.getenv, [THREADS] * 4)) == ["1"] * 4
    assert os.environ.get(THREADS) == before


def test_a_mistake_in_one_of_them_is_raised_here(monkeypatch):
    monkeypatch.setitem(os.environ, THREADS, "2")
    with pytest.raises(ValueError, match="invalid literal"), processes(1) as pool:
        list(pool.map(int, ["no number"]))
    assert os.environ[THREADS] == "2"
