"""Make results, and tell the files of this project that were really used: an oracle for
`harness.files.closure`.

`python -m tests.experiments.probe < TASKS`: a JSON list of [function of this module, its
arguments]. Each task has a process of its own, forked from one that has the libraries and nothing
of this project. On stdout: a JSON list of files for each; for `modules` a list for each module.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OURS = ("harness", "topologies", "config")


def figure(name: str, tables: str) -> None:
    """Draw from the tables in a folder, into no file."""
    from harness.plots.draw import draw
    from harness.plots.figures import FIGURES

    draw(FIGURES[name], Path(tables), [])


def run(typed: bool, **fields: Any) -> None:
    """Do the run of a spec and write its record; `typed`: its graph is, and real threads are asked
    what it costs.
    """
    from harness.measurement.block import run_block
    from harness.measurement.records import write_records
    from harness.measurement.spec import PeerModel, run_of

    spec = run_of(**fields)
    with tempfile.TemporaryDirectory() as folder:
        if typed and spec.simulated:
            from harness.measurement import profiling

            profiling.SETTLE_S, profiling.LOOK_S, profiling.PROFILE_FOLDER = 0.1, 0.1, Path(folder)
        if isinstance(spec.model, PeerModel):
            from harness.peers.measure import measure_peer

            records = [measure_peer(spec) | {"commit": None}]
        elif spec.simulated:
            records = list(run_block({"arm": spec}, 1, 1))
        else:
            from harness.measurement.prepare import prepare
            from harness.measurement.run import measure

            records = [measure(prepare(spec)) | {"commit": None}]
        assert records[0]["error"] is None, records[0]["error"]
        write_records(Path(folder) / "block.jsonl", records)


def bench(library: str, laws: list[str] | None, place: int) -> None:
    """Score laws, or all of them, on one scenario."""
    from harness.bench.bench import contestants, rows_of
    from harness.bench.bench import library as scenarios
    from harness.bench.report import as_frame

    as_frame(rows_of(laws or contestants(library), scenarios(library)[place]))


def claims(tables: str) -> None:
    """Check all claims against the tables in a folder."""
    from harness.claims import page, report
    from harness.claims.claim import chosen, experiments
    from harness.claims.evaluate import evaluate
    from harness.claims.tables import read_tables

    results = evaluate(chosen([], None), read_tables(Path(tables), experiments()), None)
    page.html(results)
    report.markdown(results)


def used(name: str, arguments: dict[str, Any]) -> list[str]:
    """The files that a task loads or opens, relative to the project."""
    opened: set[str] = set()

    def watch(event: str, words: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(words[0], str):
            opened.add(words[0])

    sys.addaudithook(watch)
    globals()[name](**arguments)
    return project_files(opened)


def modules(names: list[str]) -> list[list[str]]:
    """The files that each of these modules loads when it is imported."""
    answers = []
    for name in names:
        for each in [each for each in sys.modules if each.partition(".")[0] in OURS]:
            del sys.modules[each]
        importlib.import_module(name)
        answers.append(project_files(set()))
    return answers


def project_files(opened: set[str]) -> list[str]:
    """Those of modules that are loaded, and those opened, relative to the project."""
    loaded = {getattr(each, "__file__", None) or "" for each in list(sys.modules.values())}
    files = {Path(file).resolve() for file in loaded | opened if file and not file.endswith(".pyc")}
    ours = (
        file.relative_to(ROOT) for file in files if file.is_relative_to(ROOT) and file.is_file()
    )
    return sorted(file.as_posix() for file in ours if file.parts[0] in OURS)


def main() -> None:
    """Do the tasks."""
    for library in ("jsonschema", "matplotlib.pyplot", "pandas", "psutil", "scipy.stats", "yaml"):
        importlib.import_module(library)
    answers = []
    for name, arguments in json.load(sys.stdin):
        read, write = os.pipe()
        if os.fork() == 0:
            os.dup2(2, 1)
            with os.fdopen(write, "w") as answer:
                json.dump(
                    modules(**arguments) if name == "modules" else used(name, arguments), answer
                )
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            answers.append(json.loads(answer.read() or "null"))
        os.wait()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
