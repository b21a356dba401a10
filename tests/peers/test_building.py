"""`make peers`: what is missing is one line and no error, what does not build is one, and what was
built is not built again.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import harness.peers.peer as peer
from harness.errors import RunFailed, UserError
from harness.files import lock
from harness.peers import all_peers, build, find_peer
from harness.peers.peer import Peer, Tool
from tests import compiler
from tests.peers.built import REQUIRED, built_peer


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A peer that is built by copying a file."""
    monkeypatch.setattr(peer, "BUILD_FOLDER", tmp_path / "built")
    folder = tmp_path / "copied"
    folder.mkdir()
    (folder / "lock").write_text("thing 1.2.3\n")
    step = (
        sys.executable,
        "-c",
        "import shutil, sys; shutil.copy(*sys.argv[1:])",
        "{here}/lock",
        "{out}/made",
    )
    return Peer("copied", "", folder, ("{out}/made",), ("lock", r"thing ([\d.]+)"), build=(step,))


def test_a_peer_is_built_once_and_again_when_its_files_have_changed(made, capsys):
    assert made.built_version is None
    with pytest.raises(UserError, match="peer copied is not built; `make peers` builds it"):
        _ = made.label
    assert build.build([made]) == 0
    assert capsys.readouterr().out == "copied: 1.2.3\n"
    assert made.label == "copied 1.2.3"
    (made.out / "made").unlink()
    assert build.build([made]) == 0
    assert not (made.out / "made").exists(), "it was built already"
    (made.folder / "lock").write_text("thing 1.2.4\n")
    later = replace(made)
    assert later.built_version is None
    assert build.build([later]) == 0
    assert later.label == "copied 1.2.4" and (made.out / "made").exists()


def test_a_missing_tool_is_one_line_and_no_error(made, capsys):
    lacking = replace(made, tools=(Tool("no-such-tool", "no-such-package"),))
    assert build.build([lacking]) == 0
    assert (
        capsys.readouterr().out == "copied: no-such-tool: not found; apt install no-such-package\n"
    )
    with pytest.raises(
        UserError, match="peer copied needs no-such-tool: apt install no-such-package"
    ):
        _ = lacking.label


def test_a_build_that_fails_is_told_in_one_line_and_the_others_go_on(made, capsys):
    said = "import sys; print('some lines'); print('at last', file=sys.stderr); sys.exit(4)"
    failing = replace(
        made, name="failing", folder=made.folder.parent, build=((sys.executable, "-c", said),)
    )
    assert build.build([failing, made]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].startswith("failing: could not be built: python")
        and "exit code 4: some lines / at last" in lines[0]
    )
    assert lines[1] == "copied: 1.2.3"
    assert failing.built_version is None


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (
            "[INFO] Scanning\n[ERROR] Some problems were encountered:\n[\x1b[1;31mERROR\x1b[m] Failed to "
            "collect dependencies: Connection refused -> [Help 1]\n[ERROR] \n[ERROR] To see the full "
            "stack trace of the errors, re-run Maven with the -e switch.\n",
            "[ERROR] Failed to collect dependencies: Connection refused",
        ),
        (
            "\x1b[1m\x1b[92m   Compiling\x1b[0m peer\n\x1b[1m\x1b[91merror[E0425]\x1b[0m: cannot find value "
            "`x`\n --> src/main.rs:3:5\nFor more information about this error, try `rustc`.\n",
            "error[E0425]: cannot find value `x`",
        ),
        (
            "error: failed to get `tokio`\n\nCaused by:\n  download failed\n\nCaused by:\n  [7] Could not "
            "connect to server\n",
            "error: failed to get `tokio`: [7] Could not connect to server",
        ),
        (
            "# peer\n./main.go:7:2: undefined: x\n./main.go:8:2: undefined: y\n"
            "./main.go:9:2: undefined: z\n./main.go:9:3: too many errors\n",
            "./main.go:7:2: undefined: x",
        ),
        (
            "go: errors parsing go.mod:\n/peer/go.mod:3: invalid go version '1.x': must match format "
            "1.23\n",
            "go: errors parsing go.mod: / /peer/go.mod:3: invalid go version '1.x': must match format "
            "1.23",
        ),
    ],
)
def test_a_failed_build_is_told_by_its_first_error(made, capsys, said, first):
    code = f"import sys; print({said!r}); sys.exit(1)"
    assert build.build([replace(made, build=((sys.executable, "-c", code),))]) == 1
    assert capsys.readouterr().out.rstrip().endswith(f" ended with exit code 1: {first}")


