"""The config of the workflow: a profile (config/quick.yaml) and its experiments
(config/experiments/*.yaml).

Files are checked on load: against their JSON Schema (`checked_yaml`), then for what a schema cannot
say: does the machine exist, the topology, has it that parameter, is the value in its range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from harness.engine import LOCAL, machines
from harness.errors import UserError
from harness.experiments.experiment import Block, Experiment
from harness.experiments.file import REAL_LEAST, experiment_schema, measuring, read_experiment
from harness.files.checked_yaml import did_you_mean, load_schema, read_checked, wrong
from harness.files.places import CONFIG
from harness.machines.place import Place
from harness.models import OPTIONS

DEFAULT_CONFIG = CONFIG / "quick.yaml"
"""The profile `--size quick`."""

BENCHES = ("saso", "saso_placement")
"""Figures that are computed and not measured: control laws compared (`millrace laws bench`, and
with `--multilevel`).
"""


@dataclass(frozen=True)
class Config:
    """One profile. Folders are relative to the working directory."""

    path: Path
    profile: str
    machine: str
    experiments: Sequence[Experiment]
    benches: Sequence[str]
    bench_every: Mapping[str, int]  # of the scenarios of a bench one in so many
    repeats: int
    duration_s: float
    warmup: float | str
    seed: int
    queue_capacity: int | None
    allow_threads: int | None
    period_s: float
    results: str
    figures: str
    spark: Mapping[str, str]

    @property
    def by_default(self) -> Sequence[Experiment]:
        """The experiments that are made if none is named."""
        return [experiment for experiment in self.experiments if not experiment.on_request]

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the experiments that are made if none is named."""
        for experiment in self.by_default:
            yield from experiment.blocks()

    def experiment(self, name: str) -> Experiment:
        """Return the experiment with that name. Raises UserError if the profile has none."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        self.refuse_other_size(name)
        names = [experiment.name for experiment in self.experiments]
        raise UserError(
            f"{self.path}: no experiment is named {name!r}{did_you_mean(name, names)}; experiments "
            f"are: {', '.join(names)}"
        )

    def refuse_other_size(self, name: str) -> None:
        """Raise UserError if there is an experiment with that name, but not in the size of the
        profile.
        """
        file = experiment_file(self.path, name)
        if Path(name).name == name and file.is_file():
            sizes = list(read_checked(file, experiment_schema())["sizes"])
            raise UserError(
                f"{self.path}: the experiment {name} has no size {self.profile!r}; "
                + f"its sizes are: {', '.join(sizes)} (--size {sizes[0]})"
            )

    @property
    def drawn(self) -> Sequence[str]:
        """The names of the figures that are made if none is named."""
        return (*(experiment.name for experiment in self.by_default), *self.benches)

    @property
    def drawable(self) -> Sequence[str]:
        """The names of all figures, those on request too."""
        return (*(experiment.name for experiment in self.experiments), *self.benches)

    # Where the workflow puts things. The rules, `sweep` and `figures` all ask here.

    def records(self, experiment: str, stem: str, machine: str = "") -> str:
        """Return the file with a block's records, `Block.stem`; `machine`: another one, on which
        the block was measured.
        """
        return f"{self.results}/raw/{experiment}/{machine and machine + '/'}{stem}.jsonl"

    def brought(self, experiment: str) -> list[str]:
        """Return the files with records of the experiment that were measured on other machines."""
        return sorted(map(str, Path(self.records(experiment, "any")).parent.glob("*/*.jsonl")))

    def tables(self, figure: str) -> str:
        """Return the folder with the tables of a figure: its experiment's, or its bench's."""
        return f"{self.results}/tables/{figure}"

    def bench(self, name: str) -> str:
        """Return the table that a bench writes."""
        return f"{self.tables(name)}/{name}.parquet"

    @property
    def report(self) -> str:
        """The page with all figures and captions, unless it is asked for elsewhere."""
        return f"{self.results}/report.html"

    def figure(self, name: str, kind: str) -> str:
        """Return the file of a figure; `kind` is png or svg."""
        return f"{self.figures}/{name}.{kind}"


def load_config(
    path: str | Path,
    place: Place | None = None,
    sensitivity: bool = False,
    files: Sequence[Path] = (),
    names: Sequence[str] = (),
) -> Config:
    """Return the profile in a YAML file, with the experiments that it names, beside it in
    `experiments/`, or with those in `files`, or of these `names`, alone; with `place` and
    `sensitivity` as in `read_experiment`: another experiment may not fit that place.

    Raises UserError, in one line, for a file that cannot be read or breaks a rule, and for a name
    that the profile does not have.
    """
    path = Path(path)
    values = read_checked(path, config_schema())
    machine = values.get("machine", LOCAL)
    if machine != LOCAL and machine not in (known := machines()):
        raise wrong(path, ("machine",), f"must be one of {', '.join(known)}", machine, known)
    for key, least in REAL_LEAST.items() if machine == LOCAL else ():
        if values.get(key, least) < least:
            raise wrong(path, (key,), f"must be {least:g} or more", values[key])
    for key in ("results", "figures"):
        folder = PurePosixPath(values.get(key, key))
        if ".." in folder.parts or not folder.parts:
            raise wrong(path, (key,), "must be a folder below the working directory", values[key])
        values[key] = str(folder)  # ./results is results
    profile = values["profile"]
    benches = values.get("benches", [])
    for index, name in enumerate(benches):
        if name not in BENCHES:
            raise wrong(
                path, ("benches", index), f"must be one of {', '.join(BENCHES)}", name, BENCHES
            )
    experiments = []
    listed = values.get("experiments")
    for file in files:
        experiment = read_experiment(file, values, place, sensitivity)
        experiments.append(replace(experiment, on_request=False))
    every = [] if files else listed or _with_size(path, profile)
    for name in names:
        if name not in every:
            load_config(path).experiment(name)  # raises UserError
    for index, name in enumerate(every):
        if names and name not in names:
            continue
        file = experiment_file(path, name)
        if not file.is_file():
            known = [each.stem for each in sorted(file.parent.glob("*.yaml"))]
            raise UserError(
                f"{path}: experiments[{index}]: must name a file in {file.parent}, not "
                f"{name!r}{did_you_mean(name, known)}"
            )
        experiment = read_experiment(file, values, place, sensitivity)
        experiments.append(replace(experiment, on_request=False) if listed else experiment)
    return Config(
        path=path,
        profile=profile,
        experiments=tuple(experiments),
        benches=benches,
        bench_every=dict.fromkeys(BENCHES, 1) | values.get("bench_every", {}),
        results=values["results"],
        figures=values["figures"],
        spark={"spark.master": "local[*]"}
        | {key: _spark_text(value) for key, value in values.get("spark", {}).items()},
        machine=machine,
        **measuring(values),
    )


@cache
def config_schema() -> dict[str, Any]:
    """Return the schema of a profile, with the models' option that it may give."""
    schema, option = load_schema("config"), OPTIONS["queue_capacity"]
    schema["properties"]["queue_capacity"] |= {
        "anyOf": [{"type": "null"}, option.schema],
        "rule": f"null, or {option.rule}",
    }
    return schema


