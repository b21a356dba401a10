"""Benchmarks of pytest that a suite selects by patterns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate import pytest_names
from harness.gate.cell import BENCHMARKS, GateCell, Metric, Program
from harness.gate.pytest_names import collected, with_names
from harness.gate.suite import PYTEST, Suite
from harness.gate.tree import Role, Tree
from harness.gate.verdict import Side

TREES: dict[Role, Tree] = {
    role: Tree(Path("/", role), sys.executable, Side(role, None)) for role in ("base", "head")
}


def suite_of(*keys: str, control: str | None = None) -> Suite:
    cells = tuple(GateCell(key, Metric("median", "s"), key) for key in keys)
    program = Program("bench", (*PYTEST, "t.py"), cells, BENCHMARKS)
    return Suite("mine", (program,), control or keys[0])


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Base has a benchmark that head has lost."""
    names = {
        "base": ["t.py::test_a[1-x]", "t.py::test_old"],
        "head": ["t.py::test_a[1-x]", "t.py::test_a[2]", "t.py::test_b"],
    }
    monkeypatch.setattr(pytest_names, "collected", lambda tree, program: names[tree.side.label])


def names_of(suite: Suite) -> list[str]:
    return [cell.name for cell in suite.cells]


def test_pattern_stands_for_all_that_match_on_either_side(known: None) -> None:
    suite = with_names(suite_of("t.py::test_b", "t.py::test_a*", "*old"), TREES)
    assert names_of(suite) == [
        "t.py::test_b",
        "t.py::test_a[1-x]",
        "t.py::test_a[2]",
        "t.py::test_old",
    ]
    assert [cell.key for cell in suite.cells] == names_of(suite)


def test_benchmark_that_two_entries_select_is_one_cell(known: None) -> None:
    assert names_of(with_names(suite_of("t.py::test_a[2]", "t.py::test_a*"), TREES)) == [
        "t.py::test_a[2]",
        "t.py::test_a[1-x]",
    ]


def test_brackets_of_parameters_stand_for_themselves(known: None) -> None:
    assert names_of(with_names(suite_of("t.py::test_*[1-*]"), TREES)) == ["t.py::test_a[1-x]"]


def test_control_is_the_first_of_those_that_its_pattern_selects(known: None) -> None:
    suite = suite_of("t.py::test_b", "t.py::test_a*", control="t.py::test_a*")
    assert with_names(suite, TREES).control == "t.py::test_a[1-x]"
    assert with_names(suite_of("t.py::test_a*"), TREES).control == "t.py::test_a[1-x]"


def test_pattern_that_selects_nothing_is_a_mistake(known: None) -> None:
    with pytest.raises(UserError, match="'none\\*' selects no benchmark of base or head"):
        with_names(suite_of("none*"), TREES)


def test_suite_without_a_pattern_asks_no_tree() -> None:
    suite = suite_of("t.py::test_a")
    assert with_names(suite, TREES) is suite


@pytest.mark.heavy
def test_tests_that_use_the_fixture_are_collected(tmp_path: Path) -> None:
    code = (
        "import pytest\n"
        "def test_plain(): pass\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_bench(benchmark, n): benchmark(sum, [n])\n"
    )
    (tmp_path / "t.py").write_text(code, encoding="utf-8")
    tree = Tree(tmp_path, sys.executable, Side(".", None))
    (program,) = suite_of("*").programs
    assert list(collected(tree, program)) == ["t.py::test_bench[1]", "t.py::test_bench[2]"]
