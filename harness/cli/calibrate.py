"""`millrace calibrate`: measurement of this machine and this runtime, for simulated runs on
`local`.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import check_writable
from harness.cli.parser import add_json, write_json
from harness.errors import RunFailed, UserError
from harness.files.places import CONFIG, IS_INSTALLED, own_config
from harness.files.whole import write_whole
from harness.terminal.output import say
from harness.terminal.progress_line import ProgressLine
from harness.terminal.table import aligned_rows

if TYPE_CHECKING:
    from harness.calibration.probes import Group
    from harness.calibration.rounds import CalibratedConstants, MeasuredConstant
    from harness.calibration.topology import Host
    from harness.machines.machine import Machine
    from harness.machines.software import Software

SUMMARY = "measure this machine and this runtime, for simulated runs on it"

DESCRIPTION = """\
It writes two files, from which simulated runs take their constants, into config/ of a checkout, or
into ~/.local/share/millrace/config if the package is installed:

  machines/local.yaml             cores    clock, multiply, hardware threads that share a core
                                  lines    atomic operations, cache lines that move between cores
                                  copies   slots copied from ring to ring, by cache and by who
                                           wrote them
                                  system   sleep, wake, switch, yield
  software/millrace.yaml          steps    what each step of this runtime costs, one by one,
                                           without running a graph

All groups are measured in turn, in several rounds. A constant is the median of its rounds, and its
range is their quartiles.

A hypervisor that moves the CPUs changes the time that a cache line takes from core to core.
Measurements beside an unusual time are left out. The command names constants whose quartiles are
more than 20 % apart, since something else used the machine: calibrate again when it is quiet. What
cannot be measured here keeps its value, tag and source in the file; if the file is of another CPU,
the command names these constants.

Threads are pinned to CPUs that this process may use; taskset narrows them. It takes up to a minute.

examples:
  millrace calibrate
  millrace calibrate --only lines --only copies
  millrace calibrate --output /tmp/mine.yaml --software /tmp/runtime.yaml
  millrace calibrate --json - | jq '.machine["transfer.load.same_chip"]'
"""

MACHINE = own_config() / "machines" / "local.yaml"
SOFTWARE = own_config() / "software" / "millrace.yaml"
SHIPPED_SOFTWARE = CONFIG / "software" / "millrace.yaml"
TEMPLATE = CONFIG / "machines" / "template.yaml"

STEPS = "steps"
GROUPS = ("cores", "lines", "copies", "system", STEPS)

ROUNDS = 15
BUDGET_S = 45.0
QUICK_EFFORT = 0.02

MAX_OTHERS_CPU_SHARE = 0.1
"""Share of the CPUs that other processes may use meanwhile without a notice."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `calibrate`."""
    parser.add_argument(
        "--output",
        metavar="PATH",
        help="the machine profile to write (default: machines/local.yaml there)",
    )
    parser.add_argument(
        "--software",
        metavar="PATH",
        help="the software profile (default: software/millrace.yaml there)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="GROUP",
        help=f"one of: {', '.join(GROUPS)}; may be repeated",
    )
    add_json(parser, "what was found")
    # tests: one round that does almost nothing
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Measure, write, report."""
    from harness.calibration.probes import ProbeSetup
    from harness.calibration.rounds import measure
    from harness.calibration.topology import Host
    from harness.machines.host.cpu import CpuCounters, others_share
    from harness.machines.machine import load_machine
    from harness.machines.software import load_software

    groups = _groups(args.only)
    machine_path = _target("--output", args.output, MACHINE)
    software_path = _target("--software", args.software, SOFTWARE)
    machine_base = load_machine(
        next(path for path in (machine_path, MACHINE, TEMPLATE) if path.is_file())
    )
    software_base = load_software(
        next(path for path in (software_path, SOFTWARE, SHIPPED_SOFTWARE) if path.is_file())
    )
    host = Host.here()
    setting = ProbeSetup(
        host, QUICK_EFFORT if args.quick else 1.0, machine_base.named("os.idle_residency_us")
    )
    before = CpuCounters.now()
    try:
        with ProgressLine() as line:
            seen = measure(groups, setting, 1 if args.quick else ROUNDS, BUDGET_S, line.show)
    except OSError as error:
        raise RunFailed(f"the system refuses a probe: {error.strerror}") from error
    others = others_share(before, CpuCounters.now())
    found = seen.constants
    software = {
        path: one for path, one in found.items() if path.startswith(("cost.", "reference."))
    }
    machine = {path: one for path, one in found.items() if path not in software}
    files = {}
    if machine:
        files[machine_path] = _machine_file(machine_path.stem, machine_base, host, machine)
    if software:
        files[software_path] = _software_file(
            software_path.stem, software_base, machine_base, software
        )
    for path, data in files.items():
        write_whole(path, data)
    moved = _moved(host, machine_base, seen) if len(groups) < len(GROUPS) else None
    kept = (
        [path for path in load_machine(machine_path).constants if path not in machine]
        if machine
        else []
    )
    notices = [*_notices(host, seen, others, moved), *_of_another_cpu(machine_base, kept)]
    for notice in notices:
        print(f"millrace calibrate: {notice}", file=sys.stderr, flush=True)
    if args.json is not None:
        states = {"visits": seen.visits, "left_out": seen.left_out}
        made = {"machine": _plain(machine), "software": _plain(software)}
        write_json(args.json, made | states | {"notices": notices})
    else:
        say("\n".join([*_table(found), *(f"wrote {path}" for path in files)]))
    return 0


def _groups(only: list[str] | None) -> dict[str, Group]:
    from harness.calibration import probes
    from harness.calibration.software import software
    from harness.files.checked_yaml import did_you_mean

    for name in only or ():
        if name not in GROUPS:
            raise UserError(
                f"--only must be one of {', '.join(GROUPS)}, not "
                f"{name[:80]!r}{did_you_mean(name, GROUPS)}"
            )
    known = {**probes.GROUPS, STEPS: software}
    return {name: known[name] for name in GROUPS if not only or name in only}


def _target(option: str, given: str | None, default: Path) -> Path:
    """Return the path to write. Raises UserError for one that could not be written after all the
    rounds.
    """
    if given is None:
        if IS_INSTALLED:  # the user's own folder, which nobody has made yet
            default.parent.mkdir(parents=True, exist_ok=True)
        return default
    check_writable(option, given)
    if not given.endswith((".yaml", ".yml")):
        raise UserError(f"{option} must name a .yaml file, not {given[:80]!r}")
    return Path(given)


def _machine_file(
    name: str, base: Machine, host: Host, measured: Mapping[str, MeasuredConstant]
) -> bytes:
    from harness.calibration.profile import checked, machine_profile, read
    from harness.machines.machine import load_machine

    model, source = _origin()
    return checked(
        machine_profile(read(base.path), name, host, model, measured, source), name, load_machine
    )


def _software_file(
    name: str, base: Software, machine: Machine, measured: Mapping[str, MeasuredConstant]
) -> bytes:
    from harness.calibration.profile import checked, read, software_profile
    from harness.machines.software import load_software

    ipc = read(machine.path)["core"]["ipc"]
    return checked(
        software_profile(read(base.path), name, ipc, measured, _origin()[1]), name, load_software
    )


def _origin() -> tuple[str, str]:
    """Return the CPU's name, and the source to write beside measured constants."""
    from harness.calibration.profile import source_of
    from harness.measurement.host import cpu_model

    model = cpu_model()
    return model, source_of(model, datetime.datetime.now(datetime.UTC).date())


