"""`millrace calibrate`: measures this machine and this runtime, for simulated runs on `local`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.output import say
from harness.cli.progress_line import ProgressLine
from harness.errors import RunFailed, UserError
from harness.whole_file import write_whole

if TYPE_CHECKING:
    from harness.calibration.probes import Setting
    from harness.calibration.rounds import Measured
    from harness.calibration.topology import Host

SUMMARY = "measure this machine and this runtime, for simulated runs on it"

DESCRIPTION = """\
Measure what a simulated run on this machine is made of, and write it down:

  config/machines/local.yaml      cores    clock, multiply, hardware threads that share a core
                                  lines    atomic operations, cache lines that move between cores
                                  copies   slots copied from ring to ring, by cache and by who wrote them
                                  system   sleep, wake, switch, yield
  config/software/millrace.yaml   steps    what each step of this runtime costs, one by one, without running a graph

Each group is measured in several rounds, all groups in turn; a constant is the median of its rounds, its range their quartiles.
Constants whose quartiles are more than 20 % apart are named: something else used the machine, or its hypervisor moved the CPUs;
calibrate again when it is quiet. What cannot be measured here keeps the value, tag and source that it has in the file.

Threads are pinned, to CPUs that this process may use (taskset narrows them). It takes up to a minute.

examples:
  millrace calibrate
  millrace calibrate --only lines --only copies
  millrace calibrate --output /tmp/mine.yaml --software /tmp/runtime.yaml
  millrace calibrate --json | jq '.machine["transfer.load.same_chip"]'
"""

CONFIG = Path(__file__).resolve().parents[2] / "config"
MACHINE = CONFIG / "machines" / "local.yaml"
SOFTWARE = CONFIG / "software" / "millrace.yaml"
TEMPLATE = CONFIG / "machines" / "template.yaml"

STEPS = "steps"
GROUPS = ("cores", "lines", "copies", "system", STEPS)

ROUNDS = 15
BUDGET_S = 45.0
QUICK_EFFORT = 0.02

MOST_OF_OTHERS = 0.1
"""Share of the CPUs that others may use meanwhile without a word."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `calibrate`."""
    parser.add_argument("--output", metavar="PATH", help="the machine profile to write (default: config/machines/local.yaml)")
    parser.add_argument("--software", metavar="PATH", help="the software profile (default: config/software/millrace.yaml)")
    parser.add_argument("--only", action="append", metavar="GROUP", help=f"one of: {', '.join(GROUPS)}; may be repeated")
    parser.add_argument("--json", action="store_true", help="write what was found as JSON to stdout in place of the table")
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)  # tests: one round that does almost nothing


def run(args: argparse.Namespace) -> int:
    """Measure, write, report."""
    from harness.calibration.rounds import measure
    from harness.calibration.topology import Host
    from harness.cpu import Reading, others_share
    from harness.machine import load_machine
    from harness.software import load_software

    groups = _groups(args.only)
    machine_path = _target("--output", args.output, MACHINE)
    software_path = _target("--software", args.software, SOFTWARE)
    machine_base = load_machine(next(path for path in (machine_path, MACHINE, TEMPLATE) if path.is_file()))
    software_base = load_software(next(path for path in (software_path, SOFTWARE) if path.is_file()))
    host = Host.here()
    setting = _setting(host, machine_base, args.quick)
    before = Reading.now()
    try:
        with ProgressLine(len(groups)) as line:
            found = measure(groups, setting, 1 if args.quick else ROUNDS, BUDGET_S, line.show)
    except OSError as error:
        raise RunFailed(f"the system refuses a probe: {error.strerror}") from error
    others = others_share(before, Reading.now())
    software = {path: one for path, one in found.items() if path.startswith(("cost.", "reference."))}
    machine = {path: one for path, one in found.items() if path not in software}
    files = _files(machine_path, machine_base, machine, software_path, software_base, software, host)
    for path, data in files.items():
        write_whole(path, data)
    notices = list(_notices(host, found, others, args.quick))
    for notice in notices:
        print(f"millrace calibrate: {notice}", file=sys.stderr, flush=True)
    if args.json:
        say(json.dumps({"machine": _plain(machine), "software": _plain(software), "notices": notices}, indent=2))
    else:
        say("\n".join([*_table(found), *(f"wrote {path}" for path in files)]))
    return 0


def _groups(only: list[str] | None) -> dict[str, Any]:
    from harness.calibration import probes
    from harness.calibration.software import software
    from harness.checked_yaml import did_you_mean

    for name in only or ():
        if name not in GROUPS:
            raise UserError(f"--only must be one of {', '.join(GROUPS)}, not {name[:80]!r}{did_you_mean(name, GROUPS)}")
    known = {**probes.GROUPS, STEPS: software}
    return {name: known[name] for name in GROUPS if not only or name in only}


def _target(option: str, given: str | None, default: Path) -> Path:
    """Where to write. Raises UserError for what could not be written after all the rounds."""
    from harness.cli.arguments import check_writable

    if given is None:
        return default
    check_writable(option, given)
    if not given.endswith((".yaml", ".yml")):
        raise UserError(f"{option} must name a .yaml file, not {given[:80]!r}")
    return Path(given)


def _setting(host: Host, base: Any, quick: bool) -> Setting:
    from harness.calibration.probes import Setting

    return Setting(host, QUICK_EFFORT if quick else 1.0, base.named("os.idle_residency_us"))


def _files(
    machine_path: Path,
    machine_base: Any,
    machine: Mapping[str, Measured],
    software_path: Path,
    software_base: Any,
    software: Mapping[str, Measured],
    host: Host,
) -> dict[Path, bytes]:
    """What to write where: the profiles of which something was measured."""
    from harness.calibration.profile import checked, machine_profile, read, software_profile, source_of
    from harness.machine import load_machine
    from harness.measurement.host import cpu_model
    from harness.software import load_software

    model = cpu_model()
    source = source_of(model, datetime.datetime.now(datetime.UTC).date())
    files = {}
    document = read(machine_base.path)
    ipc = document["core"]["ipc"]
    if machine:
        document = machine_profile(document, machine_path.stem, host, model, machine, source)
        files[machine_path] = checked(document, machine_path.stem, load_machine)
    if software:
        document = software_profile(read(software_base.path), software_path.stem, ipc, software, source)
        files[software_path] = checked(document, software_path.stem, load_software)
    return files


def _notices(host: Host, found: Mapping[str, Measured], others: float, quick: bool):
    if len(host.cores) < 2:
        yield "one core may be used: what takes two (transfers, contention, wake-ups) was left out"
    if host.caches is None:
        yield "the system does not tell plausible cache sizes: those of the profile stay"
    if others > MOST_OF_OTHERS:
        yield f"other processes used {100 * others:.0f} % of the CPUs meanwhile; calibrate again when the machine is quiet"
    noisy = [path for path, one in found.items() if one.noisy]
    if noisy and not quick:
        yield f"quartiles more than 20 % apart: {', '.join(noisy)}"


def _plain(found: Mapping[str, Measured]) -> dict[str, dict[str, float]]:
    return {path: {"value": one.value, "low": one.low, "high": one.high} for path, one in found.items()}


def _table(found: Mapping[str, Measured]) -> list[str]:
    rows = [("constant", "median", "quartiles")]
    rows += [(path, f"{one.value:.4g}", f"{one.low:.4g} .. {one.high:.4g}") for path, one in found.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [f"{path:<{widths[0]}}  {value:>{widths[1]}}  {span}" for path, value, span in rows]
