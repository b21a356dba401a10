"""The script of a bundle: what it says where a machine does not fit. It needs no package."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bundle import measure

OLDEST = (3, 6)


@pytest.fixture
def needs():
    """Return needs that this machine meets."""
    return {
        "python": sys.implementation.cache_tag,
        "cpu": {"level": "x86-64", "flags": []},
        "glibc": [2, 5],
        "glibcxx": [3, 4],
    }


def test_old_pythons_understand_the_script():
    text = Path(measure.__file__).read_text(encoding="utf-8")
    ast.parse(text, feature_version=OLDEST)
    assert "annotations" not in text  # the import that is newer than `OLDEST`


def test_a_machine_that_fits_lacks_nothing(needs):
    assert measure.lacks(needs) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"python": "cpython-399"}, "Python must be python3.99, not"),
        (
            {"cpu": {"level": "x86-64-v9", "flags": ["avx9000"]}},
            "x86-64-v9, and this one has no av",
        ),
        ({"glibc": [99, 1]}, "glibc must be of version 99.1 or newer, not 2."),
        (
            {"glibcxx": [99, 1]},
            "the C++ library (GLIBCXX) must be of version 99.1 or newer, not 3.",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_version(needs, change, said):
    problem = measure.lacks(needs | change)
    assert said in problem
    assert "\n" not in problem


def test_another_c_library_is_none(needs, monkeypatch):
    monkeypatch.setattr(measure.os, "confstr", lambda name: None)
    assert "not none" in measure.lacks(needs)


def test_another_system_is_named(needs, monkeypatch):
    monkeypatch.setattr(measure.platform, "machine", lambda: "aarch64")
    assert "x86-64, not Linux aarch64" in measure.lacks(needs)


def test_the_script_as_a_command_says_it_in_one_line(needs, tmp_path):
    script = tmp_path / "measure.py"
    script.write_text(Path(measure.__file__).read_text(encoding="utf-8"))
    told = {"needs": needs | {"glibc": [99, 1]}}
    (tmp_path / "bundle.json").write_text(json.dumps(told))
    done = subprocess.run(
        [sys.executable, "-I", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("measure.py: glibc must be of version 99.1")
    assert done.stderr.count("\n") == 1


def test_a_command_of_the_right_version_is_used_if_the_machine_has_one(
    needs, tmp_path, monkeypatch
):
    monkeypatch.setattr(measure, "HERE", tmp_path)
    (tmp_path / "bundle.json").write_text(json.dumps({"needs": needs | {"python": "cpython-399"}}))
    called = []
    monkeypatch.setattr(measure.shutil, "which", lambda name: f"/opt/{name}")
    monkeypatch.setattr(measure.os, "execv", lambda *words: called.append(words))
    assert measure.main(["--dry-run"]) == 1  # a real execv does not return
    ((program, words),) = called
    assert program == "/opt/python3.99"
    assert words[1:] == [str(tmp_path / "measure.py"), "--dry-run"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763-"),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "intel-xeon-gold-6248r-"),
        ("", "cpu-"),
    ],
)
def test_a_machine_has_the_name_of_its_cpu_unless_it_has_another(model, name, monkeypatch):
    from harness.machines.place import check_name

    monkeypatch.setattr("harness.measurement.host.cpu_model", lambda: model)
    assert measure.default_name().startswith(name)
    check_name(measure.default_name())
