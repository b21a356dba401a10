"""Appendix of an artifact: each claim with its command, what that needs, and what to expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from harness.claims.claim import Claim, papers
from harness.claims.evaluate import Result
from harness.claims.predicate import Predicate
from harness.claims.predicates import AllOf, Provided
from harness.claims.report import by_claim
from harness.experiments.effort import Effort

HEAD = ("claim", "command", "minutes", "disk [MB]", "memory [GB]", "expected verdict", "tolerance")

INTRODUCTION = """\
# Artifact appendix

## Abstract

Millrace runs graphs of stream operators under the threading models of the papers below, checks
every tuple, and simulates the papers' machines. Its commands draw the papers' figures and check
their claims.

## Check-list

* **Algorithm**: threading models, scheduling policies and control laws.
* **Program**: the graphs in `topologies/`, included; `config/experiments/` has an experiment for
  each figure.
* **Compilation**: g++ 12 or newer. `requirements.lock` names the Python packages, Cython among
  them, with digests.
* **Binary**: none. `container/` has recipes for Docker and Apptainer.
* **Data set**: none. Sources make their tuples from a seed.
* **Run-time environment**: Linux, Python 3.11 or newer with venv and headers, make. No root.
* **Hardware**: none in particular. The papers' machines are simulated.
* **Run-time state**: other processes disturb measurements; `millrace doctor` names them.
* **Execution**: one measurement at a time, by a lock; an interrupted command goes on where it was.
* **Metrics**: tuples/s at the sinks, latency from source to sink, numbers of threads and queues.
* **Output**: figures, tables, and a verdict for each claim.
* **Experiments**: a Snakemake workflow, called by `millrace repro`.
* **Disk, time, memory**: in the tables below. The set-up downloads about 700 MB.
* **Licence**: Apache-2.0.
* **Archived**: (the DOI of the archive that this appendix goes with).

## Access and set-up

Unpack the archive, or clone the repository at its tag. `make build` in it makes the environment in
`.venv` and compiles the runtime; `. .venv/bin/activate` then makes `millrace` a command.
`make container` builds an image instead.

## Basic test

`millrace run mix --model dynamic --threads 2 --repeats 3` prints a table with *yes* below
*correct*. `millrace run mix --model dynamic --threads 64 --machine xeon` does the same on a
simulated machine. `make test-fast` runs the deterministic tests.

## Evaluation

Each claim of the papers is checked by `millrace claims CLAIM --tables {tables}`, on the
tables of the figures that its commands make. A command measures only what is missing, so the time
of a figure counts once. Minutes, disk and memory are estimates for {cpus} CPUs. The expected
verdicts are those of the tables that this appendix was written from; "no data" means that these had
no such machine or cell.
The tolerance is the share by which numbers must differ to count as different, or may differ in the
wrong direction. A person only types the commands.

`millrace repro` prints the names of the pictures that it draws. The foot of each names the machine
and the commit. `millrace claims` prints the check, the numbers and the verdict. On a machine that
others disturb, a verdict may be *undecided*, and runs may not settle; both are reported and are no
fault.
"""

CLOSING = """\
## Customization

`--config FILE` takes other sizes, repeats and machines (`config/README.md`). `millrace sweep` and
`millrace compare` measure graphs, operators and arms of one's own (`docs/how-to/experiments.md`).
"""


def appendix(
    results: Sequence[Result],
    efforts: Mapping[str, Effort],
    size: str,
    cpus: int,
    tables: str = "results/tables",
) -> str:
    """Return the appendix as Markdown. `efforts`: of each figure in the profile that
    the options `size` name. `tables`: folder of that profile's tables."""
    parts = [INTRODUCTION.format(cpus=cpus, tables=tables)]
    groups = by_claim(results)
    for paper in papers().values():
        rows = [
            _row(claim, found, efforts, size)
            for claim, found in groups
            if claim.paper == paper.name and claim.check is not None
        ]
        if rows:
            lines = [HEAD, ("---",) * len(HEAD), *rows]
            table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
            parts.append(f"### {paper.name}: {paper.title}\n\n{table}\n")
    return "\n".join([*parts, CLOSING])


def _row(
    claim: Claim, results: Sequence[Result], efforts: Mapping[str, Effort], size: str
) -> tuple[str, ...]:
    made = [name for name in claim.experiments if name in efforts]
    needed = [efforts[name] for name in made]
    own = [result for result in results if not result.beside]
    verdicts = "; ".join(f"{result.machine}: {result.verdict}" for result in own or results)
    lacks = sorted(set(claim.experiments) - set(made))
    command = f"`millrace repro {' '.join(made)} {size}`" if made else "none in this size"
    return (
        f"`{claim.id}` {_cell(claim.statement)}",
        command + (f", without {', '.join(lacks)}" if made and lacks else ""),
        f"{sum(effort.seconds for effort in needed) / 60:.0f}",
        f"{sum(effort.disk for effort in needed) / 1e6:.0f}",
        f"{max((effort.memory for effort in needed), default=0) / 1e9:.0f}",
        _cell(verdicts),
        tolerance_of(claim),
    )


def tolerance_of(claim: Claim) -> str:
    """Return the share by which the numbers of a claim may differ: `2 %`; the limits of a claim
    about a size are part of its check.
    """
    check = claim.check.check if isinstance(claim.check, Provided) else claim.check
    checks = check.checks if isinstance(check, AllOf) else [check]
    return "; ".join(dict.fromkeys(map(_tolerance_of, checks)))


def _tolerance_of(check: Predicate) -> str:
    values = {each.name: getattr(check, each.name) for each in fields(check)}
    share = max((values.get(name) or 0.0 for name in ("tolerance", "least_difference")), default=0)
    limits = [values[name] for name in ("at_least", "at_most") if values.get(name) is not None]
    said = [f"{share:.0%}"] if share else []
    if limits:
        said.append(f"from {limits[0]:g} to {limits[1]:g}" if len(limits) == 2 else _end(values))
    return ", ".join(said) or "none: counts"


def _end(values: Mapping[str, object]) -> str:
    name = "at_least" if values.get("at_least") is not None else "at_most"
    return f"{name.replace('_', ' ')} {values[name]:g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
