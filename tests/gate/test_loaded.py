"""Both sides must load code of their own: what is seen of modules and shared objects, what is
refused, and what is meant.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric, Program
from harness.gate.loaded import Loaded, rehearse, rehearsed
from harness.gate.suite import Suite
from harness.gate.tree import Role, Tree
from harness.gate.verdict import Side
from tests.gate.repository import git

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "import foo.core\nprint('{\"ns_per_hop\": 1}')\n"
CELL = GateCell("one", Metric())


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Trees `base` and `head`, each with a package in `src` and a script at its top, and an
    environment that both use.
    """
    for side in ("base", "head"):
        package = tmp_path / side / "src" / "foo"
        package.mkdir(parents=True)
        for name in ("__init__.py", "core.py"):
            (package / name).write_text(f"side = {side!r}\n", encoding="utf-8")
        (tmp_path / side / "bench.py").write_text(SCRIPT, encoding="utf-8")
    venv.create(tmp_path / "env", symlinks=True)
    return tmp_path


def install(room: Path, line: str) -> None:
    """A `.pth` file in the environment, as an editable install makes one."""
    (packages,) = (room / "env").glob("lib/python*/site-packages")
    (packages / "mine.pth").write_text(line + "\n", encoding="utf-8")


def trees(room: Path) -> dict[Role, Tree]:
    python = str(room / "env" / "bin" / "python")
    return {
        "base": Tree(room / "base", python, Side("b", None)),
        "head": Tree(room / "head", python, Side("h", None)),
    }


def suite_of(*argv: str) -> Suite:
    return Suite("mine", (Program("one", argv, (CELL,)),), "one")


def loads(room: Path, *argv: str) -> dict[Role, Loaded]:
    return rehearse(trees(room), suite_of(*argv))


@pytest.mark.parametrize("where", ["head", "base"])
def test_editable_install_of_one_side_is_refused(room: Path, where: Role) -> None:
    install(room, str(room / where / "src"))
    other = "base" if where == "head" else "head"
    suite = suite_of("{python}", "bench.py")
    for _ in range(2):  # compiled, and from its cache
        with pytest.raises(UserError) as refusal:
            rehearsed(trees(room), suite, False, lambda text: None)
    told = (
        f"{other} loads src/foo/__init__.py, src/foo/core.py of {where}'s tree {room / where}, "
        "not of its own; give"
    )
    assert told in str(refusal.value)
    made, record = rehearsed(trees(room), suite, True, lambda text: None)
    assert any("not of its own" in note for note in made["base"].notes)
    assert record[other]["files"] == {
        "own": ["bench.py"],
        "other": ["src/foo/__init__.py", "src/foo/core.py"],
    }
    assert record[where]["counts"]["own"] == 3


def test_package_that_is_installed_or_lies_in_a_third_place_is_refused(room: Path) -> None:
    shutil.copytree(room / "base" / "src" / "foo", room / "third" / "foo")
    (packages,) = (room / "env").glob("lib/python*/site-packages")
    for place in (room / "third", packages):
        if place == packages:
            shutil.copytree(room / "third" / "foo", packages / "foo")
            install(room, "")
        else:
            install(room, str(place))
        found = loads(room, "{python}", "bench.py")
        for side in found.values():
            assert side.installed == {
                str(place / "foo" / name) for name in ("__init__.py", "core.py")
            }
            assert side.own == {"bench.py"}
        with pytest.raises(
            UserError,
            match=r"base loads .*core\.py, not what its tree .*; head loads .*core\.py, not what",
        ):
            rehearsed(trees(room), suite_of("{python}", "bench.py"), False, lambda text: None)


def test_trees_of_their_own_are_fine_and_are_on_record(room: Path) -> None:
    code = "import sys; sys.path.insert(0, 'src'); import foo.core, json"
    made, record = rehearsed(
        trees(room), suite_of("{python}", "-c", code), False, lambda text: None
    )
    assert made["base"].notes == ()
    for side in record.values():
        assert side["files"] == {"own": ["src/foo/__init__.py", "src/foo/core.py"], "other": []}
        assert side["counts"]["elsewhere"] > 3  # json and its like


def test_children_of_a_program_are_seen_and_its_environment_is_left_as_it_is(room: Path) -> None:
    install(room, str(room / "head" / "src"))
    code = (
        "import os, subprocess, sys; assert not any('probe' in path for path in sys.path)\n"
        "subprocess.run([sys.executable, '-c', 'import os, foo.core; os._exit(0)'], check=True)"
    )
    assert loads(room, "{python}", "-c", code)["base"].foreign == {
        "src/foo/__init__.py",
        "src/foo/core.py",
    }


