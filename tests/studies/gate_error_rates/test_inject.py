"""The code that injects work: that it fits the runtime, counts what it does, and leaves the user's
checkout alone.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.errors import RunFailed, UserError
from studies.gate_error_rates import inject
from tests import compiler

ROOT = Path(__file__).resolve().parents[3]
NATIVE = ROOT / "harness" / "native"

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include "flop.hpp"

static long naps = 0;
extern "C" int nanosleep(const timespec*, timespec*) { ++naps; return 0; }

// Prints how often the batch's factor of 2.0 was multiplied, the atomics, the naps, and whether the tuples are as they were.
int main() {
  alignas(64) static char memory[10 * 128];
  auto* first = reinterpret_cast<millrace::Tuple*>(memory);
  double multiplies = 0;
  for (int batch = 0; batch < 100; ++batch) {
    for (size_t i = 0; i < 10; ++i) millrace::slot(first, 128, i)->value = 1.5;
    double chain = millrace::Injected::before_work(first, 128, 10, 2.0);
    while (chain > 2.0) chain /= 2.0, ++multiplies;
    millrace::multiply_batch(first, 128, 10, millrace::opaque_one(), batch % 2 ? 1 : 100);
    for (size_t i = 0; i < 10; ++i) if (millrace::slot(first, 128, i)->value != 1.5) return 1;
  }
  std::printf("%.0f %llu %ld\n", multiplies, static_cast<unsigned long long>(millrace::Injected::atomics_done()), naps);
}
"""


WORK = """
#include "flop.hpp"
void work(millrace::Tuple* first, size_t stride, uint32_t count, double factor, uint32_t cost) {
  millrace::multiply_batch(first, stride, count, factor, cost);
}
"""


