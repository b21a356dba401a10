"""The engines share all that they do alike: a function of one engine has the name of a function of
the other one only where shared code asks each of them for it, and then they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENGINES = ("runtime", "simulator")

DECLARED = re.compile(r"^  static [^=;]*?[\s*&](\w+)\(", re.MULTILINE)
DEFINED = re.compile(
    r"\b(\w+)\s*\((?:[^;{}()]|\([^;{}()]*\))*\)(?:\s|const\b|noexcept\b|:[^;{}]*)*\{"
)
NO_FUNCTIONS = frozenset(("if", "for", "while", "switch", "catch"))
ASKED = re.compile(r"(?:Platform::|\bgraph_?\.|\bflow_?\.|\bcoroutines->|\bplatform_\.)(\w+)\(")
CYTHON = re.compile(r"^ *(?:cdef|cpdef|def)\b[^(\n]*?(\w+)\(|^    (\w+): ", re.MULTILINE)
OF_SIMULATION = re.compile(
    r"^(?:inline|static|constexpr|template|void|auto)\b[^;{}()]*?[\s*&](?:Simulation::)?(\w+)\(",
    re.MULTILINE,
)
SHORT = 60
"""Characters of a body without spaces that may be the same in both engines: a line or so."""

OWN_NAMES = frozenset(
    (
        "__cinit__",
        "__dealloc__",
        # the records that each engine makes of a layout: atomic words here, words with a price there
        "_make_operators",
        "_make_ports",
        "_make_states",
        "_make_workers",
        "block_of",
        # where tuples are in these records at the end, and which counts threads have
        "account_of",
        "_scheduling",
        # which thread of the pool is suspended first: only real ones may be held by users' code
        "_reluctance",
    )
)
"""Names in the Cython modules of both engines that are no part of the interface of a core."""

CPP_NAMES = frozenset(
    (
        # what the core of each engine asks of its co-routines
        "deadlock",
        "left_in_slots",
        "replicas",
        "set_replicas",
        "useful_ns",
        # the time for which a queue is full: by an atomic word here, by the virtual clock there
        "full",
        "not_full",
        # of different things
        "begin",
        "changing",
        "look",
        "read",
        "suspend",
    )
)
"""Names in the headers of both engines that shared headers do not ask for."""


def read(folder: str, ending: str) -> str:
    """Return the text of all files of a folder without comments and directives."""
    texts = [path.read_text() for path in sorted((ROOT / folder).glob(f"*{ending}"))]
    return re.sub(r"//.*|^#.*", "", "\n".join(texts), flags=re.MULTILINE)


def functions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the body without spaces of each function that is defined in C++."""
    for found in DEFINED.finditer(text):
        if found[1] in NO_FUNCTIONS:
            continue
        end, depth = found.end(), 1
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield found[1], re.sub(r"\s+", "", text[found.end() : end - 1])


def bodies(text: str) -> Mapping[str, set[str]]:
    """Return the bodies of the functions by name."""
    found: dict[str, set[str]] = {}
    for name, body in functions(text):
        found.setdefault(name, set()).add(body)
    return found


def functions_of_the_path() -> set[str]:
    return set(DECLARED.findall((ROOT / "harness/native/path.hpp").read_text()))


def in_both(texts: Mapping[str, str]) -> set[str]:
    one, other = (set(bodies(texts[engine])) for engine in ENGINES)
    return one & other


def written_twice(texts: Mapping[str, str]) -> set[str]:
    """Return the functions of both engines that do the same by more than a line."""
    one, other = (bodies(texts[engine]) for engine in ENGINES)
    return {
        name
        for name in one.keys() & other.keys()
        if any(len(body) > SHORT for body in one[name] & other[name])
    }


def headers() -> dict[str, str]:
    return {engine: read(f"harness/{engine}/native", ".hpp") for engine in ENGINES}


def functions_of_a_simulation(text: str) -> set[str]:
    """Return the functions that a header defines for a simulation, without its primitives."""
    return set(OF_SIMULATION.findall(re.sub(r"//.*", "", text)))


def test_no_step_of_the_path_is_written_a_second_time() -> None:
    path = functions_of_the_path()
    assert {"execute", "push", "drain", "port_body", "call_instead", "merge"} <= path
    assert {"operator_body", "replica_body", "source_body"} <= path
    for header in (ROOT / "harness/simulator/native").glob("*.hpp"):
        assert not functions_of_a_simulation(header.read_text()) & path, header.name


def test_a_name_in_both_engines_is_one_that_shared_code_asks_for() -> None:
    asked = set(ASKED.findall(read("harness/native", ".hpp")))
    assert in_both(headers()) - asked == CPP_NAMES


def test_no_function_is_the_same_in_both_engines() -> None:
    assert written_twice(headers()) == set()


def cython_names(text: str) -> set[str]:
    return {function or attribute for function, attribute in CYTHON.findall(text)}


def test_a_name_in_the_cython_modules_of_both_engines_is_one_of_a_core() -> None:
    core = cython_names((ROOT / "harness/engine/core.py").read_text())
    assert {"begin", "let_pass", "end", "over", "active"} <= core
    names = [cython_names(read(f"harness/{engine}", ".p[yx][xi]")) for engine in ENGINES]
    assert names[0] & names[1] - core == OWN_NAMES


def test_a_step_that_is_written_a_second_time_is_seen() -> None:
    text = "inline uint64_t Simulation::drain(Worker& w, Port& port) {\n  return f(w);\n}\n"
    assert functions_of_a_simulation(text) & functions_of_the_path() == {"drain"}


def test_a_body_that_is_written_a_second_time_is_seen() -> None:
    body = "x(Worker* w) const noexcept {{ if (w->at > {}) {{ for (;;) {} }} }}"
    long = "{ " + "w->at += w->run->something(w); " * 3 + "}"
    same = {engine: "void " + body.format(1, long) for engine in ENGINES}
    assert written_twice(same) == {"x"}
    assert written_twice(same | {"runtime": "void " + body.format(2, long)}) == set()
