"""Files of JMH: `java -jar benchmarks.jar -rf json -rff FILE`.

A fork is a fresh process and gives one sample, the median of its iterations. In mode `thrpt` more
is better, in all others less. A benchmark with parameters, or in several modes, is a cell for each.
Its secondary metrics are compared if the user says which direction is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import NO_DIRECTION, Answer, Results, add, answer_of, mapping, text
from harness.measurement.rank_interval import middle_of

THROUGHPUT = "thrpt"


def is_jmh(document: Any) -> bool:
    """Return True if a document is a result of JMH."""
    return (
        isinstance(document, list)
        and bool(document)
        and all("primaryMetric" in mapping(each) and "mode" in mapping(each) for each in document)
    )


def of_jmh(document: list[Mapping[str, Any]], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults."""
    answers: dict[str, Answer] = {}
    counts = Counter(_name(each, path) for each in document)
    for each in document:
        name, mode = _name(each, path), str(each["mode"])
        name = name if counts[name] == 1 else f"{name}:{mode}"
        metric = mapping(each["primaryMetric"])
        add(answers, name, _answer(name, metric, mode == THROUGHPUT))
        for extra, secondary in mapping(each.get("secondaryMetrics")).items():
            cell = f"{name}:{extra.lstrip('·')}"
            add(answers, cell, _answer(cell, mapping(secondary), False, NO_DIRECTION))
    facts = {
        fact: value
        for fact, key in (("JDK", "jdkVersion"), ("JVM", "vmName"), ("JVM arguments", "jvmArgs"))
        if (value := " ".join(map(str, _listed(document[0].get(key)))))
    }
    return Results(path, answers, {}, tells=frozenset(), facts=facts)


def _name(each: Mapping[str, Any], path: str) -> str:
    name = text(each.get("benchmark"))
    if name is None:
        raise UnusableResults(f"{path}: benchmark: missing, or no text")
    parameters = ", ".join(f"{key}={value}" for key, value in mapping(each.get("params")).items())
    return f"{name}({parameters})" if parameters else name


def _answer(name: str, metric: Mapping[str, Any], is_rate: bool, optional: str = "") -> Answer:
    unit = str(metric.get("scoreUnit", ""))
    cell = GateCell(name, Metric("score", unit, lower_is_better=not is_rate), key=name)
    forks = [fork for fork in _listed(metric.get("rawData")) if isinstance(fork, list) and fork]
    if not forks:  # of mode `sample`
        histograms = _listed(metric.get("rawDataHistogram"))
        forks = [[middle] for fork in histograms if (middle := _middle(fork)) is not None]
    return answer_of(cell, forks, optional)


def _middle(fork: Any) -> float | None:
    """Return the median of a fork's histograms, pairs of value and count; None if empty."""
    values: list[float] = []
    for histogram in _listed(fork):
        points = sorted((float(value), int(count)) for value, count in _listed(histogram))
        half, seen = sum(count for _, count in points) / 2, 0
        for value, count in points:
            seen += count
            if seen >= half:
                values.append(value)
                break
    return middle_of(values) if values else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
