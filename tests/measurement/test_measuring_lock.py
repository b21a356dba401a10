"""One measuring process at a time, and a dead one holds nobody up."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from harness.errors import RunFailed
from harness.measurement import lock
from harness.measurement.lock import lock_path, measuring_lock

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from harness.measurement.lock import measuring_lock
with measuring_lock(path=Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def shared(monkeypatch):
    """A folder such as /run/lock, in place of that."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o1777)
        monkeypatch.delenv("MILLRACE_LOCK", raising=False)
        monkeypatch.setattr(lock, "SHARED_FOLDERS", (folder / "missing", folder))
        if os.getuid() != 0:
            real = Path.lstat
            monkeypatch.setattr(Path, "lstat", lambda path: AsOfRoot(real(path)))
        yield folder


class AsOfRoot:
    """Result of `lstat`, except that root owns it."""

    def __init__(self, told):
        self._told = told

    def __getattr__(self, name):
        return 0 if name == "st_uid" else getattr(self._told, name)


@pytest.fixture
def holder(path):
    """Another process that holds the lock until its stdin is closed or it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    process.stdin.close()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "end", [subprocess.Popen.kill, lambda process: process.stdin.close()], ids=["killed", "done"]
)
def test_a_second_measurer_says_that_it_waits_and_goes_on_when_the_first_ends(holder, path, end):
    notices: list[str] = []

    def notice(text: str) -> None:
        assert holder.poll() is None
        notices.append(text)
        end(holder)

    with measuring_lock(notice, path):
        assert holder.wait(100) is not None
    assert len(notices) == 1
    assert f"process {holder.pid} (-c ?import sys, time" in notices[0]
    assert "Ctrl-C ends this command" in notices[0] and "MILLRACE_LOCK=FILE" in notices[0]


def test_the_clock_of_budgets_stands_still_while_a_process_waits(path, monkeypatch):
    now_s = 100.0
    monkeypatch.setattr(lock.time, "monotonic", lambda: now_s)
    before_s = lock.measuring_clock()

    def wait(handle, waiting):
        nonlocal now_s
        now_s += 60.0
        assert lock.measuring_clock() == before_s

    monkeypatch.setattr(lock, "take_lock", wait)
    with measuring_lock(pytest.fail, path):
        now_s += 5.0
    assert lock.measuring_clock() == before_s + 5.0


@pytest.mark.parametrize("number", ["unknown", "999999999", "-1", "1/../self"])
def test_a_holder_that_cannot_be_looked_up_has_no_command(number):
    assert lock._command_of(number) == ""


def test_a_holder_that_runs_the_package_is_called_millrace(monkeypatch):
    words = "python", "-m", "harness", "compare", "mix", ""
    monkeypatch.setattr(lock.Path, "read_text", lambda *_: "\0".join(words))
    assert lock._command_of("1") == "millrace compare mix"


def test_a_free_lock_is_taken_without_a_word(path):
    for _ in range(2):
        with measuring_lock(pytest.fail, path):
            assert path.read_text() == f"{os.getpid()}\n"


def test_the_lock_is_released_when_measuring_fails(path):
    with pytest.raises(ValueError), measuring_lock(pytest.fail, path):
        raise ValueError
    with measuring_lock(pytest.fail, path):
        pass


def test_all_users_have_one_lock_where_there_is_a_folder_for_all_of_them(
    shared, monkeypatch, tmp_path
):
    assert lock_path() == shared / "millrace.lock"
    shared.chmod(0o777)  # anybody could remove it
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert lock_path() == tmp_path / f"millrace-{os.getuid()}.lock"
    monkeypatch.setenv("MILLRACE_LOCK", "/elsewhere/lock")
    assert lock_path() == Path("/elsewhere/lock")


def test_whoever_makes_the_file_all_can_open_it(shared):
    usual = os.umask(0o077)
    try:
        with measuring_lock(pytest.fail):
            assert lock_path().stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(usual)


@pytest.mark.heavy
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_waits_too(shared):
    script = textwrap.dedent(inspect.getsource(take_lock_as_nobody))
    words = [sys.executable, "-c", f"{script}\ntake_lock_as_nobody({str(ROOT)!r}, {str(shared)!r})"]
    with measuring_lock(pytest.fail):
        other = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd="/")
        assert other.stdout.readline().startswith(f"waiting until process {os.getpid()} ")
        # as happens to temporary files: the other one sees it, and makes another
        lock_path().unlink()
    assert other.communicate(timeout=100)[0] == "held 65534\n"


def take_lock_as_nobody(root: str, shared: str) -> None:
    import os
    import sys
    from pathlib import Path

    sys.path.insert(0, root)
    from harness.measurement import lock

    os.setgid(65534)
    os.setuid(65534)
    lock.SHARED_FOLDERS = (Path(shared),)
    with lock.measuring_lock(lambda notice: print(notice, flush=True)):
        print("held", lock.lock_path().stat().st_uid, flush=True)


@pytest.mark.parametrize(
    "trap",
    [
        os.mkfifo,
        lambda path: os.link(__file__, path),
        lambda path: path.symlink_to(__file__),
        Path.mkdir,
    ],
)
def test_what_is_no_file_of_its_own_is_not_touched_and_the_users_own_is_taken(
    shared, trap, monkeypatch, tmp_path
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = Path(__file__).read_bytes()
    try:
        trap(lock_path())
    except OSError as error:
        pytest.skip(f"no link to that file there: {error}")
    notices: list[str] = []
    with measuring_lock(notices.append):
        assert (tmp_path / f"millrace-{os.getuid()}.lock").read_text() == f"{os.getpid()}\n"
    assert len(notices) == 1
    assert notices[0].startswith(f"cannot open the lock file {lock_path()}: ")
    assert notices[0].endswith("; so runs of other users are not waited for")
    assert Path(__file__).read_bytes() == before


def test_a_lock_that_cannot_be_opened_is_told_by_its_name(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(RunFailed, match=r"cannot open the lock file .*/link"),
        measuring_lock(path=tmp_path / "link"),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists(), "a link that somebody laid is not followed"
