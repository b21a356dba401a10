"""A sample: one fresh process of a program in a tree, and its answer, or the reason why there is
none, in one line."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

from harness.gate.cell import (
    BENCHMARKS,
    COUNT,
    INSTRUCTIONS,
    OUTCOMES_SUFFIX,
    RECORD,
    USE,
    GateCell,
    Program,
    comparable,
    rule,
)
from harness.gate.environment import clean_environment
from harness.gate.instructions import counter
from harness.gate.pytest_outcomes import troubles
from harness.gate.results.pytest_format import host_of
from harness.gate.runs import PAIR
from harness.gate.session import Ended, run_session
from harness.gate.tree import Tree
from harness.machines.host.cgroup import quota_cpus
from harness.machines.host.cpu import CpuCounters, allowed_cpu_numbers
from harness.measurement.cpu_use import Disturbance
from harness.measurement.host import cpu_model, governor
from harness.measurement.process import signal_name

PYTHON, ANSWER = "{python}", "{answer}"
"""Words in a program's argv: the tree's interpreter, and a file to which the program writes its
answer."""

# exit code of a pytest that ran to its end with failed tests; the numbers of the other tests count
TESTS_FAILED = 1
MAX_REASON_LENGTH = 200  # characters of a reason
ANSWER_FILE = "answer.json"


@dataclass(frozen=True)
class ProcessSample:
    """Either `values`, by cell, or the reason why there are none: `error` (it crashed, hung,
    answered nothing) or `wrong` results.

    A cell that is neither in `values` nor covered by an error is in `missing`, with the reason.
    """

    values: Mapping[str, float]  # `cell.comparable`, in each metric's unit
    wrong: str | None = None
    error: str | None = None
    # a record's `host` object, or the facts that we know ourselves
    host: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # duration of the process, with everything around it
    started_at: str = ""  # UTC, ISO 8601
    missing: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()  # those of the missing cells that the answer does not know
    timed_out: bool = False  # the error is that the process was killed at its time limit


class NoAnswer(Exception):
    """A process gave no answer that can be read. The message is the reason."""

    timed_out = False


class TimedOut(NoAnswer):
    """The process was killed at its time limit."""

    timed_out = True


def take(
    tree: Tree, program: Program, environment: Mapping[str, str] | None = None, pair: int = 0
) -> ProcessSample:
    """Run a program in a tree. `environment`: variables besides those of `clean_environment`;
    `pair`: the value of `{pair}`.

    Never raises because of the program's behaviour. Processes that it has started and left behind
    are killed.
    """
    disturbance: dict[str, Any] = {}
    started_at, begin_s = datetime.now(UTC).isoformat(timespec="milliseconds"), monotonic()
    with tempfile.TemporaryDirectory(prefix="millrace-") as room:
        answer = Path(room, ANSWER_FILE)
        argv, stdin = command_of(tree, program, Path(room), pair)
        counts = counter() if program.answers == COUNT else None
        try:
            before = CpuCounters.now()
            ended = run_session(
                [*(counts.words(Path(room)) if counts else ()), *argv],
                tree.directory,
                clean_environment(environment),
                program.timeout_s * (counts.slowdown if counts else 1.0),
                stdin,
            )
            disturbance = _disturbance(before, ended)
            _require_ended(program, ended, answer)
            if program.answers == USE:
                document: dict[str, Any] = ended.used
            elif program.answers == COUNT:
                document = {INSTRUCTIONS: counts.read(Path(room)) if counts else None}
            else:
                document = _document(program, ended, answer)
        except OSError as error:
            found: dict[str, Any] = {"error": f"{argv[0]} could not be started: {error.strerror}"}
        except NoAnswer as error:
            found = {"error": _one_line(str(error)), "timed_out": error.timed_out}
        else:
            if program.answers == BENCHMARKS:
                keys = {cell.key for cell in program.cells}
                found = of_benchmarks(
                    document,
                    program.cells,
                    troubles(answer.with_name(answer.name + OUTCOMES_SUFFIX), keys),
                )
            else:
                if program.answers == RECORD:
                    document = {"process": ended.used} | document
                found = of_record(document, program.cells)
    found["host"] = disturbance | (found.get("host") or this_host())
    return ProcessSample(
        **{"values": {}, **found}, seconds=monotonic() - begin_s, started_at=started_at
    )


def command_of(tree: Tree, program: Program, room: Path, pair: int) -> tuple[list[str], str]:
    """Return the words and the standard input of a program in a tree. It may write into `room`."""
    words = {PYTHON: tree.python, ANSWER: str(room / ANSWER_FILE), PAIR: str(pair)}
    argv = [_filled(word, words) for word in program.argv]
    return argv, _filled(program.stdin, {PAIR: str(pair)})


def _disturbance(before: CpuCounters, ended: Ended) -> dict[str, Any]:
    """Return the facts about the use of the CPUs by others while a process ran. A record's own
    facts, which are of its measured window, count more."""
    after = replace(CpuCounters.now(), own_s=before.own_s + ended.user_s + ended.system_s)
    return asdict(Disturbance.between(before, after, len(allowed_cpu_numbers())))


def this_host() -> dict[str, Any]:
    """Return the facts about the host that we know ourselves, for programs that report none: not
    the compiler or the interpreter."""
    return {
        "cpu_model": cpu_model(),
        "cpus_allowed": len(allowed_cpu_numbers()),
        "cgroup_quota_cpus": quota_cpus(),
        "governor": governor(),
        "kernel": f"{os.uname().sysname} {os.uname().release}",
    }


def of_record(record: Mapping[str, Any], cells: tuple[GateCell, ...]) -> dict[str, Any]:
    """Return a record's numbers for cells: fields of `ProcessSample`. `correct` and `error` are
    those of our records; other records may lack them.

    A run that failed is wrong if it harmed tuples, as our own records show. A run of another
    program is wrong if it had numbers all the same.
    """
    host = record.get("host")
    found: dict[str, Any] = {"host": _tellable(host) if isinstance(host, dict) else {}}
    values, missing = _numbers({cell: _field(record, cell.metric.name) for cell in cells})
    error = record.get("error")
    reason = _one_line(str(error)) if error else None
    if record.get("correct") is False and _is_wrong(
        record, has_numbers=bool(values), failed=reason is not None
    ):
        return found | {"wrong": reason or "the program says that its results are not correct"}
    if reason is not None:
        return found | {"error": reason}
    absent = frozenset(cell.name for cell in cells if not _holds(record, cell.metric.name))
    return found | {"values": values, "missing": missing, "absent": absent}


def _tellable(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return a program's `host` facts without those that the verdict's file cannot hold: NaN and
    infinity are not JSON."""
    kept = {}
    for name, value in host.items():
        with suppress(ValueError):
            json.dumps(value, allow_nan=False)
            kept[name] = value
    return kept


