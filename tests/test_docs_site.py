"""The site of the docs builds without a warning, and its generated parts follow what they show."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "docs/site"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def module_of_the_site(name: str):
    """Return a module of a folder that is no package. Other tests import others of its name."""
    before = set(sys.modules)
    sys.path.insert(0, str(SITE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SITE))
        for new in set(sys.modules) - before:
            if (getattr(sys.modules[new], "__file__", None) or "").startswith(f"{SITE}/"):
                del sys.modules[new]


@pytest.fixture(scope="module")
def parts():
    return module_of_the_site("parts")


@pytest.fixture(scope="module")
def pictures():
    return module_of_the_site("model_pictures")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site in strict mode: a broken link, anchor or page outside the navigation fails."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.heavy
def test_the_site_builds_without_a_warning_and_has_every_generated_reference(site):
    for page, text in {
        "command-line": "time-budget",
        "options": "queue_capacity",
        "graph-files": "payload",
        "experiment-files": "repeats",
        "gate-suite-files": "time_budget_s",
        "records": "sink_tuples_per_s",
        "tables": "settled_share",
        "python": "open_engine",
    }.items():
        html = (site / f"reference/{page}.html").read_text(encoding="utf-8")
        assert text in html and "generated:" not in html, page


@pytest.mark.heavy
def test_a_page_links_to_a_copy_of_a_file_of_the_repository(site):
    html = (site / "tutorials/first-gate.html").read_text(encoding="utf-8")
    (target,) = re.findall(r'href="([^"]+gate\.sh\.txt)"', html)
    copy = (site / "tutorials" / target).resolve()
    assert copy.read_bytes() == (ROOT / "examples/ci/gate.sh").read_bytes()


def test_each_mark_of_a_page_names_a_part_and_each_part_is_on_a_page(parts):
    marks = [mark for page in PAGES for mark in parts.MARK.findall(page.read_text("utf-8"))]
    assert sorted(marks) == sorted(parts.PARTS)


def test_a_page_that_is_a_file_says_which_command_prints_its_part(parts):
    named = {
        found: found in parts.MARK.findall(text)
        for page in PAGES
        for text in [page.read_text("utf-8")]
        for found in re.findall(r"docs/site/parts\.py ([\w-]+)` prints", text)
    }
    assert set(named) == set(parts.PARTS) - {"python", "changes"}  # `help` and CHANGELOG.md
    assert all(named.values())


def test_a_part_is_printed_by_its_command():
    words = [sys.executable, "docs/site/parts.py", "options"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "| `--queue-capacity` | `queue_capacity` |" in done.stdout


def test_the_command_line_has_every_command_with_its_help(parts):
    from harness.cli import COMMANDS

    text = parts.part("command-line")
    assert all(f"\n## millrace {name}\n" in f"\n{text}" for name in COMMANDS)
    assert "usage: millrace laws replay" in text and "usage: millrace gate history" in text


def test_the_command_line_names_only_variables_that_the_code_reads(parts):
    from harness.cli import VARIABLES

    source = "".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / "setup.py", *(ROOT / "harness").rglob("*.py*"))
        if file.suffix in (".py", ".pyx") and file.parent.name != "cli"
    )
    own = [name for name in VARIABLES if name.startswith("MILLRACE_")]
    assert own and all(f'"{name}"' in source for name in own)
    assert all(f"| `{name}` |" in parts.part("command-line") for name in VARIABLES)


def test_every_column_of_every_table_has_a_meaning_and_no_other_has():
    from harness.spark.columns import MEANINGS
    from harness.spark.schemas import TABLES

    assert set(MEANINGS) == {field.name for table in TABLES.values() for field in table}


def test_every_public_name_of_python_is_shown(parts):
    import millrace

    text = parts.part("python")
    missing = [
        name
        for name in millrace.__all__
        if not name.startswith("__") and f"heading: {name}\n" not in text + "\n"
    ]
    assert missing == []


def test_the_pictures_of_models_are_those_of_their_program(pictures):
    from harness.models import MODELS

    assert set(pictures.MODELS) == set(MODELS)
    for name in pictures.MODELS:
        kept = (ROOT / f"docs/pictures/model-{name}.svg").read_text("utf-8")
        assert kept == pictures.picture(name), "python docs/site/model_pictures.py"
