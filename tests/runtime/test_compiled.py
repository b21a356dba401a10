"""What the compiler makes of the way of a tuple."""

from __future__ import annotations

import re
import subprocess
from types import ModuleType

import pytest

from harness.runtime import operators, submit


@pytest.mark.parametrize("module", [operators, submit], ids=["operators", "submit"])
def test_functions_begin_at_cache_lines_so_that_an_edit_elsewhere_does_not_change_their_speed(
    module: ModuleType,
) -> None:
    name = module.__name__.rpartition(".")[2]
    table = subprocess.run(
        ["nm", module.__file__], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    places = {
        symbol: int(place, 16)
        for place, symbol in re.findall(r"^(\w+) [tT] (\S+)$", table, re.MULTILINE)
    }
    ours = {
        symbol: place
        for symbol, place in places.items()
        if f"{len(name)}{name}_" in symbol and ".cold" not in symbol
    }
    assert len(ours) > 10
    assert [symbol for symbol, place in ours.items() if place % 64] == []
