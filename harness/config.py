"""The config of the workflow: a profile (config/config.yaml) and the experiments that it names (config/experiments/*.yaml).

  Config      one profile: which experiments, how often, how long
  Experiment  one figure's measurements in the profile's size: cells x arms
  Block       one cell with all arms and all repeats: what one job of the workflow measures

Files are checked on load: against their JSON Schema (`checked_yaml`), then for what a schema cannot say: does the topology
exist, has it that parameter, is the value in its range.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from harness.checked_yaml import did_you_mean, dotted, read_checked, wrong
from harness.engine import MACHINES
from harness.errors import UserError
from harness.measurement.control import check_law
from harness.measurement.spec import PERIOD_S, RunSpec, arm_name
from harness.models import MODELS, allowed_cpus, make_model

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_CONFIG = Path("config/config.yaml")

OVERRIDES = ("repeats", "duration_s", "warmup", "period_s")
"""What a size of an experiment may say otherwise than its profile."""

BENCHES = ("saso",)
"""Figures that are computed and not measured: `saso` compares control laws (`millrace laws bench`)."""

RUN_OVERHEAD_S = 0.7
"""Seconds that a run takes besides its measured window (process start, warm-up, stop) on a 2-core VM. For estimates only."""

ADAPTATION_ESTIMATE = 20
"""Periods that an elastic run takes to settle, about. For estimates only."""


@dataclass(frozen=True)
class Arm:
    """One threading model of a comparison; `threads` are scheduler threads, None for models without them.

    Those of an elastic arm are where its law begins, None for the least; `minimum` and `maximum` are its levels, `law` "" the
    default one.
    """

    name: str
    model: str
    threads: int | None
    elastic: bool = False
    law: str = ""
    minimum: int | None = None
    maximum: int | None = None

    @property
    def settings(self) -> str:
        """The name, and what the name does not say."""
        if not self.elastic:
            return self.name
        return f"{self.name} from {self.threads} within {self.minimum} .. {self.maximum}"


@dataclass(frozen=True)
class Cell:
    """One topology with all its parameters; or one graph file with those given, its digest in the cell's name."""

    name: str
    topology: str
    parameters: Mapping[str, int | str]
    graph_file: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Block:
    """One cell, all arms, all repeats."""

    experiment: str
    cell: Cell
    arms: Sequence[Arm]
    repeats: int
    duration_s: float
    warmup: float | str
    seed: int
    queue_capacity: int | None
    machine: str
    period_s: float = PERIOD_S

    @property
    def name(self) -> str:
        """What the block is called wherever blocks are listed: experiment and cell."""
        return f"{self.experiment}/{self.cell.name}"

    @property
    def runs(self) -> int:
        """How many runs the block has."""
        return len(self.arms) * self.repeats

    @property
    def estimated_s(self) -> float:
        """About how long the block takes [s]; runs that settle late take longer."""
        return self.repeats * sum(self._estimated_s(arm) for arm in self.arms)

    def _estimated_s(self, arm: Arm) -> float:
        adaptation_s = ADAPTATION_ESTIMATE * self.period_s if arm.elastic else 0.0
        warmup_s = self.warmup if isinstance(self.warmup, float) else adaptation_s
        return RUN_OVERHEAD_S + warmup_s + self.window_s(arm)

    def window_s(self, arm: Arm) -> float:
        """Length of an arm's measured window [s]."""
        spec = self._spec(arm)
        return spec.elastic_window_s if arm.elastic else spec.duration_s

    @property
    def order_seed(self) -> int:
        """Seed of the order of the runs: another in each block, so that no arm is the first one everywhere."""
        return zlib.crc32(f"{self.seed}/{self.name}".encode())

    @property
    def settings(self) -> str:
        """All that decides what the block's records mean, as one line: records of other settings are out of date."""
        arms = " ".join(arm.settings for arm in self.arms)
        period = f"; period {self.period_s:g} s" if any(arm.elastic for arm in self.arms) else ""
        return (
            f"{self.cell.name}; arms {arms}; repeats {self.repeats}; duration {self.duration_s:g} s; warm-up {self.warmup}; "
            f"queue capacity {self.queue_capacity}; seed {self.seed}; machine {self.machine}{period}"
        )

    def specs(self) -> dict[str, RunSpec]:
        """What each arm is asked to do, by the arm's name."""
        return {arm.name: self._spec(arm) for arm in self.arms}

    def _spec(self, arm: Arm) -> RunSpec:
        return RunSpec(
            topology=self.cell.topology,
            parameters=dict(self.cell.parameters),
            model=arm.model,
            threads=arm.threads,
            queue_capacity=self.queue_capacity if _has_option(arm.model, "queue_capacity") else None,
            machine=self.machine,
            duration_s=self.duration_s,
            warmup=self.warmup,
            seed=self.seed,
            experiment=self.experiment,
            cell=self.cell.name,
            arm=arm.name,
            graph_file=self.cell.graph_file,
            digest=self.cell.digest,
            elastic=arm.elastic,
            law=arm.law,
            period_s=self.period_s,
            minimum=arm.minimum,
            maximum=arm.maximum,
        )


