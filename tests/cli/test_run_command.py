"""`millrace run`: what it asks for, what it prints, how it ends."""

from __future__ import annotations

import json
import sys

import pytest

from harness import elasticity
from harness.cli import main
from harness.elasticity import Bounds
from harness.errors import RunFailed
from harness.measurement import block
from harness.measurement.record.declaration import ELASTIC, HOST, SAMPLE
from harness.measurement.records import read_records, validate_record
from harness.measurement.spec import Run, virtual_period_s
from harness.models import Coroutine, Dynamic, Manual
from tests.records import example, record_of
from tests.terminal.screen import seen


class Runs:
    """Stands in for fresh processes: answers each spec with a record, `changes` entered."""

    def __init__(self) -> None:
        self.specs: list[Run] = []
        self.changes: list[dict] = []
        self.interrupt_at: int | None = None
        self.host = example(HOST)

    def __call__(self, spec: Run, announce) -> dict:
        if self.interrupt_at == len(self.specs):
            raise KeyboardInterrupt
        announce("measuring")
        good = {
            "host": dict(self.host),
            "threads_total": 3,
            "queue_capacity": 1000,
            "duration_s": spec.duration_s,
            "sink_tuples_per_s": 1_234_567.0 + 1000 * len(self.specs),
            "submitted_tuples_per_s": 12_345_670.0,
            "ns_per_hop": 81.04,
            "latency_ns": {
                "p50": 740,
                "p90": 1500,
                "p99": 2_300_000,
                "mean": 9000,
                "max": 5_000_000,
                "count": 9,
            },
        }
        changes = self.changes[len(self.specs)] if len(self.specs) < len(self.changes) else {}
        self.specs.append(spec)
        return record_of(spec, **good | changes)


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The runs that the command line asks for; none is really made."""
    fake = Runs()
    monkeypatch.setattr(block, "run_in_fresh_process", fake)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return fake


def test_defaults_are_two_seconds_after_an_automatic_warm_up_once(runs):
    assert main(["run", "pipeline", "--model", "manual"]) == 0
    (spec,) = runs.specs
    assert (spec.duration_s, spec.warmup, spec.seed, spec.tuples, spec.place.machine) == (
        2.0,
        "auto",
        0,
        None,
        "local",
    )
    assert (spec.model, spec.arm) == (Manual(), "manual")
    assert spec.parameters.keys() >= {"operators", "cost", "payload"}, (
        "the topology's defaults are filled in"
    )
    assert spec.cell.startswith("pipeline,operators=")


def test_every_option_reaches_the_run(runs):
    line = (
        "run pipeline --set operators=5 --set cost=7 --model dynamic --threads 3 "
        "--queue-capacity 64 --machine local"
    )
    line += " --duration 0.5 --warmup 0 --repeats 2 --seed 9 --tuples 77"
    assert main(line.split()) == 0
    assert [spec.repeat for spec in runs.specs] == [0, 1]
    spec = runs.specs[0]
    assert str(spec.parameters["operators"]) == "5" and str(spec.parameters["cost"]) == "7"
    assert (spec.model.threads, spec.model.queue_capacity, spec.duration_s, spec.warmup) == (
        3,
        64,
        0.5,
        0.0,
    )
    assert (spec.seed, spec.tuples, spec.arm) == (9, 77, "dynamic-3")


def test_the_options_of_a_law_reach_the_run(runs):
    line = (
        "run pipeline --model dynamic --law fixed --threads 3 --min-threads 2 --max-threads 9 "
        "--period 0.25"
    )
    assert main(line.split()) == 0
    (spec,) = runs.specs
    assert (spec.model.elastic, spec.model.law, spec.model.law_settings, spec.period_s) == (
        True,
        "fixed",
        (),
        0.25,
    )
    assert (spec.model.threads, spec.model.minimum, spec.model.maximum, spec.arm) == (
        3,
        2,
        9,
        "dynamic-elastic-fixed",
    )


def test_a_virtual_period_of_coroutines_has_two_quanta_at_least():
    models = Coroutine(), Coroutine(quantum_ms=8.0), Coroutine(quantum_ms=0.5), Dynamic()
    periods = [virtual_period_s(model) for model in models]
    assert periods == [0.1, 0.016, 0.002, 0.002]


def test_the_options_of_adaptation_reach_a_run_of_coroutines(runs):
    line = (
        "run chain --model coroutine --law cstream --replicas 2 --policy random --threads 3 "
        "--max-threads 9 --period 0.25"
    )
    assert main([*line.split(), "--law-set", "tau=0.02"]) == 0
    (spec,) = runs.specs
    assert (spec.model.elastic, spec.model.law, spec.model.law_settings, spec.model.replicas) == (
        True,
        "cstream",
        (("tau", "0.02"),),
        2,
    )
    assert (spec.model.threads, spec.model.maximum, spec.arm) == (
        3,
        9,
        "coroutine-elastic-cstream-random-replicas-2",
    )
    assert main(["run", "chain", "--model", "coroutine", "--threads", "2", "--replicas", "3"]) == 0
    assert (runs.specs[1].model, runs.specs[1].arm) == (
        Coroutine(2, replicas=3),
        "coroutine-2-replicas-3",
    )


def test_a_period_is_for_what_is_elastic_in_the_graph_too(runs):
    assert main(["run", "load-balance", "--model", "manual", "--period", "0.25"]) == 0
    assert main(["run", "pipeline", "--model", "multilevel", "--period", "0.25"]) == 0
    assert [spec.period_s for spec in runs.specs] == [0.25, 0.25]


def test_settings_of_a_law_are_checked_and_reach_the_run_as_text(runs, monkeypatch):
    asked = []
    monkeypatch.setattr(
        elasticity,
        "make_law",
        lambda name, bounds, settings, **_: asked.append((name, bounds, settings)),
    )
    words = [
        "--elastic",
        "--law-set",
        "gain=0.5",
        "--law-set",
        "bold=yes",
        "--min-threads",
        "2",
        "--max-threads",
        "7",
    ]
    assert main(["run", "pipeline", "--model", "dynamic", *words]) == 0
    assert runs.specs[0].model.law_settings == (("gain", "0.5"), ("bold", "yes"))
    assert (runs.specs[0].model.threads, runs.specs[0].period_s, runs.specs[0].arm) == (
        None,
        1.0,
        "dynamic-elastic",
    )
    assert asked and all(
        each == ("millrace", Bounds(2, 7, 2), {"gain": "0.5", "bold": "yes"}) for each in asked
    )


def periods(*states: str, moves: int = 0) -> list[dict]:
    """Periods of a law in these states; its level has moved in the first `moves` of them."""
    return [
        example(SAMPLE, law_state=state, threads_requested=1 + min(place, moves))
        for place, state in enumerate(states)
    ]


def test_an_elastic_run_is_reported_with_its_law_and_its_level(runs, capsys):
    terms = example(
        ELASTIC, law="fixed", settings={"gain": 0.5, "bold": True}, period_s=0.25, maximum=8,
        settled_level=4, changes=1, adaptation_s=6.25, settled=True,
    )  # fmt: skip
    replicated = terms | {"replicable": ["busy1", "busy2"], "settled_replicas": 3.5}
    alone = terms | {"replicable": ["busy1"], "settled_replicas": 1.0}
    less = terms | {"settled": False, "settled_level": 1, "changes": 2}
    moving = periods(*["searching"] * 40, moves=35)
    runs.changes = [
        {"elastic": terms},
        {"elastic": less, "adaptation": moving},
        {},
        {"elastic": replicated},
        {"elastic": alone},
    ]
    assert main(["run", "pipeline", "--model", "dynamic", "--law", "fixed", "--repeats", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[1]
        == "dynamic-elastic-fixed: 3 threads at the end (those of sources included), queues of "
        "1000 tuples"
    )
    assert (
        lines[2]
        == "law fixed: from 1 to 8 scheduler threads, beginning at 1, a step every 0.25 s, gain "
        "0.5, bold yes"
    )
    assert lines[10:14] == [
        "run 1: after 6.25 s the law kept its level: 4 scheduler threads, 1 change of level while "
        "measured",
        "run 2: after 6.25 s the law was still moving: 1 scheduler thread, 2 changes of level "
        "while measured",
        "run 4: after 6.25 s the law kept its level: 4 scheduler threads, 3.5 replicas of each of "
        "2 operators, on average, "
        "1 change of level while measured",
        "run 5: after 6.25 s the law kept its level: 4 scheduler threads, 1 replica of busy1, 1 "
        "change of level while measured",
    ]


UNSETTLED = example(
    ELASTIC, law="fixed", period_s=0.25, maximum=8, settled_level=1, adaptation_s=6.25
)


@pytest.mark.parametrize(
    ("adaptation", "terms", "told"),
    [
        (periods(*["searching"] * 40, moves=35), {"changes": 2}, "was still moving"),
        (
            periods(*["searching"] * 40, moves=35),
            {"changes": 0},
            "moved until shortly before measuring began, and not since",
        ),
        (
            periods(*["settled"] * 40),
            {"maximum": 1},
            "had one level only, so that there was nothing to decide",
        ),
        (
            periods(*["settled"] * 40),
            {"maximum": 1, "settled": True},
            "had one level only, so that there was nothing to decide",
        ),
        (
            [each | {"others_cpu": 0.6} for each in periods(*["settled"] * 40)],
            {"settled": True},
            "could not decide, as others had 60 % of the CPUs",
        ),
        (
            periods(*["settled"] * 10, *["crowded"] * 20),
            {},
            "was held back, as others had the CPUs in 20 of 30 periods",
        ),
        (periods(*["settled"] * 3), {}, "had 3 periods only, and settles in 8 at least"),
        ([], {}, "had 0 periods only, and settles in 8 at least"),
        (
            periods(*["settled"] * 10, *["learning"] * 12),
            {},
            "kept its level, but was still learning",
        ),
        (
            periods("load changed", *["settled"] * 7),
            {},
            "had not kept its level for 8 periods when measuring began",
        ),
        (
            periods(*["settled"] * 10, *["idle"] * 12),
            {},
            "kept its level, but learnt nothing from 12 of 22 periods (idle)",
        ),
    ],
    ids=[
        "moves",
        "has moved",
        "one level",
        "one level kept",
        "others",
        "crowded",
        "few periods",
        "no period",
        "learns",
        "restarted",
        "idle",
    ],
)
def test_what_a_law_that_has_not_settled_came_to_is_said(runs, capsys, adaptation, terms, told):
    runs.changes = [{"elastic": UNSETTLED | terms, "adaptation": adaptation}]
    assert main(["run", "pipeline", "--model", "dynamic", "--law", "fixed"]) == 0
    end = f": 1 scheduler thread, {terms.get('changes', 0)} changes of level while measured"
    assert f"run 1: after 6.25 s the law {told}{end}" in capsys.readouterr().out.splitlines()


def test_two_runs_have_a_range_and_no_interval(runs, capsys):
    runs.changes = [{"sink_tuples_per_s": 100.0}, {"sink_tuples_per_s": 9000.0}]
    assert main(["run", "pipeline", "--repeats", "2"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "range: 100 .. 9,000 tuples/s, of 2 correct runs, 2 of them settled; an interval needs 3: "
        "more --repeats"
    )


def test_a_run_that_ended_is_reported_as_one_and_is_no_failure(runs, capsys):
    runs.changes = [{"ended": True, "duration_s": 0.31}]
    assert main(["run", "vwap", "--set", "cycles=1", "--model", "manual"]) == 0
    out, err = capsys.readouterr()
    assert (
        out.splitlines()[-1]
        == "run 1: its sources ended after 0.31 s; the rates are of the whole run"
    )
    assert err == ""


def test_a_log_has_a_line_for_all_that_a_run_tells(runs, capsys, tmp_path):
    path = tmp_path / "run.log"
    path.write_text("of before")
    assert (
        main(
            [
                "run",
                "pipeline",
                "--model",
                "manual",
                "--repeats",
                "2",
                "--json",
                "-",
                "--log",
                str(path),
            ]
        )
        == 0
    )
    assert path.read_text().splitlines() == [
        "run 1/2: manual: measuring",
        "run 2/2: manual: measuring",
        "run 2/2: done",
    ]
    assert capsys.readouterr().err == ""
    assert main(["run", "pipeline", "--model", "manual", "--log", "-"]) == 0
    assert capsys.readouterr().err.splitlines() == ["run 1/1: manual: measuring", "run 1/1: done"]


def test_a_log_on_a_full_disk_is_told_when_the_runs_are_done(runs, capsys):
    assert main(["run", "pipeline", "--model", "manual", "--log", "/dev/full"]) == 1
    assert (
        "millrace run: cannot write /dev/full: No space left on device\n" in capsys.readouterr().err
    )
    assert len(runs.specs) == 1


def test_a_progress_line_is_cut_to_the_terminal(runs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["run", "pipeline", "--model", "manual", "--json", "-"]) == 0
    assert "run 1/1: manual: me…" in capsys.readouterr().err


def test_the_table_has_a_line_a_run(runs, capsys):
    assert main(["run", "pipeline", "--model", "dynamic", "--threads", "2"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("pipeline operators=")
    assert (
        lines[1]
        == "dynamic-2: 3 threads (2 scheduler threads, 1 operator thread), queues of 1000 tuples"
    )
    assert lines[3].split()[0] == "run"
    assert lines[4].split() == [
        "1",
        "1,234,567",
        "12,345,670",
        "81",
        "740",
        "ns",
        "2.3",
        "ms",
        "yes",
        "yes",
    ]
    assert len(lines) == 5
    assert err == "", "no progress where nobody sees it"


def test_several_runs_have_a_mean_with_its_interval(runs, capsys):
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    told = (
        "mean: 1,235,567 tuples/s, 95 % interval 1,233,085 .. 1,238,054 (-0.2 %, +0.2 %), of 3 "
        "correct runs, 3 of them settled"
    )
    assert last == told


def test_unsettled_runs_are_shown_so_and_count_in_the_mean(runs, capsys):
    runs.changes = [{"settled": False}]
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3"]) == 0
    out = capsys.readouterr().out
    assert "NO" in out.splitlines()[4]
    assert out.rstrip().endswith("of 3 correct runs, 2 of them settled")
    runs.specs, runs.changes = [], [{"settled": False}] * 3
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("of 3 correct runs, none of them settled")


def test_what_speaks_against_the_host_is_said_once(runs, capsys):
    warnings = (["9.5 % was stolen"], [], ["it is on fire", "12 % was stolen"])
    runs.changes = [{"host": runs.host | {"host_warnings": warning}} for warning in warnings]
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("host: ")]
    assert told == [
        "host: 9.5 % was stolen (in 2 of 3 runs)",
        "host: it is on fire (in 1 of 3 runs)",
    ]


def test_a_wrong_run_is_exit_code_1_and_one_line_saying_why(runs, capsys):
    wrong = {
        "correct": False,
        "error": "3 tuple(s) reached a sink after a later one\nTraceback",
        "sink_tuples_per_s": None,
    }
    runs.changes = [{}, wrong]
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "2"]) == 1
    out, err = capsys.readouterr()
    assert (
        err == "millrace run: 1 of 2 run(s) failed; run 2: 3 tuple(s) reached a sink after a later "
        "one\n"
    )
    assert out.splitlines()[5].split()[-1] == "NO"
    assert "range: 1 correct run; an interval needs 3: more --repeats" in out


def test_json_on_stdout_is_one_record_a_run_and_nothing_else(runs, capsys):
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    records = [json.loads(line) for line in out.splitlines()]
    for record in records:
        validate_record(record)
    assert [record["repeat"] for record in records] == [0, 1, 2]
    assert err == ""


def test_a_failed_run_is_in_the_json_as_well(runs, capsys):
    runs.changes = [{"correct": False, "error": "a thread was stuck"}]
    assert main(["run", "pipeline", "--model", "manual", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "a thread was stuck"


def test_a_model_need_not_be_named(runs):
    assert main(["run", "pipeline"]) == 0
    assert (runs.specs[0].model.name, runs.specs[0].model.elastic) == ("dynamic", False)


def test_each_run_is_told_when_it_ends(runs, capsys, monkeypatch):
    told = []
    monkeypatch.setattr(
        block,
        "run_in_fresh_process",
        lambda spec, announce: told.append(capsys.readouterr().out) or runs(spec, announce),
    )
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "3"]) == 0
    assert [text.splitlines()[-1].split()[0] for text in told[1:]] == ["1", "2"]
    assert told[0] == "" and told[2].count("\n") == 1


@pytest.mark.parametrize("json_to", [None, "-", "FILE"])
def test_ctrl_c_keeps_the_runs_that_are_finished(runs, capsys, tmp_path, json_to):
    path = tmp_path / "out.jsonl"
    runs.interrupt_at = 5
    words = [] if json_to is None else ["--json", "-" if json_to == "-" else str(path)]
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "30", *words]) == 130
    out, err = capsys.readouterr()
    assert err == "millrace run: interrupted after 5 of 30 run(s)\n"
    if json_to == "-":
        assert [json.loads(line)["repeat"] for line in out.splitlines()] == [0, 1, 2, 3, 4]
    else:
        assert [line.split()[0] for line in out.splitlines()[4:9]] == ["1", "2", "3", "4", "5"]
        assert "of 5 correct runs" in out
    if json_to == "FILE":
        records, problems = read_records(path)
        assert ([record["repeat"] for record in records], problems) == ([0, 1, 2, 3, 4], [])


def raise_full(text):
    raise RunFailed("cannot write to standard output: No space left on device")


def test_whatever_ends_the_runs_those_that_are_finished_are_in_the_file(
    runs, capsys, tmp_path, monkeypatch
):
    path = tmp_path / "out.jsonl"
    monkeypatch.setattr("harness.cli.run.say", raise_full)
    assert (
        main(["run", "pipeline", "--model", "manual", "--repeats", "3", "--json", str(path)]) == 1
    )
    assert "standard output" in capsys.readouterr().err
    assert len(read_records(path)[0]) == 1


def test_a_json_file_is_replaced_when_all_runs_are_done(runs, capsys, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    runs.interrupt_at = 0
    assert (
        main(["run", "pipeline", "--model", "manual", "--repeats", "2", "--json", str(path)]) == 130
    )
    assert path.read_text() == "before", "nothing was finished"
    runs.interrupt_at = None
    assert (
        main(["run", "pipeline", "--model", "manual", "--repeats", "2", "--json", str(path)]) == 0
    )
    records, problems = read_records(path)
    assert (len(records), problems) == (2, [])
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote 2 record(s) to {path}"


def test_ctrl_c_is_one_line_and_130(runs, capsys):
    runs.interrupt_at = 0
    assert main(["run", "pipeline", "--model", "manual"]) == 130
    assert capsys.readouterr().err == "millrace run: interrupted after 0 of 1 run(s)\n"


def test_a_terminal_sees_progress_which_is_taken_away_at_the_end(runs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["run", "pipeline", "--model", "manual", "--repeats", "2", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert "run 1/2: manual: measuring" in err
    assert "run 2/2: manual: measuring" in err
    assert seen(err) == []
    assert len(out.splitlines()) == 2


def test_a_full_disk_under_stdout_is_told(runs, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "builtins.print",
        lambda *_, file=sys.stdout, **__: full() if file is sys.stdout else file.write(f"{_[0]}\n"),
    )
    assert main(["run", "pipeline", "--model", "manual"]) == 1
    assert (
        capsys.readouterr().err
        == "millrace run: cannot write to standard output: No space left on device\n"
    )


def test_help_teaches_by_examples(capsys):
    with pytest.raises(SystemExit) as end:
        main(["run", "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert text.count("\n  millrace run ") >= 3
    listed = (
        "set model threads queue-capacity machine duration warmup repeats seed tuples json "
        "elastic law law-set period log"
    )
    assert all(f"--{option}" in text for option in listed.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "--elastic --duration 0.5",
            "measured for 5 periods at least, so for 5 s and not for --duration 0.5",
        ),
        (
            "--model multilevel --duration 0.5 --period 0.25",
            "so for 1.25 s and not for --duration 0.5",
        ),
        ("--elastic --duration 6", ""),
        ("--elastic", ""),
        ("--duration 0.5", ""),
    ],
)
def test_a_window_that_is_longer_than_what_was_asked_for_is_told(runs, capsys, words, told):
    assert main(["run", "pipeline", *words.split()]) == 0
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == bool(told)
