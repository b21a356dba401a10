"""A bundle on a machine without a network: unpacked, measured, interrupted, and read again here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
from pathlib import Path

import pytest

from harness.bundle import wheels
from harness.cli import main
from tests.bundle.made_wheels import checkout_wheel, made_wheel

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

ALONE = ["unshare", "--map-root-user", "--net"]


def without_network() -> list[str]:
    """Return the words that start a command without a network; skip where the system refuses."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare(1)")
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets no user make a network namespace")
    return ALONE


def linked_packages(folder: Path) -> None:
    """Put wheels into a folder that stand for the downloaded ones: pip's, which Python has inside,
    and one that adds this environment's packages.
    """
    import ensurepip

    (pip,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    shutil.copy2(pip, folder)
    made_wheel(folder, "linked", {"linked.pth": f"{sysconfig.get_path('purelib')}\n".encode()})


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def bare() -> dict[str, str]:
    """Return the variables of a machine where nothing of this environment is set."""
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [*without_network(), sys.executable, "measure.py", *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=bare(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_a_bundle_measures_without_a_network_and_goes_on_where_it_was_killed(
    own, tmp_path_factory, monkeypatch
):
    without_network()

    def download(python, wheel, more, folder):
        folder.mkdir()
        shutil.copy2(wheel, folder)
        linked_packages(folder)

    monkeypatch.setattr(wheels, "download", download)
    wheel = checkout_wheel(tmp_path_factory.mktemp("wheel"))
    assert main(["bundle", "own.yaml", "-o", "big.tar.gz", "--wheel", str(wheel)]) == 0
    there = unpacked(own / "big.tar.gz", tmp_path_factory.mktemp("there"))

    first = start(there, "--name", "bigbox")
    folder = there / "work/results/raw/own/bigbox"
    try:
        while not any(folder.glob("*.jsonl*")):
            assert first.poll() is None, first.communicate()[0]
            time.sleep(0.05)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()

    second = start(there)
    said, _ = second.communicate(timeout=300)
    assert second.returncode == 0, said
    brought = there / "bigbox.tar.gz"
    assert f"bring back {brought}" in said
    assert "installs" not in said
    with tarfile.open(brought) as files:
        assert len(files.getnames()) == 2
        assert all(name.startswith("results/raw/own/bigbox/") for name in files.getnames())
    assert main(["plot", "own.yaml", "--records", str(brought), "-o", "own.png"]) == 0
    assert (own / "own.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_bundle_has_all_that_it_needs(own, tmp_path_factory):
    """Needs a network here, and none there."""
    words = ["bundle", "own.yaml", "-o", "big.tar.gz", "--level", "native"]
    assert main(words) == 0
    there = unpacked(own / "big.tar.gz", tmp_path_factory.mktemp("there"))
    process = start(there, "--name", "bigbox")
    said, _ = process.communicate(timeout=500)
    assert process.returncode == 0, said
    assert (there / "bigbox.tar.gz").is_file()