def test_sitecustomize_of_the_environment_is_executed_all_the_same(room: Path) -> None:
    (packages,) = (room / "env").glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text("import sys; sys.mine = 3\n", encoding="utf-8")
    install(room, str(room / "head" / "src"))
    code = "import sys; assert sys.mine == 3; import foo"
    assert loads(room, "{python}", "-c", code)["base"].foreign == {"src/foo/__init__.py"}


def test_script_that_is_named_by_its_whole_path_is_meant_to_be_shared(room: Path) -> None:
    (room / "head" / "bench.py").write_text(
        "import beside, sys; sys.path[0] = 'src'; import foo.core", encoding="utf-8"
    )
    for side in ("base", "head"):
        (room / side / "beside.py").touch()
    (room / "head" / "tools").mkdir()
    for name in ("bench.py", "beside.py"):
        (room / "head" / name).rename(room / "head" / "tools" / name)
    found = loads(room, "{python}", str(room / "head" / "tools" / "bench.py"))
    assert found["base"].own == {"src/foo/__init__.py", "src/foo/core.py"}
    assert not found["base"].other


def test_file_of_the_other_tree_that_the_own_one_lacks_is_a_note(room: Path) -> None:
    (room / "head" / "src" / "extra.py").touch()
    install(room, str(room / "head" / "src"))
    code = "import extra, sys; sys.path.insert(0, 'src'); import foo"
    made, _ = rehearsed(trees(room), suite_of("{python}", "-c", code), False, lambda text: None)
    assert made["base"].notes == ("base also loads src/extra.py of head's tree",)


def test_nothing_of_either_tree_is_a_note_where_python_tells(room: Path) -> None:
    made, _ = rehearsed(
        trees(room), suite_of("{python}", "-c", "import json"), False, lambda text: None
    )
    assert made["base"].notes == (
        "neither side loads a file of its tree, as far as can be seen: base and head may be the "
        "same code",
    )
    made, _ = rehearsed(trees(room), suite_of("sh", "-c", "true"), False, lambda text: None)
    assert made["base"].notes == ()


def test_one_directory_on_both_sides_is_told_elsewhere(room: Path) -> None:
    install(room, str(room / "head" / "src"))
    both = dict.fromkeys(("base", "head"), trees(room)["head"])
    made, _ = rehearsed(both, suite_of("{python}", "bench.py"), False, lambda text: None)
    assert made["base"].notes == ()


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_library_that_both_programs_link_from_one_tree_is_refused(room: Path) -> None:
    (room / "f.c").write_text("int f(void) { return 0; }\n", encoding="utf-8")
    (room / "main.c").write_text("int f(void); int main(void) { return f(); }\n", encoding="utf-8")
    for side in ("base", "head"):
        tree, head = room / side, room / "head"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", str(tree / "libf.so"), str(room / "f.c")], check=True
        )
        link = ["-L", str(tree), "-lf", f"-Wl,-rpath,{head}"]
        subprocess.run(["cc", "-o", str(tree / "main"), str(room / "main.c"), *link], check=True)
    found = loads(room, "./main")
    assert found["base"].foreign == {"libf.so"}
    assert (found["base"].own, found["head"].own) == ({"main"}, {"main", "libf.so"})


@pytest.mark.heavy
def test_call_whose_base_would_be_heads_code_ends_before_anything_is_measured(room: Path) -> None:
    """The usual way: the repository's own environment, in which the working tree is installed."""
    head = room / "head"
    install(room, str(head / "src"))
    commit = ["commit", "--allow-empty", "-qm"]
    for words in (["init", "-q"], ["add", "--all"], [*commit, "one"], [*commit, "two"]):
        git(head, *words)
    suite = {
        "python": str(room / "env/bin/python"),
        "programs": [{"name": "one", "command": "{python} bench.py"}],
    }
    (room / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "harness",
            "gate",
            "--base",
            "main~1",
            "--suite",
            str(room / "suite.yaml"),
            "--json",
            "v.json",
        ],
        cwd=head,
        env={
            **os.environ,
            "TMPDIR": str(room),
            "MILLRACE_LOCK": str(room / "millrace.lock"),
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    told = done.stderr.splitlines()[-1]
    assert f"base loads {head}/src/foo/__init__.py, {head}/src/foo/core.py, not what" in told
    assert not (head / "v.json").exists()
