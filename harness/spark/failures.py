"""A failure inside Spark, in one line.

Spark's exceptions carry pages of Java and Scala frames; what a user needs is the innermost cause.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator

from harness.errors import RunFailed

PLAIN_WORDS = (
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Permission denied",
)
MAX_CAUSE_CHARACTERS = 300  # characters of a cause in a message


@contextlib.contextmanager
def spark_failures(doing: str) -> Iterator[None]:
    """Turn an exception of Spark inside the block into RunFailed "`doing`: cause"."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with quiet_py4j():
        try:
            yield
        except (PySparkException, Py4JError, ConnectionError, ImportError) as error:
            raise RunFailed(f"{doing}: {cause(error)}") from error


@contextlib.contextmanager
def quiet_py4j() -> Iterator[None]:
    """Keep py4j from logging tracebacks of the exceptions that it also raises."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)


def cause(error: BaseException) -> str:
    """Return the innermost cause that `error` names, in one line."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, ConnectionError) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    ):
        return (
            "the Java process of Spark ended (out of memory? see the settings "
            "spark.driver.memory and spark.log.level)"
        )
    return summarise(str(error))


def summarise(text: str) -> str:
    """Return the innermost cause in the text of an exception of Spark: the last "Caused by", else
    the first line.
    """
    for words in PLAIN_WORDS:
        if words in text:
            return words
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    innermost = re.sub(
        r"^(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): ",
        r"\1: ",
        (causes or lines)[-1 if causes else 0],
    )
    if len(innermost) > MAX_CAUSE_CHARACTERS:
        return innermost[: MAX_CAUSE_CHARACTERS - 1] + "…"
    return innermost
