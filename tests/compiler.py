"""The compilers that the environment names, as the first words of a command.

`CC` and `CXX` may have several words, such as `ccache g++`: make and setuptools split them, too.
"""

from __future__ import annotations

import shlex
from os import environ


def of_c() -> list[str]:
    return shlex.split(environ.get("CC", "cc"))


def of_cxx() -> list[str]:
    return shlex.split(environ.get("CXX", "c++"))
