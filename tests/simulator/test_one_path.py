"""The simulator executes the runtime's path of a tuple: it has no function of its own for a step of
it.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECLARED = re.compile(r"^  static [^=;]*?[\s*&](\w+)\(", re.MULTILINE)
DEFINED = re.compile(
    r"^(?:inline|static|constexpr|template|void|auto)\b[^;{}()]*?[\s*&](?:Simulation::)?(\w+)\(",
    re.MULTILINE,
)


def functions_of_the_path() -> set[str]:
    return set(DECLARED.findall((ROOT / "harness/native/path.hpp").read_text()))


def functions_of_a_simulation(text: str) -> set[str]:
    """Return the names of the functions that a header of the simulator defines for a simulation,
    those of its primitives left out.
    """
    return set(DEFINED.findall(re.sub(r"//.*", "", text)))


def test_no_step_of_the_path_is_written_a_second_time() -> None:
    path = functions_of_the_path()
    assert {"execute", "push", "drain", "port_body", "call_instead", "merge"} <= path
    for header in (ROOT / "harness/simulator/native").glob("*.hpp"):
        assert not functions_of_a_simulation(header.read_text()) & path, header.name


def test_a_step_that_is_written_a_second_time_is_seen() -> None:
    text = "inline uint64_t Simulation::drain(Worker& w, Port& port) {\n"
    assert functions_of_a_simulation(text) & functions_of_the_path() == {"drain"}
