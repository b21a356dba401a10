"""Experiments from their files, config/experiments/*.yaml: which cells, arms and machines a figure
has in a profile's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from harness.engine import LOCAL
from harness.errors import UserError
from harness.experiments.arms import model_arms
from harness.experiments.design import POINTS, latin_hypercube
from harness.experiments.experiment import Arm, Block, Cell, Experiment
from harness.files.checked_yaml import Place as Spot
from harness.files.checked_yaml import dotted, load_schema, read_checked, wrong
from harness.graph import Graph
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import Place, find_place
from harness.measurement.finals import Finals
from harness.measurement.spec import EVENTS, PERIOD_S, PeerModel, level_of
from harness.models import MODELS, OPTIONS, pool_of, with_level
from harness.models.schemas import arm_entry

OVERRIDES = (
    "repeats",
    "final_repeats",
    "duration_s",
    "events",
    "warmup",
    "period_s",
    "queue_capacity",
)
"""Settings that a size of an experiment may override, and a machine of a size again."""

REAL_LEAST = {"duration_s": 0.05, "period_s": SHORTEST_S}
"""Shortest window and period on real threads [s]."""

VIRTUAL_LEAST = dict.fromkeys(REAL_LEAST, 1e-6)
"""Shortest window and period of simulated runs [s]."""


def read_experiment(
    path: Path, profile: Mapping[str, Any], place: Place | None, sensitivity: bool
) -> Experiment:
    """Return the experiment in a file, in the size of a profile (its values). With `place` it is
    measured there and nowhere else; with `sensitivity` all that is simulated varies its machine's
    constants.

    Raises UserError, in one line, for a file that cannot be read or breaks a rule.
    """
    values, name = read_checked(path, experiment_schema()), profile["profile"]
    sizes = values["sizes"]
    if name not in sizes:
        raise UserError(
            f"{path}: sizes: has no size for the profile {name!r}; sizes are: {', '.join(sizes)}"
        )
    size = sizes[name]
    blocks: dict[str, Block] = {}
    left_out: dict[str, str] = {}
    for spot, here, entry in _places(path, ("sizes", name), size, profile, place):
        settled = {
            **profile,
            **{key: each[key] for each in (size, entry) for key in OVERRIDES if key in each},
        }
        for key, least in (VIRTUAL_LEAST if here.simulated else REAL_LEAST).items():
            if settled.get(key, least) < least:
                raise wrong(
                    path,
                    (*_said_at(spot, size, entry, key), key),
                    f"must be {least:g} or more",
                    settled[key],
                )
        shared = measuring(settled) | {
            "events": _events(here, settled),
            "experiment": path.stem,
            "explained": size.get("explained", False),
            "place": here,
            "finals": _finals(here, settled),
            "variants": _variants(
                here, sensitivity or entry.get("sensitivity", size.get("sensitivity", False))
            ),
        }
        capacity = shared.pop("queue_capacity")
        arms: dict[Spot, tuple[Arm, ...]] = {}
        for cell, graph, (where, asked) in _cells(path, spot, size, entry, shared["seed"]):
            if where not in arms:
                arms[where] = tuple(_arms(path, where, asked, here, capacity, left_out))
            _check_peers(path, where, asked, cell, graph, shared["seed"])
            block = Block(cell=cell, arms=arms[where], **shared)
            if graph is not None:
                _check_levels(path, spot, graph, block)
            if block.stem in blocks:
                raise wrong(path, spot, "must not repeat a machine", here.label or here.machine)
            blocks[block.stem] = block
    return Experiment(
        path.stem,
        path,
        tuple(blocks.values()),
        tuple(left_out.values()),
        size.get("on_request", False),
    )


@cache
def experiment_schema() -> dict[str, Any]:
    """Return the schema of an experiment, with the models' options of its arms."""
    schema = load_schema("experiment")
    schema["$defs"]["arm"]["properties"] |= {name: arm_entry(name) for name in OPTIONS}
    schema["$defs"]["queue_capacity"] |= OPTIONS["queue_capacity"].schema
    return schema


