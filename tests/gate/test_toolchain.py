"""Notes on interpreters, packages, compilers and flags that differ between the sides."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.gate.cell import GateCell, Metric, Program
from harness.gate.loaded import rehearsed
from harness.gate.suite import Suite
from harness.gate.toolchain import Toolchain, differences, toolchain
from harness.gate.tree import Role, Tree
from harness.gate.verdict import Side


def suite_of(*words: str) -> Suite:
    return Suite("mine", (Program("one", words, (GateCell("one", Metric()),)),), "one")


def test_each_kind_of_difference_is_a_note() -> None:
    base = Toolchain("CPython 3.11.7", {"numpy": "1.26", "old": "1"}, frozenset({"GCC: (x) 12"}))
    head = Toolchain("CPython 3.12.1", {"numpy": "2.0", "new": "3"}, frozenset({"GCC: (x) 13"}))
    assert list(differences(base, head)) == [
        "interpreters differ: CPython 3.11.7 in base, CPython 3.12.1 in head",
        "packages differ: new missing in base, 3 in head, numpy 1.26 in base, 2.0 in head, "
        "old 1 in base, missing in head",
        "compilers differ: GCC: (x) 12 in base, GCC: (x) 13 in head",
    ]
    assert list(differences(base, base)) == []


def test_what_only_one_side_tells_is_no_difference() -> None:
    assert list(differences(Toolchain("CPython 3.11.7", {"a": "1"}), Toolchain())) == []


def test_python_tells_its_version_and_packages(tmp_path: Path) -> None:
    found = toolchain(tmp_path, sys.executable, suite_of("{python}", "a.py"), [])
    assert found.interpreter.endswith(sys.version.split()[0])
    assert found.packages is not None
    assert "pytest" in found.packages
    assert toolchain(tmp_path, sys.executable, suite_of("./a"), []).packages is None
    assert toolchain(tmp_path, str(tmp_path / "none"), suite_of("{python}"), []) == Toolchain()


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs GCC")
def test_flags_of_compiled_programs_that_differ_are_a_note(tmp_path: Path) -> None:
    trees: dict[Role, Tree] = {}
    for role, level in (("base", "-O1"), ("head", "-O2")):
        folder = tmp_path / role
        folder.mkdir()
        (folder / "a.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        words = ["gcc", "-g", level, "-gz=none", "-o", "a", "a.c"]
        subprocess.run(words, cwd=folder, check=True)
        trees[role] = Tree(folder, "", Side(role, None))
    made, _ = rehearsed(trees, suite_of("./a"), False, lambda text: None)
    (note,) = made["base"].notes
    assert note == "compiler flags differ: -O1 in base, -O2 in head"
