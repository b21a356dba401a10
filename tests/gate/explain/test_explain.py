"""Explanations: the functions that grew, the flame graph, and the tools that profile."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.gate.cell import USE, GateCell, Metric, Program
from harness.gate.explain import explain as module
from harness.gate.explain.explain import Explanation, Use, explain, to_explain
from harness.gate.explain.flame_graph import flame_graph
from harness.gate.explain.profile import Growth, StackProfile, grown, mean
from harness.gate.explain.profilers import (
    Cachegrind,
    OfItself,
    Operators,
    Perf,
    ProfilingTool,
    of_python,
    perf_stacks,
    short_file,
)
from harness.gate.explain.words import explanation_lines
from harness.gate.suite import Suite, load_suite
from harness.gate.tree import Role, Tree
from harness.gate.verdict import Side, Verdict
from tests.gate.made_comparisons import comparison, result

BASE = StackProfile({("main", "parse"): 2.0, ("main", "sort"): 1.0, ("main",): 0.5})
HEAD = StackProfile(
    {
        ("main", "parse", "copy"): 1.5,
        ("main", "parse"): 2.25,
        ("main", "sort"): 0.5,
        ("main",): 0.5,
    },
    places={"copy": "a.py:7"},
)


def program(name: str, *words: str) -> Program:
    return Program(name, words, (GateCell(name, Metric("wall_s", "s")),), USE)


def test_functions_that_grew_most_come_first_by_their_own_cost() -> None:
    assert grown(BASE, HEAD, 5) == [
        Growth("copy", "a.py:7", 0.0, 1.5),
        Growth("parse", "", 2.0, 2.25),
    ]
    assert len(grown(BASE, HEAD, 1)) == 1


def test_function_that_calls_itself_counts_once() -> None:
    profile = StackProfile({("a", "b", "a"): 3.0})
    assert profile.own() == {"a": 3.0}


def test_mean_counts_a_stack_that_a_process_lacks_as_nothing() -> None:
    assert mean([BASE, StackProfile({("main",): 1.5})]).costs[("main", "sort")] == 0.5
    assert mean([BASE, StackProfile({("main",): 1.5})]).costs[("main",)] == 1.0


def test_flame_graph_has_both_sides_on_one_scale_and_nothing_from_elsewhere() -> None:
    odd = StackProfile({("main", "<lambda> & \x00"): 7.0})
    text = flame_graph(odd, HEAD, "it <b>")
    root = ElementTree.fromstring(text)
    assert "script" not in text and "href" not in text
    space = {"s": "http://www.w3.org/2000/svg"}
    boxes = {
        box.find("s:title", space).text: float(box.find("s:rect", space).get("width"))
        for box in root.findall("s:g", space)
    }
    assert boxes["<lambda> & �: base 7 s, head 0 s"] == 1180.0
    assert boxes["copy: base 0 s, head 1.5 s"] == pytest.approx(1180.0 * 1.5 / 7, abs=0.1)
    assert len(boxes) == 5  # `main` has the same words on both sides


def test_stacks_of_perf_are_read_from_the_outermost_in() -> None:
    text = (
        "spin\n\t 55e main+0x1f (/tmp/x y/spin)\n\t 7f __libc (/lib/libc.so.6)\n\nspin\n\t 1 "
        "[unknown] ([unknown])\n"
    )
    assert list(perf_stacks(text)) == [
        ("__libc (libc.so.6)", "main (spin)"),
        ("[unknown] ([unknown])",),
    ]


def test_file_is_named_as_it_is_in_either_tree() -> None:
    assert short_file("/a/base/src/x.py", "/a/base") == "src/x.py"
    assert short_file("src/x.py", "/a/base") == "src/x.py"
    assert short_file("/a/base/.venv/lib/python3.11/site-packages/y/z.py", "/a/base") == "y/z.py"
    assert short_file("/usr/lib/python3.11/json/decoder.py", "/a/base") == "json/decoder.py"
    assert short_file("/other/x.py", "/a/base") == "x.py"
    assert short_file("<string>", "/a/base") == "<string>"


def test_function_keeps_its_name_when_its_line_moves() -> None:
    profile = of_python([([("f", "/t/a.py", 7)], 1.0), ([("f", "/t/a.py", 7)], 2.0)], Path("/t"))
    assert (profile.costs, profile.places) == ({("f (a.py)",): 3.0}, {"f (a.py)": "a.py:7"})


def test_regressed_cells_are_explained_or_else_the_most_doubtful_one() -> None:
    programs = tuple(program(name, name) for name in "abcd")
    suite = Suite("mine", programs, "a")
    slower = comparison(*(result(name, Verdict.REGRESSED) for name in "ab"), result("c"))
    assert [each.name for each in to_explain(slower, suite)] == ["a", "b"]
    doubtful = comparison(result("a"), result("c", Verdict.INCONCLUSIVE))
    assert [each.name for each in to_explain(doubtful, suite)] == ["c"]
    assert to_explain(comparison(result("a")), suite) == []


def test_lines_say_what_grew_and_what_each_side_takes() -> None:
    each = Explanation(
        "it",
        "perf",
        "s",
        5,
        (Growth("f (a.py)", "a.py:7", 1.0, 1.5),),
        (Use("user_s", "s", 2.0, 4.0), Use("peak_bytes", "bytes", 2.0**20, 2.0**20)),
        "x/it.svg",
    )
    assert explanation_lines([each]) == [
        "explained: it, by perf of 5 processes a side; flame graph x/it.svg",
        "  +0.5 s in f (a.py:7) itself: 1 s in base, 1.5 s in head",
        "  user time 2 s → 4 s (× 2); peak memory 1 MiB → 1 MiB (× 1)",
    ]
    unseen = Explanation("it", "", "", 0, (), (), "")
    assert explanation_lines([unseen]) == [
        "explained: it: no profiler here sees anything of it (py-spy, perf, valgrind)"
    ]


def tree(folder: Path) -> Tree:
    return Tree(folder, sys.executable, Side(".", None))


SPIN = """
def steady():
    return sum(n for n in range(500_000))

