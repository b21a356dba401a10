"""Files with the output of `go test -bench`; the format is that of
golang.org/design/14313-benchmark-format.

A line of results is `BenchmarkName-8  1000  82.2 ns/op  112 B/op`. Go prints its name first, and
what the benchmark itself prints may break the line: then the numbers are at the end of a later one.
All lines of a package's run are
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

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Results, answer_of, fault

LINE = re.compile(r"^(Benchmark\S*)\s+(\d+)(?=.*\s[-+]?\d)((?:\s+\S+\s+\S+)+)\s*$")
SETTING = re.compile(r"^(goos|goarch|pkg|cpu):\s+(.*\S)\s*$")
ENDED = re.compile(r"^(PASS|FAIL|ok)\b")
NO_RESULT = re.compile(r"^\s*--- (FAIL|SKIP): (Benchmark\S*)")
BETTER_LINE = re.compile(r"^Unit\s+(\S+)\s.*\bbetter=(higher|lower)\b")
CUT_LINE = re.compile(r"^Benchmark\S*\s+\d")
BROKEN = re.compile(r"^(Benchmark(?![a-z])\S*) *\t(.*)$")  # a name printed before its benchmark ran
NUMBERS = re.compile(r"\d+\t *(\d\S* ns/op(?:\s+\S+\s+\S+)*)\s*$")
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
    """Return True if a text is such an output, even of a run that failed before its first line of
    results."""
    return any(
        LINE.match(line) or SETTING.match(line) or NO_RESULT.match(line)
        for line in text.splitlines()
    )


def of_go_bench(text: str, path: str) -> Results:
    """Return the results in an output. Raises UnusableResults."""
    lines = text.splitlines()
    higher = {
        found[1]: found[2] == "higher" for line in lines if (found := BETTER_LINE.match(line))
    }
    values: dict[tuple[str, str], dict[int, list[object]]] = {}
    for each in _numbers(lines, path):
        values.setdefault((each.benchmark, each.unit), {}).setdefault(each.process, []).append(
            _float(each.value)
        )
    answers = {}
    for (benchmark, unit), processes in values.items():
        name = benchmark if unit == TIME else f"{benchmark}:{unit}"
        lower_is_better = not higher.get(unit, unit.endswith("/s"))
        metric = Metric(unit, UNITS.get(unit, unit), lower_is_better, may_be_zero=unit in COUNTED)
        answers[name] = answer_of(GateCell(name, metric, key=name), processes.values())
    for name in _lost(lines):
        metric = Metric(TIME, UNITS[TIME])
        reason = "its line is broken by other output, and its numbers are in no later line"
        answers[name] = fault(GateCell(name, metric, key=name), reason)
    failed, skipped = _without_results(lines, {benchmark for benchmark, _ in values})
    for name in failed:
        answers[name] = fault(GateCell(name, Metric(TIME, UNITS[TIME]), key=name), "it failed")
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
    for position, line in enumerate(_whole(lines), 1):
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
        elif CUT_LINE.match(line):
            raise UnusableResults(f"{path}: line {position} is cut short: {line.strip()[:60]!r}")


def _whole(lines: list[str]) -> Iterator[str]:
    """Yield the lines; one that the benchmark's own output has broken is put together again."""
    held: list[str] = []  # a broken line, and what follows it
    for line in lines:
        numbers, begins = NUMBERS.search(line), BROKEN.match(line)
        if held and numbers and not begins:
            yield f"{held[0].split()[0]}\t1\t{numbers[1]}"
            held = []
        elif begins or ENDED.match(line) or SETTING.match(line):
            yield from held
            held = [line] if begins and not LINE.match(line) else []
            yield from [] if held else [line]
        elif held:
            held.append(line)
        else:
            yield line
    yield from held


def _lost(lines: list[str]) -> list[str]:
    """Return the benchmarks whose line is broken and never goes on, except those that failed."""
    package, open_name, lost = "", "", []
    for line in _whole(lines):
        setting, broken, ended = SETTING.match(line), BROKEN.match(line), NO_RESULT.match(line)
        is_result = LINE.match(line) or CUT_LINE.match(line)
        if open_name and (is_result or broken or ENDED.match(line)):
            lost.append(open_name)
        if is_result or broken or ended or ENDED.match(line):
            open_name = package + broken[1] if broken and not is_result else ""
        if setting and setting[1] == "pkg":
            package = f"{setting[2]}."
    return [*lost, *([open_name] if open_name else [])]


def _without_results(lines: list[str], names: set[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that failed and those that were skipped. Their lines lack the number of
    CPUs that ends all other `names`, so it is added."""
    endings = {found[0] if (found := CPUS.search(name)) else "" for name in names}
    ending = endings.pop() if len(endings) == 1 else ""
    package = ""
    kinds: dict[str, list[str]] = {"FAIL": [], "SKIP": []}
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