def measuring(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the runs of a profile are measured, or those of an experiment on one machine."""
    return {
        "repeats": int(values["repeats"]),
        "duration_s": float(values["duration_s"]),
        "warmup": _seconds(values.get("warmup", "auto")),
        "seed": int(values.get("seed", 1)),
        "queue_capacity": _whole(values.get("queue_capacity")),
        "allow_threads": _whole(values.get("allow_threads")),
        "period_s": float(values.get("period_s", PERIOD_S)),
    }


def _places(
    path: Path,
    where: Spot,
    size: Mapping[str, Any],
    profile: Mapping[str, Any],
    wanted: Place | None,
) -> Iterator[tuple[Spot, Place, Mapping[str, Any]]]:
    """Yield the places where the cells of a size are measured: the spot in the file, the place, and
    its own settings.
    """
    entries = size.get("machines")
    named = entries is not None
    found = []
    for index, entry in enumerate(entries if named else [profile.get("machine", LOCAL)]):
        spot = (*where, "machines", index) if named else where
        values = {"machine": entry} if isinstance(entry, str) else entry
        asked = values.get("cpus")
        for cpus in asked if isinstance(asked, list) else [asked]:
            try:
                here = find_place(
                    values["machine"],
                    values.get("simulated", False),
                    values.get("software", ""),
                    _whole(cpus),
                )
            except UserError as error:
                raise UserError(f"{path}: {dotted(spot)}: {error}") from error
            found.append((spot, here, values))
    if wanted is None:
        yield from found
    else:
        yield from [each for each in found if each[1] == wanted] or [(where, wanted, {})]


def _said_at(spot: Spot, size: Mapping[str, Any], entry: Mapping[str, Any], key: str) -> Spot:
    """Return the part of the file that a value comes from: the machine's entry or the size; or the
    entry that inherits the profile's value.
    """
    return spot[:2] if key in size and key not in entry else spot


def _variants(place: Place, sensitivity: bool | int) -> Sequence[Mapping[str, float]]:
    """Return the points at which the place's uncertain constants are varied together, so many, or
    `POINTS` if only asked for.
    """
    points = POINTS if sensitivity is True else int(sensitivity)
    return latin_hypercube(place.uncertain, points) if points and place.simulated else ()


def _cells(
    path: Path, spot: Spot, size: Mapping[str, Any], entry: Mapping[str, Any], seed: int
) -> Iterator[tuple[Cell, Graph | None, tuple[Spot, Sequence[Mapping[str, Any]]]]]:
    """Yield the cells of all sweeps, with the parameters that are otherwise on this machine; the
    graphs of those of files; and the arms: of the sweep if it has some, else of the machine or the
    size, with the place in the file that says so.
    """
    sweeps = entry.get("sweeps", size["sweeps"])
    where = (*(spot if "sweeps" in entry else spot[:2]), "sweeps")
    others = entry.get("parameters", {})
    for name in others:
        if not any(name in sweep.get("parameters", {}) for sweep in sweeps):
            known = {each for sweep in sweeps for each in sweep.get("parameters", {})}
            raise wrong(
                path, (*spot, "parameters"), "must name parameters of the sweeps", name, known
            )
    shared = (*(spot if "arms" in entry else spot[:2]), "arms"), entry.get("arms", size["arms"])
    seen: set[str] = set()
    for index, sweep in enumerate(sweeps):
        given = sweep.get("parameters", {})
        given = given | {name: value for name, value in others.items() if name in given}
        for cell, graph in _cells_of(path, (*where, index), sweep["topology"], given, seed):
            if cell.name in seen:
                raise wrong(path, (*where, index), "must not repeat a cell", cell.name)
            seen.add(cell.name)
            yield (
                cell,
                graph,
                ((*where, index, "arms"), sweep["arms"]) if "arms" in sweep else shared,
            )


def _cells_of(
    path: Path, where: Spot, topology: str, parameters: Mapping[str, Any], seed: int
) -> Iterator[tuple[Cell, Graph | None]]:
    from harness.measurement.subject import find_subject

    swept = {
        key: values if isinstance(values, list) else [values] for key, values in parameters.items()
    }
    try:
        for values in product(*swept.values()):
            subject = find_subject(topology, dict(zip(swept, values, strict=True)), seed)
            yield (
                Cell(subject.cell, subject.topology, subject.given, subject.file, subject.digest),
                subject.graph,
            )
    except UserError as error:
        raise UserError(f"{path}: {dotted(where)}: {error}") from error


def _check_levels(path: Path, spot: Spot, graph: Graph, block: Block) -> None:
    """Raise UserError for an arm of a fixed level that would run with more threads: records and
    figures go by its level.
    """
    ours = {arm.name: arm.model for arm in block.arms if not isinstance(arm.model, PeerModel)}
    for arm, model in ours.items():
        least = level_of(with_level(model, pool_of(graph, model)))
        if least != level_of(model):
            rule = f"threads of arm {arm} must be at least {least} for graph {graph.name!r}"
            why = (
                "its annotations ask for as many, or operators that may block, or barriers, "
                "need them"
            )
            raise UserError(f"{path}: {dotted(spot)}: {rule}, not {level_of(model)}: {why}")


def _check_peers(
    path: Path,
    where: Spot,
    entries: Sequence[Mapping[str, Any]],
    cell: Cell,
    graph: Graph | None,
    seed: int,
) -> None:
    """Raise UserError for a peer, built here or not, that does not run the graph of a cell."""
    entry_of = {
        name: index for index, entry in enumerate(entries) for name in _listed(entry.get("peer"))
    }
    entry_of.pop(None, None)  # arms of our own
    if not entry_of:
        return
    import topologies
    from harness.peers import all_peers

    known, at = all_peers(), dotted(where)
    try:
        graph = graph or topologies.build(cell.topology, cell.parameters, seed)[0]
        for name, index in entry_of.items():
            at = dotted((*where, index, "peer"))
            known[name].plan(graph, 1, None)
    except UserError as error:
        hint = "" if "sweeps" in where else "; a sweep may have arms of its own"
        raise UserError(f"{path}: {at}: {error}{hint}") from error


def _arms(
    path: Path,
    where: Spot,
    entries: Sequence[Mapping[str, Any]],
    place: Place,
    capacity: int | None,
    left_out: dict[str, str],
) -> Iterator[Arm]:
    """Yield the arms on one machine. Peers that are not built here are none: `left_out` says which,
    and why. One whose queues have another length than its own by default is named after it.
    """
    seen: set[str] = set()
    for index, values in enumerate(entries):
        least = (VIRTUAL_LEAST if place.simulated else REAL_LEAST)["duration_s"]
        if values.get("duration_s", least) < least:
            raise wrong(
                path,
                (*where, index, "duration_s"),
                f"must be {least:g} or more",
                values["duration_s"],
            )
        if "peer" in values:
            made = _peers_of(path, (*where, index), values, place, capacity, left_out)
        else:
            made = _arms_of(path, (*where, index), values, place, capacity)
        for arm in made:
            if arm.name in seen:
                raise wrong(path, (*where, index), "must not repeat an arm", arm.name)
            seen.add(arm.name)
            yield arm


def _peers_of(
    path: Path,
    where: Spot,
    entry: Mapping[str, Any],
    place: Place,
    capacity: int | None,
    left_out: dict[str, str],
) -> Iterator[Arm]:
    from harness.peers import all_peers

    if place.simulated:
        raise wrong(
            path,
            (*where, "peer"),
            "must be measured: only our own runtime is simulated",
            entry["peer"],
        )
    known, given = all_peers(), _listed(entry.get("queue_capacity"))
    for name in _listed(entry["peer"]):
        if name not in known:
            raise wrong(path, (*where, "peer"), f"must be one of {', '.join(known)}", name, known)
        for asked in given:
            own = asked is None or asked == known[name].queue_capacity
            called = name if own else f"{name}-queue-{int(asked)}"
            tuples = capacity if asked is None else int(asked)
            try:
                model = PeerModel(name, known[name].label, tuples)
            except UserError as error:
                left_out[name] = str(error)
            else:
                yield Arm(called, model, entry.get("duration_s"))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _arms_of(
    path: Path, where: Spot, entry: Mapping[str, Any], place: Place, capacity: int | None
) -> Iterator[Arm]:
    model = entry["model"]
    if model not in MODELS:
        raise wrong(path, (*where, "model"), f"must be one of {', '.join(MODELS)}", model, MODELS)
    given = [name for name in OPTIONS if name in entry]
    try:
        yield from model_arms(entry, place, capacity)
    except UserError as error:
        spot = (*where, *given) if len(given) == 1 else where
        raise UserError(f"{path}: {dotted(spot)}: {error}") from error


def _finals(place: Place, settled: Mapping[str, Any]) -> Finals | None:
    """Return the rule for more runs of the best arms that are measured; None: there is none."""
    repeats = int(settled.get("final_repeats", 0))
    return Finals(repeats) if repeats and not place.simulated else None


def _events(place: Place, settled: Mapping[str, Any]) -> int | None:
    """Return the most events of a simulated run that goes on until it is stationary; None: runs are
    measured for a time, as real ones are and those with a warm-up of fixed length.
    """
    if not place.simulated or settled.get("warmup", "auto") != "auto":
        return None
    return _whole(settled.get("events", EVENTS))


def _whole(number: float | None) -> int | None:
    """Return 2 for 2.0, which JSON Schema rightly takes for a whole number."""
    return None if number is None else int(number)


def _seconds(warmup: float | str) -> float | str:
    return warmup if warmup == "auto" else float(warmup)