def own_files(words: Sequence[str]) -> list[Path]:
    """Return the files of a user's own experiments that words name; none if all are names of the
    profile's. Raises UserError for files beside names, or two of one name.
    """
    files = [Path(word) for word in words if word.endswith((".yaml", ".yml"))]
    if files and len(files) < len(words):
        named = next(word for word in words if Path(word) not in files)
        raise UserError(f"{named!r} is an experiment of the profile: name it apart from {files[0]}")
    stems = [file.stem for file in files]
    if len(set(stems)) < len(stems):
        raise UserError(f"experiments must have different names, not {', '.join(map(str, files))}")
    return files


def experiment_file(profile: Path, name: str) -> Path:
    """Return the file of an experiment, beside that of the profile."""
    return profile.parent / "experiments" / f"{name}.yaml"


def left_out(experiments: Sequence[Experiment]) -> Sequence[str]:
    """Return a line for each peer that an experiment names and that is not built here."""
    return [f"{each.name}: left out: {why}" for each in experiments for why in each.left_out]


def _with_size(path: Path, size: str) -> list[str]:
    """Return the names of the experiments beside a profile that have a size, with numbers in order.

    Raises UserError if none has.
    """
    files = sorted(
        experiment_file(path, "any").parent.glob("*.yaml"),
        key=lambda file: [
            part.zfill(4) if part.isdigit() else part for part in re.split(r"(\d+)", file.stem)
        ],
    )
    names = [
        file.stem for file in files if size in read_checked(file, experiment_schema())["sizes"]
    ]
    if not names:
        raise wrong(path, ("profile",), "must be a size of an experiment beside it", size)
    return names


def clock(seconds: float) -> str:
    """Return a stretch of time for people: `45 s`, `6 min 20 s`, `2 h 05 min`."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if minutes == 0:
        return f"{rest} s"
    return (
        f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
    )


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
