"""Stand-ins for what commands would build or measure."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType

import pytest

import harness.gate.explain.explain  # before the stand-ins that would hide parts of the gate
import harness.gate.pytest_names  # noqa: F401
from harness.gate.verdict import Comparison, Side, Verdict
from harness.measurement import lock
from tests.gate.made_comparisons import comparison, result


@dataclass
class Suite:
    name: str = "short"
    cells: tuple = ("a", "b")
    programs: tuple = ()
    factor: float = 1.02
    alpha: float = 0.01
    time_budget_s: float = 540.0
    tail: float | None = None

    def with_tail(self, tail):
        return replace(self, tail=tail)


@dataclass
class Stand:
    """Stands in for suites, trees and measuring; `ends` is what measuring comes to."""

    ends: Comparison | BaseException = field(default_factory=lambda: comparison(result("a")))
    suite: Suite = field(default_factory=Suite)
    unknown: dict = field(default_factory=dict)  # role -> what a look at its word raises
    refuses: dict = field(default_factory=dict)  # role -> what preparing it raises
    prepared: list = field(default_factory=list)
    locked: bool = False  # whether the measuring lock is held
    loaded: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    tail: float | None = None  # of the suite
    is_default: bool | None = None  # whether the call named no suite

    def load_suite(self, path):
        self.loaded.append(str(path))
        return self.suite

    def rehearsed(self, trees, suite, allowed, notify):
        return trees, {"allowed": allowed}

    def suite_of_command(self, words, build, metrics):
        self.loaded.append((list(words), build))
        return self.suite

    def precheck(self, words, suite, repository, is_default):
        self.is_default = is_default
        for role in words:
            if role in self.unknown:
                raise self.unknown[role]

    @contextmanager
    def lock(self, notify):
        self.locked = True
        yield
        self.locked = False

    def prepare(self, words, suite, repository, notify):
        assert self.locked
        self.tail = suite.tail
        for role, text in words.items():
            if role in self.refuses:
                raise self.refuses[role]
            notify(f"building {role} {text}")
            self.prepared.append((role, text))
        return {role: Side(text, None) for role, text in words.items()}

    def compare(self, base, head, suite, **options):
        assert self.locked
        self.asked = options
        options["progress"](4, 90.0, {"a": Verdict.OK, "b": Verdict.INCONCLUSIVE})
        if isinstance(self.ends, BaseException):
            raise self.ends
        return self.ends


@pytest.fixture
def gate_stand(monkeypatch, tmp_path):
    """Everything behind the command line; the current directory is empty."""
    made = Stand()
    for place, names in {
        "suite": ["load_suite", "suite_of_command"],
        "tree": ["prepare"],
        "precheck": ["precheck"],
        "loaded": ["rehearsed"],
        "compare": ["compare"],
    }.items():
        module = ModuleType(place)
        for name in names:
            setattr(module, name, getattr(made, name))
        monkeypatch.setitem(sys.modules, f"harness.gate.{place}", module)
    monkeypatch.setattr(lock, "measuring_lock", made.lock)
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    return made


@pytest.fixture
def error_line(capsys):
    """Return what is on stderr when it is asked for: one line, without a traceback. Progress does
    not count.
    """

    def read():
        lines = [
            line
            for line in capsys.readouterr().err.splitlines()
            if "building" not in line and "block" not in line
        ]
        assert len(lines) == 1, lines
        return lines[0]

    return read