def grows():
    total = 0
    for n in range({loops}):
        total += n
    return total

steady()
grows()
"""


@pytest.mark.heavy
def test_function_that_takes_longer_in_head_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROCESSES_PER_SIDE", 2)
    monkeypatch.setattr(module, "profilers", lambda: iter([Profiler0("none"), OfItself("it")]))
    trees: dict[Role, Tree] = {}
    for role, loops in (("base", 500_000), ("head", 5_000_000)):
        (tmp_path / role).mkdir()
        (tmp_path / role / "spin.py").write_text(SPIN.format(loops=loops), encoding="utf-8")
        trees[role] = tree(tmp_path / role)
    asked = [program("a/b: c", "{python}", "spin.py")]
    (found,) = explain(trees, asked, tmp_path, lambda text: None, seed=1)
    assert (found.grown[0].name, found.grown[0].place) == ("grows (spin.py)", "spin.py:5")
    assert found.grown[0].head > 2 * found.grown[0].base
    used = {use.name: use for use in found.uses}
    assert used["user_s"].head > used["user_s"].base > 0
    assert found.file == str(tmp_path / "a-b-c.svg")
    assert "grows" in Path(found.file).read_text(encoding="utf-8")


class Profiler0(ProfilingTool):
    """Sees nothing."""

    def read(self, room: Path, tree: Tree) -> StackProfile:
        return StackProfile({})


@pytest.mark.heavy
def test_python_that_forks_and_ends_at_once_is_seen_whole(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "def spin(until):\n"
        "    while time.process_time() < until: pass\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    spin(0.8)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    profile = OfItself("it").run(tree(tmp_path), program("a", "{python}", "a.py"), {}, 0)
    assert profile.own()["spin (a.py)"] > 0.3


C = """
static volatile long sum;
__attribute__((noinline)) void few(long n) { for (long i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void many(long n) { for (long i = 0; i < n; i++) sum += i; }
int main(void) { few(LOOPS); many(5 * LOOPS); return 0; }
"""


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("profiler", "loops"),
    [
        pytest.param(
            Perf("perf"),
            300_000_000,
            marks=pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf"),
        ),
        pytest.param(
            Cachegrind("Cachegrind", "instructions", 50.0),
            100_000,
            marks=pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind"),
        ),
    ],
)
def test_functions_of_a_compiled_program_are_seen(
    tmp_path: Path, profiler: ProfilingTool, loops: int
) -> None:
    (tmp_path / "spin.c").write_text(C.replace("LOOPS", str(loops)), encoding="utf-8")
    words = ["cc", "-O1", "-fno-omit-frame-pointer", "-o", "spin", "spin.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    own = profiler.run(tree(tmp_path), program("spin", "./spin"), {}, 0).own()
    if not own and profiler.name == "perf":
        pytest.skip("perf may not sample here")
    costs = {name.partition(" ")[0]: cost for name, cost in own.items()}
    assert costs["many"] > 2 * costs["few"] > 0


def test_program_that_is_no_run_has_no_operators(tmp_path: Path) -> None:
    assert not Operators("o").run(tree(tmp_path), program("a", "true"), {}, 0).costs


@pytest.mark.heavy
def test_operators_of_our_own_run_are_seen(tmp_path: Path) -> None:
    run = {"topology": "pipeline", "parameters": {"operators": 3, "cost": 100}, "model": "manual"}
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"programs": [{"name": "it", "run": run}]}), encoding="utf-8")
    (asked,) = load_suite(suite).programs
    root = Path(__file__).resolve().parents[3]
    own = Operators("o", "ns a tuple").run(tree(root), asked, {}, 0).own()
    assert {"work1", "work2", "work3"} <= own.keys()
    assert sum(own.values()) > 0


def test_the_start_of_the_sampler_is_no_sample(tmp_path):
    probe = Path(module.__file__).parents[1] / "probe"
    words = f"import sys; sys.path.insert(0, {str(probe)!r}); import sampler\n"
    words += f"for n in range(20): sampler.begin({str(tmp_path / 'seen')!r} + str(n))\n"
    subprocess.run([sys.executable, "-c", words + "sum(range(60_000_000))"], check=True)
    # a sampler that the end of the process has cut off leaves its unfinished file, which nobody reads
    files = tmp_path.glob("seen*[0-9]")
    stacks = [stack for file in files for stack, _ in json.loads(file.read_text())]
    assert stacks
    assert not any(name.endswith("Thread.start") for stack in stacks for name, _, _ in stack)
