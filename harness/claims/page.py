"""Report as one HTML page that loads no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from harness.claims import report
from harness.claims.claim import Claim, Paper, papers
from harness.claims.evaluate import ClaimVerdict, Result
from harness.files.web_page import web_page

CLASS = {
    ClaimVerdict.REPRODUCED: "yes",
    ClaimVerdict.SMALLER: "part",
    ClaimVerdict.IN_PART: "part",
    ClaimVerdict.NOT_REPRODUCED: "no",
    ClaimVerdict.UNDECIDED: "open",
    ClaimVerdict.NO_DATA: "none",
    ClaimVerdict.NOT_TESTABLE: "none",
}
"""Style of each verdict. Its words say the same, so that nothing depends on colour."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto;
       padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: .6rem 0; } .wide { overflow-x: auto; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: left;
         vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
details { border: 1px solid #ddd; border-radius: 4px; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; } summary code { color: #666; font-size: .85em; }
.v { border-radius: 3px; padding: 0 .4em; font-size: .9em; -webkit-box-decoration-break: clone;
     box-decoration-break: clone; }
.yes { background: #d3ecdf; } .part { background: #e8f2dc; }
.no { background: #f6d5cc; } .open { background: #f5ecc8; }
.none { background: #e9e9e9; } .faint { color: #666; }
code { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .7rem; } h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; }
  details { padding: .3rem .5rem; } th, td { padding: .1rem .35rem; font-size: .85rem; }
}
"""


def html(results: Sequence[Result]) -> str:
    """Return the whole page."""
    parts = [
        f"<h1>{escape(report.TITLE)}</h1>",
        _prose(report.INTRODUCTION),
        _summary(results),
        *map(_prose, filter(None, [report.of_error(results)])),
        _legend(),
    ]
    parts.append(_prose(report.EXPLANATION))
    groups = report.by_claim(results)
    for paper in papers().values():
        own = [group for group in groups if group[0].paper == paper.name]
        if own:
            parts += [
                _heading(paper),
                *(claim_html(claim, rows) for claim, rows in own if claim.check is not None),
            ]
            parts.append(_not_testable([claim for claim, _ in own if claim.check is None]))
    return web_page(report.TITLE, STYLE, "\n".join(parts))


def _prose(text: str) -> str:
    """Return a paragraph; *words* between stars are stressed. Other stars, as in `claims/*.yaml` or
    3 * 4, stay.
    """
    return (
        "<p>"
        + re.sub(r"(?<![\w/])\*(?=\w)([^*]*\w)\*(?!\w)", r"<em>\1</em>", escape(text))
        + "</p>"
    )


def _summary(results: Sequence[Result]) -> str:
    head = ["paper", "machine", "claims", *report.COLUMNS, *report.HEADINGS]
    return _table(
        head, [report.summary_row(line) for line in report.summary(results)], numbers_from=2
    )


def _legend() -> str:
    rows = [
        f"<li>{_badge(verdict, verdict.value)} {escape(meaning)}</li>"
        for verdict, meaning in report.LEGEND.items()
    ]
    return "<ul>" + "".join(rows) + "</ul>"


def _heading(paper: Paper) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in paper.inconsistencies)
    odds = f"<p>Where its text is at odds with itself:</p><ul>{items}</ul>" if items else ""
    return f"<h2>{escape(paper.name)}</h2><p><em>{escape(paper.title)}</em></p>{odds}"


def claim_html(claim: Claim, rows: Sequence[Result]) -> str:
    """Return a claim with its verdicts, and the numbers behind them to unfold."""
    badges = " ".join(
        _badge(row.verdict, f"{row.machine}: {row.verdict}") for row in rows if not row.beside
    )
    texts = [("Read as", claim.reading), ("Note", claim.note), ("Check", f"{claim.check}.")]
    words = "".join(f"<p><em>{name}:</em> {escape(text)}</p>" for name, text in texts if text)
    about = f"{report.place(claim)}; {', '.join(claim.machines)}"
    return (
        f'<details id="{escape(claim.id)}">'
        f"<summary>{escape(claim.statement)} {badges} <code>{escape(claim.id)}</code></summary>"
        f'<p class="faint">{escape(about)}</p>{words}{"".join(map(_result, rows))}</details>'
    )


def _result(result: Result) -> str:
    beside = " (beside: the claim is not about this machine)" if result.beside else ""
    why = f"<p>{escape(result.why)}</p>" if result.why else ""
    cells = "".join(
        f"<li>{escape(each.where)}: {escape(report.said(each))}</li>"
        for each in result.outcomes
        if each.finding
    )
    numbers = _table(*report.number_table(result), numbers_from=3) if result.shown else ""
    return (
        f"<h3>{escape(result.machine)}: "
        f"{_badge(result.verdict, report.headline(result))}{beside}</h3>{why}"
        f"{f'<ul>{cells}</ul>' if cells else ''}{numbers}"
    )


def _not_testable(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = [[claim.id, claim.section, claim.statement, claim.not_testable] for claim in claims]
    return f"<h3>Not testable ({len(claims)})</h3>" + _table(
        ["claim", "§", "statement", "why not"], rows, numbers_from=9
    )


def _badge(verdict: ClaimVerdict, text: str) -> str:
    return f'<span class="v {CLASS[verdict]}">{escape(text)}</span>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        marks = [' class="n"' if place >= numbers_from else "" for place in range(len(cells))]
        return (
            "<tr>"
            + "".join(
                f"<{tag}{mark}>{escape(cell)}</{tag}>"
                for cell, mark in zip(cells, marks, strict=True)
            )
            + "</tr>"
        )

    body = "".join(line(row, "td") for row in rows)
    top = line(head, "th")
    return f'<div class="wide"><table><thead>{top}</thead><tbody>{body}</tbody></table></div>'
