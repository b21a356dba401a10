"""`millrace run FILE`, `millrace show FILE` and experiments about files: the graph's name, its
parameters, its digest.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.experiments.config import load_config
from harness.measurement import block, laws
from harness.measurement.process import failed_record
from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of
from harness.measurement.subject import build_subject, find_subject
from harness.models import Manual
from harness.models.layout import layout_of

CHAIN = """
name: my chain
operators:
  - {source: lines}
  - {work: parse, cost: 3}
  - {sink: out}
streams: [lines -> parse, parse -> out]
"""

MAKES = """
from harness.graph import Graph

def graph(length: int = 2):
    made = Graph("made")
    last = made.source("source")
    for number in range(length):
        made.connect(last, made.work(f"w{number}"))
        last = made.operators[f"w{number}"]
    made.connect(last, made.sink("sink"))
    return made
"""

ELASTIC = """
operators:
  - {source: a}
  - {threading: {model: dynamic, elastic: true}, operators: [{sink: b}]}
streams: [a -> b]
"""


USER = """
operators: [{source: a}, {python: b, function: "math:fmod"}, {sink: c}]
streams: [a -> b, b -> c]
"""


@pytest.fixture
def chain(tmp_path) -> Path:
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN)
    return path


@pytest.fixture
def makes(tmp_path) -> Path:
    path = tmp_path / "makes.py"
    path.write_text(MAKES)
    return path


@pytest.fixture
def specs(monkeypatch, tmp_path) -> list[Run]:
    """The runs that the command line asks for; none is really made."""
    asked: list[Run] = []

    def fake(spec, announce):
        asked.append(spec)
        return failed_record(spec, "not made")

    monkeypatch.setattr(block, "run_in_fresh_process", fake)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return asked


def test_a_run_of_a_file_has_the_graph_s_name_and_the_file_s_digest(specs, chain, capsys):
    assert main(["run", str(chain), "--model", "manual"]) == 1
    (spec,) = specs
    assert (spec.topology, spec.graph_file, dict(spec.parameters)) == ("my chain", str(chain), {})
    assert spec.cell == f"my-chain,digest={spec.digest}" and len(spec.digest) == 12
    assert Run.from_json(spec.to_json()) == spec
    assert capsys.readouterr().out.startswith("my chain\nmanual: did not start")


def test_parameters_of_a_function_reach_the_run_and_name_the_cell(specs, makes):
    assert main(["run", f"{makes}:graph", "--set", "length=3", "--model", "manual"]) == 1
    assert specs[0].parameters == {"length": "3"}
    assert specs[0].cell == f"made,digest={specs[0].digest},length=3"
    assert len(build_subject(specs[0]).graph.operators) == 5


def test_the_record_of_a_file_keeps_its_schema(makes):
    subject = find_subject(str(makes), {"length": "1"}, 0)
    spec = run_of(
        subject.topology,
        subject.given,
        "manual",
        tuples=50,
        cell=subject.cell,
        graph_file=subject.file,
        digest=subject.digest,
    )
    validate_record(failed_record(spec, "lost"))


def test_a_file_that_changes_before_it_is_measured_is_told(specs, chain):
    main(["run", str(chain), "--model", "manual"])
    chain.write_text(CHAIN.replace("cost: 3", "cost: 4"))
    with pytest.raises(
        UserError, match=r"chain.yaml: the file has changed since the run was asked for"
    ):
        build_subject(specs[0])
    build_subject(replace(specs[0], digest=""))


def test_a_graph_that_cannot_run_is_told_before_anything_is_started(specs, tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text(CHAIN.replace(", parse -> out", ""))
    assert main(["run", str(path), "--model", "manual"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(
        "bad.yaml, line 5: output port parse[0] feeds nothing; "
        "line 6: input port out[0] is fed by nothing"
    )
    assert len(lines) == 1
    assert specs == []


def test_levels_that_the_operators_of_a_file_do_not_allow_are_told_before_anything_is_started(
    specs, tmp_path, capsys
):
    path = tmp_path / "user.yaml"
    path.write_text(USER)
    words = ["run", str(path), "--model", "dynamic", "--law", "fixed"]
    assert main([*words, "--max-threads", "1"]) == 2
    assert "maximum must be at least 2 threads" in capsys.readouterr().err
    assert specs == []
    assert main([*words, "--max-threads", "2"]) == 1, "no run is really made"
    assert (specs[0].model.elastic, specs[0].model.law, specs[0].model.maximum) == (
        True,
        "fixed",
        2,
    )


def test_a_run_of_a_fixed_level_is_named_and_recorded_by_the_threads_that_it_has(
    specs, tmp_path, capsys
):
    path = tmp_path / "user.yaml"
    path.write_text(USER)
    assert main(["run", str(path), "--model", "dynamic", "--threads", "1", "--json", "-"]) == 1, (
        "no run is really made"
    )
    assert (specs[0].model.threads, specs[0].arm) == (2, "dynamic-2")
    record = json.loads(capsys.readouterr().out)
    assert (record["threads"], record["arm"]) == (2, "dynamic-2")


def test_a_file_may_make_a_run_elastic_by_an_annotation(specs, tmp_path, monkeypatch):
    monkeypatch.setattr(laws, "DEFAULT_LAW", "fixed")
    path = tmp_path / "elastic.yaml"
    path.write_text(ELASTIC)
    main(["run", str(path), "--model", "manual", "--period", "0.5"])
    assert (specs[0].model, specs[0].arm, specs[0].period_s) == (Manual(), "manual", 0.5)
    graph = build_subject(specs[0]).graph
    assert laws.pool_law(layout_of(graph, specs[0].model)).name == "fixed"


@pytest.mark.parametrize(
    "model", [[], ["--model", "manual"], ["--model", "dynamic", "--threads", "2"]], ids=str
)
def test_a_file_can_be_drawn(chain, tmp_path, model):
    assert main(["show", str(chain), *model, "-o", str(tmp_path / "a.svg")]) == 0
    assert "<svg" in (tmp_path / "a.svg").read_text()


def experiment(folder: Path, sweeps: list[dict], *arms: dict) -> Path:
    """A profile with one experiment."""
    (folder / "experiments").mkdir(exist_ok=True)
    size = {"sweeps": sweeps, "arms": arms or [{"model": "manual"}]}
    values = {"sizes": {"tiny": size}}
    (folder / "experiments" / "mine.yaml").write_text(json.dumps(values))
    profile = {"profile": "tiny", "experiments": ["mine"], "repeats": 1, "duration_s": 1, "seed": 1}
    (folder / "config.yaml").write_text(json.dumps(profile))
    return folder / "config.yaml"


def test_an_experiment_may_be_about_files(tmp_path, chain, makes):
    sweeps = [{"topology": str(chain)}, {"topology": str(makes), "parameters": {"length": [1, 2]}}]
    blocks = load_config(experiment(tmp_path, sweeps)).experiment("mine").blocks()
    assert [each.cell.topology for each in blocks] == ["my chain", "made", "made"]
    spec = blocks[2].runs_by_arm()["manual"]
    assert (spec.graph_file, dict(spec.parameters), spec.cell) == (
        str(makes),
        {"length": 2},
        blocks[2].cell.name,
    )
    assert len(build_subject(spec).graph.operators) == 4


def test_a_file_that_changes_makes_its_records_out_of_date(tmp_path, chain):
    config = experiment(tmp_path, [{"topology": str(chain)}])
    before = load_config(config).experiment("mine").blocks()[0]
    chain.write_text(CHAIN.replace("cost: 3", "cost: 4"))
    after = load_config(config).experiment("mine").blocks()[0]
    assert before.settings != after.settings and before.cell.name != after.cell.name


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        ({"topology": "none.yaml"}, "sizes.tiny.sweeps[0]: none.yaml: cannot be read"),
        (
            {"topology": "CHAIN", "parameters": {"cost": 1}},
            "has no parameters; 'cost' cannot be set",
        ),
        ({"topology": "MAKES", "parameters": {"depth": 1}}, "graph() has no parameter 'depth'"),
    ],
)
def test_an_experiment_about_a_bad_file_is_told(tmp_path, chain, makes, sweep, told):
    sweep["topology"] = {"CHAIN": str(chain), "MAKES": str(makes)}.get(
        sweep["topology"], sweep["topology"]
    )
    with pytest.raises(UserError) as caught:
        load_config(experiment(tmp_path, [sweep]))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_arm_of_fewer_threads_than_the_graph_of_a_file_gets_is_told(tmp_path):
    path = tmp_path / "user.yaml"
    path.write_text(USER)
    sweeps = [{"topology": str(path)}]
    assert (
        load_config(experiment(tmp_path, sweeps, {"model": "dynamic", "threads": [2, 3]}))
        .experiment("mine")
        .blocks()
    )
    with pytest.raises(UserError) as caught:
        load_config(experiment(tmp_path, sweeps, {"model": "dynamic", "threads": [1, 2]}))
    assert (
        "sizes.tiny: threads of arm dynamic-1 must be at least 2 for graph 'user', not 1: "
        in str(caught.value)
    )


def test_long_names_of_cells_are_cut_and_still_differ(tmp_path):
    cells = []
    for ending in "ab":
        path = tmp_path / "long.yaml"
        path.write_text(CHAIN.replace("my chain", "x" * 99 + ending))
        cells.append(find_subject(str(path), {}, 0).cell)
    makes = tmp_path / "long.py"
    makes.write_text(MAKES.replace("length: int = 2", "length: int = 2, what: str = ''"))
    cells += [find_subject(str(makes), {"what": "y" * 500 + ending}, 0).cell for ending in "ab"]
    assert len(set(cells)) == 4 and all(len(cell) <= 200 for cell in cells)


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["manual", "dedicated", "dynamic"])
def test_a_file_runs_for_real(chain, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    assert main(["run", str(chain), "--model", model, "--tuples", "500", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    validate_record(record)
    assert (record["topology"], record["tuples_received"], record["correct"]) == (
        "my chain",
        500,
        True,
    )


@pytest.mark.heavy
def test_parameters_of_a_file_are_on_record(makes):
    record = run_once(run_of("made", {"length": "4"}, "manual", tuples=10, graph_file=str(makes)))
    assert record["parameters"] == {"length": 4}


@pytest.mark.heavy
def test_a_record_has_the_threads_that_operators_of_a_user_s_own_need(tmp_path):
    path = tmp_path / "user.yaml"
    path.write_text(USER.replace("fmod", "copysign"))
    record = run_once(run_of("user", {}, "dynamic", threads=1, tuples=10, graph_file=str(path)))
    assert (record["threads"], record["arm"], record["threads_total"]) == (2, "dynamic-2", 3)


PINNED = """
operators:
  - {source: a}
  - {threading: {model: dynamic, threads: 3}, operators: [{sink: b}]}
