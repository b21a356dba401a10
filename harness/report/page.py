"""The page with all figures, paper by paper: captions, claims beside them, and their data as CSV.

The page is one file that loads no other one. The data lies in a folder beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from harness.claims.claim import Claim, experiments, papers
from harness.claims.evaluate import Result, evaluate
from harness.claims.page import STYLE as CLAIM_STYLE
from harness.claims.page import claim_html
from harness.claims.report import by_claim
from harness.claims.tables import read_tables
from harness.errors import UserError
from harness.experiments.config import Config
from harness.files.given import is_table
from harness.files.web_page import web_page
from harness.files.whole import write_whole
from harness.plots.data import as_csv
from harness.plots.figures import FIGURES, FigureRow
from harness.report.svg import inline

TITLE = "Millrace: figures, claims and data"

INTRODUCTION = """\
Millrace runs the same operator graph under several threading models and measures it. Each run is a
fresh process, the models of a cell take turns in random order, and warm-up ends when the rates are
stationary. Every run checks that no tuple was lost, doubled or reordered. Spark turns the records
of the runs into tables, and the figures are drawn from these."""

MARKERS = """\
A marker is full where all runs of an arm settled and open where none did; between them, it is paler
the fewer settled. A cross is an arm that is left out, since simulated runs of it are not
stationary, or whose runs all failed. Tinted panels are simulated."""

BEYOND = "beyond the papers"

SOURCES = {"P17": "P17", "ElasticLoadBalance": "ELB", "M19": "M19", "C-Stream": "CS"}
"""First word of a figure's origin, and the name of its paper."""

STYLE = """
body { max-width: 100rem; } .scroll { overflow-x: auto; } .scroll svg { width: 100%; height: auto; }
figure { margin: 0; } figcaption { max-width: 60rem; margin: .6rem 0; }
nav ul { columns: 20rem; padding-left: 1.2rem; } .figure { margin: 2.5rem 0; }
.beside { max-height: none; }
@media (min-width: 85rem) {
  .figure { display: grid; grid-template-columns: minmax(0, 1fr) 26rem; gap: 2rem; }
  .figure > h3 { grid-column: 1 / -1; margin-bottom: 0; }
}
"""


def write_report(config: Config, path: Path, names: Collection[str] = ()) -> list[str]:
    """Write the page from the figures and tables of a profile, those in `names` alone if there are
    any. Returns the figures that are not made and so not on the page.

    Raises UserError if no figure is made, RunFailed if a file cannot be written.
    """
    asked = [name for name in FIGURES if name in (names or config.drawable)]
    rows = [FIGURES[name] for name in asked if Path(config.figure(name, "svg")).is_file()]
    if not rows:
        raise UserError(
            f"no figure of {config.path} is made; `millrace figures` makes them, and `--config` "
            "or `--size` names another profile"
        )
    folder = path.with_name(f"{path.stem}-data")
    drawings = {
        row.name: Path(config.figure(row.name, "svg")).read_text(encoding="utf-8") for row in rows
    }
    data = {row.name: _write_data(config, row, folder) for row in rows}
    made = page(rows, drawings, _results(config), data)
    write_whole(path, made.encode())
    return [name for name in asked if name not in drawings]


def page(
    rows: Sequence[FigureRow],
    drawings: Mapping[str, str],
    results: Sequence[Result],
    data: Mapping[str, Sequence[str]],
) -> str:
    """Return the page; `drawings`: the SVG of each figure; `data`: links to its data."""
    groups = by_claim(results)
    parts = [f"<h1>{TITLE}</h1>", f"<p>{INTRODUCTION}</p>", f"<p>{MARKERS}</p>", _contents(rows)]
    shown: set[str] = set()
    for paper in _papers_of(rows):
        parts.append(f'<h2 id="{_anchor(paper)}">{escape(_heading(paper))}</h2>')
        for row in rows:
            if paper_of(row) == paper:
                claims = [group for group in groups if row.name in looked_at(group[0])]
                parts.append(_figure(row, drawings[row.name], claims, data[row.name], shown))
        rest = [group for group in groups if group[0].paper == paper and group[0].id not in shown]
        parts.append(_other_claims(rest, shown))
    return web_page(TITLE, CLAIM_STYLE + STYLE, "\n".join(filter(None, parts)))


