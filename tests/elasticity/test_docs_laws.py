"""Tests of what the pages on control laws show works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from harness.bench.expression import FUNCTIONS
from harness.bench.threads.user_curves import EVENTS, KEYS, parse_scenarios
from harness.cli import main
from harness.elasticity import LAWS, Bounds, law_class, make_law
from harness.elasticity.law import Law
from tests.elasticity.drive import Cpu, closed_loop, peak_at, reading

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, BENCH, OWN = (
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("explanation/laws.md", "appendices/laws-bench.md", "explanation/laws-millrace.md")
)


def texts(kind: str, page: str = PAGE) -> list[str]:
    examples = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [text for language, text in examples if language == kind]


def test_the_example_of_a_law_passes_its_test():
    names: dict = {}
    for text in texts("python"):
        exec(text, names)
    assert issubclass(names["LAW"], Law)
    names["test_it_climbs_until_a_thread_brings_nothing"]()


def test_the_example_of_a_record_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "record.json").write_text(texts("json")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command, printed = texts("")
    assert main(command.split()[1:]) == 0
    assert capsys.readouterr().out == printed


def test_the_example_of_curves_runs_as_the_page_says(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.yaml").write_text(texts("yaml", BENCH)[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = next(text for text in texts("sh", BENCH) if "--scenarios" in text)
    assert main(command.split()[1:]) == 0
    out = capsys.readouterr().out
    assert "**no noise** (1 scenarios)" in out and "**noise up to 5 %** (3 scenarios)" in out
    assert "| streams " in out and "| millrace " in out


def test_the_example_of_curves_and_its_table_have_every_key_and_event():
    document = yaml.safe_load(texts("yaml", BENCH)[0])
    assert {key for entry in document for key in entry} == set(KEYS)
    assert {event["kind"] for entry in document for event in entry.get("events", [])} == set(EVENTS)
    assert len(parse_scenarios(document)) == len(document)
    described = BENCH.partition("### Curves of your own")[2].partition("\n## ")[0]
    assert all(f"`{word}`" in described for word in {*KEYS, *EVENTS} - {"name"})
    assert " ".join(FUNCTIONS) in described


def test_the_page_tells_of_every_column_of_the_bench():
    from harness.bench.report import THREADS

    described = BENCH.partition("## The SASO bench")[2]
    assert all(heading in described for heading in THREADS.columns)


def test_the_page_tells_of_every_setting_of_our_law_with_its_default():
    for setting in law_class("millrace").SETTINGS:
        assert (
            f"| `{setting.name}` ({setting.default:g}) |"
            in OWN.partition("## Queues and threads")[0]
        )


def in_general(reason: str) -> str:
    """A reason without its numbers, and without what follows from it."""
    return re.sub(
        r"[-+]?\d+(\.\d+)?%?", "#", reason.partition(" →")[0].removeprefix("another load: ")
    )


def test_the_page_tells_of_every_reason_and_state_of_our_law():
    told = [in_general(reason) for reason in re.findall(r"`([^`\n]* → [^`\n]*)`", OWN)]
    told += [each.removeprefix("# ") for each in told]
    cpu = Cpu()
    law = make_law("millrace", Bounds(1, 16, 1), cpu)
    decisions = []
    for curve in (
        peak_at(12),
        lambda n: 0.5 * peak_at(4)(n),
        peak_at(12),
        lambda n: 0.0,
        lambda n: 0.3,
    ):
        decisions += closed_loop(law, curve, 30, after=decisions)
    cpu.granted = False
    decisions += closed_loop(law, peak_at(12), 5, after=decisions)
    decisions.append(law.step(reading(1000, 4, 9.0, system_cpu=1.0, others_cpu=0.9)))
    fresh = make_law("millrace", Bounds(1, 16, 1), cpu)
    decisions += closed_loop(fresh, peak_at(12), 2)
    reasons = {in_general(decision.reason).removeprefix("# ") for decision in decisions}
    assert len(reasons) >= 8
    assert all(any(reason in each for each in told) for reason in reasons), reasons - set(told)
    assert all(f"`{decision.state}`" in PAGE for decision in decisions)


def test_the_page_tells_of_every_law():
    assert all(f"**{name}**" in PAGE for laws in LAWS.values() for name in laws)
