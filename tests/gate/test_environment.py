"""What processes of either side find in their environment."""

from __future__ import annotations

import pytest

from harness.gate.environment import clean_environment


@pytest.mark.parametrize("name", ["PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "GIT_DIR", "PYTHONDONTWRITEBYTECODE"])
def test_what_would_mix_the_sides_or_slow_both_is_left_behind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MINE", "kept")
    found = clean_environment({"MORE": "given"})
    assert name not in found
    assert (found["MINE"], found["MORE"], found["PYTHONHASHSEED"]) == ("kept", "given", "0")
