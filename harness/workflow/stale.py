"""Records of cells that the config no longer has, or no longer has on that machine.

Tables are made of all records in an experiment's folder, so records of cells that were removed from
the experiment must leave it. They are moved and not deleted, because it took time to measure them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from harness.experiments.config import Config


def retire_stale_records(config: Config, names: Collection[str]) -> None:
    """Move records in the folders of these experiments that belong to none of their cells to
    `retired/` beside `raw/`, and print a line for each.
    """
    for experiment in (each for each in config.experiments if each.name in names):
        wanted = {
            Path(config.records(experiment.name, block.stem)) for block in experiment.blocks()
        }
        for folder in {path.parent for path in wanted}:
            for path in sorted(set(folder.glob("*.jsonl")) - wanted):
                target = _free(Path(config.results, "retired", experiment.name, path.name))
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
                print(
                    f"{path}: not a cell of {experiment.path} any more, moved to {target}",
                    file=sys.stderr,
                )


def _free(path: Path) -> Path:
    """Return the path; if it exists, the first numbered name that does not."""
    names = (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in count(2))
    return next(name for name in chain([path], names) if not name.exists())
