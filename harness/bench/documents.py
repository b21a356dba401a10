"""Parts of users' documents of scenarios that all benches share: a list, names, graphs, phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from harness.bench.checks import mapping, shown, whole
from harness.bench.scenario import Scenario
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.files.file import load_graph_file
from topologies import build

MAX_PERIODS = 100_000
MAX_SCENARIOS = 10_000

Some = TypeVar("Some", bound=Scenario)


def scenarios_of(
    document: object, what: str, read: Callable[[str, object, int], Some]
) -> list[Some]:
    """Return the scenarios of a list; `read` gets the place, entry and number of each.

    Raise UserError naming the place, the rule and the value.
    """
    if not isinstance(document, list) or not 1 <= len(document) <= MAX_SCENARIOS:
        raise UserError(
            f"{what} must be a list of 1 to {MAX_SCENARIOS} scenarios, not {shown(document)}"
        )
    found: dict[str, Some] = {}
    for place, entry in enumerate(document):
        scenario = read(f"[{place}]", entry, place)
        if scenario.name in found:
            raise UserError(f"[{place}].name must not be there twice: {shown(scenario.name)}")
        found[scenario.name] = scenario
    return list(found.values())


def name_of(at: str, entry: Mapping[str, Any], default: str) -> str:
    """Return a scenario's name."""
    name = entry.get("name", default)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UserError(f"{at}.name must be text on one line, not {shown(name)}")
    return name


def graph_of(at: str, entry: Mapping[str, Any], seed: int) -> Graph:
    """Return the graph that `topology` or `graph` names, with `parameters`."""
    named = [key for key in ("topology", "graph") if entry.get(key) is not None]
    if len(named) != 1 or not isinstance(entry[named[0]], str):
        raise UserError(
            f"{at} must have either topology or graph, a name or file, not {shown(sorted(entry))}"
        )
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, dict) or not all(isinstance(each, str) for each in parameters):
        raise UserError(f"{at}.parameters must be a mapping of names, not {shown(parameters)}")
    try:
        if named == ["topology"]:
            graph, _ = build(entry["topology"], parameters, seed)
        else:
            graph = load_graph_file(entry["graph"], parameters, seed).graph
        graph.check()
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    return graph


def phases_of(
    at: str, given: object, keys: tuple[str, ...], periods: int
) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """Yield each phase after the first one: its place, its entry, and the period in which it
    begins."""
    if given is None:
        return
    if not isinstance(given, list):
        raise UserError(f"{at} must be a list, not {shown(given)}")
    before = 0
    for place, entry in enumerate(given):
        where = f"{at}[{place}]"
        entry = mapping(where, entry, keys, required=("at",))
        begin = whole(f"{where}.at", entry["at"], 1, periods - 1, default=None)
        if begin <= before:
            raise UserError(
                f"{where}.at must be behind period {before}, where the phase before begins, not {begin}"
            )
        before = begin
        yield where, entry, begin
