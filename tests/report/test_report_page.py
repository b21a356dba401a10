"""The report: figures in the order of the papers, with captions, claims and data, for a phone too."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from harness.cli import main
from harness.plots.figures import FIGURES, ROWS
from harness.report.page import BEYOND, SOURCES, caption_html, paper_of
from harness.report.svg import inline
from tests.plots.made_tables import write_all

DRAWN = ("crossover", "pldi17_fig10", "mw19_fig9")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the tables and pictures of three figures of the quick profile."""
    folder, tables = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("tables")
    write_all(tables)
    for name in DRAWN:
        own = folder / "results/tables" / name
        own.mkdir(parents=True)
        for table in FIGURES[name].tables:
            shutil.copytree(tables / f"{table}.parquet", own / f"{table}.parquet")
        picture = folder / f"figures/{name}.svg"
        assert main(["plot", name, "--tables", str(own), "-o", str(picture)]) == 0
    return folder


@pytest.fixture
def here(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


class Parts(HTMLParser):
    """Collects ids, links and the elements around each SVG."""

    VOID = frozenset({"meta", "br", "path", "use", "rect", "image"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.around: list[list[str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        if tag == "a":
            self.links.append(values["href"])
        self.loaded += [tag] if tag in ("link", "script", "img", "iframe") else []
        if tag == "svg":
            self.around.append(list(self.open))
        if tag not in self.VOID:
            self.open.append(f"{tag}.{values.get('class', '')}")

    def handle_endtag(self, tag):
        while self.open and not self.open.pop().startswith(f"{tag}."):
            pass


def parts_of(page: Path) -> Parts:
    parts = Parts()
    parts.feed(page.read_text(encoding="utf-8"))
    return parts


def test_the_page_has_the_figures_that_are_made_in_the_order_of_the_papers(here, capsys):
    assert main(["report"]) == 0
    said = capsys.readouterr()
    assert said.out == "results/report.html\n"
    assert said.err.startswith("not on the page, since they are not made: pldi17_fig9, ")
    text = (here / "results/report.html").read_text(encoding="utf-8")
    sections = re.findall(r'<section class="figure" id="(\w+)"', text)
    assert sections == ["pldi17_fig10", "mw19_fig9", "crossover"]
    assert "a hatched tile is a tie" in text


def test_each_link_of_the_page_leads_to_a_part_of_it_or_to_data_beside_it(here):
    assert main(["report"]) == 0
    parts = parts_of(here / "results/report.html")
    assert parts.loaded == []
    assert len(parts.ids) == len(set(parts.ids))
    for link in parts.links:
        if link.startswith("#"):
            assert link[1:] in parts.ids, link
        else:
            table = pd.read_csv(here / "results" / link)
            assert len(table) and "cell" in table
    assert "report-data/crossover-speedup.csv" in parts.links


def test_claims_stand_beside_the_figure_that_they_are_checked_on(here):
    assert main(["report"]) == 0
    text = (here / "results/report.html").read_text(encoding="utf-8")
    section = text.partition('id="pldi17_fig10"')[2].partition("</section>")[0]
    assert "In the mix dynamic elastic is the fastest" in section
    assert 'id="p17-5.3-dynamic-best"' in section


def test_wide_pictures_scroll_in_a_box_of_their_own_so_that_a_phone_reaches_all_of_them(here):
    assert main(["report"]) == 0
    page = here / "results/report.html"
    text = page.read_text(encoding="utf-8")
    assert 'name="viewport" content="width=device-width' in text
    assert ".scroll { overflow-x: auto; }" in text
    parts = parts_of(page)
    assert len(parts.around) == len(DRAWN)
    assert all("div.scroll" in around for around in parts.around)


def test_the_page_of_one_figure_has_no_other_one(here):
    assert main(["report", "crossover", "-o", "one.html"]) == 0
    text = (here / "one.html").read_text(encoding="utf-8")
    assert re.findall(r'<section class="figure" id="(\w+)"', text) == ["crossover"]


def test_ids_of_two_figures_differ_and_their_references_follow_them():
    picture = (
        '<?xml version="1.0"?>\n<svg width="720pt" viewBox="0 0 720 300">\n'
        '<metadata>made by</metadata><!-- a --><g id="p1"/>'
        '<use xlink:href="#p1" x="1.23456" clip-path="url(#p1)"/></svg>\n'
    )
    text = inline(picture, "one")
    assert text == (
        '<svg viewBox="0 0 720 300" style="min-width:648px" role="img" aria-label="one">'
        '<g id="one-p1"/><use xlink:href="#one-p1" x="1.23" clip-path="url(#one-p1)"/></svg>'
    )


def test_a_caption_keeps_its_stress_and_no_other_stars():
    assert caption_html("**A title.** *dynamic* is `x`; 3 * 4 < 13\n  in config/*.yaml") == (
        "<strong>A title.</strong> <em>dynamic</em> is <code>x</code>; 3 * 4 &lt; 13 "
        "in config/*.yaml"
    )


def test_each_figure_has_a_paper_or_goes_beyond_them():
    assert {paper_of(row) for row in ROWS} == {*SOURCES.values(), BEYOND}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["crossovr"], "FIGURE 'crossovr' is none of"),
        (["-o", "page.zip"], "-o must name a file ending in .html, not 'page.zip'"),
        (["saso"], "is made; `millrace figures` makes them"),
    ],
)
def test_bad_input_is_one_line(here, capsys, words, answer):
    assert main(["report", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and answer in error
