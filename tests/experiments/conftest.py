"""A small profile on disk, for tests that bend it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

CONFIG = {"profile": "tiny", "experiments": ["one"], "repeats": 2, "duration_s": 0.1}

EXPERIMENT = {
    "sizes": {
        "tiny": {
            "sweeps": [{"topology": "pipeline", "parameters": {"operators": 3, "cost": [1, 10]}}],
            "arms": [{"model": "manual"}, {"model": "dynamic", "threads": [1, 2]}],
        }
    }
}


def merged(base: dict, changes: dict) -> dict:
    """`base` with `changes`; a value of `...` removes its key, dictionaries are merged."""
    result = dict(base)
    for key, value in changes.items():
        if value is ...:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., Path]:
    """Writes a profile with one experiment, changed as asked, and returns the path of its
    config.
    """

    def write(
        config: dict | None = None, experiment: dict | None = None, size: dict | None = None
    ) -> Path:
        folder = tmp_path / "config"
        (folder / "experiments").mkdir(parents=True, exist_ok=True)
        values = merged(EXPERIMENT, experiment or {})
        if size is not None:
            values["sizes"] = {"tiny": merged(EXPERIMENT["sizes"]["tiny"], size)}
        (folder / "experiments" / "one.yaml").write_text(
            yaml.safe_dump(values, sort_keys=False), encoding="utf-8"
        )
        (folder / "config.yaml").write_text(
            yaml.safe_dump(merged(CONFIG, config or {}), sort_keys=False), encoding="utf-8"
        )
        return folder / "config.yaml"

    return write
