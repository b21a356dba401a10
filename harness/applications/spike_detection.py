"""SpikeDetection: readings of sensors that are far from the moving average of their sensor.

DSPBench (Bordin et al., IEEE Access 2020): the average is over a sensor's last 1,000 readings, this
one included, and a spike is more than 3 % of it away. A file has the form of the Intel Berkeley
Research lab's data (https://db.csail.mit.edu/labdata/labdata.html): lines of date, time, epoch,
sensor, temperature, humidity, light and voltage.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from harness.applications.benchmark_job import BenchmarkJob, FileOfLines, Generated
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators.ready import each
from harness.operators.windows import aggregate, by_count, last, mean

SECOND = 1_000_000_000  # ns
WINDOW = 1000  # readings
THRESHOLD = 0.03  # of the average

READING = Schema("reading", {"time": "time", "value": "float64", "device": "uint32"})
SPIKE = Schema(
    "spike", {"time": "time", "device": "uint32", "value": "float64", "average": "float64"}
)


def is_spike(reading: Any, out: Any) -> bool:
    """Write a reading that is far from the average."""
    out.time, out.device = reading.time, reading.device
    out.value, out.average = reading.value, reading.average
    return abs(reading.value - reading.average) > THRESHOLD * abs(reading.average)


def steps(graph: Graph, readings: Operator) -> Operator:
    """Add the moving averages and the comparison with them."""
    values = {"time": last("time"), "value": last("value"), "average": mean("value")}
    averages = aggregate(graph, "average", READING, by_count(WINDOW, 1), values, by="device")
    spikes = each(graph, "spikes", is_spike, averages.typed.gives[0], SPIKE)
    graph.chain(readings, averages, spikes)
    return spikes


# -- input -----------------------------------------------------------------------------------------

SENSORS = 54
PERIOD = 31 * SECOND  # between readings of a sensor
BEGIN = 1_077_926_400 * SECOND  # 2004-02-28
COLUMNS = {"temperature": 4, "humidity": 5, "light": 6, "voltage": 7}
SPIKES = 0.001  # share of readings


def readings(records: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield temperatures of the sensors in turn, which follow the day, with noise and spikes."""
    draw = random.Random(seed)
    for number in range(records):
        turn, device = divmod(number, SENSORS)
        time = BEGIN + turn * PERIOD + device * PERIOD // SENSORS
        day = math.sin(2 * math.pi * (time // SECOND % 86400) / 86400)
        value = 20 + device / 20 + 0.2 * day + draw.gauss(0, 0.05)
        if draw.random() < SPIKES:
            value *= draw.choice((0.8, 1.3))
        yield {"time": time, "value": round(value, 4), "device": device + 1}


def parse(line: bytes, column: int) -> dict[str, Any]:
    """Return a reading of a file. Raises ValueError for a line that cannot be read."""
    fields = line.decode().split()
    if len(fields) <= column:
        raise ValueError("too short")
    value = float(fields[column])
    if not math.isfinite(value):
        raise ValueError("no number")
    time = datetime.fromisoformat(f"{fields[0]}T{fields[1]}").replace(tzinfo=UTC)
    device = int(fields[3])
    if not 0 <= device < 2**32:
        raise ValueError("no sensor")
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    nanoseconds = (since.days * 86400 + since.seconds) * SECOND + since.microseconds * 1000
    return {"time": nanoseconds, "value": value, "device": device}


def job(
    path: str,
    records: int,
    seed: int,
    cycles: int | None,
    value: str = "temperature",
    keep: int = 0,
) -> BenchmarkJob:
    """Return the job: over the file `path`, or over generated readings if it is empty."""
    if path:
        column = COLUMNS[value]
        lines = FileOfLines(READING, path, lambda line: parse(line, column), None)
        return BenchmarkJob("spike-detection", lines, steps, cycles, keep)
    tuples = ((0, reading) for reading in readings(records, seed))
    return BenchmarkJob("spike-detection", Generated((READING,), tuples, None), steps, cycles, keep)
