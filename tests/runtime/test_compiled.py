"""Tests of what the compiler makes of the path of a tuple."""

from __future__ import annotations

import re
import subprocess

from harness.runtime import path


def test_functions_begin_at_cache_lines_so_that_an_edit_elsewhere_does_not_change_their_speed() -> (
    None
):
    table = subprocess.run(["nm", path.__file__], capture_output=True, text=True, check=True).stdout
    places = {
        symbol: int(place, 16)
        for place, symbol in re.findall(r"^(\w+) [tT] (\S+)$", table, re.MULTILINE)
    }
    of_path = {
        symbol: place
        for symbol, place in places.items()
        if "millrace4PathI" in symbol and ".cold" not in symbol and ".part" not in symbol
    }
    assert len(of_path) > 10
    assert [symbol for symbol, place in of_path.items() if place % 64] == []