def test_nothing_of_an_earlier_build_is_left_but_what_its_tool_keeps_up_to_date(made):
    """A virtual machine would load an old jar beside a new one."""
    make = (
        "import sys, pathlib; pathlib.Path(sys.argv[1]).mkdir(); pathlib.Path(sys.argv[2]).touch()"
    )
    made = replace(
        made,
        build=((sys.executable, "-c", make, "{out}/lib", "{out}/lib/thing-1.2.3.jar"),),
        kept=("target",),
    )
    assert build.build([made]) == 0
    for folder in ("classes", "target"):
        (made.out / folder).mkdir()
    (made.out / "old").symlink_to(made.out / "target")
    (made.folder / "lock").write_text("thing 1.2.4\n")
    words = (*made.build[0][:-1], "{out}/lib/thing-1.2.4.jar")
    assert build.build([replace(made, build=(words,))]) == 0
    assert sorted(path.name for path in made.out.iterdir()) == ["built.json", "lib", "target"]
    assert [path.name for path in (made.out / "lib").iterdir()] == ["thing-1.2.4.jar"]


def test_cargo_keeps_what_it_has_compiled_and_needs_a_linker():
    for name in ("crossbeam", "tokio"):
        assert f"{{out}}/{find_peer(name).kept[0]}" in find_peer(name).build[0]
        assert "cc" in [tool.command for tool in find_peer(name).tools]


@pytest.mark.parametrize("named", [(), ("/a/file",)])
def test_a_disk_that_is_full_is_told_in_one_line_and_the_others_go_on(
    made, named, capsys, monkeypatch
):
    full = replace(made, name="full", folder=made.folder.parent)
    mkdir = Path.mkdir

    def refuse(path, *words, **options):
        if path == full.out:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *named)
        mkdir(path, *words, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert build.build([full, made]) == 1
    assert capsys.readouterr().out == (
        f"full: could not be built: {''.join(f'{path}: ' for path in named)}No space left on "
        "device\ncopied: 1.2.3\n"
    )


def test_a_tool_that_does_not_work_is_a_peer_that_cannot_run(made, capsys):
    said = "import sys; print('Error: could not find libjava.so'); sys.exit(1)"
    made = replace(made, version=((sys.executable, "-c", said), "(.*)"))
    assert build.build([made]) == 1
    assert capsys.readouterr().out.endswith(" exit code 1: Error: could not find libjava.so\n")
    made = replace(made, build=())
    with pytest.raises(UserError, match=r"^peer copied cannot run: python.* not find libjava.so$"):
        _ = made.label


def test_a_tool_that_hangs_is_a_peer_that_cannot_run(made, monkeypatch):
    monkeypatch.setattr(peer, "LONGEST_VERSION_S", 0.2)
    with pytest.raises(UserError, match=r"peer copied cannot run: sleep: not done after 0\.2 s"):
        _ = replace(made, build=(), version=(("sleep", "100"), "(.*)")).label


def reading(file) -> tuple[str, ...]:
    """Command that prints a file, as a tool prints its version."""
    return (sys.executable, "-c", f"print('v' + open({str(file)!r}).read())")


def test_the_versions_of_tools_are_those_of_the_build_or_of_the_run(made, tmp_path):
    compiler, machine = tmp_path / "compiler", tmp_path / "machine"
    tools = (
        Tool(sys.executable, "", version=(reading(compiler), r"v(\d+)")),
        Tool(sys.executable, "", runs=True, version=(reading(machine), r"v(\d+)")),
        Tool(sys.executable, ""),
    )
    made = replace(made, tools=tools)
    name = Path(sys.executable).name
    compiler.write_text("1")
    machine.write_text("17")
    build.build([made])
    assert made.tool_versions == {name: "17"}
    assert replace(made, tools=tools[:1]).tool_versions == {name: "1"}
    compiler.write_text("2")
    machine.write_text("21")
    peer.answer_of.cache_clear()  # each process asks once
    assert replace(made, tools=tools[:1]).tool_versions == {name: "1"}
    assert replace(made, tools=tools[1:]).tool_versions == {name: "21"}
    compiler.write_text("")
    machine.write_text("")
    peer.answer_of.cache_clear()
    with pytest.raises(UserError, match=r"peer copied cannot run: python.*: no version in 'v"):
        _ = made.label
    (made.out / peer.STAMP_FILE).unlink()
    built = replace(made, tools=tools[:1])
    assert (build.build([built]), built.tool_versions) == (0, {}), "its version is no condition"


def test_a_build_of_before_has_no_versions_of_tools(made):
    build.build([made])
    stamp = json.loads((made.out / peer.STAMP_FILE).read_text())
    del stamp["tools"]
    (made.out / peer.STAMP_FILE).write_text(json.dumps(stamp))
    assert made.label == "copied 1.2.3" and made.tool_versions == {}


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("storm", {"java"}),
        ("java", {"java"}),
        ("tokio", {"rustc"}),
        ("tbb", {"g++"}),
        ("go", set()),
    ],
)
def test_a_record_names_the_virtual_machine_or_the_compiler(name, tools):
    """That of Go is the version of the peer."""
    asked = [tool.version for tool in find_peer(name).tools if tool.version is not None]
    assert {words[0] for words, _ in asked} == tools


