"""Commands of the default installation: none of them imports a package of an extra, and one that
needs such a package says so before it measures.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pytest

from harness.cli import COMMANDS, main
from harness.cli.extras import EXTRAS


class Absent(MetaPathFinder):
    """Finder in front of all others, for which the packages of extras do not exist."""

    def find_spec(self, name, path=None, target=None):
        """Refuse a package of an extra."""
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture(autouse=True)
def light(monkeypatch, tmp_path):
    """An empty working directory, and no extras; modules that have loaded some are forgotten."""
    kept = dict(sys.modules)
    # A module is an attribute of its package, too: a name in a text, as for `monkeypatch`, means it.
    attributes = {}
    for name in list(sys.modules):
        if name.partition(".")[0] in EXTRAS or name.startswith(
            (
                "harness.claims",
                "harness.plots",
                "harness.compare",
                "harness.explain",
                "harness.gate.history",
                "harness.report",
                "harness.spark",
                "harness.cli.",
            )
        ):
            package, _, attribute = name.rpartition(".")
            if hasattr(kept.get(package), attribute):
                attributes[package, attribute] = getattr(kept[package], attribute)
            del sys.modules[name]
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.update(kept)
    for (package, attribute), value in attributes.items():
        setattr(kept[package], attribute, value)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "claims --list",
        "laws list",
        "machines",
        "models",
        "topologies",
        "init graph",
        "completion bash",
        "sweep pldi17_fig9 --dry-run",
        "run pipeline --machine xeon --duration 0.0001",
    ],
)
def test_simple_uses_need_no_extra(line, capsys):
    assert main(line.split()) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("validate --output v.parquet", "pandas"),
        ("laws bench --table t.parquet", "pandas"),
        ("compare pipeline --png c.png", "matplotlib"),
        ("explain pipeline --model manual --html e.html", "matplotlib"),
        ("show pipeline -o s.svg", "matplotlib"),
        ("claims --tables .", "pandas"),
        ("report", "pandas"),
    ],
)
def test_what_is_missing_is_named_before_anything_is_measured(line, package, capsys):
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.err.endswith(
        f"needs {package}, which is not installed: pip install 'millrace[{EXTRAS[package]}]'\n"
    )
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("line", ["add v.json", "show", "plot"])
def test_a_history_without_its_extra_names_the_command_that_adds_it(line, capsys):
    assert main(["gate", "history", *line.split()]) == 2
    assert capsys.readouterr().err.endswith(
        "millrace gate history: needs the extra [figures], which is not installed: pip install "
        "'millrace[figures]'\n"
    )
