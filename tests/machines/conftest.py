"""Profiles on disk that tests bend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from harness.machines.machine import MACHINES
from harness.machines.software import SOFTWARE


def bent(values: dict, changes: Mapping[str, object]) -> dict:
    """`values` with those at dotted paths replaced; `...` removes one."""
    for path, value in changes.items():
        *rooms, last = path.split(".")
        inner = values
        for room in rooms:
            inner = inner[int(room) if room.isdecimal() else room]
        key = int(last) if last.isdecimal() else last
        if value is ...:
            del inner[key]
        else:
            inner[key] = value
    return values


def _writer(source: Path, path: Path) -> Callable[..., Path]:
    def write(changes: Mapping[str, object] | None = None) -> Path:
        values = bent(yaml.safe_load(source.read_text(encoding="utf-8")), changes or {})
        path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
        return path

    return write


@pytest.fixture
def machine_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes the template's machine (2 sockets, 2 chips each, 4 cores, SMT 2), changed as asked;
    returns the path.
    """
    return _writer(MACHINES / "template.yaml", tmp_path / "mine.yaml")


@pytest.fixture
def software_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes the profile streams-4.2, changed as asked, and returns the path."""
    return _writer(SOFTWARE / "streams-4.2.yaml", tmp_path / "mine.yaml")
