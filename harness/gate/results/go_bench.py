"""Files with the output of `go test -bench`; the format is that of
golang.org/design/14313-benchmark-format.

A line of results is `BenchmarkName-8  1000  82.2 ns/op  112 B/op`. All lines of a package's run are
of one process, so a benchmark that `-count` repeats gives one sample, the median of its lines.
Outputs that were appended to one file give one sample each. A run begins with its `goos:`,
`goarch:` or `pkg:`, and ends with PASS, FAIL or ok.

A cell is a benchmark in one unit. Rates (`/s`) are better if higher, all others if lower, unless a
line `Unit NAME better=higher` says otherwise. MB/s is left out, because it repeats the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from harness.gate.cell import Cell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Results, answer_of, fault, require_any

LINE = re.compile(r"^(Benchmark\S*)\s+(\d+)((?:\s+\S+\s+\S+)+)\s*$")
SETTING = re.compile(r"^(goos|goarch|pkg|cpu):\s+(.*\S)\s*$")
ENDED = re.compile(r"^(PASS|FAIL|ok)\b")
NO_RESULT = re.compile(r"^\s*--- (FAIL|SKIP): (Benchmark\S*)")
BETTER = re.compile(r"^Unit\s+(\S+)\s.*\bbetter=(higher|lower)\b")
CUT = re.compile(r"^Benchmark\S*\s+\d")
CPUS = re.compile(r"-\d+$")
UNITS = {"ns/op": "ns", "B/op": "bytes"}
COUNTED = ("B/op", "allocs/op")  # may be 0
THROUGHPUT_UNIT = "MB/s"
TIME = "ns/op"
REPORTED_FACTS = frozenset({"cpu_model"})


class _Number(NamedTuple):
    benchmark: str
    unit: str
    value: str
    process: int


def is_go_bench(text: str) -> bool:
    """True if a text is such an output, even of a run that failed before its first line of
    results."""
    return any(
        LINE.match(line) or SETTING.match(line) or NO_RESULT.match(line)
        for line in text.splitlines()
    )


def of_go_bench(text: str, path: str) -> Results:
    """Return the results in an output. Raises UnusableResults."""
    lines = text.splitlines()
    higher = {found[1]: found[2] == "higher" for line in lines if (found := BETTER.match(line))}
    told: dict[tuple[str, str], dict[int, list[object]]] = {}
    for each in _numbers(lines, path):
        told.setdefault((each.benchmark, each.unit), {}).setdefault(each.process, []).append(
            _float(each.value)
        )
    answers = {}
    for (benchmark, unit), processes in told.items():
        name = benchmark if unit == TIME else f"{benchmark}:{unit}"
        lower_is_better = not higher.get(unit, unit.endswith("/s"))
        metric = Metric(unit, UNITS.get(unit, unit), lower_is_better, may_be_zero=unit in COUNTED)
        answers[name] = answer_of(Cell(name, metric, key=name), processes.values())
    failed, skipped = _without_results(lines, {benchmark for benchmark, _ in told})
    for name in failed:
        answers[name] = fault(Cell(name, Metric(TIME, UNITS[TIME]), key=name), "it failed")
    require_any(answers, path)
    cpus = {found[2] for line in lines if (found := SETTING.match(line)) and found[1] == "cpu"}
    if len(cpus) > 1:
        raise UnusableResults(f"{path}: is of several CPUs: {', '.join(sorted(cpus))}")
    notes = (f"{path}: skipped: {', '.join(skipped)}",) if skipped else ()
    host = {"cpu_model": cpus.pop()} if cpus else {}
    return Results(path, answers, host, tells=REPORTED_FACTS, notes=notes, may_be_in_turns=True)


def _numbers(lines: list[str], path: str) -> Iterator[_Number]:
    """Yield all pairs of value and unit. Raises UnusableResults for a line of results that is cut
    short."""
    process, package, began = 0, "", False
    for position, line in enumerate(lines, 1):
        setting, found = SETTING.match(line), LINE.match(line)
        if began and (setting or ENDED.match(line)):
            process, began = process + 1, False
        if setting and setting[1] == "pkg":
            package = f"{setting[2]}."
        if found:
            began = True
            words = found[3].split()
            for value, unit in zip(words[::2], words[1::2], strict=True):
                if unit != THROUGHPUT_UNIT:
                    yield _Number(package + found[1], unit, value, process)
        elif CUT.match(line):
            raise UnusableResults(f"{path}: line {position} is cut short: {line.strip()[:60]!r}")


def _without_results(lines: list[str], names: set[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that failed and those that were skipped. Their lines lack the number of
    CPUs that ends all other `names`, so it is added."""
    endings = {found[0] if (found := CPUS.search(name)) else "" for name in names}
    ending = endings.pop() if len(endings) == 1 else ""
    package, kinds = "", {"FAIL": [], "SKIP": []}  # type: tuple[str, dict[str, list[str]]]
    for line in lines:
        if (setting := SETTING.match(line)) and setting[1] == "pkg":
            package = f"{setting[2]}."
        elif found := NO_RESULT.match(line):
            kinds[found[1]].append(package + found[2] + ending)
    return kinds["FAIL"], kinds["SKIP"]


def _float(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
