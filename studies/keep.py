"""Keep figures of a profile with the code: their tables, their pictures, and what they cost.

    make figures ARGS='crossover --size paper'
    python -m studies.keep crossover --size paper
    python -m studies.keep --claims              # only the verdicts, of all profiles

Of each figure it writes

  results/reference/study/PROFILE/FIGURE/TABLE.parquet   the tables that it is drawn from
  results/reference/study/PROFILE/FIGURE/made.json       commit, CPUs, runs and time
  figures/gallery/FIGURE.png                             the picture, in 256 colours; that of the
                                                         paper profile, where it is kept

then of the profile, from its kept tables,

  results/reference/study/PROFILE/claims.md, claims.json the verdicts on all claims, as `millrace
                                                         claims` writes them

and at last the list results/reference/study/README.md anew. `millrace plot FIGURE --tables
results/reference/study/PROFILE/FIGURE` draws a kept figure again. docs/appendices/gallery.md shows
the pictures, each with two to five sentences, which a person writes.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from harness.claims import report
from harness.claims.claim import chosen, experiments
from harness.claims.evaluate import evaluate
from harness.claims.tables import read_tables
from harness.errors import UserError
from harness.experiments.config import Config, load_config
from harness.files.places import CODE
from harness.gate.git import asked
from harness.plots.draw import read_table
from harness.plots.figures import FIGURES
from harness.report.kept_study import STUDY, THROUGHPUT

GALLERY = CODE / "figures/gallery"
MADE = "made.json"
PAPER = "paper"  # the profile with the sizes of the papers
COLOURS = 256
HEAD = """\
# The kept study

Tables of figures as they were made, written by `python -m studies.keep`. `millrace plot FIGURE
--tables results/reference/study/PROFILE/FIGURE -o FILE` draws one again. `make figures` compares
its own points with those of the same profile. The [gallery](../../../docs/appendices/gallery.md)
shows the pictures.
{verdicts}
Minutes are those of the runs, summed over cells. Simulated cells run side by side, one on each CPU.
A bench is computed and has no records: its runs are the rows of its table, its minutes are not
known, and its commit is that of the checkout when it was kept.

| figure | profile | runs | settled | minutes | commit | CPUs that measured | that simulated |
|---|---|---:|---:|---:|---|---|---|
"""

VERDICTS = ("claims.md", "claims.json")


@dataclass(frozen=True)
class Made:
    """Origin of a kept figure. `settled`: share of the runs, null for a bench; `minutes`: sum over
    cells, from the start of the first run to the end of the last, null for a bench; `cpus`: those
    that measured, `simulated_on`: those that simulated.
    """

    runs: int
    settled: float | None
    minutes: float | None
    commit: str
    cpus: str
    simulated_on: str = ""


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
    made = (
        made_of_bench(tables)
        if name in config.benches
        else made_of(tables.get(THROUGHPUT), records_of(config, name))
    )
    (folder / MADE).write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    if config.profile != PAPER and (study / PAPER / name / MADE).is_file():
        return
    gallery.mkdir(parents=True, exist_ok=True)
    image = Image.open(picture).convert("RGB").quantize(COLOURS)
    image.save(gallery / f"{name}.png", optimize=True)


def records_of(config: Config, name: str) -> list[list[dict[str, Any]]]:
    """Return the records of each block of a figure's experiment."""
    paths = [Path(config.records(name, block.stem)) for block in config.experiment(name).blocks()]
    return [
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in paths
    ]


def made_of(throughput: pd.DataFrame | None, blocks: Sequence[Sequence[dict[str, Any]]]) -> Made:
    """Return the origin of a figure, from its throughput table, if it has one, and its records."""
    records = [record for block in blocks for record in block]
    known = [record["settled"] for record in records if record["settled"] is not None]
    commits = {record["commit"] for record in records}
    if throughput is not None:
        commits |= set(throughput["commit"].dropna())
    return Made(
        runs=len(records),
        settled=sum(known) / len(known) if known else None,
        minutes=sum(map(minutes_of, blocks)),
        commit=", ".join(sorted(commit[:8] for commit in commits if commit)),
        cpus=cpus_of(record for record in records if not record["simulated"]),
        simulated_on=cpus_of(record for record in records if record["simulated"]),
    )


def made_of_bench(tables: Mapping[str, pd.DataFrame]) -> Made:
    """Return the origin of a bench: the rows of its tables, and the commit of the checkout."""
    commit = asked(Path.cwd(), "rev-parse", "HEAD") or ""
    return Made(sum(map(len, tables.values())), None, None, commit[:8], "")


def cpus_of(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the CPUs that made some records: `2 x AMD EPYC`."""
    hosts = {f"{each['host']['cpus_allowed']} x {each['host']['cpu_model']}" for each in records}
    return ", ".join(sorted(hosts))


def keep_verdicts(profile: str, study: Path = STUDY) -> None:
    """Write the verdicts on all claims from the kept tables of a profile, as Markdown and JSON;
    nothing if no kept table is about a claim.
    """
    folder = study / profile
    if not any((folder / name / f"{THROUGHPUT}.parquet").is_file() for name in experiments()):
        return
    results = evaluate(chosen(), read_tables(folder, experiments()))
    page, data = (folder / name for name in VERDICTS)
    page.write_text(report.markdown(results), encoding="utf-8")
    data.write_text(
        json.dumps(report.document(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
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
        minutes = "" if made.minutes is None else f"{made.minutes:.1f}"
        lines.append(
            f"| `{path.parent.name}` | {path.parent.parent.name} | {made.runs:,} | {settled} "
            f"| {minutes} | {made.commit} | {made.cpus} | {made.simulated_on} |"
        )
    pages = sorted(path.parent.name for path in study.glob(f"*/{VERDICTS[0]}"))
    links = ", ".join(f"[{name}]({name}/{VERDICTS[0]})" for name in pages)
    head = HEAD.format(
        verdicts=f"\nThe verdicts on all claims, by profile: {links}.\n" * bool(pages)
    )
    return head + "".join(f"{line}\n" for line in lines)


def keep_all(figures: Sequence[str], size: str) -> None:
    """Keep figures of a profile, or `all` that are made, and then the profile's verdicts.

    Raises UserError for one that the profile does not draw.
    """
    config = load_config(str(CODE / f"config/{size}.yaml"))
    for name in config.drawable if figures == ["all"] else figures:
        if name not in config.drawable:
            raise UserError(f"figure {name!r}: must be one of: {', '.join(config.drawable)}")
        if figures == ["all"] and not Path(config.figure(name, "png")).is_file():
            continue
        keep(config, name)
    keep_verdicts(config.profile)


def main() -> None:
    """Keep the figures that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", nargs="*", help="names of figures, such as crossover; or `all`")
    parser.add_argument(
        "--claims", action="store_true", help="write only the verdicts, from tables that are kept"
    )
    parser.add_argument("--size", default="quick", help="the profile that made them")
    parser.add_argument(
        "--made-in", type=Path, default=CODE, help="the checkout that made them (default: this one)"
    )
    args = parser.parse_args()
    if bool(args.figure) == args.claims:
        parser.error("FIGURE or --claims: exactly one must be given")
    os.chdir(args.made_in)  # a profile's folders are relative to the working directory
    try:
        if args.claims:
            for profile in sorted({path.parent.parent.name for path in STUDY.glob(f"*/*/{MADE}")}):
                keep_verdicts(profile)
        else:
            keep_all(args.figure, args.size)
    except UserError as error:
        parser.error(str(error))
    (STUDY / "README.md").write_text(listed(), encoding="utf-8")


if __name__ == "__main__":
    main()