def paper_of(row: FigureRow) -> str:
    """Return the name of the paper of a figure, or `BEYOND`."""
    return SOURCES.get(re.split(r"[ ,]", row.source)[0], BEYOND)


def _papers_of(rows: Sequence[FigureRow]) -> list[str]:
    """Return the papers of figures, in their order; what goes beyond them comes last."""
    there = set(map(paper_of, rows))
    return [paper for paper in (*papers(), BEYOND) if paper in there]


def looked_at(claim: Claim) -> set[str]:
    """Return the experiments that a claim is checked on."""
    cells = [*claim.cells, *(cell for own in claim.cells_on.values() for cell in own)]
    return {cell.experiment for cell in cells}


def caption_html(text: str) -> str:
    """Return a caption as HTML: `**words**` are strong, `*words*` and words in backquotes too."""
    text = escape(" ".join(text.split()))
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])", r"<em>\1</em>", text)
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", text)


def _results(config: Config) -> list[Result]:
    """Return the verdicts; none if no table is there that claims look at."""
    folder = Path(config.results) / "tables"
    named = [name for name in experiments() if is_table(folder / name / "throughput.parquet")]
    if not named:
        return []
    claims = [claim for paper in papers().values() for claim in paper.claims]
    return evaluate(claims, read_tables(folder, experiments()))


def _write_data(config: Config, row: FigureRow, folder: Path) -> list[str]:
    """Write the tables of a figure as CSV; returns their links, relative to the page."""
    links = []
    for name in row.tables:
        table = Path(config.tables(row.name)) / f"{name}.parquet"
        if is_table(table):
            file = folder / f"{row.name}-{name}.csv"
            write_whole(file, as_csv(pd.read_parquet(table)).encode())
            links.append(f"{folder.name}/{file.name}")
    return links


def _contents(rows: Sequence[FigureRow]) -> str:
    lines = []
    for paper in _papers_of(rows):
        own = "".join(
            f'<li><a href="#{row.name}">{escape(row.paper_figure or row.title)}</a></li>'
            for row in rows
            if paper_of(row) == paper
        )
        link = f'<a href="#{_anchor(paper)}">{escape(_heading(paper))}</a>'
        lines.append(f"<p>{link}</p><ul>{own}</ul>")
    return f"<nav>{''.join(lines)}</nav>"


def _figure(
    row: FigureRow,
    drawing: str,
    claims: Sequence[tuple[Claim, list[Result]]],
    links: Sequence[str],
    shown: set[str],
) -> str:
    files = ", ".join(f'<a href="{quote(link)}">{escape(Path(link).name)}</a>' for link in links)
    data = f"<p>Data: {files}</p>" if links else ""
    caption = f"<figcaption>{caption_html(row.full_caption)}{data}</figcaption>"
    beside = _claims(claims, shown) or "<p>No claim is checked on this figure.</p>"
    return (
        f'<section class="figure" id="{row.name}"><h3>{escape(row.heading)}</h3>'
        f'<figure><div class="scroll">{inline(drawing, row.name)}</div>{caption}</figure>'
        f'<div class="beside">{beside}</div></section>'
    )


def _claims(groups: Sequence[tuple[Claim, list[Result]]], shown: set[str]) -> str:
    """Return claims with their numbers; those that stand above already are links to there."""
    parts, above = [], []
    for claim, results in groups:
        if claim.id in shown:
            above.append(f'<a href="#{escape(claim.id)}"><code>{escape(claim.id)}</code></a>')
        else:
            shown.add(claim.id)
            parts.append(claim_html(claim, results))
    links = f"<p>Above: {', '.join(above)}</p>" if above else ""
    return "".join(parts) + links


def _other_claims(groups: Sequence[tuple[Claim, list[Result]]], shown: set[str]) -> str:
    checked = [(claim, results) for claim, results in groups if claim.check is not None]
    return f"<h3>Claims without a figure here</h3>{_claims(checked, shown)}" if checked else ""


def _heading(paper: str) -> str:
    known = papers().get(paper)
    return f"{paper}: {known.title}" if known else paper[0].upper() + paper[1:]


def _anchor(paper: str) -> str:
    return f"paper-{paper.replace(' ', '-')}"
