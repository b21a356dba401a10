"""Arguments of commands: types of numbers for argparse, and files to write; an error is one line
with the rule and the value.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness.errors import UserError
from harness.files.places import CONFIG

MAX_DURATION_S = 86400.0
SHORTEST_DURATION_S = 0.01
SHORTEST_VIRTUAL_S = 1e-6  # a tuple takes a tenth of that

MAX_SEED = 2**63 - 1

AUTO = "auto"  # value of an option whose number the command finds itself


def add_profile_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a profile; `profile_of` reads them."""
    profile = parser.add_mutually_exclusive_group()
    profile.add_argument(
        "--size",
        metavar="SIZE",
        help="the profile config/SIZE.yaml: quick, or paper, the sizes of the papers (default: "
        "quick)",
    )
    profile.add_argument("--config", metavar="FILE", help="a profile of your own")


def profile_of(args: argparse.Namespace) -> str:
    """Return the file of the profile. Raises UserError for a size without one."""
    if args.config is not None:
        return args.config
    size = "quick" if args.size is None else args.size
    folder = Path("config") if Path("config").is_dir() else CONFIG
    path = folder / f"{size}.yaml"
    if args.size is not None and (Path(size).name != size or not path.is_file()):
        sizes = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise UserError(
            f"--size must be one of {sizes or '(no file in config/)'}, not {shown(size)}; "
            "--config names a profile of your own"
        )
    return str(path)


def add_seed_argument(parser: argparse.ArgumentParser, of: str, default: int = 0) -> None:
    """Add `--seed`, of what is drawn at random."""
    parser.add_argument(
        "--seed",
        type=whole(0, MAX_SEED),
        default=default,
        metavar="N",
        help=f"seed of {of} (default: %(default)s)",
    )


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return the type of a whole number within a range, in digits."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"must be a whole number from {low} to {high}, not {shown(text)}"
        )

    return parse


def seconds(low: float) -> Callable[[str], float]:
    """Return the type of a time in seconds, from `low` to a day."""

    def parse(text: str) -> float:
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= MAX_DURATION_S:  # nan compares false
            raise argparse.ArgumentTypeError(
                f"must be from {low:g} to {MAX_DURATION_S:g} seconds, not {shown(text)}"
            )
        return value

    return parse


def percent(text: str) -> float:
    """Return a share in percent, from 0 to 100."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        raise argparse.ArgumentTypeError(f"must be from 0 to 100 percent, not {shown(text)}")
    return value


def factor(text: str) -> float:
    """Return a factor from 1 on."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not 1.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a factor from 1 on, not {shown(text)}")
    return value


def check_length(name: str, given: float | None, shortest: float) -> None:
    """Raise UserError for a time [s] that is too short where the run is made."""
    if given is not None and given < shortest:
        raise UserError(
            f"argument --{name}: must be from {shortest:g} to {MAX_DURATION_S:g} seconds, not "
            f"'{given:g}'"
        )


def span(text: str) -> float:
    """Return a stretch of time in seconds: `90`, `90s`, `3m`, `1h` or `1m30s`."""
    found = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s?)?", text)
    if not text or found is None or not 0 < (total := _seconds(found)) <= MAX_DURATION_S:
        raise argparse.ArgumentTypeError(
            f"must be a time such as 90s, 3m or 1h, at most a day, not {shown(text)}"
        )
    return total


def _seconds(found: re.Match[str]) -> float:
    hours, minutes, rest = (int(part or 0) for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + rest


def warmup(text: str) -> float | str:
    """Return `auto`, or seconds from 0."""
    if text == "auto":
        return text
    try:
        return seconds(0.0)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(
            f"must be auto, or {str(error).removeprefix('must be ')}"
        ) from None


def check_writable(option: str, path: str) -> None:
    """Raise UserError now for a path that could not be written after all the runs."""
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise UserError(f"{option} must name a file, not the directory {path!r}")
        if not target.parent.is_dir():
            raise UserError(f"{option} {path!r}: there is no directory {str(target.parent)!r}")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise UserError(f"{option} {path!r}: no permission to write it")
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links
        raise UserError(
            f"{option} {shown(path)}: not the name of a file: {error.__class__.__name__}"
        ) from error


def check_apart(written: Sequence[tuple[str, str]], read: Mapping[str, object]) -> None:
    """Raise UserError for a file that would be written over another one of the same command.
    `written`: options with their files; `read`: parameters, which may name files.
    """
    named: dict[Path, str] = {}
    for name, value in read.items():
        with suppress(OSError, ValueError):  # a text that can be no file's name
            if Path(str(value)).is_file():
                named[Path(str(value)).resolve()] = f"{name}={value}"
    for option, path in written:
        target = Path(path).resolve()
        if target.exists() and not target.is_file():
            continue  # a device or a pipe takes all that comes
        if target in named:
            raise UserError(f"{option} {path!r} must be another file than {named[target]}")
        named[target] = f"{option} {path}"


def shown(text: str, most: int = 40) -> str:
    """Return a text as an error quotes it: at most `most` characters of it."""
    return repr(text if len(text) <= most else text[:most] + "…")
