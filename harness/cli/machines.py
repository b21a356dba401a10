"""`millrace machines`: the machines that can be simulated, and every constant of one."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial

from harness.cli.parser import add_json, write_json
from harness.machines.constants import TAGS, Profile, unit_and_meaning
from harness.machines.machine import Machine, load_machine, machine_names
from harness.machines.software import Software, load_software, software_names
from harness.terminal.output import say, tell
from harness.terminal.table import aligned_rows

SUMMARY = "list the machines that can be simulated, or the constants of one"

DESCRIPTION = """\
Machines are files in config/machines/. For each constant the list shows its value, unit, range,
source and tag: measured on that hardware, on an adjacent machine, or an estimate. A star marks what
`millrace sweep --over constants` varies. NAME may be a file. docs/reference/machines.md explains
each constant.

With --software it lists the costs of runtimes (config/software/) in place of machines.

examples:
  millrace machines
  millrace machines xeon
  millrace machines my/server.yaml
  millrace machines --software streams-4.2
  millrace machines xeon --json - | jq '.constants["transfer.rmw.other_socket"]'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `machines`."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="a machine, or a file with one; default: all, a line each",
    )
    parser.add_argument(
        "--software",
        action="store_true",
        help="runtimes and what their steps cost, in place of machines",
    )
    add_json(parser, "an array, or with NAME an object,")


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    load, names = (
        (load_software, software_names()) if args.software else (load_machine, machine_names())
    )
    if args.name is None and args.json in names:  # `machines --json xeon`, as it once was
        args.name, args.json = args.json, "-"
        tell("millrace machines: --json is now --json -; the next release drops the old one")
    if args.name is not None:
        profile = load(args.name)
        data, text = partial(as_data, profile, constants=True), partial(as_text, profile)
    else:
        profiles = [load(name) for name in names]
        data, text = (lambda: [as_data(each) for each in profiles]), partial(listing, profiles)
    if args.json is not None:
        write_json(args.json, data())
    else:
        say(text())
    return 0


def listing(profiles: Sequence[Machine] | Sequence[Software]) -> str:
    """Return a table with a line for each machine, or each runtime."""
    rows = [("machine", "sockets × chips × cores × SMT", "CPUs", "clock", *TAGS, "swept", "title")]
    if profiles and isinstance(profiles[0], Software):
        rows = [("software", "finds work", "batch", "queues", *TAGS, "title")]
    return "\n".join(aligned_rows([*rows, *map(_row, profiles)]))


def _row(profile: Machine | Software) -> tuple[str, ...]:
    tags = [str(count) for count in _tags(profile).values()]
    if isinstance(profile, Machine):
        swept = str(len(profile.uncertain))
        cpus = str(profile.cpus)
        return profile.name, _shape(profile), cpus, _clock(profile), *tags, swept, profile.title
    how = [
        str(_whole(profile[f"how.{key}"] or "by model"))
        for key in ("finds_work", "batch", "queue_capacity")
    ]
    return profile.name, *how, *tags, profile.title


def as_text(profile: Machine | Software) -> str:
    """Return one profile as text: its title and shape, then a table of its constants."""
    head = [f"{profile.name}: {profile.title}"]
    if isinstance(profile, Machine):
        head.append(
            f"{_shape(profile)} (sockets × chips × cores × SMT): {profile.cpus} CPUs, "
            f"{_clock(profile)}"
        )
    head.append(
        f"{', '.join(f'{count} {tag}' for tag, count in _tags(profile).items())}; {profile.path}, "
        f"digest {profile.digest}"
    )
    if profile.get("notes"):
        head.append(profile["notes"])
    plain = [
        (path, str(_whole(value)), _unit(profile, path))
        for path, value in profile.plain.items()
        if "." in path
    ]
    rows = [("constant", "value", "unit", "tag", "range", "source")]
    for path, constant in profile.constants.items():
        has_range = constant.low is not None and constant.high is not None
        span = f"{constant.low:g} .. {constant.high:g}" if has_range else ""
        name = f"{path}*" if path in profile.uncertain else path
        value, unit = f"{constant.value:g}", _unit(profile, path)
        rows.append((name, value, unit, constant.tag, span, constant.source))
    return "\n".join([*head, "", *aligned_rows(plain), "", *aligned_rows(rows)])


def as_data(profile: Machine | Software, *, constants: bool = False) -> dict:
    """Return one profile as data for JSON."""
    data = {
        "name": profile.name,
        "title": profile.title,
        "path": str(profile.path),
        "digest": profile.digest,
        "tags": _tags(profile),
        **{path: _whole(value) for path, value in profile.plain.items() if "." in path},
    }
    if isinstance(profile, Machine):
        data["cpus"] = profile.cpus
    data["sweep"] = {path: list(span) for path, span in profile.uncertain.items()}
    if constants:
        data["constants"] = {
            path: {
                "value": constant.value,
                "unit": _unit(profile, path),
                "tag": constant.tag,
                "low": constant.low,
                "high": constant.high,
                "source": constant.source,
                "meaning": unit_and_meaning(_schema(profile), path)[1],
            }
            for path, constant in profile.constants.items()
        }
    return data


def _shape(machine: Machine) -> str:
    """Return the counts that the heading `sockets × chips × cores × SMT` names."""
    shape = (
        f"{machine.sockets} × {machine.chips_per_socket} × {machine.cores_per_chip} × {machine.smt}"
    )
    return f"{shape}, {machine.disabled_cores} off" if machine.disabled_cores else shape


def _clock(machine: Machine) -> str:
    """Return the lowest clock, that with all cores busy, and the highest, if they differ."""
    clocks = machine.table("core.clock_ghz").values()
    lowest, highest = min(clocks), max(clocks)
    return f"{highest:g} GHz" if lowest == highest else f"{lowest:g} .. {highest:g} GHz"


def _tags(profile: Profile) -> dict[str, int]:
    """Return the number of constants with each tag, in the order of `TAGS`."""
    counted = Counter(constant.tag for constant in profile.constants.values())
    return {tag: counted[tag] for tag in TAGS}


def _whole(value: object) -> object:
    """Return an int for a float without a fraction; any other value as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unit(profile: Profile, path: str) -> str:
    return unit_and_meaning(_schema(profile), path)[0]


def _schema(profile: Profile) -> str:
    return "machine" if isinstance(profile, Machine) else "software"