streams: [a -> b]
"""

LEAST = "graph 'user' needs one more than the input ports of a user's operator, which may block"


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        (USER, "--threads 1", [f"--threads 1 becomes 2: {LEAST}"]),
        (USER, "--threads 2", []),
        (CHAIN, "--threads 1", []),
        (USER, "--elastic --threads 1 --max-threads 4", [f"--threads 1 becomes 2: {LEAST}"]),
        (
            USER,
            "--elastic --min-threads 1 --max-threads 4",
            [f"--min-threads 1 becomes 2: {LEAST}"],
        ),
        (
            PINNED,
            "--threads 1",
            ["--threads 1 becomes 3: a threading annotation in graph 'user' asks for as many"],
        ),
    ],
)
def test_a_number_of_threads_that_the_graph_raises_is_told_with_the_reason(
    tmp_path, monkeypatch, capsys, text, words, told
):
    path = tmp_path / "user.yaml"
    path.write_text(text)
    monkeypatch.setattr(
        block, "run_in_fresh_process", lambda spec, announce: failed_record(spec, "not made")
    )
    main(["run", str(path), "--model", "dynamic", *words.split()])
    err = capsys.readouterr().err.splitlines()
    assert [line for line in err if "becomes" in line] == [f"millrace: {line}" for line in told]