def test_a_tool_of_several_peers_that_does_not_work_is_asked_once(made, tmp_path):
    code = "import sys; print('x', file=open(sys.argv[1], 'a')); sys.exit('Error: broken')"
    tool = Tool("", "", runs=True, version=((sys.executable, "-c", code, f"{tmp_path}/asked"), ""))
    for _ in range(2):
        with pytest.raises(RunFailed, match="Error: broken"):
            _ = replace(made, tools=(tool,)).tool_versions
    assert (tmp_path / "asked").read_text() == "x\n"


@pytest.mark.parametrize("text", ["[]", "{}", '{"version": "1.2.3"}', "", '"1.2.3"'])
def test_a_stamp_that_is_damaged_is_no_build(made, text):
    build.build([made])
    (made.out / peer.STAMP_FILE).write_text(text)
    assert made.built_version is None


def test_a_failed_build_is_told_by_its_program_and_not_by_env(made, capsys):
    failing = ("env", "A=1", sys.executable, "-c", "print('error: no'); raise SystemExit(2)")
    assert build.build([replace(made, build=(failing,))]) == 1
    name = Path(sys.executable).name
    assert capsys.readouterr().out == (
        f"copied: could not be built: {name} ended with exit code 2: error: no\n"
    )


INTERRUPTED = """
import sys
from dataclasses import replace
from harness.peers import build, find_peer
import harness.peers.peer as peer
from pathlib import Path
peer.BUILD_FOLDER = Path(sys.argv[1])
child = "import subprocess, sys; print(1, file=open(sys.argv[1], 'w')); subprocess.run(['sleep', '61.25'])"
slow = replace(find_peer("go"), tools=(), build=((sys.executable, "-c", child, sys.argv[1] + "/begun"),))
build.all_peers = lambda: {"go": slow}
sys.exit(build.main([]))
"""


@pytest.mark.heavy
@pytest.mark.usefixtures("signals_heeded")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_build_prints_no_traceback_and_leaves_nothing_running(
    tmp_path, number, code
):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 100
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, error = process.communicate(timeout=100)
    assert started and (process.returncode, error) == (code, "millrace: interrupted\n")
    _, alive = psutil.wait_procs(started, 100)
    assert not alive


