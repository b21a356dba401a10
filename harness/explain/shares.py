"""Shares of the time of a run's threads, by thread and by operator, from the record of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

CATEGORIES = {
    "work": "operators' work",
    "source": "making tuples at sources",
    "queues": "moving tuples: queues, copies",
    "looking": "looking for work, waking threads",
    "no tuples": "waiting for tuples",
    "no room": "waiting for room in a queue",
    "locks": "waiting for others to leave an operator or a queue",
    "idle": "not needed: suspended, or the source's next tuple is not due",
    "no CPU": "waiting for a CPU that other threads of the run have",
    "stolen": "waiting for a CPU that other programs have",
}
"""Categories of time, and what each holds."""

OF_ACTIVITY = {
    "work": "work",
    "make": "source",
    "move": "queues",
    "search": "looking",
    "tuples": "no tuples",
    "room": "no room",
    "lock": "locks",
    "pause": "idle",
}
"""Category of each activity; time without a CPU has two."""

USEFUL = ("work", "source", "queues")
"""Categories in which an operator is executed."""

ON_CPU = (*USEFUL, "looking")

Times = Mapping[str, float]


@dataclass(frozen=True)
class ThreadShares:
    """Time of a thread in the window [s], and its shares of it by category, which add up to 1."""

    name: str
    time_s: float
    shares: Times


@dataclass(frozen=True)
class OperatorShares:
    """An operator in the window. Its shares are of the time of all threads; with those for no
    operator, they add up to 1.
    """

    name: str
    kind: str
    shares: Times
    busy: float  # threads that executed it at once, on average, while they had a CPU
    tuples: int  # that it executed
    work_ns: float | None  # of a tuple; None: it had none
    queues_ns: float | None  # to move a tuple on, likewise
    most_threads: int  # that may execute it at once
    locked: bool
    replicable: bool
    queue_capacity: int | None
    behind: tuple[str, ...]
    # threads that had the interpreter's lock for it, on average, at most 1; None: it needs none
    interpreter: float | None
    due_tuples: float | None  # that its schedule had; None: it has none
    least_ns: float | None  # shortest time of a tuple that could be seen; None: the times are exact

    @property
    def takes_turns(self) -> bool:
        """True if most of its time holds the interpreter's lock, so that replicas would wait."""
        return self.interpreter is not None and self.interpreter > 0.5 * self.busy

    @property
    def tuple_ns(self) -> float:
        """Time of a tuple, with the time to move it on; 0 if it had none."""
        return (self.work_ns or 0.0) + (self.queues_ns or 0.0)


NO_OPERATOR = ""


def categories(use: Mapping[str, Any]) -> list[tuple[str, str, str, float]]:
    """Return (thread, operator, category, time [s]) for all that the threads did; the operator is
    `NO_OPERATOR` where there is none.

    The time for which a thread had no CPU is shared out among other programs and the run's other
    threads, by how much of the CPUs each of them used.
    """
    elapsed_s = use["elapsed_s"]
    on_cpu = {
        index: sum(
            part["time_s"]
            for part in thread["spent"]
            if OF_ACTIVITY.get(part["activity"]) in ON_CPU
        )
        for index, thread in enumerate(use["threads"])
    }
    all_s, others_s = sum(on_cpu.values()), use["others_cpus"] * elapsed_s
    rows = []
    for index, thread in enumerate(use["threads"]):
        beside_s = all_s - on_cpu[index] + others_s
        stolen = others_s / beside_s if beside_s > 0.0 else 0.0
        for part in thread["spent"]:
            operator = part["operator"] or NO_OPERATOR
            if part["activity"] == "ready":
                rows.append((thread["name"], operator, "stolen", stolen * part["time_s"]))
                rows.append((thread["name"], operator, "no CPU", (1 - stolen) * part["time_s"]))
            else:
                category = OF_ACTIVITY[part["activity"]]
                rows.append((thread["name"], operator, category, part["time_s"]))
    return rows


def shares_of(rows: Iterable[tuple[str, float]], whole_s: float) -> dict[str, float]:
    """Return the share of each category in `whole_s`."""
    shares = dict.fromkeys(CATEGORIES, 0.0)
    for category, time_s in rows:
        shares[category] += time_s / whole_s if whole_s > 0.0 else 0.0
    return shares


def thread_shares(use: Mapping[str, Any]) -> list[ThreadShares]:
    """Return the shares of each thread, in the order of the record."""
    times: dict[str, list[tuple[str, float]]] = {thread["name"]: [] for thread in use["threads"]}
    for thread, _, category, time_s in categories(use):
        times[thread].append((category, time_s))
    wholes = {name: sum(time_s for _, time_s in rows) for name, rows in times.items()}
    return [
        ThreadShares(name, wholes[name], shares_of(rows, wholes[name]))
        for name, rows in times.items()
    ]


def operator_shares(use: Mapping[str, Any]) -> list[OperatorShares]:
    """Return the shares of each operator, in the order of the graph."""
    rows = categories(use)
    whole_s, elapsed_s = sum(row[3] for row in rows), use["elapsed_s"]
    look_s = use.get("look_s")  # older records do not have it
    times: dict[str, list[tuple[str, float]]] = {}
    for _, operator, category, time_s in rows:
        times.setdefault(operator, []).append((category, time_s))
    found = []
    for facts in use["operators"]:
        own = times.get(facts["name"], [])
        spent = {name: sum(time for kind, time in own if kind == name) for name in CATEGORIES}
        work_s, tuples = spent["work"] + spent["source"], facts["tuples"]
        found.append(
            OperatorShares(
                name=facts["name"],
                kind=facts["kind"],
                shares=shares_of(own, whole_s),
                busy=sum(spent[name] for name in USEFUL) / elapsed_s if elapsed_s > 0.0 else 0.0,
                tuples=tuples,
                work_ns=work_s * 1e9 / tuples if tuples else None,
                queues_ns=spent["queues"] * 1e9 / tuples if tuples else None,
                most_threads=facts["most_threads"],
                locked=facts["locked"],
                replicable=facts["replicable"],
                queue_capacity=facts["queue_capacity"],
                behind=tuple(facts["behind"]),
                due_tuples=facts.get("due_tuples"),
                interpreter=_share_of(facts.get("interpreter_s"), elapsed_s),
                least_ns=look_s * 1e9 / tuples if look_s and tuples else None,
            )
        )
    return found


def _share_of(time_s: float | None, elapsed_s: float) -> float | None:
    return time_s if time_s is None or elapsed_s <= 0.0 else time_s / elapsed_s
