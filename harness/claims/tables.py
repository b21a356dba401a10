"""Tables that claims are checked against, and the machines in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.files.given import is_table
from harness.machines.machine import for_people

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("throughput", "timeline", "latency")
SOFTWARE = "millrace"  # the software costs of a simulated run unless it says otherwise


@dataclass(frozen=True, order=True)
class Venue:
    """Machine of some runs, real or simulated, with the software costs of a simulated one."""

    machine: str
    simulated: bool
    software: str = ""
    cpus: int | None = field(default=None, compare=False)
    """Logical CPUs; None: not known. For a measured machine they may differ between cells, and each
    cell says its own.
    """

    @property
    def name(self) -> str:
        """Name for people: `local (measured)`, `xeon (simulated)`, `xeon with 16 CPUs (simulated,
        streams-4.2)`.
        """
        software = f", {self.software}" if self.software not in ("", SOFTWARE) else ""
        return (
            f"{for_people(self.machine)} "
            f"({'simulated' if self.simulated else 'measured'}{software})"
        )

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that belong to this machine."""
        chosen = (table["machine"] == self.machine) & (
            table["simulated"].astype(bool) == self.simulated
        )
        if self.simulated and "software" in table:
            chosen &= table["software"].map(_software) == self.software
        return table[chosen]


@dataclass(frozen=True)
class Tables:
    """Tables by experiment and name; a missing pair is an empty table."""

    frames: Mapping[tuple[str, str], pd.DataFrame]

    def of(self, experiment: str, name: str) -> pd.DataFrame:
        """Return a table of an experiment; empty if it does not exist."""
        import pandas as pd

        return self.frames.get((experiment, name), pd.DataFrame())

    def holds(self, experiment: str, venue: Venue) -> bool:
        """Return true if there are runs of an experiment on a machine."""
        table = self.of(experiment, "throughput")
        return not table.empty and not venue.rows(table).empty

    def venues(self) -> list[Venue]:
        """Return the machines of the throughput tables, measured ones first."""
        import pandas as pd

        found: dict[Venue, Venue] = {}
        for (_, name), table in self.frames.items():
            if name != "throughput" or table.empty:
                continue
            software = (
                table["software"]
                if "software" in table
                else pd.Series(None, index=table.index, dtype=object)
            )
            keys = pd.DataFrame(
                {"machine": table["machine"], "simulated": table["simulated"], "software": software}
            )
            for (machine, simulated, words), rows in table.groupby(
                [keys["machine"], keys["simulated"].astype(bool), keys["software"].map(_software)]
            ):
                venue = Venue(
                    machine,
                    bool(simulated),
                    words if simulated else "",
                    _cpus(machine, bool(simulated), rows),
                )
                found.setdefault(venue, venue)
        return sorted(found.values(), key=lambda venue: (venue.simulated, venue))


def read_tables(folder: Path, experiments: Iterable[str]) -> Tables:
    """Read the tables of experiments in a folder: `EXPERIMENT/NAME.parquet`, or `NAME.parquet` with
    rows of all of them.

    Raises UserError if there is no such folder, no throughput table in it, or a table that cannot
    be read.
    """
    if not folder.is_dir():
        raise UserError(f"--tables: no folder {str(folder)!r}; `millrace figures` makes the tables")
    frames: dict[tuple[str, str], pd.DataFrame] = {}
    shared = {name: _read(folder / f"{name}.parquet") for name in NAMES}
    for experiment in experiments:
        for name in NAMES:
            table = _read(folder / experiment / f"{name}.parquet")
            table = shared[name] if table is None else table
            if table is not None and not table.empty:
                frames[experiment, name] = table[table["experiment"] == experiment].reset_index(
                    drop=True
                )
    if not any(name == "throughput" and not table.empty for (_, name), table in frames.items()):
        raise UserError(
            f"--tables: {folder} has no throughput table of an experiment with claims; `millrace "
            "figures` makes them"
        )
    return Tables(frames)


NEEDED = ("experiment", "cell", "arm", "machine", "simulated")


def is_empty(value: object) -> bool:
    """Return True if a field of a table has no value."""
    import pandas as pd

    return bool(pd.isna(value))


def _read(path: Path) -> pd.DataFrame | None:
    import pandas as pd

    if not is_table(path):
        return None
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        why = (str(error).splitlines() or [error.__class__.__name__])[0]
        raise UserError(f"--tables: {path} cannot be read as Parquet: {why}") from error
    lacking = [name for name in NEEDED if name not in table]
    if lacking and len(table.columns):
        raise UserError(f"--tables: {path} lacks the columns {', '.join(lacking)}")
    return table if not lacking else None


def hosts(rows: pd.DataFrame) -> set[tuple[str, int]]:
    """Return the CPU models of measured runs, each with the number of logical CPUs that a process
    was allowed.
    """
    if "cpus_allowed" not in rows:
        return set()
    known = rows[rows["cpus_allowed"].notna()]
    models = known["cpu_model"].fillna("") if "cpu_model" in known else [""] * len(known)
    return {
        (model or "an unknown CPU", int(cpus))
        for model, cpus in zip(models, known["cpus_allowed"], strict=True)
    }


def _software(value: object) -> str:
    return value if isinstance(value, str) and value else SOFTWARE


def _cpus(machine: str, simulated: bool, rows: pd.DataFrame) -> int | None:
    """Logical CPUs: what a measuring process was allowed, or what the profile of a simulated
    machine has.
    """
    if simulated:
        from harness.machines.machine import load_machine

        try:
            return int(load_machine(machine).cpus)
        except UserError:  # a profile that was here when the runs were made
            return None
    return max((cpus for _, cpus in hosts(rows)), default=None)
