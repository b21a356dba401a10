"""Modules that users' graphs import by an earlier name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from harness import MOVED

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", MOVED)
def test_a_moved_module_is_found_by_its_earlier_name_with_a_warning(name):
    sys.modules.pop(f"harness.{name}", None)
    with pytest.warns(DeprecationWarning, match=f"harness.{name} is harness.{MOVED[name]} now"):
        module = importlib.import_module(f"harness.{name}")
    assert module is importlib.import_module(f"harness.{MOVED[name]}")
    assert module.__spec__.name == f"harness.{MOVED[name]}"


def test_an_unknown_module_is_as_unknown_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"harness\.shema"):
        importlib.import_module("harness.shema")


def test_a_script_with_an_earlier_name_runs():
    code = "from harness.schema import Schema; print(Schema('n', {'i': 'uint64'}).size)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "8\n")