@dataclass(frozen=True)
class Experiment:
    """One figure's measurements. `blocks()` in the order of the file."""

    name: str
    title: str
    source: str
    path: Path
    cells: Sequence[Cell]
    arms: Sequence[Arm]
    _blocks: Sequence[Block]

    def blocks(self) -> Sequence[Block]:
        """One block for each cell."""
        return self._blocks

    def block(self, cell: str) -> Block:
        """The block of the cell with that name. Raises UserError if there is none."""
        for block in self._blocks:
            if block.cell.name == cell:
                return block
        raise UserError(f"{self.path}: no cell is named {cell!r}{did_you_mean(cell, (each.name for each in self.cells))}")


@dataclass(frozen=True)
class Config:
    """One profile. Folders are relative to the working directory."""

    path: Path
    profile: str
    machine: str
    experiments: Sequence[Experiment]
    benches: Sequence[str]
    repeats: int
    duration_s: float
    warmup: float | str
    seed: int
    queue_capacity: int | None
    period_s: float
    results: str
    figures: str
    spark: Mapping[str, str]

    def blocks(self) -> Iterator[Block]:
        """The blocks of all experiments."""
        for experiment in self.experiments:
            yield from experiment.blocks()

    def experiment(self, name: str) -> Experiment:
        """The experiment with that name. Raises UserError if the profile does not have it."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        names = [experiment.name for experiment in self.experiments]
        raise UserError(
            f"{self.path}: no experiment is named {name!r}{did_you_mean(name, names)}; experiments are: {', '.join(names)}"
        )

    @property
    def drawn(self) -> Sequence[str]:
        """The names of all figures, as they are made."""
        return (*(experiment.name for experiment in self.experiments), *self.benches)

    # Where the workflow puts things. The rules, `sweep` and `figures` all ask here.

    def records(self, experiment: str, cell: str) -> str:
        """The file with a block's records."""
        return f"{self.results}/raw/{experiment}/{cell}.jsonl"

    def tables(self, figure: str) -> str:
        """The folder with the tables of a figure: its experiment's, or its bench's."""
        return f"{self.results}/tables/{figure}"

    def bench(self, name: str) -> str:
        """The table that a bench writes."""
        return f"{self.tables(name)}/{name}.parquet"

    def figure(self, name: str, kind: str) -> str:
        """The file of a figure; `kind` is png or svg."""
        return f"{self.figures}/{name}.{kind}"


def load_config(path: str | Path) -> Config:
    """The profile in a YAML file, with the experiments that it names, beside it in `experiments/`.

    Raises UserError, in one line, for a file that cannot be read or breaks a rule.
    """
    path = Path(path)
    values = read_checked(path, "config")
    if values.get("machine", "local") not in MACHINES:
        raise wrong(path, ("machine",), f"must be one of {', '.join(MACHINES)}", values["machine"], MACHINES)
    for key in ("results", "figures"):
        if ".." in str(values.get(key, "")).split("/"):
            raise wrong(path, (key,), "must not leave the working directory", values[key])
    profile = values["profile"]
    benches = values.get("benches", [])
    for index, name in enumerate(benches):
        if name not in BENCHES:
            raise wrong(path, ("benches", index), f"must be one of {', '.join(BENCHES)}", name, BENCHES)
    experiments = []
    for index, name in enumerate(values["experiments"]):
        file = path.parent / "experiments" / f"{name}.yaml"
        if not file.is_file():
            known = [each.stem for each in sorted(file.parent.glob("*.yaml"))]
            raise UserError(
                f"{path}: experiments[{index}]: must name a file in {file.parent}, not {name!r}{did_you_mean(name, known)}"
            )
        experiments.append(_experiment(file, values))
    return Config(
        path=path,
        profile=profile,
        experiments=tuple(experiments),
        benches=benches,
        results=values.get("results", "results"),
        figures=values.get("figures", "figures"),
        spark={"spark.master": "local[*]"} | {key: _spark_text(value) for key, value in values.get("spark", {}).items()},
        **_measuring(values),
    )


