"""Keep figures of a profile with the code: their tables, their pictures, and what they cost.

    make figures ARGS='crossover --size paper'
    python -m studies.keep crossover --size paper

Of each figure it writes

  results/reference/study/PROFILE/FIGURE/TABLE.parquet   the tables that it is drawn from
  results/reference/study/PROFILE/FIGURE/made.json       commit, CPUs, runs and time
  figures/gallery/FIGURE.png                             the picture, in 256 colours

and then the list results/reference/study/README.md anew. `millrace plot FIGURE --tables
results/reference/study/PROFILE/FIGURE` draws a kept figure again. docs/appendices/gallery.md shows
the pictures, each with two sentences, which a person writes.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from harness.errors import UserError
from harness.experiments.config import Config, load_config
from harness.files.places import CODE
from harness.plots.draw import read_table
from harness.plots.figures import FIGURES
from harness.report.kept_study import STUDY, THROUGHPUT

GALLERY = CODE / "figures/gallery"
MADE = "made.json"
COLOURS = 256
HEAD = """\
# The kept study

Tables of figures as they were made, written by `python -m studies.keep`. `millrace plot FIGURE
--tables results/reference/study/PROFILE/FIGURE -o FILE` draws one again. `make figures` compares
its own points with those of the same profile. The [gallery](../../../docs/appendices/gallery.md)
shows the pictures.

Minutes are those of the runs, summed over cells. Simulated cells run side by side, one on each CPU.

| figure | profile | runs | settled | minutes | commit | CPUs that measured |
|---|---|---:|---:|---:|---|---|
"""


@dataclass(frozen=True)
class Made:
    """Origin of a kept figure. `settled`: share of the runs, null for a bench; `minutes`: sum over
    cells, from the start of the first run to the end of the last.
    """

    runs: int
    settled: float | None
    minutes: float
    commit: str
    cpus: str


def keep(config: Config, name: str, study: Path = STUDY, gallery: Path = GALLERY) -> None:
    """Copy a figure's tables, origin and picture. Raises UserError for one that is not made."""
    picture = Path(config.figure(name, "png"))
    if not picture.is_file():
        raise UserError(f"{name}: {picture} is missing; `millrace figures {name}` makes it")
    folder = study / config.profile / name
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        table: read_table(Path(config.tables(name)), table, name) for table in FIGURES[name].tables
    }
    for table, rows in tables.items():
        rows.to_parquet(folder / f"{table}.parquet", compression="zstd", index=False)
    made = made_of(tables.get(THROUGHPUT), records_of(config, name))
    (folder / MADE).write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    gallery.mkdir(parents=True, exist_ok=True)
    image = Image.open(picture).convert("RGB").quantize(COLOURS)
    image.save(gallery / f"{name}.png", optimize=True)


def records_of(config: Config, name: str) -> list[list[dict[str, Any]]]:
    """Return the records of each block of a figure's experiment; none for a bench."""
    if name in config.benches:
        return []
    paths = [Path(config.records(name, block.stem)) for block in config.experiment(name).blocks()]
    return [
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in paths
    ]


def made_of(throughput: pd.DataFrame | None, blocks: Sequence[Sequence[dict[str, Any]]]) -> Made:
    """Return the origin of a figure, from its throughput table, if it has one, and its records."""
    records = [record for block in blocks for record in block]
    known = [record["settled"] for record in records if record["settled"] is not None]
    measured = [record for record in records if not record["simulated"]]
    hosts = sorted(
        {f"{each['host']['cpus_allowed']} x {each['host']['cpu_model']}" for each in measured}
    )
    commits = {record["commit"] for record in records}
    if throughput is not None:
        commits |= set(throughput["commit"].dropna())
    return Made(
        runs=len(records),
        settled=sum(known) / len(known) if known else None,
        minutes=sum(map(minutes_of, blocks)),
        commit=", ".join(sorted(commit[:8] for commit in commits if commit)),
        cpus=", ".join(hosts),
    )


def minutes_of(records: Sequence[dict[str, Any]]) -> float:
    """Return the time of a block [minutes]. The last run counts as long as the mean of the others,
    a single run as long as its window and its warm-up.
    """
    if len(records) < 2:
        return sum((each["duration_s"] or 0) + (each["warmup_s"] or 0) for each in records) / 60
    starts = pd.to_datetime([record["started_at"] for record in records], format="ISO8601")
    span = (starts.max() - starts.min()).total_seconds()
    return span * len(records) / (len(records) - 1) / 60


def listed(study: Path = STUDY) -> str:
    """Return the list of all kept figures, as Markdown."""
    lines = []
    for path in sorted(study.glob(f"*/*/{MADE}")):
        made = Made(**json.loads(path.read_text(encoding="utf-8")))
        settled = "" if made.settled is None else f"{made.settled:.0%}"
        lines.append(
            f"| `{path.parent.name}` | {path.parent.parent.name} | {made.runs:,} | {settled} "
            f"| {made.minutes:.1f} | {made.commit} | {made.cpus} |"
        )
    return HEAD + "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Keep the figures that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", nargs="+", help="names of figures, such as crossover; or `all`")
    parser.add_argument("--size", default="quick", help="the profile that made them")
    parser.add_argument(
        "--made-in", type=Path, default=CODE, help="the checkout that made them (default: this one)"
    )
    args = parser.parse_args()
    os.chdir(args.made_in)  # a profile's folders are relative to the working directory
    try:
        config = load_config(str(CODE / f"config/{args.size}.yaml"))
        names = config.drawable if args.figure == ["all"] else args.figure
        for name in names:
            if name not in config.drawable:
                raise UserError(f"figure {name!r}: must be one of: {', '.join(config.drawable)}")
            if args.figure == ["all"] and not Path(config.figure(name, "png")).is_file():
                continue
            keep(config, name)
    except UserError as error:
        parser.error(str(error))
    (STUDY / "README.md").write_text(listed(), encoding="utf-8")


if __name__ == "__main__":
    main()
