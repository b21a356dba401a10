"""An installed package in an environment of its own: a wheel, and what it depends on by default.

The wheel has the modules that are already compiled in this checkout, so that it takes seconds. Its
dependencies are links to those of the environment that runs the tests: nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def build_wheel(folder: Path) -> Path:
    """Return a wheel of this checkout, made in a folder from the modules compiled in place."""
    lib = folder / "lib"
    config = folder / "build.cfg"
    config.write_text(f"[build]\nbuild_base={folder / 'base'}\nbuild_lib={lib}\n")
    setup(config, "build_py")
    for module in ROOT.glob("harness/**/*.so"):
        shutil.copy2(module, lib / module.relative_to(ROOT))
    setup(config, "bdist_wheel", "--skip-build", "--dist-dir", str(folder))
    (wheel,) = folder.glob("*.whl")
    return wheel


def setup(config: Path, *words: str) -> None:
    """Run setup.py with more settings."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "--quiet", *words],
        cwd=ROOT,
        env=os.environ | {"DIST_EXTRA_CONFIG": str(config)},
        check=True,
    )


def install(wheel: Path, folder: Path) -> Path:
    """Return the Python of a new environment with the wheel and its default dependencies."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*install, "--python", python, wheel], check=True)
    for place in {place for name in requirements(wheel) for place in top_levels(name)}:
        if not (link := site / place.name).exists():
            link.symlink_to(place)
    return python


def requirements(wheel: Path) -> set[str]:
    """Return the names of all packages that the wheel needs without extras."""
    import zipfile

    with zipfile.ZipFile(wheel) as files:
        (metadata,) = [name for name in files.namelist() if name.endswith("/METADATA")]
        text = files.read(metadata).decode()
    todo = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.*)", text, re.M)]
    found: set[str] = set()
    while todo:
        each = todo.pop()
        if each.name in found or (each.marker and not each.marker.evaluate({"extra": ""})):
            continue
        found.add(each.name)
        try:
            todo += map(Requirement, distribution(each.name).requires or ())
        except PackageNotFoundError:
            found.discard(each.name)  # for another system or Python
    return found


def top_levels(name: str) -> Iterator[Path]:
    """Yield the files and folders of a distribution in the site packages."""
    files = distribution(name).files or ()
    for first in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        yield Path(str(distribution(name).locate_file(first)))
