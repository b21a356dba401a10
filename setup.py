"""Builds the Cython runtime and simulator in place: `python setup.py build_ext --inplace`.

MILLRACE_SANITIZE=thread|address|undefined builds with that sanitizer; MILLRACE_CFLAGS replaces the
optimisation flags.
"""

import json
import os
import shlex
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent.absolute()
sys.path.insert(0, str(ROOT / "harness" / "files"))
from instructions import needed  # noqa: E402  # without the package, which is not built yet

RUNTIME = Path("harness/runtime")
SHARED = Path("harness")
OTHERS = ("simulator", "calibration", "bench/queues", "gate", "operators", "applications")
ROOMS = (RUNTIME, *(Path("harness") / room for room in OTHERS))
TESTS = Path("tests/simulator")  # built in place only: no package has it
sanitizer = os.environ.get("MILLRACE_SANITIZE", "")
# -march=native: the runtime is built on the machine that measures. -ffp-contract=off: a multiply
# stays a multiply.
optimise = os.environ.get("MILLRACE_CFLAGS", "-O3 -march=native -ffp-contract=off -g1")
# -falign-functions=64: else what stands before a kernel in its file decides how its loops lie in
# cache lines, and an edit elsewhere makes it 1.5 times as slow or as fast.
flags = ["-std=c++20", "-pthread", "-falign-functions=64", *shlex.split(optimise)]
flags += ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter"]
if sanitizer:
    flags += [f"-fsanitize={sanitizer}", "-fno-omit-frame-pointer"]


# The path of a tuple is one large unit. Without these flags gcc stops inlining in it, and calls
# what is left by a table, since another library could replace a function.
of_path = ["-fvisibility=hidden", "--param=large-unit-insns=100000"]
with_path = ("runtime", "calibration")


def options(room):
    """The compiler's options for the modules of a room."""
    return [*flags, *(of_path if room.name in with_path else [])]


def headers(room):
    """The folders of headers of a room: its own, those that it is made of (operators, of
    applications; the simulator, of its tests), the runtime's, and those that both engines share.
    """
    of = {"harness/applications": "operators", "tests/simulator": "simulator"}.get(str(room))
    made_of = [Path("harness") / of] if of else []
    return [str(each / "native") for each in dict.fromkeys((room, *made_of, RUNTIME, SHARED))]


def depends(room):
    """What a module is built from besides."""
    return ["setup.py"] + [
        str(path) for folder in headers(room) for path in sorted((ROOT / folder).glob("*.h*"))
    ]


def modules(*rooms):
    """Return the compiled modules of rooms, as C++."""
    extensions = [
        Extension(
            ".".join((*room.parts, source.stem)),
            [str(source.relative_to(ROOT))],
            include_dirs=headers(room),
            language="c++",
            extra_compile_args=[*options(room), f'-DMILLRACE_FLAGS="{" ".join(options(room))}"'],
            extra_link_args=["-pthread", *([f"-fsanitize={sanitizer}"] if sanitizer else [])],
            depends=depends(room),
        )
        for room in rooms
        for source in sorted((ROOT / room).glob("*.pyx"))
    ]
    return cythonize(
        extensions,
        nthreads=os.cpu_count(),
        language_level=3,
        build_dir="build/cython",
        emit_linenums=bool(sanitizer),
        compiler_directives={
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "freethreading_compatible": True,
        },
    )


DATA = (".c", ".css", ".csv", ".h", ".hpp", ".html", ".js", ".json", ".lock", ".properties")
DATA += (".pxd", ".pxi", ".pyx", ".rst", ".smk", ".yaml")
PEERS = (".go", ".java", ".mod", ".rs", ".sha256", ".toml", ".xml", ".cpp")
"""Endings of files that the package reads, shows, or compiles against; and of peers' programs."""


class WithData(build_py):
    """Add what `harness.files.places` finds in an installed package: `config/` as
    `harness/config/`; and the level of the CPU that the compiled modules need.
    """

    def run(self):
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        for folder, endings in (("harness", DATA + PEERS), ("config", (".json", ".yaml"))):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in endings or path.name in ("Snakefile", "README.md"):
                    to = built / ("" if folder == "harness" else "harness") / path.relative_to(ROOT)
                    self.mkpath(str(to.parent))
                    self.copy_file(str(path), str(to))
        version = f"version = {self.distribution.get_version()!r}\n"
        (built / "harness" / "built_version.py").write_text(version)
        (built / "harness" / "built_for.json").write_text(json.dumps(needed(flags)) + "\n")


class WithTests(build_ext):
    """Build the modules of tests, too, if modules are built in place."""

    def finalize_options(self):
        if self.inplace:
            self.distribution.ext_modules += modules(TESTS)
        super().finalize_options()


setup(
    packages=find_namespace_packages(
        include=("harness*", "topologies*"), exclude=("*.__pycache__",)
    ),
    py_modules=["millrace"],
    cmdclass={"build_ext": WithTests, "build_py": WithData},
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=modules(*ROOMS),
)