def git(repository: Path, *words: str) -> str:
    settings = {
        f"GIT_{who}_{what}": f"t@{what}"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(repository), *words],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | settings,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the header that is patched, as it is here."""
    target = tmp_path / "project" / "harness" / "native"
    target.mkdir(parents=True)
    shutil.copy(NATIVE / "flop.hpp", target)
    git(tmp_path, "init", "--quiet", "project")
    git(tmp_path / "project", "add", ".")
    git(tmp_path / "project", "commit", "--quiet", "-m", "one")
    return tmp_path / "project"


def patched(directory: Path) -> Path:
    """The native headers with the patch applied."""
    shutil.copytree(NATIVE, directory / "harness" / "native")
    subprocess.run(
        ["git", "apply", "--unsafe-paths", f"--directory={directory}", str(inject.PATCH)],
        check=True,
        cwd="/",
    )
    shutil.copy(inject.HEADER, directory / inject.HEADER_IN_TREE)
    return directory / "harness" / "native"


def test_the_patch_still_fits_the_runtime() -> None:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "apply", "--check", str(inject.PATCH)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_patch_changes_the_lines_through_which_all_work_goes() -> None:
    body = (
        (NATIVE / "flop.hpp").read_text(encoding="utf-8").split("inline void multiply_batch(", 1)[1]
    )
    assert "double before = factor;" in body
    assert (
        sum(
            line.startswith("+") and "Injected::before_work" in line
            for line in inject.PATCH.read_text().splitlines()
        )
        == 1
    )


def test_the_runtime_itself_has_none_of_it() -> None:
    assert not (ROOT / inject.HEADER_IN_TREE).exists()
    assert not any(
        "injected" in path.read_text(encoding="utf-8").lower() for path in NATIVE.glob("*.hpp")
    )


@pytest.mark.heavy
def test_what_is_injected_is_exactly_what_the_amounts_say(tmp_path: Path) -> None:
    """In 1,000 tuples of each of two calls a batch; amounts are per billion."""
    source, program = tmp_path / "count.cpp", tmp_path / "count"
    source.write_text(PROGRAM, encoding="utf-8")
    include = patched(tmp_path / "tree")
    subprocess.run(
        [
            *compiler.of_cxx(),
            "-std=c++20",
            "-O2",
            "-pthread",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{include}",
            str(source),
            "-o",
            str(program),
        ],
        check=True,
    )

    def counted(**amounts: int) -> list[int]:
        settings = inject.environment() | {
            inject.VARIABLES[kind]: str(amount) for kind, amount in amounts.items()
        }
        done = subprocess.run(
            [str(program)], capture_output=True, text=True, check=True, env=os.environ | settings
        )
        return [int(word) for word in done.stdout.split()]

    assert counted() == [0, 0, 0]
    assert counted(copy=3_000_000_000) == [0, 0, 0]  # tuples as they were, which the program checks
    assert counted(atomic=1_250_000_000) == [0, 2500, 0]
    assert counted(sleep=500_000) == [0, 0, 1]
    assert counted(atomic=1_000_000, sleep=10_000_000) == [0, 2, 20]
    flop = counted(flop=2_500_000_000)
    assert flop == [2500, 0, 0]  # those of the direct calls; the chain of the other ones is 1.0


@pytest.mark.heavy
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads the assembly of x86-64")
def test_base_multiplies_by_the_same_instructions_as_the_program_that_is_not_patched(
    tmp_path: Path,
) -> None:
    """Work that is inlined beside the multiplies can drive their operands out of the registers."""

    def multiplies(include: Path) -> list[str]:
        command = [
            *compiler.of_cxx(),
            "-std=c++20",
            "-O3",
            "-S",
            "-xc++",
            "-",
            "-o",
            "-",
            f"-I{include}",
        ]
        text = subprocess.run(
            command, input=WORK, capture_output=True, text=True, check=True
        ).stdout
        body = text.split("_Z4work", 2)[2].split(".cfi_endproc")[0]
        found = [line.split() for line in body.splitlines() if "mulsd" in line]
        return sorted(re.sub(r"%xmm\d+", "xmm", " ".join(words)) for words in found)

    def in_registers(lines: list[str]) -> int:
        return sum(line == "mulsd xmm, xmm" for line in lines)

    plain, base = multiplies(NATIVE), multiplies(patched(tmp_path / "tree"))
    assert in_registers(plain) == in_registers(base) > 0
    assert len(plain) == len(base)


def test_the_commit_holds_the_patched_header_and_nothing_of_the_checkout_changes(
    repository: Path,
) -> None:
    (repository / "untracked").write_text("mine")
    (repository / "harness/native/flop.hpp").write_text("changed, not committed")
    before = (
        git(repository, "status", "--porcelain"),
        git(repository, "for-each-ref"),
        git(repository, "rev-parse", "HEAD"),
    )
    commit = inject.injected_commit(repository)
    assert (
        git(repository, "status", "--porcelain"),
        git(repository, "for-each-ref"),
        git(repository, "rev-parse", "HEAD"),
    ) == before
    assert "Injected::before_work" in git(repository, "show", f"{commit}:harness/native/flop.hpp")
    assert (
        git(repository, "show", f"{commit}:{inject.HEADER_IN_TREE}")
        == inject.HEADER.read_text(encoding="utf-8").strip()
    )
    assert git(repository, "rev-parse", f"{commit}^") == before[2]
    assert inject.is_dirty(repository)


def test_the_same_sources_make_the_same_commit(repository: Path) -> None:
    assert inject.injected_commit(repository) == inject.injected_commit(repository)


def test_sources_that_the_patch_does_not_fit_are_told(repository: Path) -> None:
    (repository / "harness/native/flop.hpp").write_text("// another runtime\n")
    git(repository, "commit", "--quiet", "-am", "two")
    with pytest.raises(
        RunFailed, match=r"injected\.patch does not fit the sources of [0-9a-f]{12}"
    ) as told:
        inject.injected_commit(repository)
    assert "\n" not in str(told.value)


def test_a_directory_without_a_commit_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has none") as told:
        inject.injected_commit(tmp_path)
    assert "\n" not in str(told.value)


def test_every_amount_but_the_arms_is_zero() -> None:
    assert inject.environment("copy", 7) == {
        "MILLRACE_EXTRA_FLOP": "0",
        "MILLRACE_EXTRA_COPY": "7",
        "MILLRACE_EXTRA_ATOMIC": "0",
        "MILLRACE_EXTRA_SLEEP": "0",
    }
    assert set(inject.environment().values()) == {"0"}