def _is_wrong(record: Mapping[str, Any], has_numbers: bool, failed: bool) -> bool:
    """Return True if "incorrect" means wrong results, and not that the run ended without any."""
    if not failed:
        return True
    if "order_violations" not in record:
        return has_numbers
    harmed = record.get("checksum_ok") is False and bool(record.get("tuples_received"))
    return harmed or bool(record["order_violations"] or record.get("conservation"))


def of_benchmarks(
    document: Mapping[str, Any],
    cells: tuple[GateCell, ...],
    failed: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the fields of `ProcessSample` from pytest-benchmark's JSON: each benchmark's
    statistics of this process are one number.

    `failed`: the reason why a test has no result, by its full name, even if there are times of it.
    """
    listed = document.get("benchmarks")
    benchmarks = (
        {each.get("fullname"): each for each in listed if isinstance(each, dict)}
        if isinstance(listed, list)
        else {}
    )
    benchmarks = {name: each for name, each in benchmarks.items() if name not in failed}
    found = {cell: _field(benchmarks.get(cell.key), f"stats.{cell.metric.name}") for cell in cells}
    values, missing = _numbers(found)
    absent = {
        cell.name: _one_line(failed.get(cell.key, f"there is no benchmark {cell.key!r}"))
        for cell in cells
        if cell.key not in benchmarks
    }
    info = document.get("machine_info")
    host = _tellable(host_of(info)) if isinstance(info, dict) else {}
    unknown = frozenset(
        cell.name for cell in cells if cell.key not in benchmarks and cell.key not in failed
    )
    return {"values": values, "missing": missing | absent, "absent": unknown, "host": host}


def _require_ended(program: Program, ended: Ended, answer: Path) -> None:
    """Raise NoAnswer for a process that did not end well."""
    because = _because(program, ended)
    if ended.timed_out:
        raise TimedOut(f"killed after {program.timeout_s:g} s without an answer{because}")
    if ended.code < 0:
        raise NoAnswer(f"killed by {signal_name(-ended.code)}{because}")
    some_failed = program.answers == BENCHMARKS and ended.code == TESTS_FAILED and answer.exists()
    if ended.code > 0 and not some_failed:
        raise NoAnswer(f"exit code {ended.code}{because}")


def _document(program: Program, ended: Ended, answer: Path) -> dict[str, Any]:
    """Return the JSON object that a process answered. Raises NoAnswer."""
    because = _because(program, ended)
    if any(ANSWER in word for word in program.argv):
        try:
            text = answer.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise NoAnswer(f"the answer file was not written{because}") from error
    else:
        text = _last_line(ended.output)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(
            f"no JSON but {text[:60]!r}{because}" if text.strip() else f"no output{because}"
        ) from error
    if not isinstance(document, dict):
        raise NoAnswer(f"no JSON object but {text[:60]!r}{because}")
    return document


def _because(program: Program, ended: Ended) -> str:
    """Return the last line that a process printed, in brackets. pytest prints it on stdout."""
    last = _last_line(ended.words) or (
        "" if program.answers == RECORD else _last_line(ended.output)
    )
    return f" ({last})" if last else ""


def _numbers(found: Mapping[GateCell, object]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the values that are numbers to compare, and the reasons why the others are not; both
    by the cell's name."""
    values: dict[str, float] = {}
    missing: dict[str, str] = {}
    for cell, value in found.items():
        number = comparable(value, cell.metric)
        if value is None:
            missing[cell.name] = f"the answer has no {cell.metric.name}"
        elif number is None:
            hint = ": may_be_zero says of a metric that it may be" if value == 0 else ""
            missing[cell.name] = (
                f"{cell.metric.name} must be {rule(cell.metric)}, not "
                f"{json.dumps(value)[:60]}{hint}"
            )
        else:
            values[cell.name] = number
    return values, missing


def _holds(document: object, name: str) -> bool:
    """Return True if there is a field of a dotted name, even if it is null."""
    *outer, last = name.split(".")
    place = _field(document, ".".join(outer)) if outer else document
    return isinstance(place, Mapping) and last in place


def _field(document: object, name: str) -> object:
    """Return a field by its dotted name; None if it is missing."""
    for step in name.split("."):
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def _last_line(data: bytes) -> str:
    lines = [line.strip() for line in data.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _one_line(text: str) -> str:
    """Return a text's first line, shortened, and encodable: a program may answer half of a
    surrogate pair."""
    line = " ".join(text.strip().splitlines()[0].split()) if text.strip() else ""
    line = line.encode(errors="replace").decode()
    return line if len(line) <= MAX_REASON_LENGTH else f"{line[: MAX_REASON_LENGTH - 1]}…"
