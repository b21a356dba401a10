"""`plot` for a paper: a part of a figure at a given width, with text as text, and its data."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from matplotlib.image import imread

from harness.cli import main
from harness.errors import UserError
from harness.plots import choice, data, paper, style
from tests.plots.made_tables import arm_row, figure_named, frame, scaling, write_all

INCH_PX = paper.PAPER_DPI


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write_all(folder)
    return folder


def plot(figure, tables, *words):
    return main(["plot", figure, "--tables", str(tables), *map(str, words)])


def drawn(name, shown, **shape):
    with paper.shaped(paper.Shape(**shape)):
        figure = figure_named(name, shown)
        figure.draw_without_rendering()
    return figure


def test_a_picture_has_the_width_that_was_asked_for(tables, tmp_path):
    file = tmp_path / "a.png"
    assert plot("pldi17_fig9", tables, "--width", "3.3in", "-o", file) == 0
    assert imread(file).shape[1] == pytest.approx(3.3 * INCH_PX, abs=1)
    assert plot("pldi17_fig9", tables, "--width", "84mm", "-o", file) == 0
    assert imread(file).shape[1] == pytest.approx(84 / 25.4 * INCH_PX, abs=1)


def test_text_is_text_in_svg_and_truetype_in_pdf(tables, tmp_path):
    svg, pdf = tmp_path / "a.svg", tmp_path / "a.pdf"
    assert plot("pldi17_fig9", tables, "-o", svg, "-o", pdf) == 0
    assert ">scheduler threads</text>" in svg.read_text(encoding="utf-8")
    assert b"/Subtype /Type3" not in pdf.read_bytes()
    assert b"/FontFile2" in pdf.read_bytes()


@pytest.mark.parametrize("name", ["pldi17_fig9", "mw19_fig9", "mw19_fig13", "cstream_fig9"])
def test_every_panel_and_the_legend_fit_into_a_column_of_a_paper(tables, name):
    from harness.plots.draw import read_table
    from harness.plots.figures import FIGURES

    shown = {table: read_table(tables, table, name) for table in FIGURES[name].tables}
    figure = drawn(name, shown, width=3.3, titled=False)
    assert figure.get_figwidth() == pytest.approx(3.3)
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert box.height < figure.bbox.height / 3
    for ax in figure.axes:
        assert ax.get_window_extent().width > 0.5 * figure.bbox.width
        assert ax.title.get_window_extent().width <= figure.bbox.width
        assert ax.title.get_fontsize() == paper.PAPER_PT


def test_panels_without_room_go_below_and_keep_their_order():
    table = scaling("pldi17_fig10", {"mix": [1, 10, 100]}, [1, 2])
    side_by_side = drawn("pldi17_fig10", {"throughput": table})
    assert len({round(ax.get_position().y0, 2) for ax in side_by_side.axes}) == 1
    below = drawn("pldi17_fig10", {"throughput": table}, width=3.3)
    tops = [ax.get_position().y0 for ax in below.axes]
    assert tops == sorted(tops, reverse=True) and len(set(tops)) == 3
    assert all(ax.get_ylabel().startswith("throughput") for ax in below.axes)


def test_rows_of_panels_without_room_are_read_row_by_row():
    table = scaling("pldi17_fig10", {"mix": [1, 10], "pipeline": [1, 10]}, [1, 2])
    wide = drawn("pldi17_fig10", {"throughput": table})
    narrow = drawn("pldi17_fig10", {"throughput": table}, width=3.3)
    places = [ax.get_position() for ax in wide.axes]
    read = sorted(range(4), key=lambda number: (-round(places[number].y0, 2), places[number].x0))
    tops = [narrow.axes[number].get_position().y0 for number in read]
    assert tops == sorted(tops, reverse=True) and len(set(tops)) == 4


def test_title_and_foot_are_printed_for_the_caption_if_they_are_left_out(tables, tmp_path, capsys):
    file = tmp_path / "a.svg"
    assert plot("pldi17_fig10", tables, "--no-title", "-o", file) == 0
    said = capsys.readouterr().out
    assert said.startswith("Throughput against scheduler threads: data parallelism of pipelines")
    assert "Measured on Invented CPU" in said
    assert "Measured on" not in file.read_text(encoding="utf-8")
    assert "P17 Figure 10" not in file.read_text(encoding="utf-8")


def test_a_panel_is_named_by_topology_and_parameters(tables, tmp_path):
    file = tmp_path / "a.csv"
    assert plot("pldi17_fig9", tables, "--panel", "pipeline,cost=1", "--csv", file) == 0
    assert set(pd.read_csv(file)["topology"]) == {"pipeline"}


def test_other_tables_follow_the_chosen_panels(tables, tmp_path):
    file = tmp_path / "a.csv"
    assert plot("crossover", tables, "--panel", "cost=100", "--csv", file) == 0
    assert set(pd.read_csv(tmp_path / "a-speedup.csv")["cost"]) == {100}


def test_an_arm_is_left_out_of_all_tables(tables, tmp_path):
    file = tmp_path / "a.csv"
    words = ("--panel", "cost=1", "--without", "manual", "--csv", file)
    assert plot("crossover", tables, *words) == 0
    for name in ("a.csv", "a-speedup.csv"):
        arms = set(pd.read_csv(tmp_path / name)["arm"])
        assert arms and "manual" not in arms


def test_an_arm_that_is_not_there_or_is_the_only_one_cannot_be_left_out():
    table = frame([arm_row("e", "mix", 1, arm, 1.0) for arm in ("manual", "dedicated")])
    with pytest.raises(UserError, match="must be one of manual, dedicated, not 'dynamic'"):
        choice.chosen({"throughput": table}, [], None, ["dynamic"])
    with pytest.raises(UserError, match="leaves no arm"):
        choice.chosen({"throughput": table}, [], None, ["manual", "dedicated"])


def test_a_title_replaces_that_of_the_figure(tables, tmp_path, capsys):
    file = tmp_path / "a.svg"
    assert plot("pldi17_fig10", tables, "--title", "My own title", "-o", file) == 0
    text = file.read_text(encoding="utf-8")
    assert "My own title" in text and "P17 Figure 10" not in text
    assert plot("pldi17_fig10", tables, "--title", "Mine", "--no-title", "-o", file) == 0
    assert capsys.readouterr().out.startswith("Mine. ")


def test_a_machine_without_its_cpus_means_all_numbers_of_them():
    table = frame(
        [
            arm_row("e", "mix", 1, "manual", 1.0, machine=name)
            for name in ("xeon:16", "xeon:88", "power8")
        ]
    )
    assert len(choice.chosen({"throughput": table}, [], "xeon")["throughput"]) == 2
    assert len(choice.chosen({"throughput": table}, [], "xeon:16")["throughput"]) == 1


def refusal(capsys, tables, *words):
    assert plot("pldi17_fig9", tables, *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_a_panel_or_machine_that_does_not_exist_is_answered_with_those_that_do(tables, capsys):
    error = refusal(capsys, tables, "--panel", "mix")
    assert "its panels are: data-parallel" in error and "pipeline" in error
    assert "'price' is no parameter" in refusal(capsys, tables, "--panel", "price=1")
    assert "--machine must be one of local, not 'xeon'" in refusal(
        capsys, tables, "--machine", "xeon"
    )
    error = refusal(capsys, tables, "--without", "dynamic-3")
    assert "--without must be one of" in error and "did you mean" in error


@pytest.mark.parametrize("width", ["3.3", "1in", "40in", "wide", "-3in"])
def test_a_width_without_a_unit_or_out_of_range_is_refused(tables, capsys, width):
    with pytest.raises(SystemExit):
        plot("pldi17_fig9", tables, f"--width={width}", "-o", "x.png")
    assert "must be from 1.5in to 30in" in capsys.readouterr().err


def test_a_font_that_is_not_there_is_named(tables, capsys):
    error = refusal(capsys, tables, "--font", "DejaVu Serf", "-o", "x.png")
    assert "this machine has no such font; similar ones are: DejaVu Serif" in error
    error = refusal(capsys, tables, "--font", "sans mono", "-o", "x.png")
    assert "DejaVu Sans Mono" in error
    error = refusal(capsys, tables, "--font", "qqqq", "-o", "x.png")
    assert "; fonts are: " in error and "sans-serif" in error


def test_a_font_is_that_of_all_text(tables, tmp_path):
    file = tmp_path / "a.svg"
    assert plot("pldi17_fig10", tables, "--font", "DejaVu Serif", "-o", file) == 0
    texts = re.findall(r"<text [^>]*>", file.read_text(encoding="utf-8"))
    assert texts and all("'DejaVu Serif'" in text for text in texts)


def test_latex_has_a_line_an_arm_and_escapes_what_latex_would_read():
    table = frame(
        [
            arm_row("e", "mix", cost, "dynamic", 12345.0, threads=2, half=345.0)
            | {"arm": "dynamic_2&3"}
            for cost in (1, 10)
        ]
    )
    lines = data.as_latex(table).splitlines()
    assert r"cost & machine & arm & tuples/s & 95\,\% interval & runs \\" in lines
    assert r"1 & local (measured) & dynamic\_2\&3 & 12{,}340 & 12{,}000--12{,}690 & 3 \\" in lines
    assert data.escaped("a\\b~") == r"a\textbackslash{}b\textasciitilde{}"


def test_latex_rounds_a_mean_to_what_its_interval_supports():
    assert data.unit_of(1_234_567.0, 1_200_000.0, 1_270_000.0) == 1000
    assert data.unit_of(1_234_567.0, 100_000.0, 9_000_000.0) == 10_000
    assert data.unit_of(1_234_567.0, 1_234_566.0, 1_234_568.0) == 1000
    assert data.unit_of(3.14159) == 0.01
    table = frame([arm_row("e", "mix", 1, "manual", 1_234_567.0, half=34_567.0)])
    assert r"1{,}235{,}000 & 1{,}200{,}000--1{,}269{,}000 & 3" in data.as_latex(table)


def test_latex_says_which_rows_are_simulated_where_no_run_names_software():
    rows = scaling("pldi17_fig10", {"mix": [1]}, [1, 2]).drop(columns="software")
    table = pd.concat(
        [rows.assign(machine="local", simulated=False), rows.assign(machine="xeon", simulated=True)]
    )
    text = data.as_latex(table)
    assert "machine & arm & " in text
    assert text.count("local (measured)") == text.count("xeon (simulated)") == len(rows)


def test_latex_of_a_figure_without_throughput_is_refused(tables, tmp_path, capsys):
    assert plot("saso", tables, "--latex", tmp_path / "a.tex") == 2
    assert "--latex is for figures of throughput" in capsys.readouterr().err


def test_drawing_in_a_shape_leaves_later_figures_as_they_are():
    table = {"throughput": scaling("pldi17_fig10", {"mix": [1]}, [1, 2])}
    before = figure_named("pldi17_fig10", table).get_size_inches().tolist()
    drawn("pldi17_fig10", table, width=3.3)
    assert figure_named("pldi17_fig10", table).get_size_inches().tolist() == before
    style.plt.close("all")


def test_a_title_that_does_not_fit_has_lines_of_like_length():
    title = "Throughput and latency over operator cost, by policy (C-Stream Figure 6)"
    lines = paper.balanced(title, 6.0, 12)
    assert " ".join(lines) == title
    assert len(lines) == len(paper.wrapped(title, 6.0, 12)) == 2
    assert min(map(len, lines)) > 0.5 * max(map(len, lines))
    assert paper.balanced("short", 6.0) == ["short"]