INTERRUPTED_EARLY = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
runpy.run_module("harness.peers.build", run_name="__main__")
"""


@pytest.mark.usefixtures("signals_heeded")
@pytest.mark.parametrize("module", ["harness.peers.peer", "harness.graph", "harness.cli.ending"])
def test_an_interrupt_while_modules_are_loaded_prints_no_traceback(module):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_EARLY.format(module=module), "nope"],
        cwd=peer.CODE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "millrace: interrupted\n")


def test_a_second_build_waits_for_the_first_and_says_so(made, capsys):
    made.out.parent.mkdir()
    holder = lock.open_lock(made.out.parent / build.LOCK)
    lock.take_lock(holder)
    lock.sign(holder)
    said = capsys.readouterr
    thread = threading.Thread(target=build.build, args=([made],))
    thread.start()
    waited, deadline = "", time.monotonic() + 60
    while not waited and time.monotonic() < deadline:
        time.sleep(0.01)
        waited = said().err
    assert waited == (
        f"millrace: waiting until process {os.getpid()} has built peers "
        f"(lock {made.out.parent / build.LOCK})\n"
    )
    assert not made.out.exists()
    os.close(holder)
    thread.join(60)
    assert made.label == "copied 1.2.3"


def test_what_is_built_runs_without_a_compiler(made):
    compiler = Tool(sys.executable, "")
    made = replace(made, tools=(compiler,))
    build.build([made])
    gone = replace(made, tools=(Tool("no-such-compiler", ""),))
    assert gone.label == "copied 1.2.3"
    with pytest.raises(UserError, match="needs no-such-java"):
        _ = replace(made, tools=(Tool("no-such-java", "", runs=True),)).label


def test_a_version_is_that_of_what_runs_and_not_of_what_was_there_at_the_build(made, tmp_path):
    version = tmp_path / "version"
    version.write_text("17")
    made = replace(
        made, version=((sys.executable, "-c", f"print(open({str(version)!r}).read())"), r"(\d+)")
    )
    build.build([made])
    version.write_text("21")
    assert made.label == "copied 21"


def test_every_peer_pins_what_it_uses_and_needs_tools_that_are_named():
    assert {"asyncio", "go"} <= set(all_peers())
    for each in all_peers().values():
        assert each.title and each.command and all(tool.package for tool in each.tools)
    with pytest.raises(UserError, match=r"peer 'goo' is unknown \(did you mean 'go'\?\)"):
        find_peer("goo")


@pytest.mark.parametrize("name", all_peers())
def test_a_peer_is_found_in_the_folder_that_its_name_begins_with(name):
    assert find_peer(name) is all_peers()[name]
    assert name.partition("-")[0] == find_peer(name).folder.name


@pytest.mark.parametrize("name", all_peers())
def test_the_page_says_what_a_peer_batches(name):
    page = (peer.CODE / "docs" / "how-to" / "peers.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` | "))
    assert row.split(" | ")[2] == find_peer(name).batching


@pytest.mark.heavy
def test_what_the_tbb_program_takes_from_our_runtime_is_still_there():
    """It is built by `make peers` only, but a change of these headers is to be seen by who makes
    it.
    """
    folder = find_peer("tbb").folder
    words = [
        "-std=c++20",
        "-fsyntax-only",
        f"-I{peer.SHARED_SOURCES['native']}",
        "-x",
        "c++",
        str(folder / "answers.hpp"),
    ]
    done = subprocess.run([*compiler.of_cxx(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_folder_that_cannot_be_written_is_told_in_one_line(made, capsys, monkeypatch):
    made.out.parent.write_text("a file")
    monkeypatch.setattr(build, "find_peer", lambda name: made)
    assert build.main(["copied"]) == 1
    assert capsys.readouterr().err == (
        f"millrace: cannot open the lock file {made.out.parent / build.LOCK}: File exists\n"
    )


@pytest.mark.parametrize(
    ("name", "asked", "maven", "ending"),
    [
        ("storm", "required", True, pytest.fail.Exception),
        ("storm", "required", False, pytest.skip.Exception),
        ("storm", "", True, pytest.skip.Exception),
        ("go", "required", True, pytest.skip.Exception),
    ],
)
def test_a_cluster_that_is_not_built_fails_its_tests_where_they_are_required(
    name, asked, maven, ending, tmp_path, monkeypatch
):
    monkeypatch.setattr(peer, "BUILD_FOLDER", tmp_path / "built")
    monkeypatch.setenv(REQUIRED, asked)
    monkeypatch.setenv("PATH", str(tmp_path))
    if maven:
        (tmp_path / "mvn").touch(0o755)
    with pytest.raises(ending, match=f"peer {name} is not built here"):
        built_peer(name)


def test_an_unknown_name_is_told_in_one_line(capsys):
    assert build.main(["nope"]) == 2
    assert capsys.readouterr().err.startswith("millrace: peer 'nope' is unknown")
