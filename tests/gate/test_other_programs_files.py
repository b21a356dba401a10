"""Files of pyperf, hyperfine, Google Benchmark and `go test -bench` as sides, in any encoding; each
kind's own faults.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.gate.errors import NoBase, NothingMeasured, UnusableResults
from harness.gate.results import Results, compare_files, read_results, read_verdict, write_json
from harness.gate.results.terms import CellTerms
from harness.gate.step import are_copies
from harness.gate.verdict import Exit, Verdict, exit_code
from tests.gate.made_comparisons import comparison, result

PYPERF: dict[str, Any] = {
    "version": "1.0",
    "metadata": {
        "cpu_model_name": "Aligned 9000",
        "cpu_count": 2,
        "platform": "Linux-6.1.0-13-amd64-x86_64-with-glibc2.36",
        "python_implementation": "cpython",
        "python_version": "3.11.2 (64-bit)",
        "unit": "second",
    },
    "benchmarks": [
        {
            "metadata": {"name": "parse"},
            "runs": [
                {"metadata": {"calibrate_loops": 8}, "warmups": [[8, 0.5]]},
                {"values": [0.25, 0.125, 0.5], "warmups": [[1, 0.75]]},
                {"values": [0.25, 0.75]},
            ],
        },
        {"metadata": {"name": "peak", "unit": "byte"}, "runs": [{"values": [4096]}]},
    ],
}
HYPERFINE: dict[str, Any] = {
    "results": [
        {
            "command": "sort",
            "mean": 0.5,
            "median": 0.5,
            "times": [0.25, 0.75],
            "exit_codes": [0, 0],
        },
        {"command": "uniq", "mean": 0.125, "median": 0.125, "times": [0.125, 0.125]},
    ]
}
GOOGLE: dict[str, Any] = {
    "context": {
        "date": "2026-05-01T10:00:00+00:00",
        "host_name": "here",
        "num_cpus": 2,
        "library_build_type": "release",
    },
    "benchmarks": [
        {
            "name": "BM_push/8",
            "run_type": "iteration",
            "real_time": 1.5,
            "cpu_time": 1.25,
            "time_unit": "us",
        },
        {
            "name": "BM_push/8",
            "run_type": "iteration",
            "real_time": 2.5,
            "cpu_time": 1.25,
            "time_unit": "us",
        },
        {
            "name": "BM_push/8_mean",
            "run_name": "BM_push/8",
            "run_type": "aggregate",
            "aggregate_name": "mean",
            "real_time": 9,
            "time_unit": "us",
        },
        {
            "name": "BM_pop_median",
            "run_name": "BM_pop",
            "run_type": "aggregate",
            "aggregate_name": "median",
            "real_time": 3,
            "time_unit": "ms",
        },
        {"name": "BM_old", "real_time": 7},
    ],
}
GO = """\
goos: linux
goarch: amd64
pkg: example.org/queue
cpu: Aligned 9000
BenchmarkPush-2   \t    1000\t        50.5 ns/op\t 640.00 MB/s\t     112 B/op\t       2 allocs/op
BenchmarkPush-2   \t    1000\t        51.5 ns/op\t 640.00 MB/s\t     114 B/op\t       2 allocs/op
BenchmarkRate/size=1-2 \t 7\t 3.0 ns/op\t 12.5 tuples/s\t 4 swaps
Unit swaps better=higher
PASS
ok  \texample.org/queue\t0.245s
"""
JMH: list[dict[str, Any]] = [
    {
        "jmhVersion": "1.37",
        "benchmark": "org.Queue.push",
        "mode": "avgt",
        "forks": 2,
        "jdkVersion": "21.0.1",
        "params": {"size": "8"},
        "primaryMetric": {
            "score": 12.0,
            "scoreUnit": "ns/op",
            "rawData": [[10.0, 11.0, 12.0], [13.0, 15.0, 14.0]],
        },
        "secondaryMetrics": {
            "·gc.alloc.rate.norm": {"scoreUnit": "B/op", "rawData": [[24.0], [25.0]]}
        },
    },
    {
        "benchmark": "org.Queue.pop",
        "mode": "thrpt",
        "primaryMetric": {"scoreUnit": "ops/s", "rawData": [[100.0], [110.0]]},
        "secondaryMetrics": {},
    },
    {
        "benchmark": "org.Queue.peek",
        "mode": "sample",
        "primaryMetric": {
            "scoreUnit": "ms/op",
            "rawDataHistogram": [[[[0.5, 10], [0.25, 1]]], [[[0.75, 3]]]],
        },
    },
]
CRITERION = "\n".join(
    json.dumps(each)
    for each in (
        {
            "reason": "benchmark-complete",
            "id": "queue/push",
            "iteration_count": [10, 20, 30],
            "measured_values": [100.0, 220.0, 360.0],
            "unit": "ns",
        },
        {"reason": "group-complete", "group_name": "queue", "benchmarks": ["queue/push"]},
    )
)
CARGO = """\
running 2 tests
test queue::push ... bench:       1,234.50 ns/iter (+/- 56)
test tests::works ... ignored
"""
ASV: dict[str, Any] = {
    "commit_hash": "c" * 40,
    "env_name": "virtualenv-py3.11",
    "date": 1700000000000,
    "params": {"machine": "here", "cpu": "Aligned 9000"},
    "python": "3.11",
    "result_columns": ["result", "params", "version", "started_at", "duration"],
    "results": {
        "queue.time_push": [[0.25, 0.5, float("nan")], [["8", "16", "32"]], "v", 1700000001000, 1],
        "queue.peakmem_push": [[4096], [], "v", 1700000002000],
        "queue.Suite.track_hits": [[3.0], []],
    },
    "version": 2,
}
BENCHER: dict[str, Any] = {
    "push": {
        "latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.9},
        "throughput": {"value": 5.5},
    },
    "my_binary": {"file-size": {"value": 42.0}},
    "tea": {"cups": {"value": 3}},
}
ACTION: list[dict[str, Any]] = [
    {"name": "push", "unit": "ms", "value": 1.5, "range": "± 3"},
    {"name": "rate", "unit": "ops/sec", "value": 70},
    {"name": "load", "unit": "Percent", "value": 50},
]
HISTORY = "window.BENCHMARK_DATA = " + json.dumps(
    {
        "lastUpdate": 1700000001000,
        "repoUrl": "https://example.org",
        "entries": {
            "Benchmark": [
                {"date": 1, "tool": "customBiggerIsBetter", "benches": []},
                {
                    "commit": {"id": "d" * 40},
                    "date": 1700000000000,
                    "tool": "customBiggerIsBetter",
                    "benches": ACTION,
                },
            ]
        },
    }
)
KINDS = {
    "pyperf": PYPERF,
    "hyperfine": HYPERFINE,
    "google": GOOGLE,
    "go": GO,
    "jmh": JMH,
    "criterion": CRITERION,
    "cargo bench": CARGO,
    "asv": ASV,
    "bencher": BENCHER,
    "github-action-benchmark": ACTION,
}
OTHERS: dict[str, dict[str, tuple[str, bool, tuple[float, ...]]]] = {
    "jmh": {
        "org.Queue.push(size=8)": ("ns/op", True, (11.0, 14.0)),
        "org.Queue.pop": ("ops/s", False, (100.0, 110.0)),
        "org.Queue.peek": ("ms/op", True, (0.5, 0.75)),
    },
    "criterion": {"queue/push": ("ns", True, (11.0,))},
    "cargo bench": {"queue::push": ("ns", True, (1234.5,))},
    "asv": {
        "queue.time_push(8)": ("s", True, (0.25,)),
        "queue.time_push(16)": ("s", True, (0.5,)),
        "queue.peakmem_push": ("bytes", True, (4096.0,)),
    },
    "bencher": {
        "push:latency": ("ns", True, (88.0,)),
        "push:throughput": ("ops/s", False, (5.5,)),
        "my_binary": ("bytes", True, (42.0,)),
    },
    "github-action-benchmark": {"push": ("ms", True, (1.5,)), "rate": ("ops/sec", False, (70.0,))},
}
"""Cells of formats of one number, or of one number a process: unit, direction, samples."""


def written(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def told(results: Results) -> dict[str, tuple[str, bool, tuple[float, ...]]]:
    """Unit, whether lower is better, and the samples, by cell."""
    return {
        name: (answer.cell.metric.unit, answer.cell.metric.lower_is_better, answer.values)
        for name, answer in results.answers.items()
    }


def test_each_run_of_pyperf_that_has_values_is_a_sample(tmp_path: Path) -> None:
    results = read_results(written(tmp_path / "a", PYPERF))
    assert told(results) == {"parse": ("s", True, (0.25, 0.5)), "peak": ("bytes", True, (4096.0,))}
    assert results.host["cpu_model"] == "Aligned 9000"
    assert results.host["python"] == "cpython 3.11.2"
    assert results.host["kernel"].startswith("Linux 6.1.0-13")


def test_each_time_of_hyperfine_is_a_sample(tmp_path: Path) -> None:
    results = read_results(written(tmp_path / "a", HYPERFINE))
    assert told(results) == {"sort": ("s", True, (0.25, 0.75)), "uniq": ("s", True, (0.125, 0.125))}


def test_a_file_of_google_benchmark_is_one_process_in_nanoseconds(tmp_path: Path) -> None:
    results = read_results(written(tmp_path / "a", GOOGLE))
    assert told(results) == {
        "BM_push/8": ("ns", True, (2000.0,)),
        "BM_pop": ("ns", True, (3e6,)),
        "BM_old": ("ns", True, (7.0,)),
    }
    debug = copy.deepcopy(GOOGLE)
    debug["context"]["library_build_type"] = "debug"
    assert "built for debugging" in read_results(written(tmp_path / "b", debug)).notes[0]


@pytest.mark.parametrize("kind", OTHERS)
def test_numbers_whose_direction_is_known_are_cells(tmp_path: Path, kind: str) -> None:
    results = read_results(written(tmp_path / "a", KINDS[kind]))
    assert told(results) == OTHERS[kind]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("jmh", "org.Queue.push(size=8):gc.alloc.rate.norm"),
        ("asv", "queue.Suite.track_hits"),
        ("bencher", "tea"),
        ("github-action-benchmark", "load"),
    ],
)
def test_number_without_a_direction_is_compared_if_the_user_says_which_is_better(
    tmp_path: Path, kind: str, name: str
) -> None:
    path = written(tmp_path / "a", KINDS[kind])
    (note,) = read_results(path).notes
    assert note.endswith(f"(key `files` of a suite): {name}")
    results = read_results(path, [CellTerms("*" + name[-4:], better="higher", unit="x")])
    assert told(results)[name][:2] == ("x", False)
    assert results.notes == ()


def test_history_of_the_action_is_the_last_run_in_the_direction_of_its_tool(tmp_path: Path) -> None:
    results = read_results(written(tmp_path / "data.js", HISTORY))
    assert [answer.cell.metric.lower_is_better for answer in results.answers.values()] == [
        False
    ] * 3
    assert results.commit == "d" * 40
    assert results.measured_at is not None


def test_estimates_of_criterion_are_named_by_the_file_beside_them_or_their_path(
    tmp_path: Path,
) -> None:
    new = tmp_path / "target" / "criterion" / "queue" / "push" / "new"
    new.mkdir(parents=True)
    estimate = {"point_estimate": 12.5, "standard_error": 0.1}
    path = written(new / "estimates.json", {"mean": estimate, "median": estimate})
    assert told(read_results(path)) == {"queue/push": ("ns", True, (12.5,))}
    written(new / "benchmark.json", {"group_id": "queue", "full_id": "queue/push/8"})
    assert list(read_results(path).answers) == ["queue/push/8"]


@pytest.mark.parametrize(
    "changes",
    [
        [{"family_index": 0, "repetition_index": 0}, {"family_index": 1, "repetition_index": 0}],
        [{"repetition_index": 0}, {"repetition_index": 0}],
    ],
)
def test_two_google_benchmarks_of_one_name_are_not_taken_for_repetitions(
    tmp_path: Path, changes: list[dict[str, int]]
) -> None:
    document = copy.deepcopy(GOOGLE)
    for place, more in enumerate(changes):
        document["benchmarks"][place] |= more
    answers = read_results(written(tmp_path / "a", document)).answers
    assert answers["BM_push/8"].reason == "is there twice: two benchmarks have this name"
    assert answers["BM_pop"].values
    for place in (0, 1):
        document["benchmarks"][place] |= {"family_index": 0, "repetition_index": place}
    assert read_results(written(tmp_path / "a", document)).answers["BM_push/8"].values


@pytest.mark.parametrize("match", ["test_x[10-1]", "*[10-1]", "test_*[*]"])
def test_brackets_in_the_name_of_a_cell_stand_for_themselves(match: str, tmp_path: Path) -> None:
    document = copy.deepcopy(GOOGLE)
    document["benchmarks"][0]["name"] = document["benchmarks"][0]["run_name"] = "test_x[10-1]"
    answers = read_results(written(tmp_path / "a", document), [CellTerms(match, unit="x")]).answers
    assert answers["test_x[10-1]"].cell.metric.unit == "x"


def test_counters_of_google_benchmark_are_cells_if_the_user_asks(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOGLE)
    for place in (0, 1):
        document["benchmarks"][place] |= {"hits": 10 + place, "items_per_second": 7.0}
    path = written(tmp_path / "a", document)
    assert read_results(path).notes[0].endswith("(key `files` of a suite): BM_push/8:hits")
    terms = [CellTerms("*:hits", better="higher"), CellTerms("*/8:cpu_time", better="lower")]
    found = told(read_results(path, terms))
    assert found["BM_push/8:hits"] == ("", False, (10.5,))
    assert found["BM_push/8:cpu_time"] == ("ns", True, (1250.0,))
    assert len(found) == 5


@pytest.mark.parametrize("printed", ["hello\n", "a\n\nb ", "42 is printed\n", "done: 8 ns/op\n"])
def test_line_of_go_that_the_benchmark_itself_breaks_is_put_together(
    tmp_path: Path, printed: str
) -> None:
    whole = "BenchmarkRate/size=1-2 \t 7\t"
    broken = GO.replace(whole, f"BenchmarkRate/size=1-2 \t{printed}       7\t")
    assert broken != GO
    path = written(tmp_path / "a", GO)
    assert told(read_results(written(tmp_path / "b", broken))) == told(read_results(path))


def test_line_of_go_that_never_goes_on_is_no_number_of_that_benchmark(tmp_path: Path) -> None:
    broken = GO.replace("BenchmarkRate/size=1-2 \t 7\t 3.0 ns/op", "BenchmarkRate/size=1-2 \tno")
    answers = read_results(written(tmp_path / "a", broken)).answers
    lost = answers["example.org/queue.BenchmarkRate/size=1-2"]
    assert lost.broken is Verdict.FAILED
    assert lost.reason.startswith("its line is broken by other output")


def test_honest_runs_with_few_digits_are_not_taken_for_copies() -> None:
    """Two runs of 8 values on the same 12 places, as Go prints them."""
    draw = random.Random(3)
    places = [round(50.1 + n / 10, 1) for n in range(12)]
    seen = [are_copies(draw.sample(places, 8), draw.sample(places, 8)) for _ in range(200)]
    assert not any(seen)
    values = [draw.gauss(50.0, 1.0) for _ in range(8)]
    assert are_copies(values, values[::-1])


def test_files_of_two_machines_are_compared_with_a_note(tmp_path: Path) -> None:
    there = copy.deepcopy(GOOGLE)
    there["context"]["host_name"] = "there"
    sides = [written(tmp_path / name, content) for name, content in (("a", GOOGLE), ("b", there))]
    notes = compare_files([sides[0]], [sides[1]], factor=1.05, alpha=0.01).notes
    assert "the files differ in machine: here, there" in notes
    other = changed(JMH, 0, "jdkVersion", to="17.0.2")
    sides = [written(tmp_path / name, content) for name, content in (("c", JMH), ("d", other))]
    notes = compare_files([sides[0]], [sides[1]], factor=1.05, alpha=0.01).notes
    assert "the files differ in JDK: 21.0.1, 17.0.2" in notes


def test_terms_of_the_user_hold_for_cells_of_files(tmp_path: Path) -> None:
    go = GO.replace("       2 allocs/op", "       0 allocs/op")
    path = written(tmp_path / "a", go.replace("50.5 ns", "0.0 ns").replace("51.5 ns", "0.0 ns"))
    name = "example.org/queue.BenchmarkPush-2"
    assert read_results(path).answers[name].broken is Verdict.FAILED
    terms = [
        CellTerms("*Push-2", may_be_zero=True, floor=3.0, factor=1.5),
        CellTerms("*", floor=9.0),
    ]
    answer = read_results(path, terms).answers[name]
    assert (answer.values, answer.cell.metric.floor, answer.cell.metric.factor) == (
        (0.0,),
        3.0,
        1.5,
    )


def test_file_a_side_decides_a_number_that_is_deterministic(tmp_path: Path) -> None:
    head = changed(BENCHER, "my_binary", "file-size", "value", to=84.0)
    sides = [written(tmp_path / name, content) for name, content in (("a", BENCHER), ("b", head))]
    terms = [CellTerms("my_binary", deterministic=True), CellTerms("push:*", deterministic=True)]
    made = compare_files([sides[0]], [sides[1]], factor=1.05, alpha=0.01, terms=terms)
    found = {each.cell.name: each.verdict for each in made.cells}
    assert (found["my_binary"], found["push:latency"]) == (Verdict.REGRESSED, Verdict.OK)


def test_each_run_of_go_in_a_file_is_a_sample_and_each_unit_a_cell(tmp_path: Path) -> None:
    results = read_results(written(tmp_path / "a", GO + GO.replace("50.5 ns", "70.5 ns")))
    assert told(results) == {
        "example.org/queue.BenchmarkPush-2": ("ns", True, (51.0, 61.0)),
        "example.org/queue.BenchmarkPush-2:B/op": ("bytes", True, (113.0, 113.0)),
        "example.org/queue.BenchmarkPush-2:allocs/op": ("allocs/op", True, (2.0, 2.0)),
        "example.org/queue.BenchmarkRate/size=1-2": ("ns", True, (3.0, 3.0)),
        "example.org/queue.BenchmarkRate/size=1-2:tuples/s": ("tuples/s", False, (12.5, 12.5)),
        "example.org/queue.BenchmarkRate/size=1-2:swaps": ("swaps", False, (4.0, 4.0)),
    }
    assert results.host == {"cpu_model": "Aligned 9000"}


@pytest.mark.parametrize("kind", KINDS)
def test_enough_files_of_any_kind_decide_and_their_verdict_can_be_a_side(
    tmp_path: Path, kind: str
) -> None:
    content = KINDS[kind]
    each = [numbered(content, n) for n in range(48)]
    base, head = (
        [written(tmp_path / f"{side}{n}", each[2 * n + side]) for n in range(24)] for side in (0, 1)
    )
    file = base[0]
    made = compare_files(base, head, factor=1.05, alpha=0.01, in_turns=True)
    assert len(made.cells[0].base) == 24 * len(
        read_results(file).answers[made.cells[0].cell.name].values
    )
    write_json(made, tmp_path / "verdict.json")
    again = compare_files(
        [str(tmp_path / "verdict.json")], [file], factor=1.05, alpha=0.01, allow_other_host=True
    )
    assert [each.cell for each in again.cells] == [each.cell for each in made.cells]
    assert {each.verdict for each in again.cells} <= {Verdict.INCONCLUSIVE, Verdict.OK}


def numbered(content: Any, number: int) -> Any:
    """A file with the same results and another content."""
    if isinstance(content, list):
        return [{**each, "number": number} for each in content]
    if isinstance(content, dict):
        return {
            **content,
            **({"n": {f"n{number}": {"value": 1}}} if "tea" in content else {"number": number}),
        }
    return f'{content}\n{{"n": {number}}}\n' if "reason" in content else f"{content}# {number}\n"


def many(kind: str, scale: float, hour: int) -> Any:
    """A file of 20 processes that follow each other within an hour."""
    times = [scale * (1 + n % 7 / 100) for n in range(20)]
    if kind == "hyperfine":
        return {"results": [{"command": "sort", "times": times}], "number": hour}
    runs = [
        {"metadata": {"date": f"2026-05-01 {hour:02d}:{n:02d}:00"}, "values": [time]}
        for n, time in enumerate(times)
    ]
    return {"version": "1.0", "metadata": {"name": "sort"}, "benchmarks": [{"runs": runs}]}


@pytest.mark.parametrize("kind", ["hyperfine", "pyperf"])
def test_one_file_a_side_decides_nothing_however_many_processes_it_holds(
    tmp_path: Path, kind: str
) -> None:
    base, head = (
        written(tmp_path / f"{kind}{hour}", many(kind, 1 + hour / 10, hour)) for hour in (1, 2)
    )
    (cell,) = compare_files([base], [head], factor=1.02, alpha=0.01).cells
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.reason.startswith("measured in 1 session a side, without the other side in between")
    base, head = (
        [written(tmp_path / f"{side}{n}", many(kind, side, 2 * n + side)) for n in range(10)]
        for side in (1, 2)
    )
    (cell,) = compare_files(base, head, factor=1.02, alpha=0.01, in_turns=True).cells
    assert (cell.verdict, len(cell.base)) == (Verdict.REGRESSED, 20)


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_may_be_packed_and_marked_as_windows_does(
    tmp_path: Path, pack: Any, encoding: str
) -> None:
    for kind, content in KINDS.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "made").write_bytes(pack(text.encode(encoding)))
        assert told(read_results(tmp_path / "made")) == told(
            read_results(written(tmp_path / kind, content))
        )
    write_json(comparison(result("a")), tmp_path / "verdict.json")
    (tmp_path / "packed").write_bytes(
        pack((tmp_path / "verdict.json").read_text().encode(encoding))
    )
    assert read_verdict(tmp_path / "packed") == read_verdict(tmp_path / "verdict.json")


def test_a_packed_file_that_is_broken_or_endless_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(json.dumps(PYPERF).encode())
    for name, data in {
        "short": packed[:60],
        "harmed": packed[:30] + b"\0\0\0\0" + packed[34:],
        "head": packed[:2],
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(
            UnusableResults, match=rf"{name}: is packed by gzip, and broken or cut short: [^\n]+$"
        ):
            read_results(tmp_path / name)
    monkeypatch.setattr("harness.gate.results.load.MAX_UNPACKED_BYTES", 1 << 20)
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(1 << 21)))
    with pytest.raises(UserError, match="bomb: holds more than 1 MiB"):
        read_results(tmp_path / "bomb")


def changed(document: Any, *place: Any, to: Any) -> Any:
    made = copy.deepcopy(document)
    inner: Any = made
    for step in place[:-1]:
        inner = inner[step]
    if to is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = to
    return made


ONE_FAULT = [
    (
        changed(PYPERF, "benchmarks", 0, "runs", 1, "values", to=[0.0]),
        "parse",
        "value must be a finite number above 0, not",
    ),
    (changed(PYPERF, "benchmarks", 0, "runs", to=[]), "parse", "has no value"),
    (
        changed(PYPERF, "benchmarks", to=PYPERF["benchmarks"][:1] + PYPERF["benchmarks"]),
        "parse",
        "is there twice",
    ),
    (
        changed(HYPERFINE, "results", 0, "exit_codes", to=[0, 3]),
        "sort",
        "1 of 2 processes failed, the first of them ended",
    ),
    (changed(HYPERFINE, "results", 0, "times", to=None), "sort", "has no time"),
    (
        changed(HYPERFINE, "results", 0, "times", to=[1, "x"]),
        "sort",
        "time must be a finite number above 0, not 'x'",
    ),
    (
        changed(GOOGLE, "benchmarks", 0, "time_unit", to="h"),
        "BM_push/8",
        "time_unit must be one of ns, us, ms, s, not h, us",
    ),
    (
        changed(GOOGLE, "benchmarks", 0, "time_unit", to="ns"),
        "BM_push/8",
        "time_unit must be one of ns, us, ms, s, not ns, us",
    ),
    (
        changed(GOOGLE, "benchmarks", 4, "time_unit", to="h"),
        "BM_old",
        "time_unit must be one of ns, us, ms, s, not h",
    ),
    (changed(GOOGLE, "benchmarks", 3, "aggregate_name", to="cv"), "BM_pop", "has no real_time"),
    (
        changed(GOOGLE, "benchmarks", 4, "real_time", to=None),
        "BM_old",
        "real_time must be a finite number above 0, not None",
    ),
    (
        changed(GOOGLE, "benchmarks", 4, "error_occurred", to=True),
        "BM_old",
        "failed: it gave no reason",
    ),
    (
        GO.replace("50.5", "-1"),
        "example.org/queue.BenchmarkPush-2",
        "ns/op must be a finite number above 0, not -1.0",
    ),
    (
        GO.replace("3.0", "x"),
        "example.org/queue.BenchmarkRate/size=1-2",
        "ns/op must be a finite number above 0, not 'x'",
    ),
    (
        GO.replace("PASS", "--- FAIL: BenchmarkPop\n    t.go:6: no luck\nFAIL"),
        "example.org/queue.BenchmarkPop-2",
        "it failed",
    ),
]


@pytest.mark.parametrize(("content", "cell", "reason"), ONE_FAULT)
def test_a_fault_of_one_benchmark_is_its_own(
    tmp_path: Path, content: Any, cell: str, reason: str
) -> None:
    answers = read_results(written(tmp_path / "a", content)).answers
    assert [name for name, answer in answers.items() if answer.broken] == [cell]
    assert answers[cell].reason.startswith(reason)


def test_a_benchmark_that_fails_in_head_is_told_beside_the_others(tmp_path: Path) -> None:
    base = written(tmp_path / "base", GO)
    head = written(tmp_path / "head", GO.replace("PASS", "--- FAIL: BenchmarkPush\nFAIL"))
    made = compare_files([base], [head], factor=1.05, alpha=0.01)
    assert {each.cell.name for each in made.cells if each.verdict is Verdict.FAILED} == {
        "example.org/queue.BenchmarkPush-2"
    }
    assert exit_code(made) == Exit.NOTHING_MEASURED


USELESS = [
    changed(PYPERF, "benchmarks", to=[]),
    changed(PYPERF, "benchmarks", 0, "runs", to=7),
    changed(PYPERF, "benchmarks", 0, "metadata", to={}),
    {"results": []},
    changed(HYPERFINE, "results", 0, "command", to=7),
    changed(GOOGLE, "benchmarks", to=[]),
    changed(GOOGLE, "benchmarks", 0, to={"real_time": 1}),
    changed(GOOGLE, "benchmarks", to=[3]),
    "goos: linux\npkg: a\nFAIL\n",
    GO.replace("ns/op\t 640.00", "ns/op 640.00 7", 1),
    GO[: GO.index("ns/op")],
    GO + GO.replace("Aligned", "Other"),
    "--- FAIL: BenchmarkA\n",
]


@pytest.mark.parametrize("content", USELESS)
def test_a_file_without_results_of_any_kind_is_one_line(tmp_path: Path, content: Any) -> None:
    good, bad = written(tmp_path / "good", PYPERF), written(tmp_path / "bad", content)
    with pytest.raises(NoBase, match=r"^--base [^\n]*bad: [^\n]+$"):
        compare_files([bad], [good], factor=1.05, alpha=0.01)
    with pytest.raises(NothingMeasured, match=r"^--head [^\n]*bad: [^\n]+$"):
        compare_files([good], [bad], factor=1.05, alpha=0.01)


def test_what_was_skipped_is_a_note(tmp_path: Path) -> None:
    go = GO.replace("PASS", "--- SKIP: BenchmarkPop\nPASS")
    google = changed(GOOGLE, "benchmarks", 4, "skipped", to=True)
    for content, name in ((go, "example.org/queue.BenchmarkPop-2"), (google, "BM_old")):
        results = read_results(written(tmp_path / "a", content))
        assert name not in results.answers
        assert results.notes == (f"{tmp_path / 'a'}: skipped: {name}",)


def test_other_hosts_are_refused_as_far_as_a_kind_tells_them(tmp_path: Path) -> None:
    here = written(tmp_path / "here", GO)
    there = written(tmp_path / "there", GO.replace("Aligned", "Other"))
    with pytest.raises(NoBase, match="cpu_model Aligned 9000, there Other 9000"):
        compare_files([there], [here], factor=1.05, alpha=0.01)
    fast = written(tmp_path / "fast", HYPERFINE)
    assert any(
        "taken on trust" in note
        for note in compare_files([fast], [fast], factor=1.05, alpha=0.01).notes
    )


def test_a_text_that_is_no_benchmark_is_no_file_of_results(tmp_path: Path) -> None:
    for content in ("hello\n", {"results": [{"x": 1}]}, {"version": "1"}, [1]):
        with pytest.raises(
            UserError,
            match=r"(not JSON|no results that can be read: must be a verdict of the gate, JSON of)",
        ):
            read_results(written(tmp_path / "a", content))


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_what_go_prints_today_can_be_read(tmp_path: Path) -> None:
    code = (
        'package a\nimport "testing"\nfunc BenchmarkA(b *testing.B) { b.ReportMetric(2, '
        '"widgets/s") }\n'
    )
    written(tmp_path / "a_test.go", code)
    written(tmp_path / "go.mod", "module example.org/a\n")
    words = ["go", "test", "-bench", ".", "-benchtime", "10000x", "-cpu", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(written(tmp_path / "out.txt", done.stdout))
    assert told(results)["example.org/a.BenchmarkA:widgets/s"] == ("widgets/s", False, (2.0,))
