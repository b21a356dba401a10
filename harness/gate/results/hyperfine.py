"""Files of hyperfine: `hyperfine --command-name NAME --export-json FILE COMMAND`.

Each of a command's times is of one fresh process, in seconds, and is one sample. A cell has the
command's name: if the two sides' commands differ, `--command-name` gives them one name. The files
contain no host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Answer, Results, add, answer_of, fault, mapping, text

TIME = Metric("time", "s")


def is_hyperfine(document: Mapping[str, Any]) -> bool:
    """Return True if a document is an export of hyperfine."""
    results = document.get("results")
    return isinstance(results, list) and all("command" in mapping(result) for result in results)


def of_hyperfine(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults."""
    answers: dict[str, Answer] = {}
    for position, result in enumerate(document["results"]):
        name = text(result["command"])
        if name is None:
            raise UnusableResults(
                f"{path}: results[{position}].command: must be a text, not "
                f"{repr(result['command'])[:60]}"
            )
        add(answers, name, _answer(result, name))
    return Results(path, answers, {}, tells=frozenset())


def _answer(result: Mapping[str, Any], name: str) -> Answer:
    cell = GateCell(name, TIME, key=name)
    times, codes = result.get("times"), result.get("exit_codes")
    bad = [code for code in codes if code != 0] if isinstance(codes, list) else []
    if bad:
        how = "was killed" if bad[0] is None else f"ended with exit code {bad[0]}"
        return fault(cell, f"{len(bad)} of {len(codes)} processes failed, the first of them {how}")
    return answer_of(cell, [[time] for time in times] if isinstance(times, list) else [])
