"""Commands and programs of the tutorials, and of short how-to pages, run as they are written.

A page is followed from its top: a file, whose first line is `# NAME`, is saved, and the lines of an
`sh` block are executed. To be short, a test replaces times, and takes simulated machines alone.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^ *```(sh|yaml|python)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
MOST_WORDS = 900


def followed(page: str, folder: Path, shorter: dict[str, str], before: str = "") -> str:
    """Return what a page's commands print. `shorter`: replacements of what they are to do less of.

    Raises AssertionError if a command fails, or if the page lacks a text that is to be replaced.
    """
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for long, short in shorter.items():
        assert long in text, f"{page}: {long}"
        text = text.replace(long, short)
    lines = [
        "set -e",
        f'millrace() {{ {sys.executable} -m harness "$@"; }}',
        f'python3() {{ {sys.executable} "$@"; }}',
        before,
    ]
    for kind, block in BLOCK.findall(text):
        saved = re.match(r"# (\S+\.\w+)\n", block)
        if kind == "sh":
            lines.append(re.sub(r"^ +", "", block, flags=re.MULTILINE))
        elif saved:
            lines.append(f"cat > {saved[1]} <<'END'\n{block}END")
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "MILLRACE_LOCK": str(folder / "measuring.lock"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


SHORT_FIGURE = {
    "machines: [local, xeon]": "machines: [xeon]",
    "cost: [10, 100, 1000, 10000]": "cost: [10, 10000]",
    "repeats: 5": "repeats: 1",
    "duration_s: 0.1": "duration_s: 0.002",
}
PAGES = (
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
    *(ROOT / f"docs/how-to/{name}.md" for name in ("own-law", "read-tables", "noisy-host")),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_options_of_each_command_exist(page):
    from harness.cli import COMMANDS, OneLineParser

    blocks = [block for kind, block in BLOCK.findall(page.read_text("utf-8")) if kind == "sh"]
    lines = re.findall(r"^ *millrace (.*)$", "\n".join(blocks), re.MULTILINE)
    assert lines
    for line in lines:
        name, *words = shlex.split(line.partition(" || ")[0].partition(" -- ")[0])
        assert name in COMMANDS
        parser = OneLineParser(prog=name)
        importlib.import_module(f"harness.cli.{name}").add_arguments(parser)
        try:
            parser.parse_args(words)
        except SystemExit as ended:  # of --help
            assert ended.code == 0, line


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/tutorials").glob("*.md")), ids=lambda page: page.stem
)
def test_a_tutorial_is_short(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


@pytest.mark.heavy
def test_the_tutorial_of_a_figure_measures_draws_and_reads_its_experiment(tmp_path):
    out = followed("tutorials/thesis-figure.md", tmp_path, SHORT_FIGURE)
    rates = {
        (int(cost), arm): int(rate.replace(",", ""))
        for cost, arm, rate in re.findall(
            r"^xeon (\d+) (\S+) ([\d,]+) tuples/s, 1 runs$", out, re.M
        )
    }
    assert len(rates) == 8
    assert rates[10, "manual"] == max(rate for (cost, _), rate in rates.items() if cost == 10)
    ratio = rates[10000, "dedicated"] / rates[10000, "manual"]
    assert 8 < ratio < 11  # "about ten times as fast"
    assert {"costs.pdf", "costs.svg", "costs.png", "fig.pdf"} <= {
        file.name for file in (tmp_path / "thesis").iterdir()
    }
    assert re.search(
        r"^\* bound by its 2 scheduler threads: they work 99 %.* 3\.4 times", out, re.M
    )
    assert re.search(r"^  all threads +96\.\d ", out, re.M)


@pytest.mark.slow
def test_the_tutorial_of_models_finds_what_it_says(tmp_path):
    out = followed(
        "tutorials/which-model.md",
        tmp_path,
        {
            "--budget 30s": "--budget 15s --duration 0.01",
            "--budget 60s": "--budget 30s --duration 0.01",
            "--budget 5m": "--budget 30s",
        },
    )
    assert re.search(r"bound by `crunch[01]`: it is busy 9\d % .* only one thread", out)
    (manual,) = re.findall(r"^manual +\S+ .*? ([\d.]+) M ±", out, re.M)[:1]
    (dedicated,) = re.findall(r"^dedicated +\S+ .*? ([\d.]+) M ±", out, re.M)[:1]
    assert round(float(manual)) == 1 and round(float(dedicated), 1) == 2.1
    assert "advice: " in out


@pytest.mark.slow
def test_the_tutorial_of_a_gate_gives_verdicts(tmp_path):
    out = followed(
        "tutorials/first-gate.md",
        tmp_path,
        {"--time-budget 60": "--time-budget 3", "time_budget_s: 60": "time_budget_s: 2"},
    )
    assert set(re.findall(r"^exit code (\d+)$", out, re.M)) <= {"1", "3", "6"}
    assert len(re.findall(r"^(?:OK|REGRESSED|INCONCLUSIVE|HOST UNSTABLE)", out, re.M)) == 6


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("page", "shorter"),
    [
        ("read-records", {"--machine xeon": "--machine xeon --duration 0.002"}),
        ("noisy-host", {"--budget 20s": "--budget 2s --duration 0.002"}),
        (
            "own-law",
            {"--every 60": "--every 600", "--machine xeon": "--machine xeon --duration 0.002"},
        ),
    ],
)
def test_commands_of_a_short_page_run(tmp_path, page, shorter):
    assert followed(f"how-to/{page}.md", tmp_path, shorter)


@pytest.mark.slow
def test_the_page_of_tables_reads_those_of_the_tutorial(tmp_path):
    followed("tutorials/thesis-figure.md", tmp_path, SHORT_FIGURE)
    out = followed("how-to/read-tables.md", tmp_path / "thesis", {})
    assert len(re.findall(r" xeon +(?:10|10000) ", out)) == 8
    assert re.search(r"10000 +dedicated +(?:8|9|10)\.", out)
