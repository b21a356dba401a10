"""Claims of a paper, read from YAML and checked: by a JSON Schema
(config/schemas/claims.schema.json), then by rules that a schema cannot express.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from harness.claims.evidence import Wanted
from harness.claims.papers import PAPERS
from harness.claims.predicate import ClaimKind, Predicate, Term
from harness.claims.predicates import PREDICATES, AllOf, Provided, Within
from harness.claims.quantities import QUANTITIES
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean, dotted, read_checked, wrong
from harness.machines.machine import LOCAL, machine_names, split_cpus

CPUS = {"16-core": 16, "4-core": 4}
"""Machines that a paper names by their number of logical CPUs only: any machine with as many
matches.
"""


@dataclass(frozen=True)
class Claim:
    """Sentence of a paper, in our words, with its check; or, `not_testable`, why no experiment can
    check it.

    `reading`: how words became numbers. `note`: where the paper contradicts itself, or what exists
    here. `cells_on`: the cells on machines for which the paper has other cells. `elsewhere`: the
    check makes sense on machines that the claim is not about, if they have `needs_cpus` logical
    CPUs at least. `reasons`: why it does not hold, by machine and software.
    """

    id: str
    paper: str
    section: str
    machines: Sequence[str]
    statement: str
    reading: str = ""
    note: str = ""
    not_testable: str = ""
    check: Predicate | None = None
    cells: Sequence[Wanted] = ()
    cells_on: Mapping[str, Sequence[Wanted]] = field(default_factory=dict)
    elsewhere: bool = False
    needs_cpus: int = 1
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def kind(self) -> ClaimKind | None:
        """Sort of statement; None: no experiment can check it."""
        return self.check.kind if self.check else None

    @property
    def is_joint(self) -> bool:
        """True if the claim compares machines; its cells then name theirs."""
        return any(cell.machine for cell in self.cells)

    @property
    def experiments(self) -> list[str]:
        """Experiments that the claim looks at, sorted."""
        return sorted(
            {cell.experiment for cells in (self.cells, *self.cells_on.values()) for cell in cells}
        )

    def cells_at(self, machine: str) -> Sequence[Wanted]:
        """Return the cells that the claim looks at on a machine."""
        return self.cells_on.get(machine, self.cells)


@dataclass(frozen=True)
class Paper:
    """Paper with its claims, and the places where its text contradicts itself."""

    name: str
    title: str
    claims: Sequence[Claim]
    inconsistencies: Sequence[str]


@cache
def papers() -> Mapping[str, Paper]:
    """Return all papers, by name."""
    return {
        name: read_paper(Path(__file__).parent / f"{file}.yaml") for name, file in PAPERS.items()
    }


def experiments() -> list[str]:
    """Return the experiments that claims look at, sorted."""
    return sorted(
        {
            name
            for paper in papers().values()
            for claim in paper.claims
            for name in claim.experiments
        }
    )


def chosen(ids: Iterable[str] = (), paper: str | None = None) -> list[Claim]:
    """Return the claims of a paper, or of all papers, in their order; only those of `ids` if it
    names any.

    Raises UserError for an unknown id.
    """
    claims = [
        claim for each in papers().values() for claim in each.claims if paper in (None, each.name)
    ]
    known = {claim.id: claim for claim in claims}
    for name in ids:
        if name not in known:
            where = f" of {paper}" if paper else ""
            close = did_you_mean(name, known) or "; `millrace claims --list` lists them"
            raise UserError(f"CLAIM-ID {name!r}: there is no such claim{where}{close}")
    wanted = set(ids)
    return [claim for claim in claims if not wanted or claim.id in wanted]


def read_paper(path: Path) -> Paper:
    """Read a paper's file. Raises UserError, in one line, if the file breaks a rule."""
    values = read_checked(path, "claims")
    claims = []
    for index, entry in enumerate(values["claims"]):
        where = ("claims", index)
        if entry["id"] in {claim.id for claim in claims}:
            raise wrong(path, (*where, "id"), "must not be given twice", entry["id"])
        claims.append(_claim(path, where, values, entry))
    return Paper(
        values["paper"], values["title"], tuple(claims), tuple(values.get("inconsistencies", ()))
    )


