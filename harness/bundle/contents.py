"""The experiments of a bundle, and all files that they need."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.experiments.config import Config, load_config, own_files
from harness.experiments.experiment import Block, Experiment
from harness.files.places import CODE, HARNESS
from harness.graph.files.file import file_of
from harness.machines.place import Place

MOST_BYTES = 500_000_000
"""Size of a user's files in a bundle, at most."""

PROFILES = Path("config")
EXPERIMENTS = PROFILES / "experiments"


@dataclass(frozen=True)
class Contents:
    """`files`: places in the folder where the other machine measures, with the files that go
    there.
    """

    config: Config
    files: dict[Path, Path]

    @property
    def experiments(self) -> Sequence[Experiment]:
        """The experiments, as they are measured on real threads."""
        return self.config.experiments

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the experiments."""
        return [block for each in self.experiments for block in each.blocks()]

    @property
    def profile(self) -> Path:
        """The place of the profile."""
        return PROFILES / self.config.path.name

    @property
    def words(self) -> list[str]:
        """The words of `sweep` that name the experiments and the profile there."""
        return [
            *(str(EXPERIMENTS / f"{each.name}.yaml") for each in self.experiments),
            "--config",
            str(self.profile),
        ]

    @property
    def uses_numba(self) -> bool:
        """True if a graph of the experiments has loaded numba."""
        return "numba" in sys.modules


def contents_of(words: Sequence[str], profile: str, added: Sequence[str]) -> Contents:
    """Return the experiments that words name, those of a profile or files of a user's own, and
    their files. `added`: further files and folders.

    Raises UserError for an experiment that does not exist or cannot be measured on real threads,
    for a file that lies outside the working directory, or for too many bytes.
    """
    paths = own_files(words)
    config = load_config(profile, Place(), files=paths, names=[] if paths else words)
    files = {PROFILES / config.path.name: config.path}
    files |= {EXPERIMENTS / f"{each.name}.yaml": each.path for each in config.experiments}
    needed = {*_graph_files(config), *_loaded(), *_added(added)}
    files |= {_place(path): path for path in sorted(needed)}
    _check_size(files.values())
    return Contents(config, files)


def _graph_files(config: Config) -> Iterator[Path]:
    """Yield files of graphs, and files that parameters name."""
    for cell in (cell for each in config.experiments for cell in each.cells):
        if cell.graph_file:
            yield file_of(cell.graph_file)
        for value in cell.parameters.values():
            if isinstance(value, str) and "/" in value and Path(value).is_file():
                yield Path(value)


def _loaded() -> Iterator[Path]:
    """Yield Python files below the working directory that graphs have imported."""
    here = Path.cwd()
    ours = (HARNESS, CODE / "topologies", Path(sys.prefix))
    for module in list(sys.modules.values()):
        path = Path(getattr(module, "__file__", None) or "/")
        if path.is_relative_to(here) and not any(path.is_relative_to(each) for each in ours):
            yield path.relative_to(here)


def _added(words: Sequence[str]) -> Iterator[Path]:
    for word in words:
        path = Path(word)
        if not path.exists():
            raise UserError(f"--add {word!r}: there is no such file or folder")
        yield from (
            [path]
            if path.is_file()
            else (
                file
                for file in path.rglob("*")
                if file.is_file() and "__pycache__" not in file.parts
            )
        )


def _place(path: Path) -> Path:
    """Return the place of a file there: experiments name files relative to the working
    directory.
    """
    if path.is_absolute() or ".." in path.parts:
        raise UserError(
            f"{path}: a file of a bundle must lie below the working directory, and be named "
            "relative to it"
        )
    return path


def _check_size(paths: Iterable[Path]) -> None:
    sizes = {path: path.stat().st_size for path in paths}
    if sum(sizes.values()) > MOST_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise UserError(
            f"files of a bundle must have at most {MOST_BYTES / 1e6:.0f} MB, not "
            f"{sum(sizes.values()) / 1e6:.0f}; the largest is {largest}"
        )
