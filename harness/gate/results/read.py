"""Readers of files of results: for each cell of a side, one number per process. The content shows
which program wrote the file.

A file of pytest-benchmark is one process: its many rounds share one memory layout, one hash seed
and one moment. So each benchmark in it gives one sample, the median of its rounds. A verdict of the
gate gives the samples of its head.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.asv import is_asv, of_asv
from harness.gate.results.criterion import (
    is_bencher_lines,
    is_criterion,
    is_estimates,
    of_bencher_lines,
    of_criterion,
    of_estimates,
)
from harness.gate.results.go_bench import is_go_bench, of_go_bench
from harness.gate.results.google_benchmark import is_google_benchmark, of_google_benchmark
from harness.gate.results.hyperfine import is_hyperfine, of_hyperfine
from harness.gate.results.jmh import is_jmh, of_jmh
from harness.gate.results.load import load_text, parse_json
from harness.gate.results.named_values import (
    DATA_JS,
    is_bencher,
    is_history,
    is_list,
    of_bencher,
    of_history,
    of_list,
)
from harness.gate.results.pyperf import is_pyperf, of_pyperf
from harness.gate.results.pytest_format import host_of
from harness.gate.results.sessions import digest, measured_at
from harness.gate.results.side import (
    Answer,
    Results,
    add,
    answer_of,
    fault,
    mapping,
    require_any,
    text,
)
from harness.gate.results.terms import CellTerms, under
from harness.gate.results.verdict_file import verdict_of
from harness.gate.verdict import Verdict

ROUNDS = Metric("median", "s")
"""Metric of a benchmark's rounds: the field of pytest-benchmark's statistics."""

REPORTED_FACTS = frozenset({"cpu_model", "kernel", "python"})
"""Facts about their host that files of pytest-benchmark report as others do. Their compiler is
Python's, and their CPUs are all of the machine."""

NO_COMMIT = ("unversioned", "unknown")
"""Texts that pytest-benchmark writes in place of a commit, outside a repository or where it cannot
ask for one."""

BROKEN = (Verdict.WRONG, Verdict.FAILED, Verdict.REMOVED, Verdict.UNMEASURED)
OBJECT = ("{", "[")
KNOWN_FORMATS = (
    "a verdict of the gate, JSON of pytest-benchmark, pyperf, hyperfine, Google Benchmark, JMH, "
    "Criterion.rs, asv, Bencher or github-action-benchmark, or output of go test -bench or "
    "cargo bench"
)


def read_results(path: str | os.PathLike[str], terms: Sequence[CellTerms] = ()) -> Results:
    """Read a file of any kind, under the user's terms for its cells.

    Raises UnusableResults if it holds no usable result, UserError if it is no file of results at
    all.
    """
    results = under(_read(load_text(path), str(path)), terms)
    if not results.stopped:  # a verdict tells more than numbers: wrong results, for example
        require_any(results.answers, str(path))
    return results


def _read(content: str, path: str) -> Results:
    is_object = content.lstrip().startswith(OBJECT)
    for is_kind, of_kind in TEXT_FORMATS:
        if is_kind(content) and not (is_object and is_kind is is_go_bench):
            return replace(of_kind(content, path), digest=digest(content))
    document = parse_json(DATA_JS.sub("", content), path)
    results = _of_document(document, path)
    return replace(
        results, digest=digest(document), measured_at=results.measured_at or measured_at(document)
    )


TEXT_FORMATS = (
    (is_go_bench, of_go_bench),
    (is_bencher_lines, of_bencher_lines),
    (is_criterion, of_criterion),
)
"""Formats that are no JSON document: a test of the text, and its reader."""

JSON_FORMATS = (
    (is_jmh, of_jmh),
    (is_list, of_list),
    (is_history, of_history),
    (is_estimates, of_estimates),
)
"""Formats of JSON documents that no other format resembles."""


def _of_document(document: Any, path: str) -> Results:
    for is_kind, of_kind in JSON_FORMATS:
        if is_kind(document):
            return of_kind(document, path)
    if isinstance(document, dict):
        if "gate" in document:
            return _of_verdict(document, path)
        if is_google_benchmark(document):
            return of_google_benchmark(document, path)
        if is_pyperf(document):
            return of_pyperf(document, path)
        if is_hyperfine(document):
            return of_hyperfine(document, path)
        if is_asv(document):
            return of_asv(document, path)
        if isinstance(document.get("benchmarks"), list):
            return _of_pytest(document, path)
        if is_bencher(document):
            return of_bencher(document, path)
    raise UserError(f"{path}: no results that can be read: must be {KNOWN_FORMATS}")


def _of_verdict(document: Mapping[str, Any], path: str) -> Results:
    verdict = verdict_of(document, path)
    comparison = verdict.comparison
    keys = Counter(result.cell.key for result in comparison.cells)
    answers = {}
    for result in comparison.cells:
        # a benchmark with several metrics is several cells
        name = result.cell.key if keys[result.cell.key] == 1 else ""
        broken = (
            result.verdict
            if result.verdict in BROKEN
            else None
            if result.head
            else Verdict.UNMEASURED
        )
        answer = (
            Answer(result.cell, (), broken, result.reason)
            if broken
            else answer_of(result.cell, _each(result.head))
        )
        answers[name or result.cell.name] = answer
    if all(answer.broken is Verdict.UNMEASURED for answer in answers.values()):
        raise UnusableResults(f"{path}: holds no sample")
    doubts = {
        f"{path} is of a call that was interrupted": not verdict.finished,
        f"{path} is of a call whose control failed: no verdict of "
        "it counts": comparison.control_failed,
    }
    notes = tuple(note for note, holds in doubts.items() if holds)
    side = comparison.head
    return Results(path, answers, side.host, side.commit, side.dirty, stopped=True, notes=notes)


def _each(values: tuple[float, ...]) -> list[list[float]]:
    return [[value] for value in values]


def _of_pytest(document: Mapping[str, Any], path: str) -> Results:
    answers: dict[str, Answer] = {}
    for position, benchmark in enumerate(document["benchmarks"]):
        name = text(mapping(benchmark).get("fullname"))
        if name is None:
            name = f"benchmarks[{position}]"
            answers[name] = fault(
                GateCell(name, ROUNDS, key=name), "fullname is missing, or no text"
            )
            continue
        add(
            answers,
            name,
            answer_of(
                GateCell(name, ROUNDS, key=name), [[mapping(benchmark.get("stats")).get("median")]]
            ),
        )
    machine, commit = (mapping(document.get(key)) for key in ("machine_info", "commit_info"))
    made_of = text(commit.get("id"))
    known = None if made_of in NO_COMMIT else made_of
    return Results(
        path,
        answers,
        host_of(machine),
        known,
        commit.get("dirty") is True,
        tells=REPORTED_FACTS,
        facts={"machine": node} if (node := text(machine.get("node"))) else {},
    )