def _moved(host: Host, base: Machine, seen: CalibratedConstants) -> tuple[str, float, float] | None:
    """Return the constant that shows the machine's state, its value in the profile and its value
    now, if these are two states.
    """
    from harness.calibration.state import alike, hand_off_constant

    constant = hand_off_constant(host)
    if (
        constant not in seen.constants
        or constant not in base.constants
        or base.constants[constant].tag != "measured"
    ):
        return None
    before, now = base[constant], seen.constants[constant].value
    return None if alike(before, now) else (constant, before, now)


def _notices(
    host: Host, seen: CalibratedConstants, others: float, moved: tuple[str, float, float] | None
) -> Iterator[str]:
    """Yield the notices that a reader needs to judge the numbers."""
    if len(host.cores) < 2:
        yield (
            "one core may be used: what takes two (transfers, contention, waking another core) "
            "was left out"
        )
    if host.caches is None:
        yield "the system does not tell plausible cache sizes: those of the profile stay"
    if others > MAX_OTHERS_CPU_SHARE:
        yield (
            f"other processes used {100 * others:.0f} % of the CPUs meanwhile; calibrate again "
            "when the machine is quiet"
        )
    if seen.left_out:
        yield (
            f"{seen.left_out} of {seen.visits} measurements were left out: a cache line took "
            "another time from core to core "
            "than in most of them, as when a hypervisor moves the CPUs"
        )
    if seen.other_state:
        yield (
            "measured in another state of the machine than the rest: "
            f"{', '.join(seen.other_state)}; calibrate again"
        )
    if moved:
        meaning = "what was not measured now is of another state of the machine"
        yield f"{moved[0]} was {moved[1]:.3g} and is {moved[2]:.3g}: {meaning}"
    if noisy := [path for path, one in seen.constants.items() if one.noisy]:
        yield f"quartiles more than 20 % apart: {', '.join(noisy)}"


def _of_another_cpu(base: Machine, kept: Sequence[str]) -> Iterator[str]:
    """Yield a notice of the constants kept from the base, if that describes another CPU: core.ipc,
    which is never measured, first.
    """
    from harness.machines.machine import SMT_TABLES

    model, _ = _origin()
    if not base.title.startswith(f"{model}, "):
        paths = ["core.ipc, by which costs of the runtime are scaled from machine to machine"]
        # the latter are 1 by definition
        known = {"core.ipc", *(f"{room}.{key}.1" for room, key in SMT_TABLES)}
        paths += [path for path in kept if path not in known]
        yield f"not measured, and still of {base.title!r}, not of this {model}: {'; '.join(paths)}"


def _plain(found: Mapping[str, MeasuredConstant]) -> dict[str, dict[str, float]]:
    return {
        path: {"value": one.value, "low": one.low, "high": one.high} for path, one in found.items()
    }


def _table(found: Mapping[str, MeasuredConstant]) -> list[str]:
    rows = [("constant", "median", "quartiles")]
    rows += [
        (path, f"{one.value:.4g}", f"{one.low:.4g} .. {one.high:.4g}")
        for path, one in found.items()
    ]
    return aligned_rows(rows, right=[1])