def clock(seconds: float) -> str:
    """A stretch of time for people: `45 s`, `6 min 20 s`, `2 h 05 min`."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if minutes == 0:
        return f"{rest} s"
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def _measuring(values: Mapping[str, Any]) -> dict[str, Any]:
    """How a profile's runs are measured, or an experiment's."""
    return {
        "repeats": int(values["repeats"]),
        "duration_s": float(values["duration_s"]),
        "warmup": _seconds(values.get("warmup", "auto")),
        "seed": int(values.get("seed", 1)),
        "queue_capacity": _whole(values.get("queue_capacity")),
        "machine": values.get("machine", "local"),
        "period_s": float(values.get("period_s", PERIOD_S)),
    }


def _experiment(path: Path, profile_values: Mapping[str, Any]) -> Experiment:
    values, profile = read_checked(path, "experiment"), profile_values["profile"]
    sizes = values["sizes"]
    if profile not in sizes:
        raise UserError(f"{path}: sizes: has no size for the profile {profile!r}; sizes are: {', '.join(sizes)}")
    where = ("sizes", profile)
    size = sizes[profile]
    shared = _measuring({**profile_values, **{key: size[key] for key in OVERRIDES if key in size}})
    cells: dict[str, Cell] = {}
    for index, sweep in enumerate(size["sweeps"]):
        for cell in _cells(path, (*where, "sweeps", index), sweep, shared["seed"]):
            if cell.name in cells:
                raise wrong(path, (*where, "sweeps", index), "must not repeat a cell", cell.name)
            cells[cell.name] = cell
    arms: dict[str, Arm] = {}
    for index, entry in enumerate(size["arms"]):
        for arm in _arms(path, (*where, "arms", index), entry):
            if arm.name in arms:
                raise wrong(path, (*where, "arms", index), "must not repeat an arm", arm.name)
            arms[arm.name] = arm
    name = path.stem
    blocks = tuple(Block(experiment=name, cell=cell, arms=tuple(arms.values()), **shared) for cell in cells.values())
    return Experiment(name, values["title"], values["source"], path, tuple(cells.values()), tuple(arms.values()), blocks)


def _cells(path: Path, where: tuple, sweep: dict, seed: int) -> Iterator[Cell]:
    from harness.measurement.subject import find_subject

    swept = {key: values if isinstance(values, list) else [values] for key, values in sweep.get("parameters", {}).items()}
    try:
        for values in product(*swept.values()):
            subject = find_subject(sweep["topology"], dict(zip(swept, values, strict=True)), seed)
            yield Cell(subject.cell, subject.topology, subject.given, subject.file, subject.digest)
    except UserError as error:
        raise UserError(f"{path}: {dotted(where)}: {error}") from error


def _arms(path: Path, where: tuple, entry: dict) -> Iterator[Arm]:
    model = entry["model"]
    if model not in MODELS:
        raise wrong(path, (*where, "model"), f"must be one of {', '.join(MODELS)}", model, MODELS)
    asked = entry.get("threads")
    levels = [level for each in (asked if isinstance(asked, list) else [asked]) for level in _levels(each)]
    options = {
        "elastic": entry.get("elastic", False),
        "law": entry.get("law"),
        "minimum": _whole(entry.get("minimum")),
        "maximum": allowed_cpus() if entry.get("maximum") == "machine" else _whole(entry.get("maximum")),
    }
    for threads in dict.fromkeys(levels):
        try:
            made = make_model(model, threads=_whole(threads), **options)
            check_law(made)
        except UserError as error:
            place = where if any(options.values()) else (*where, "threads")
            raise UserError(f"{path}: {dotted(place)}: {error}") from error
        threads = getattr(made, "threads", None)
        elastic = getattr(made, "elastic", False)
        yield Arm(arm_name(made), model, threads, elastic, options["law"] or "", options["minimum"], options["maximum"])


def _levels(threads: int | str | None) -> list[int | None]:
    """`machine` is 1, 2, 4, … below the number of CPUs, and that number."""
    if threads != "machine":
        return [threads]
    cpus = allowed_cpus()
    return [2**power for power in range(cpus.bit_length()) if 2**power < cpus] + [cpus]


def _has_option(model: str, option: str) -> bool:
    return option in {field.name for field in fields(MODELS[model])}


def _whole(number: float | None) -> int | None:
    """JSON Schema takes 2.0 for a whole number, rightly; the code that follows wants 2."""
    return None if number is None else int(number)


def _seconds(warmup: float | str) -> float | str:
    return warmup if warmup == "auto" else float(warmup)


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