def _claim(path: Path, where: tuple, values: Mapping[str, Any], entry: Mapping[str, Any]) -> Claim:
    if ("not_testable" in entry) == ("check" in entry):
        raise wrong(path, where, "must have one of check and not_testable", entry["id"])
    words = {
        key: " ".join(entry[key].split())
        for key in ("statement", "reading", "note", "not_testable")
        if key in entry
    }
    claim = Claim(
        entry["id"], values["paper"], str(entry["section"]), tuple(entry["machines"]), **words
    )
    if "not_testable" in entry:
        return claim
    if "cells" not in entry:
        raise UserError(f"{path}: {dotted(where)}.cells: missing key")
    sizes = values.get("sizes", {})
    cells = tuple(_cells(path, (*where, "cells"), sizes, entry, entry["cells"]))
    others = {}
    for machine, found in entry.get("cells_on", {}).items():
        spot = (*where, "cells_on", machine)
        if machine not in entry["machines"] or any(cell.machine for cell in cells):
            raise wrong(
                path,
                spot,
                "must be one of the machines of a claim that does not compare them",
                machine,
            )
        others[machine] = tuple(_cells(path, spot, sizes, entry, found))
    fewest = min(map(len, (cells, *others.values())))
    check = _predicate(path, (*where, "check"), entry["check"], fewest)
    if "provided" in entry:
        condition = _predicate(
            path, (*where, "provided"), {"predicate": "within"} | entry["provided"], fewest
        )
        assert isinstance(condition, Within)
        check = Provided(check, condition)
    options = {key: entry[key] for key in ("elsewhere", "needs_cpus") if key in entry}
    reasons = dict(_reasons(path, where, entry))
    return replace(claim, check=check, cells=cells, cells_on=others, reasons=reasons, **options)


def _reasons(
    path: Path, where: tuple, entry: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the reasons by machine and software; nothing is simulated on the local machine."""
    for index, each in enumerate(entry.get("reasons", ())):
        spot = (*where, "reasons", index)
        beside = entry.get("elsewhere", False) and _is_machine(each["machine"])
        if each["machine"] not in entry["machines"] and not beside:
            rule = "must be one of the claim's machines"
            rule += ", local, or a machine to simulate" if entry.get("elsewhere") else ""
            raise wrong(path, (*spot, "machine"), rule, each["machine"])
        if (each["machine"] == LOCAL) is ("software" in each):
            fault = "unknown key on local" if "software" in each else "missing key"
            raise UserError(f"{path}: {dotted((*spot, 'software'))}: {fault}")
        text = f"{' '.join(each['reason'].split())} (`{each['run']}`)"
        yield (each["machine"], each.get("software", "")), text


def _is_machine(name: str) -> bool:
    """Return true for the local machine, or one to simulate, with or without a number of CPUs."""
    return name == LOCAL or split_cpus(name)[0] in machine_names()


def _cells(
    path: Path,
    where: tuple,
    sizes: Mapping[str, Any],
    entry: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
) -> Iterator[Wanted]:
    naming = ["machine" in cell for cell in cells]
    if any(naming) and not all(naming):
        raise wrong(path, where, "must name a machine in all cells or in none", naming.count(True))
    for index, cell in enumerate(cells):
        experiment = cell.get("experiment", entry.get("experiment"))
        if experiment is None:
            raise UserError(f"{path}: claims[{where[1]}].experiment: missing key")
        swept = {
            key: [str(value) for value in (values if isinstance(values, list) else [values])]
            for key, values in cell.items()
            if key not in ("experiment", "machine", "sizes")
        }
        paper = {
            key: str(value)
            for key, value in (sizes.get(cell["topology"], {}) | cell.get("sizes", {})).items()
        }
        for values in product(*swept.values()):
            parameters = dict(zip(swept, values, strict=True))
            kept = {key: value for key, value in paper.items() if key not in parameters}
            machine = cell.get("machine", "")
            if machine and machine not in entry["machines"]:
                raise wrong(
                    path, (*where, index, "machine"), "must be one of the claim's machines", machine
                )
            yield Wanted(experiment, parameters, kept, machine)


def _predicate(path: Path, where: tuple, values: Mapping[str, Any], cells: int) -> Predicate:
    if values["predicate"] == "all_of":
        checks = [
            _predicate(path, (*where, "checks", index), each, cells)
            for index, each in enumerate(values["checks"])
        ]
        return AllOf(tuple(checks))
    options = {key: _option(key, value) for key, value in values.items() if key != "predicate"}
    for name in [
        options.get("quantity"),
        *(term.quantity for term in options.values() if isinstance(term, Term)),
    ]:
        if name is not None and name not in QUANTITIES:
            raise wrong(path, (*where, "quantity"), "must be a known quantity", name, QUANTITIES)
    for term in options.values():
        if isinstance(term, Term) and term.cell is not None and term.cell >= cells:
            raise wrong(
                path, (*where, "cell"), f"must be below the number of cells, {cells}", term.cell
            )
    if values["predicate"] in ("ratio", "somewhere", "within") and not {
        "at_least",
        "at_most",
    } & set(options):
        raise wrong(path, where, "must have at_least or at_most", values["predicate"])
    return PREDICATES[values["predicate"]](**options)


def _option(key: str, value: Any) -> Any:
    if key in ("over", "under"):
        return Term(**({"arm": value} if isinstance(value, str) else value))
    return tuple(value) if isinstance(value, list) else value
