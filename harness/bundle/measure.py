"""Measure on this machine, without a network: python3 measure.py

The first start installs Millrace and what it needs into the folder `environment` beside this file,
from the folder `wheels` alone. Then it measures. It can be interrupted: the next start goes on
behind the last finished run. At the end it says which file to bring back. Nothing is installed
outside this folder.
"""

# Old Pythons must understand this file, to say that they are too old: it has no newer syntax.

import argparse
import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"
WHEELS = HERE / "wheels"
ENVIRONMENT = HERE / "environment"
READY = ENVIRONMENT / "ready"  # written last: without it, the environment is made anew
NAME = WORK / "name"
CPUINFO = Path("/proc/cpuinfo")
MAPS = Path("/proc/self/maps")

NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONDONTWRITEBYTECODE")
"""Variables that would let modules of this machine into the environment, or compile each module
anew in each measuring process.
"""

MOST_OF_NAME = 40


def main(words):
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="measure.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Choose CPUs with taskset or numactl: taskset -c 0-31 python3 measure.py",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="name of this machine in records and figures (default: its CPU's name)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list what is measured, and how long it takes"
    )
    args = parser.parse_args(words)
    bundle = json.loads((HERE / "bundle.json").read_text(encoding="utf-8"))
    if Path(sys.prefix).resolve() == ENVIRONMENT:
        return measure(bundle, args.name, args.dry_run)
    problem = lacks(bundle["needs"])
    if problem is not None:
        if problem.startswith("Python"):
            other = shutil.which(command_of(bundle["needs"]["python"]))
            if other is not None:
                os.execv(other, [other, str(HERE / "measure.py"), *words])
        return failed(problem)
    if not READY.is_file():
        problem = install()
        if problem is not None:
            return failed(problem)
    python = str(ENVIRONMENT / "bin" / "python")
    return os.execve(python, [python, str(HERE / "measure.py"), *words], variables())


def failed(problem):
    """Report in one line; return the exit code."""
    print(f"measure.py: {problem}", file=sys.stderr)
    return 1


# -- before the environment ------------------------------------------------------------------------


def lacks(needs):
    """Return, in words, what this machine lacks of what the bundle needs; None if nothing."""
    tag = sys.implementation.cache_tag
    if tag != needs["python"]:
        return (
            f"Python must be {command_of(needs['python'])}, not {tag}: start this file with that "
            "version, or make the bundle with --python"
        )
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return f"the system must be Linux on x86-64, not {platform.system()} {platform.machine()}"
    flags = cpu_flags()
    lacking = [flag for flag in needs["cpu"]["flags"] if flag not in flags]
    if flags and lacking:
        return (
            f"the bundle is built for CPUs of level {needs['cpu']['level']}, and this one has no "
            f"{', '.join(lacking)}: make the bundle with a lower --level"
        )
    for library, here in (("glibc", glibc()), ("glibcxx", glibcxx())):
        if here is None or here < tuple(needs[library]):
            named = {"glibc": "glibc", "glibcxx": "the C++ library (GLIBCXX)"}[library]
            return (
                f"{named} must be of version {in_words(needs[library])} or newer, not "
                f"{in_words(here)}: make the bundle on a system as old as this one"
            )
    return None


def command_of(tag):
    """Return the command of a Python: python3.11 of cpython-311."""
    return re.sub(r"\D*(\d)(\d+)", r"python\1.\2", tag)


def in_words(version):
    """Return a version as text."""
    return "none" if version is None else ".".join(map(str, version))


def cpu_flags():
    """Return the flags of the first CPU; none where the system does not list them."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return next(
        (set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set()
    )


def glibc():
    """Return the version of this system's glibc; None if it has another C library."""
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    except (AttributeError, IndexError, OSError, ValueError):
        return None
    return tuple(map(int, version.split(".")[:2]))


def glibcxx():
    """Return the version of this system's C++ library; None if it has none."""
    try:
        ctypes.CDLL("libstdc++.so.6")
        (path,) = set(re.findall(r"(/\S*libstdc\+\+\S*)", MAPS.read_text(encoding="utf-8")))
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        return None
    found = re.findall(rb"GLIBCXX_(\d+(?:\.\d+)+)\0", data)
    return max((tuple(map(int, each.split(b"."))) for each in found), default=None)


def install():
    """Make the environment; return the problem in words, None if there is none."""
    print("measure.py: installs into", ENVIRONMENT, "...", file=sys.stderr)
    try:
        import venv

        shutil.rmtree(str(ENVIRONMENT), ignore_errors=True)
        venv.create(str(ENVIRONMENT), with_pip=False, symlinks=True)
    except ImportError as error:
        return f"Python's module {error.name} is missing: install it, or use another Python"
    except (OSError, subprocess.CalledProcessError) as error:
        return f"cannot make the environment in {ENVIRONMENT}: {error}"
    wheels = sorted(WHEELS.glob("*.whl"))
    pip = [wheel for wheel in wheels if wheel.name.startswith("pip-")]
    command = [str(ENVIRONMENT / "bin" / "python"), str(pip[0] / "pip"), "--isolated", "install"]
    command += ["--quiet", "--no-index", "--no-deps", "--no-warn-script-location", "--no-compile"]
    done = subprocess.Popen(
        command + [str(wheel) for wheel in wheels if wheel not in pip],
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = done.communicate()[0].decode("utf-8", "replace").strip()
    if done.returncode != 0:
        return f"cannot install: {output.splitlines()[-1] if output else 'pip says nothing'}"
    READY.write_text("", encoding="utf-8")
    return None


def variables():
    """Return the variables of a process in the environment."""
    return {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}


# -- in the environment ----------------------------------------------------------------------------


def measure(bundle, name, dry):
    """Measure what is missing, and pack the records; return the exit code."""
    from harness.cli import main as millrace

    os.chdir(str(WORK))
    kept = NAME.read_text(encoding="utf-8").strip() if NAME.is_file() else None
    if None not in (kept, name) and kept != name:
        return failed(f"this machine has the name {kept} already, not {name}: unpack anew for that")
    name = kept or name or default_name()
    words = ["sweep", *bundle["sweep"], "--as", name]
    if dry:
        return millrace([*words, "--dry-run"])
    NAME.write_text(name + "\n", encoding="utf-8")
    code = millrace(words)
    if code == 0:
        return pack(bundle, name)
    if code == 2:  # perhaps because of the name
        NAME.unlink()
    else:
        print("measure.py: the next start goes on from here", file=sys.stderr)
    return code


def default_name():
    """Return a name for this machine: that of its CPU, and the number of CPUs that are allowed."""
    from harness.measurement.host import cpu_model

    words = re.sub(r"\(\w+\)|@.*|\b\d+-Core\b|\bCPU\b|\bProcessor\b", " ", cpu_model())
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "cpu"
    count = f"-{len(os.sched_getaffinity(0))}-cpus"
    return name[: MOST_OF_NAME - len(count)].strip("-") + count


def pack(bundle, name):
    """Write all records into one file beside this one, and say so; return the exit code."""
    target = HERE / f"{name}.tar.gz"
    temporary = target.with_name(f".{target.name}")
    records = sorted(Path(bundle["results"], "raw").glob(f"*/{name}/*.jsonl"))
    try:
        with tarfile.open(str(temporary), "w:gz") as archive:
            for path in records:
                archive.add(str(path))
        temporary.rename(target)
    except OSError as error:
        return failed(
            f"cannot write {target}: {error.strerror}; bring back {WORK / bundle['results']}"
        )
    size = target.stat().st_size / 1000
    print(f"bring back {target} ({len(records)} files of records, {size:,.0f} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
